package agent

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// CampaignOrder is the body of a campaign. All lengths are in nanoseconds.
type CampaignOrder struct {
	// Name is what the program calls itself.
	Name string `json:"name,omitempty"`
	// Heartbeat, if it is not zero, is how long the program may go without asking alive.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	// Grace is how long it may take to stop when it is asked to.
	Grace time.Duration `json:"grace,omitempty"`
}

// CampaignEvent is the data of an event of a campaign.
type CampaignEvent struct {
	// Session names the campaign in requests about it. Keep it secret: who has it can say that the program has stopped.
	Session string `json:"session,omitempty"`
	Group   string `json:"group"`
	Member  string `json:"member"`
	Token   uint64 `json:"token,omitempty"`
	// ValidFor is how long the program leads, in nanoseconds, counted from when the event is read. It allows for the
	// delay that the configuration calls fast; who needs certainty asks alive, and counts from when it asked.
	ValidFor time.Duration `json:"valid_for"`
	// Back is of healed: the member that is back.
	Back string `json:"back,omitempty"`
	// Cause is of stop and over.
	Cause *session.Cause `json:"cause,omitempty"`
	Error string         `json:"error,omitempty"`
}

// streamVoice speaks to a program over HTTP.
type streamVoice struct {
	agent *Agent
	key   string
	// out are events to write, later says that there is a later end to tell.
	out   chan saying
	later chan struct{}
	// back has the name of a member that is back.
	back chan string
}

type saying struct {
	event string
	data  CampaignEvent
}

// put queues an event. There are at most three in the life of a candidate, beside those of renewals.
func (v *streamVoice) put(event string, data CampaignEvent) {
	select {
	case v.out <- saying{event, data}:
	default:
	}
}

// about fills in what all events have.
func (v *streamVoice) about(k *candidate) CampaignEvent {
	e := CampaignEvent{Session: v.key, Group: k.group, Member: v.agent.name}
	if l := k.current(); l != nil {
		e.Token = l.Token()
		e.ValidFor = v.agent.validFor(k.end(), v.agent.timing.Delay)
	}
	return e
}

// validFor returns how far an end is off, less what may pass on the way.
func (a *Agent) validFor(end regent.Instant, way time.Duration) time.Duration {
	return max(0, end.Sub(a.now())-way)
}

func (v *streamVoice) leads(k *candidate) { v.put("leads", v.about(k)) }

func (v *streamVoice) stop(k *candidate, cause regent.Cause) {
	e := v.about(k)
	e.Cause = causeOf(cause)
	v.put("stop", e)
}

func (v *streamVoice) over(k *candidate, cause regent.Cause, err error) {
	e := v.about(k)
	e.ValidFor, e.Cause = 0, causeOf(cause)
	if err != nil {
		e.Error = err.Error()
	}
	v.agent.forget(v.key)
	v.put("over", e)
}

func (v *streamVoice) healed(_ *candidate, member string) {
	select {
	case v.back <- member:
	default:
	}
}

func (v *streamVoice) renewed(*candidate) {
	select {
	case v.later <- struct{}{}:
	default:
	}
}

// streamed finds campaigns over HTTP by their keys.
type streamed struct {
	mu  sync.Mutex
	all map[string]*candidate
}

func (a *Agent) forget(key string) {
	a.streamed.mu.Lock()
	defer a.streamed.mu.Unlock()
	delete(a.streamed.all, key)
}

// serveCampaign lets a client be a candidate for as long as it reads.
func (a *Agent) serveCampaign(w http.ResponseWriter, q *http.Request) {
	var body CampaignOrder
	if err := decode(q, &body); err != nil {
		refuse(w, err)
		return
	}
	if body.Heartbeat < 0 || body.Grace < 0 || body.Heartbeat != 0 && body.Heartbeat < session.MinHeartbeat || len(body.Name) > 64 {
		refuse(w, failf(http.StatusBadRequest, "heartbeat must be at least %v, grace not negative, and name at most 64 bytes", session.MinHeartbeat))
		return
	}
	group, err := a.groupOf(q)
	if err != nil {
		refuse(w, err)
		return
	}
	v := &streamVoice{agent: a, key: rand.Text(), out: make(chan saying, 4), later: make(chan struct{}, 1), back: make(chan string, 1)}
	k := &candidate{group: group, program: body.Name, via: "http", voice: v, grace: body.Grace, heartbeat: body.Heartbeat}
	if err := a.begin(k); err != nil {
		refuse(w, err)
		return
	}
	s, err := a.open(w)
	if err != nil {
		a.leave(k)
		refuse(w, err)
		return
	}
	defer s.done()
	a.streamed.mu.Lock()
	a.streamed.all[v.key] = k
	a.streamed.mu.Unlock()
	go k.run()
	// However the answer ends, the program is told of no later end. It is never proven dead: who reads a stream may be
	// anywhere.
	defer k.hangUp()
	if s.say("waiting", v.about(k)) != nil {
		return
	}
	for {
		select {
		case e := <-v.out:
			if s.say(e.event, e.data) != nil || e.event == "over" {
				return
			}
		case <-v.later:
			if s.say("until", v.about(k)) != nil {
				return
			}
		case member := <-v.back:
			e := v.about(k)
			e.Back = member
			if s.say("healed", e) != nil {
				return
			}
		case <-q.Context().Done():
			return
		}
	}
}

// sessionOf finds the campaign that a request is about.
func (a *Agent) sessionOf(q *http.Request) (*candidate, error) {
	a.streamed.mu.Lock()
	defer a.streamed.mu.Unlock()
	if k := a.streamed.all[q.PathValue("id")]; k != nil {
		return k, nil
	}
	return nil, failf(http.StatusNotFound, "no such session: it is over, or was never begun here")
}

func (a *Agent) serveSessionResign(w http.ResponseWriter, q *http.Request) {
	k, err := a.sessionOf(q)
	if err != nil {
		refuse(w, err)
		return
	}
	o := newOrder(regent.Cause{Why: why.Resigned, Member: a.name}, "")
	select {
	case k.stopped <- o:
	case <-k.ended:
	}
	select {
	case <-o.outcome:
	case <-k.ended:
	}
	answer(w, 200, Health{OK: true})
}

func (a *Agent) serveSessionAlive(w http.ResponseWriter, q *http.Request) {
	k, err := a.sessionOf(q)
	if err != nil {
		refuse(w, err)
		return
	}
	k.beat()
	v := k.voice.(*streamVoice)
	e := v.about(k)
	// The answer's length is counted from when the question was sent, so nothing passes on the way.
	e.ValidFor = a.validFor(k.end(), 0)
	answer(w, 200, e)
}
