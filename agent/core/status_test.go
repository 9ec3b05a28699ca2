package core

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// lead returns a candidate that leads.
func lead(t *testing.T, a *Agent, p Candidacy) *Candidate {
	t.Helper()
	v := &silence{led: make(chan struct{})}
	p.Notifier = v
	k, err := a.AddCandidate(p)
	if err != nil {
		t.Fatal(err)
	}
	go k.Run()
	t.Cleanup(k.MarkDead)
	v.await(t, "the program", k)
	return k
}

func TestRoleIsAskedOfTheLeaseAtTheMomentOfAnswering(t *testing.T) {
	a := Joined(t)
	k := lead(t, a, Candidacy{Candidate: session.Candidate{Group: "g"}})
	if i := a.Role("g"); i.Role != "primary" {
		t.Fatalf("before: %+v", i)
	}
	// As after a pause of the whole agent: the end has passed, and nobody has noticed yet.
	before := a.Now().Add(-time.Hour)
	late := &Candidate{agent: a, Candidacy: Candidacy{Candidate: session.Candidate{Group: "g"}}, lease: k.CurrentLease(), Ended: k.Ended}
	late.life = party.New(party.Options{Clock: clock.Of(func() protocol.Time { return before }), Do: func(tenure.Effect) {}})
	late.life.Give(tenure.Event{Kind: tenure.Elected, Token: k.CurrentLease().Token(), At: before, Until: before.Add(time.Minute)})
	a.setLeader(late)
	if i := a.Role("g"); i.Role == "primary" || i.Name == "a" {
		t.Errorf("role: %+v", i)
	}
	if c, _ := a.ChangeLog.Group("g"); c != nil {
		if leads, left := a.LeadsHere(c); leads || left > 0 {
			t.Errorf("metrics: it leads for %v", left)
		}
	}
	if l := late.CurrentLease(); !l.Valid() {
		t.Error("the lease is over: the test shows nothing")
	}
	select {
	case <-k.Ended:
		t.Error("somebody has noticed: the test shows nothing")
	default:
	}
}

func TestClockBeyondItsBoundIsSaidWithWhatToDo(t *testing.T) {
	a := Joined(t)
	if why := a.NotReady(); why != "" {
		t.Fatalf("before: %s", why)
	}
	// What the member would say. That it finds out, and leads nothing then, the library's own tests show.
	g := &a.statusCache
	g.mu.Lock()
	g.status.ClockFault, g.at = true, time.Now().Add(time.Hour)
	g.mu.Unlock()
	if why := a.NotReady(); !strings.Contains(why, "leads nothing until it is right") || !strings.Contains(why, "chronyc tracking") {
		t.Errorf("not ready: %s", why)
	}
	if !a.Status().ClockFault {
		t.Error("the status does not have it")
	}
}

// A client that gave an order sees in the status what became of it, though the status was read a moment before.
func TestStatusAfterAnOrderIsNew(t *testing.T) {
	a := Joined(t)
	g := &a.statusCache
	before := a.Status().Council.Number
	g.mu.Lock()
	g.council.Number, g.at = before+7, time.Now().Add(time.Hour)
	g.mu.Unlock()
	if now := a.Status().Council.Number; now != before+7 {
		t.Fatalf("a status is kept for a moment: number %d", now)
	}
	if _, err := a.AcknowledgeCouncil(t.Context()); err == nil {
		t.Fatal("there is nothing to acknowledge")
	}
	if now := a.Status().Council.Number; now != before {
		t.Errorf("the status has number %d after an order, and the council %d", now, before)
	}
}

// A fakeProof holds for a while.
type fakeProof time.Duration

func (p fakeProof) Remaining() time.Duration { return time.Duration(p) }

func TestProofThatComesTooLateIsAskedForAgain(t *testing.T) {
	failed := errors.New("asked too often")
	asked, late := 0, 3
	ask := func(context.Context) (fakeProof, error) {
		asked++
		if asked > 5 {
			return 0, failed
		}
		return fakeProof(time.Duration(asked-late+1) * session.Skew), nil
	}
	p, err := proveInTime(t.Context(), ask) // the third has no more left than programs are told less
	if err != nil || time.Duration(p) != 2*session.Skew || asked != 4 {
		t.Errorf("%v, %v after %d questions", p, err, asked)
	}
	asked, late = 0, 100
	if _, err := proveInTime(t.Context(), ask); !errors.Is(err, ErrLateProof) || asked != proofTries {
		t.Errorf("%v after %d questions", err, asked)
	}
	if _, err := proveInTime(t.Context(), ask); !errors.Is(err, failed) {
		t.Errorf("an error was not passed on: %v", err)
	}
}
