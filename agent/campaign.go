package agent

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
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
	Cause *regent.Cause `json:"cause,omitempty"`
	Error string        `json:"error,omitempty"`
}

// streamNotifier speaks to a program over HTTP.
type streamNotifier struct {
	agent *Agent
	key   string
	// out are events to write, renewals says that there is a later end to tell.
	out      chan queuedEvent
	renewals chan struct{}
	// rejoined has the name of a member that is back.
	rejoined chan string
}

const (
	// maxProgramName is how many bytes the name of a program may have.
	maxProgramName = 64
	// maxQueuedEvents is how many events of one candidate may wait to be written; there are three at most.
	maxQueuedEvents = 4
)

type queuedEvent struct {
	event string
	data  CampaignEvent
}

// put queues an event. There are at most three in the life of a candidate, beside those of renewals.
func (n *streamNotifier) put(event string, data CampaignEvent) {
	select {
	case n.out <- queuedEvent{event, data}:
	default:
	}
}

// newEvent fills in what all events have.
func (n *streamNotifier) newEvent(k *candidate) CampaignEvent {
	e := CampaignEvent{Session: n.key, Group: k.group, Member: n.agent.name}
	if l := k.currentLease(); l != nil {
		e.Token = l.Token()
		e.ValidFor = n.agent.validFor(k.announced(), n.agent.timing.Delay)
	}
	return e
}

// validFor returns how far an end is off, less what may pass on the way.
func (a *Agent) validFor(end regent.Instant, way time.Duration) time.Duration {
	return max(0, end.Sub(a.now())-way)
}

func (n *streamNotifier) leads(k *candidate) { n.put("leads", n.newEvent(k)) }

func (n *streamNotifier) stop(k *candidate, cause regent.Cause) {
	e := n.newEvent(k)
	e.Cause = &cause
	n.put("stop", e)
}

func (n *streamNotifier) over(k *candidate, cause regent.Cause, err error) {
	e := n.newEvent(k)
	e.ValidFor, e.Cause = 0, &cause
	if err != nil {
		e.Error = err.Error()
	}
	n.agent.forgetCampaign(n.key)
	n.put("over", e)
}

func (n *streamNotifier) healed(_ *candidate, member string) {
	select {
	case n.rejoined <- member:
	default:
	}
}

func (n *streamNotifier) renewed(*candidate) {
	select {
	case n.renewals <- struct{}{}:
	default:
	}
}

// streamCampaigns finds campaigns over HTTP by their keys.
type streamCampaigns struct {
	mu  sync.Mutex
	all map[string]*candidate
}

func (a *Agent) forgetCampaign(key string) {
	a.streamCampaigns.mu.Lock()
	defer a.streamCampaigns.mu.Unlock()
	delete(a.streamCampaigns.all, key)
}

// serveCampaign lets a client be a candidate for as long as it reads.
func (a *Agent) serveCampaign(w http.ResponseWriter, q *http.Request) {
	var body CampaignOrder
	if err := decode(q, &body); err != nil {
		writeError(w, err)
		return
	}
	if body.Heartbeat < 0 || body.Grace < 0 || body.Heartbeat != 0 && body.Heartbeat < session.MinHeartbeat || len(body.Name) > maxProgramName {
		writeError(w, failf(http.StatusBadRequest, "heartbeat must be at least %v, grace not negative, and name at most %d bytes", session.MinHeartbeat, maxProgramName))
		return
	}
	if err := names.Check(body.Name); err != nil {
		writeError(w, failf(http.StatusBadRequest, "name %.40q: %w", body.Name, err))
		return
	}
	group, err := a.groupOf(q)
	if err != nil {
		writeError(w, err)
		return
	}
	v := &streamNotifier{agent: a, key: rand.Text(), out: make(chan queuedEvent, maxQueuedEvents), renewals: make(chan struct{}, 1), rejoined: make(chan string, 1)}
	k := &candidate{group: group, program: body.Name, via: "http", notifier: v, grace: body.Grace, heartbeat: body.Heartbeat}
	if err := a.addCandidate(k); err != nil {
		writeError(w, err)
		return
	}
	s, err := a.open(w)
	if err != nil {
		k.life.Give(tenure.Event{Kind: tenure.UpperGone}) // a tenure that nobody ends is kept
		a.unregister(k)
		writeError(w, err)
		return
	}
	defer s.done()
	a.streamCampaigns.mu.Lock()
	a.streamCampaigns.all[v.key] = k
	a.streamCampaigns.mu.Unlock()
	go k.run()
	// However the answer ends, the program is told of no later end. It is never proven dead: who reads a stream may be
	// anywhere.
	defer k.disconnect()
	if s.send("waiting", v.newEvent(k)) != nil {
		return
	}
	for {
		select {
		case e := <-v.out:
			if s.send(e.event, e.data) != nil || e.event == "over" {
				return
			}
		case <-v.renewals:
			k.announceEnd()
			if s.send("until", v.newEvent(k)) != nil {
				return
			}
		case member := <-v.rejoined:
			e := v.newEvent(k)
			e.Back = member
			if s.send("healed", e) != nil {
				return
			}
		case <-q.Context().Done():
			return
		}
	}
}

// sessionOf finds the campaign that a request is about.
func (a *Agent) sessionOf(q *http.Request) (*candidate, error) {
	a.streamCampaigns.mu.Lock()
	defer a.streamCampaigns.mu.Unlock()
	if k := a.streamCampaigns.all[q.PathValue("id")]; k != nil {
		return k, nil
	}
	return nil, failf(http.StatusNotFound, "no such session: it is over, or was never begun here")
}

func (a *Agent) serveSessionResign(w http.ResponseWriter, q *http.Request) {
	k, err := a.sessionOf(q)
	if err != nil {
		writeError(w, err)
		return
	}
	o := newOrder(regent.Cause{Why: why.Resigned, Member: a.name}, "")
	k.reportStopped(protocol.Cause{Peer: protocol.Nobody}, o)
	select {
	case <-o.outcome:
	case <-k.ended:
	}
	writeJSON(w, http.StatusOK, Health{OK: true})
}

func (a *Agent) serveSessionAlive(w http.ResponseWriter, q *http.Request) {
	k, err := a.sessionOf(q)
	if err != nil {
		writeError(w, err)
		return
	}
	k.recordHeartbeat()
	v := k.notifier.(*streamNotifier)
	e := v.newEvent(k)
	// The answer's length is counted from when the question was sent, so nothing passes on the way.
	e.ValidFor = a.validFor(k.announceEnd(), 0)
	writeJSON(w, http.StatusOK, e)
}
