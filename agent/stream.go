package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/why"
)

// streamRoutes are the routes that answer with server-sent events.
func streamRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/events", requires: reader, stream: true, out: map[int]any{200: StreamEvent{}, 503: Refusal{}},
			summary: "Everything: event \"group\" for every group, then \"synced\", then \"group\" for every change, \"no leader\" among them; every second " +
				"\"pulse\" with the status, the members and the leases of programs here; \"missed\" with a number if the reader is too slow.",
			serve: (*Agent).serveEvents},
		{method: "GET", path: "/v1/groups/{group}/events", requires: reader, stream: true, out: map[int]any{200: StreamEvent{}, 400: Refusal{}, 503: Refusal{}},
			summary: "One group: event \"group\" with what is known, then for every change, \"no leader\" among them. The group need not have been heard of yet.",
			serve:   (*Agent).serveGroupEvents},
		{method: "POST", path: "/v1/groups/{group}/campaign", requires: writer, right: mayLead, stream: true, in: CampaignOrder{},
			out:     map[int]any{200: CampaignEvent{}, 400: Refusal{}, 409: Refusal{}, 413: Refusal{}, 503: Refusal{}},
			summary: "Campaign for as long as the answer is read: events \"waiting\", \"leads\", \"until\" many times a second, \"healed\" when a member is back that was down or cut off, \"stop\", \"over\".", serve: (*Agent).serveCampaign},
		{method: "POST", path: "/v1/sessions/{id}/resign", requires: writer, audit: "resign", out: map[int]any{200: Health{}, 400: Refusal{}, 404: Refusal{}},
			summary: "The program of a campaign over HTTP has stopped.", serve: (*Agent).serveSessionResign},
		{method: "POST", path: "/v1/sessions/{id}/alive", requires: writer, out: map[int]any{200: CampaignEvent{}, 400: Refusal{}, 404: Refusal{}},
			summary: "The program of a campaign over HTTP is well. valid_for of the answer may be counted from when the request was sent.", serve: (*Agent).serveSessionAlive},
	}
}

// StreamEvent is the data of an event of a stream. Which of it is there depends on the event.
type StreamEvent struct {
	// Group is of "group".
	*GroupInfo
	// Status, Members and Leases are of "pulse".
	Status  *StatusInfo   `json:"status,omitempty"`
	Members []MemberInfo  `json:"members,omitempty"`
	Leases  []SessionInfo `json:"leases,omitempty"`
	// Missed is of "missed": how many changes were left out.
	Missed int `json:"missed,omitempty"`
}

// A stream writes server-sent events.
type stream struct {
	w    http.ResponseWriter
	c    *http.ResponseController
	done func()
}

// streamLimit is how long a reader may take for one event before it is cut off.
const streamLimit = 5 * time.Second

// withoutDeadline lets a request take as long as its sender waits.
func withoutDeadline(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Time{})
}

// open begins a stream, or says why there can be none.
func (a *Agent) open(w http.ResponseWriter) (*stream, error) {
	if limit := a.file.Load().Limits.Streams; a.streams.Add(1) > int64(limit) {
		a.streams.Add(-1)
		return nil, failf(http.StatusServiceUnavailable, "%d streams are open, which is the limit (limits.streams)", limit)
	}
	s := &stream{w: w, c: http.NewResponseController(w), done: func() { a.streams.Add(-1) }}
	withoutDeadline(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if err := s.flush(); err != nil { // it has hung up already
		s.done()
		return nil, err
	}
	return s, nil
}

// put writes an event.
func (s *stream) put(event string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_ = s.c.SetWriteDeadline(time.Now().Add(streamLimit))
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, b); err != nil {
		return err
	}
	return nil
}

func (s *stream) flush() error {
	_ = s.c.SetWriteDeadline(time.Now().Add(streamLimit))
	return s.c.Flush()
}

// send writes an event at once.
func (s *stream) send(event string, data any) error {
	if err := s.put(event, data); err != nil {
		return err
	}
	return s.flush()
}

// comment keeps proxies from closing a stream on which nothing happens.
func (s *stream) comment() error {
	_ = s.c.SetWriteDeadline(time.Now().Add(streamLimit))
	if _, err := fmt.Fprint(s.w, ": still here\n\n"); err != nil {
		return err
	}
	return s.flush()
}

const (
	// statusInterval is how often a stream of everything says how things are, commentEvery how often others say anything.
	statusInterval  = time.Second
	commentInterval = 15 * time.Second
	streamDepth     = 4096
)

