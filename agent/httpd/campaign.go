package httpd

import (
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// streamNotifier speaks to a program over HTTP.
type streamNotifier struct {
	agent *Server
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
	data  api.CampaignEvent
}

// put queues an event. There are at most three in the life of a candidate, beside those of renewals.
func (n *streamNotifier) put(event string, data api.CampaignEvent) {
	select {
	case n.out <- queuedEvent{event, data}:
	default:
	}
}

// newEvent fills in what all events have.
func (n *streamNotifier) newEvent(k *core.Candidate) api.CampaignEvent {
	e := api.CampaignEvent{Session: n.key, Group: k.Group, Member: n.agent.core.About().Name}
	if l := k.CurrentLease(); l != nil {
		e.Token = l.Token()
	}
	if !k.Waits() {
		e.ValidFor = n.agent.validFor(k.Announced(), n.agent.core.About().Timing.Delay)
	}
	return e
}

// validFor returns how far an end is off, less what may pass on the way.
func (a *Server) validFor(end protocol.Time, way time.Duration) time.Duration {
	return max(0, end.Sub(a.core.Now())-way)
}

func (n *streamNotifier) Leads(k *core.Candidate) { n.put("leads", n.newEvent(k)) }

func (n *streamNotifier) Stop(k *core.Candidate, cause regent.Cause) {
	e := n.newEvent(k)
	e.Cause = &cause
	n.put("stop", e)
}

func (n *streamNotifier) Over(k *core.Candidate, cause regent.Cause, err error) {
	e := n.newEvent(k)
	e.ValidFor, e.Cause = 0, &cause
	if err != nil {
		e.Error = err.Error()
	}
	n.agent.forgetCampaign(n.key)
	n.put("over", e)
}

// Agreed is not called: no campaign over HTTP is for a consistent group.
func (n *streamNotifier) Agreed(*core.Candidate, regent.View) {}

func (n *streamNotifier) Healed(_ *core.Candidate, member string) {
	select {
	case n.rejoined <- member:
	default:
	}
}

func (n *streamNotifier) Renewed(*core.Candidate) {
	select {
	case n.renewals <- struct{}{}:
	default:
	}
}

// streamCampaigns finds campaigns over HTTP by their keys.
type streamCampaigns struct {
	mu  sync.Mutex
	all map[string]*core.Candidate
}

// Campaigns returns how many there are over HTTP.
func (a *Server) Campaigns() int {
	a.streamCampaigns.mu.Lock()
	defer a.streamCampaigns.mu.Unlock()
	return len(a.streamCampaigns.all)
}

func (a *Server) forgetCampaign(key string) {
	a.streamCampaigns.mu.Lock()
	defer a.streamCampaigns.mu.Unlock()
	delete(a.streamCampaigns.all, key)
}

// campaignOrder reads and checks the body of a campaign.
func (a *Server) campaignOrder(q *http.Request) (body api.CampaignOrder, err error) {
	if err := Decode(q, &body); err != nil {
		return body, err
	}
	if body.Heartbeat < 0 || body.Grace < 0 || body.Heartbeat != 0 && body.Heartbeat < session.MinHeartbeat || len(body.Name) > maxProgramName {
		return body, api.Errorf(http.StatusBadRequest, "heartbeat must be at least %v, grace not negative, and name at most %d bytes", session.MinHeartbeat, maxProgramName)
	}
	if err := names.Check(body.Name); err != nil {
		return body, api.Errorf(http.StatusBadRequest, "name %.40q: %w", body.Name, err)
	}
	if err := errors.Join(a.core.About().Timing.CheckLease(body.Lease), session.CheckValue(body.Value), session.CheckUnattended(body.Mode)); err != nil {
		return body, api.WithStatus(http.StatusBadRequest, err)
	}
	return body, nil
}

// serveCampaign lets a client be a candidate for as long as it reads.
func (a *Server) serveCampaign(w http.ResponseWriter, q *http.Request) {
	body, err := a.campaignOrder(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	group, err := a.GroupOf(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	v := &streamNotifier{agent: a, key: rand.Text(), out: make(chan queuedEvent, maxQueuedEvents), renewals: make(chan struct{}, 1), rejoined: make(chan string, 1)}
	k, err := a.core.AddCandidate(core.Candidacy{Candidate: session.Candidate{Group: group, Mode: body.Mode, Lease: body.Lease, Name: body.Name, Value: body.Value, Heartbeat: body.Heartbeat, Grace: body.Grace},
		Via: "http", Notifier: v})
	if err != nil {
		WriteError(w, err)
		return
	}
	s, err := a.open(w)
	if err != nil {
		k.Withdraw()
		WriteError(w, err)
		return
	}
	defer s.done()
	a.streamCampaigns.mu.Lock()
	a.streamCampaigns.all[v.key] = k
	a.streamCampaigns.mu.Unlock()
	go k.Run()
	// However the answer ends, no later end is announced to the program. It is never proven dead: who reads a stream may be
	// anywhere.
	defer k.Disconnect()
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
			k.AnnounceEnd()
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
func (a *Server) sessionOf(q *http.Request) (*core.Candidate, error) {
	a.streamCampaigns.mu.Lock()
	defer a.streamCampaigns.mu.Unlock()
	if k := a.streamCampaigns.all[q.PathValue("id")]; k != nil {
		return k, nil
	}
	return nil, api.Errorf(http.StatusNotFound, "no such session: it is over, or was never begun here")
}

func (a *Server) serveSessionResign(w http.ResponseWriter, q *http.Request) {
	k, err := a.sessionOf(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	o := core.NewOrder(regent.Cause{Why: why.Resigned, Member: a.core.About().Name}, "")
	k.ReportStopped(protocol.Cause{Peer: protocol.Nobody}, o)
	select {
	case <-o.Outcome:
	case <-k.Ended:
	}
	WriteJSON(w, http.StatusOK, api.Health{OK: true})
}

func (a *Server) serveSessionAnnounce(w http.ResponseWriter, q *http.Request) {
	k, err := a.sessionOf(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	var body api.AnnounceOrder
	if err := Decode(q, &body); err != nil {
		WriteError(w, err)
		return
	}
	if err := session.CheckValue(body.Value); err != nil {
		WriteError(w, api.Errorf(http.StatusBadRequest, "%w", err))
		return
	}
	if err := k.SetValue(body.Value); err != nil {
		WriteError(w, api.Errorf(http.StatusConflict, "%w", err))
		return
	}
	WriteJSON(w, http.StatusOK, api.Health{OK: true})
}

func (a *Server) serveSessionAlive(w http.ResponseWriter, q *http.Request) {
	k, err := a.sessionOf(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	k.RecordHeartbeat()
	v := k.Notifier.(*streamNotifier)
	e := v.newEvent(k)
	// The answer's length is counted from when the question was sent, so nothing passes on the way.
	e.ValidFor = a.validFor(k.AnnounceEnd(), 0)
	WriteJSON(w, http.StatusOK, e)
}
