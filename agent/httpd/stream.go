package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
)

// streamRoutes are the routes that answer with server-sent events.
func (s *Server) streamRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/events", Requires: access.Reader, Stream: true, Out: map[int]any{200: api.StreamEvent{}, 503: api.Refusal{}},
			Summary: "Everything: event \"group\" for every group, then \"synced\", then \"group\" for every change, \"no leader\" among them, and \"council\" for every change of the council that is over; every second " +
				"\"pulse\" with the status, the members and the leases of programs here; \"missed\" with a number if the reader is too slow.",
			Serve: s.serveEvents},
		{Method: "GET", Path: "/v1/groups/{group}/events", Requires: access.Reader, Stream: true, Out: map[int]any{200: api.StreamEvent{}, 400: api.Refusal{}, 503: api.Refusal{}},
			Summary: "One group: event \"group\" with what is known, then for every change, \"no leader\" among them. The group need not have been heard of yet.",
			Serve:   s.serveGroupEvents},
		{Method: "POST", Path: "/v1/groups/{group}/campaign", Requires: access.Writer, Right: access.MayLead, Stream: true, In: api.CampaignOrder{},
			Out:     map[int]any{200: api.CampaignEvent{}, 400: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}},
			Summary: "Campaign for as long as the answer is read: events \"waiting\", \"leads\", \"until\" many times a second, \"healed\" when a member is back that was down or cut off, \"stop\", \"over\".", Serve: s.serveCampaign},
		{Method: "POST", Path: "/v1/sessions/{id}/resign", Requires: access.Writer, Audit: "resign", Out: map[int]any{200: api.Health{}, 400: api.Refusal{}, 404: api.Refusal{}},
			Summary: "The program of a campaign over HTTP has stopped.", Serve: s.serveSessionResign},
		{Method: "POST", Path: "/v1/sessions/{id}/announce", Requires: access.Writer, In: api.AnnounceOrder{},
			Out:     map[int]any{200: api.Health{}, 400: api.Refusal{}, 404: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}},
			Summary: "Change the value that the leadership of a campaign over HTTP announces.", Serve: s.serveSessionAnnounce},
		{Method: "POST", Path: "/v1/sessions/{id}/alive", Requires: access.Writer, Out: map[int]any{200: api.CampaignEvent{}, 400: api.Refusal{}, 404: api.Refusal{}},
			Summary: "The program of a campaign over HTTP is well. valid_for of the answer may be counted from when the request was sent.", Serve: s.serveSessionAlive},
	}
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
func (a *Server) open(w http.ResponseWriter) (*stream, error) {
	done, err := a.core.AcquireStream()
	if err != nil {
		return nil, err
	}
	s := &stream{w: w, c: http.NewResponseController(w), done: done}
	withoutDeadline(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if err := s.Flush(); err != nil { // it has hung up already
		s.done()
		return nil, err
	}
	return s, nil
}

// Put writes an event.
func (s *stream) Put(event string, data any) error {
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

func (s *stream) Flush() error {
	_ = s.c.SetWriteDeadline(time.Now().Add(streamLimit))
	return s.c.Flush()
}

// send writes an event at once.
func (s *stream) send(event string, data any) error {
	if err := s.Put(event, data); err != nil {
		return err
	}
	return s.Flush()
}

// comment keeps proxies from closing a stream on which nothing happens.
func (s *stream) comment() error {
	_ = s.c.SetWriteDeadline(time.Now().Add(streamLimit))
	if _, err := fmt.Fprint(s.w, ": still here\n\n"); err != nil {
		return err
	}
	return s.Flush()
}

// commentInterval is how often a stream on which nothing happens says anything.
const commentInterval = 15 * time.Second

func (a *Server) serveEvents(w http.ResponseWriter, q *http.Request) {
	s, err := a.open(w)
	if err != nil {
		WriteError(w, err)
		return
	}
	defer s.done()
	_ = a.core.WatchAll(q.Context(), &visible{stream: s, may: a.gate.Readable(q.Context())})
}

// visible is a stream about the groups that its reader may look at.
type visible struct {
	*stream
	may func(group string) bool
}

func (v *visible) Put(event string, data any) error {
	if e, ok := data.(api.StreamEvent); ok {
		if e.GroupInfo != nil && !v.may(e.Group) {
			return nil
		}
		e.Leases = slices.DeleteFunc(e.Leases, func(i api.SessionInfo) bool { return !v.may(i.Group) })
		data = e
	}
	return v.stream.Put(event, data)
}

// streamOf answers with a stream about the group of a request. f speaks on it, of what is known and of every change,
// until the reader goes.
func (a *Server) streamOf(w http.ResponseWriter, q *http.Request, f func(s *stream, group string, watch *core.Watcher, present []*api.Change)) {
	group, err := a.GroupOf(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	s, err := a.open(w)
	if err != nil {
		WriteError(w, err)
		return
	}
	defer s.done()
	watch, present := a.core.Known().Watch(group, core.WatchDepth)
	defer a.core.Known().Unwatch(watch)
	f(s, group, watch, present)
}

func (a *Server) serveGroupEvents(w http.ResponseWriter, q *http.Request) {
	a.streamOf(w, q, func(s *stream, group string, watch *core.Watcher, present []*api.Change) {
		if len(present) == 0 {
			present = []*api.Change{a.core.Unheard(group)}
		}
		for _, c := range present {
			if s.send("group", a.core.Event(c)) != nil {
				return
			}
		}
		_ = a.core.Follow(q.Context(), s, watch, commentInterval, s.comment)
	})
}