func (a *Agent) serveEvents(w http.ResponseWriter, q *http.Request) {
	s, err := a.open(w)
	if err != nil {
		writeError(w, err)
		return
	}
	defer s.done()
	_ = a.watch(q.Context(), &visible{stream: s, may: a.readable(q)})
}

// visible is a stream about the groups that its reader may look at.
type visible struct {
	*stream
	may func(group string) bool
}

func (v *visible) put(event string, data any) error {
	if e, ok := data.(StreamEvent); ok {
		if e.GroupInfo != nil && !v.may(e.Group) {
			return nil
		}
		e.Leases = slices.DeleteFunc(e.Leases, func(i SessionInfo) bool { return !v.may(i.Group) })
		data = e
	}
	return v.stream.put(event, data)
}

// A sink takes events: a stream over HTTP, or whoever watches in this process.
type sink interface {
	put(event string, data any) error
	flush() error
}

// Watch calls f with what GET /v1/events sends, until ctx ends or f fails.
func (a *Agent) Watch(ctx context.Context, f func(event string, e StreamEvent) error) error {
	return a.watch(ctx, sinkFunc(f))
}

type sinkFunc func(event string, e StreamEvent) error

func (f sinkFunc) put(event string, data any) error { return f(event, data.(StreamEvent)) }
func (f sinkFunc) flush() error                     { return nil }

func (a *Agent) watch(ctx context.Context, s sink) error {
	watch, present := a.changes.watch("", streamDepth)
	defer a.changes.unwatch(watch)
	for _, c := range present {
		if err := s.put("group", a.event(c)); err != nil {
			return err
		}
	}
	if err := s.put("synced", StreamEvent{}); err != nil {
		return err
	}
	beat := func() error {
		if err := s.put("pulse", a.statusEvent()); err != nil {
			return err
		}
		return s.flush()
	}
	if err := beat(); err != nil {
		return err
	}
	return a.follow(ctx, s, watch, statusInterval, beat)
}

// streamOf answers with a stream about the group of a request. f speaks on it, of what is known and of every change,
// until the reader goes.
func (a *Agent) streamOf(w http.ResponseWriter, q *http.Request, f func(s *stream, group string, watch *watcher, present []*Change)) {
	group, err := a.groupOf(q)
	if err != nil {
		writeError(w, err)
		return
	}
	s, err := a.open(w)
	if err != nil {
		writeError(w, err)
		return
	}
	defer s.done()
	watch, present := a.changes.watch(group, watchDepth)
	defer a.changes.unwatch(watch)
	f(s, group, watch, present)
}

func (a *Agent) serveGroupEvents(w http.ResponseWriter, q *http.Request) {
	a.streamOf(w, q, func(s *stream, group string, watch *watcher, present []*Change) {
		if len(present) == 0 {
			present = []*Change{a.unheard(group)}
		}
		for _, c := range present {
			if s.send("group", a.event(c)) != nil {
				return
			}
		}
		_ = a.follow(q.Context(), s, watch, commentInterval, s.comment)
	})
}

// follow passes changes on until the reader goes or the agent ends.
func (a *Agent) follow(ctx context.Context, s sink, watch *watcher, every time.Duration, beat func() error) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		var err error
		select {
		case c := <-watch.c:
			err = s.put("group", a.event(c))
			for more := true; more && err == nil; { // what has come meanwhile goes out together
				select {
				case c := <-watch.c:
					err = s.put("group", a.event(c))
				default:
					more = false
				}
			}
			if n := watch.takeLost(); n > 0 && err == nil {
				err = s.put("missed", StreamEvent{Missed: n})
			}
			if err == nil {
				err = s.flush()
			}
		case <-ticker.C:
			err = beat()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// event shows a change.
func (a *Agent) event(c *Change) StreamEvent {
	info := a.info(c)
	return StreamEvent{GroupInfo: &info}
}

// statusEvent shows how things are.
func (a *Agent) statusEvent() StreamEvent {
	status := a.Status()
	e := StreamEvent{Status: &status, Members: a.Members()}
	for _, k := range a.candidateList() {
		if k.currentLease() != nil {
			e.Leases = append(e.Leases, k.info())
		}
	}
	return e
}

// unheard is what is known about a group that nobody has heard of.
func (a *Agent) unheard(group string) *Change {
	return &Change{View: regent.View{At: time.Now(), Mode: a.modeOf(group), Group: group, Cause: regent.Cause{Why: why.Started}}}
}
