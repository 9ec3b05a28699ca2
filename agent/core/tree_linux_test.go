package core

import (
	"context"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// silence notifies a program that says nothing, and leads when it is told to.
type silence struct{ led chan struct{} }

func (v *silence) Leads(*Candidate) { close(v.led) }

func (v *silence) Stop(*Candidate, regent.Cause) {}

func (v *silence) Over(*Candidate, regent.Cause, error) {}

func (v *silence) Healed(*Candidate, string)      {}
func (v *silence) Agreed(*Candidate, regent.View) {}

func (v *silence) Renewed(c *Candidate) { c.AnnounceEnd() }

func (v *silence) await(t *testing.T, what string, c *Candidate) {
	t.Helper()
	select {
	case <-v.led:
	case <-c.Ended:
		t.Fatalf("%s: its candidacy ended", what)
	case <-time.After(20 * time.Second):
		t.Fatalf("%s never led", what)
	}
}

// proven is what a search finds that proves that nothing is left.
var proven = tree.Result{Search: tenure.Search{Cgroup: tenure.Empty}}

// A runner that is dead, or silent until its lease is over, has left processes behind that take long to die. Until the last of
// them is gone the group is not released: the lease runs out to the end that was announced to them.
func TestNothingIsGivenUpUnderATreeBeforeItsAnnouncedEnd(t *testing.T) {
	t.Parallel()
	a := Joined(t)
	for name, lose := range map[string]func(*Candidate){"dead": (*Candidate).MarkDead, "silent": (*Candidate).Disconnect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := &silence{led: make(chan struct{})}, &silence{led: make(chan struct{})}
			p := Candidacy{Candidate: session.Candidate{Group: name, Name: "runner"}, Via: "socket", Notifier: first, Tree: a.Trees.Watch(name, tree.Ref{}, a.Timing.Guard)}
			gone, tries := make(chan struct{}), make(chan struct{}, 100)
			p.Tree.Look = func(context.Context) tree.Result {
				select {
				case tries <- struct{}{}:
				default:
				}
				select {
				case <-gone:
					return proven
				case <-time.After(10 * time.Millisecond):
					return tree.Result{Search: tenure.Search{Left: 1}} // it waits for its disk
				}
			}
			k, err := a.AddCandidate(p)
			if err != nil {
				t.Fatal(err)
			}
			go k.Run()
			first.await(t, "the runner", k)
			next, err := a.AddCandidate(Candidacy{Candidate: session.Candidate{Group: name, Name: "next"}, Via: "socket", Notifier: second})
			if err != nil {
				t.Fatal(err)
			}
			go next.Run()
			defer next.MarkDead()
			lose(k)
			<-tries
			select {
			case <-second.led:
				if left := k.Announced().Sub(a.Now()); left > 0 {
					t.Errorf("the next program leads beside the processes of a runner, %v before the end that it knows", left)
				}
			case <-k.Ended:
				t.Error("the candidacy ended while processes of its runner lived")
			case <-time.After(cluster.Patience):
				t.Error("a lease was renewed without end under processes that cannot be killed")
			}
			close(gone)
			<-k.Ended
		})
	}
}

// kept returns a runner that leads, whose processes end as said.
func kept(t *testing.T, end func(context.Context) tree.Result) *Candidate {
	t.Helper()
	a := Joined(t)
	v := &silence{led: make(chan struct{})}
	p := Candidacy{Candidate: session.Candidate{Group: "g", Name: "runner"}, Via: "socket", Notifier: v, Tree: a.Trees.Watch("g", tree.Ref{}, a.Timing.Guard)}
	p.Tree.Look = end
	k, err := a.AddCandidate(p)
	if err != nil {
		t.Fatal(err)
	}
	go k.Run()
	v.await(t, "the runner", k)
	return k
}

// What a runner starts for its next leadership looks like what it started for the last one. So the agent is done with that
// before the runner may lead again.
func TestRunnerLeadsAgainWhenTheAgentHasDoneKilling(t *testing.T) {
	looks, seen := make(chan struct{}), make(chan struct{})
	k := kept(t, func(context.Context) tree.Result {
		close(looks)
		<-seen
		return proven
	})
	k.Disconnect()
	<-looks
	k.ReportStopped(protocol.Cause{}, NewOrder(regent.Cause{}, ""))
	<-k.Ended
	select {
	case <-k.gone:
		t.Error("the runner may lead again while the agent looks for its processes")
	case <-time.After(50 * time.Millisecond): // wall clock: what must not happen
	}
	close(seen)
	<-k.gone
}

// A dead runner without a cgroup leaves what cannot be found, or is not there: nobody knows. Its lease runs out.
func TestNothingIsReleasedUnderWhatIsNotKnownToBeGone(t *testing.T) {
	t.Parallel()
	k := kept(t, func(context.Context) tree.Result { return tree.Result{} })
	end := k.Announced()
	k.MarkDead()
	<-k.Ended
	cluster.Eventually(t, "the lease has run out", func() bool { return !k.CurrentLease().Valid() })
	if left := end.Sub(k.agent.Now()); left > 0 {
		t.Errorf("given up %v before the end that was announced", left)
	}
}

// A runner that reports that nobody is left is believed: nothing is killed from then on.
func TestNothingIsKilledOnceTheRunnerReportsThatNobodyIsLeft(t *testing.T) {
	k := kept(t, func(context.Context) tree.Result { t.Error("it kills"); return proven })
	o := NewOrder(regent.Cause{}, "")
	k.ReportStopped(protocol.Cause{}, o)
	if err := <-o.Outcome; err != nil {
		t.Error(err)
	}
	<-k.gone
}

// The cause that a runner has found out counts at its agent as well.
func TestCauseOfTheRunnerIsTheAgents(t *testing.T) {
	k := kept(t, func(context.Context) tree.Result { return proven })
	k.ReportStopped(protocol.Cause{Code: protocol.LeaseExpired, Peer: protocol.Nobody}, NewOrder(regent.Cause{}, ""))
	<-k.Ended
	if got := k.life.Cause().Code; got != protocol.LeaseExpired {
		t.Errorf("the agent has %v", got)
	}
	if want := "the program said that it has stopped (lease expired)"; k.end.how != want {
		t.Errorf("history: %q, want %q", k.end.how, want)
	}
}

// A member may have lost the lease before it learns that the program has stopped. Its cause counts at the agent as well.
func TestCauseOfTheMemberIsTheAgents(t *testing.T) {
	a := Joined(t)
	m, err := a.AwaitMember(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &Candidate{agent: a, Candidacy: Candidacy{Candidate: session.Candidate{Group: "g", Name: "program"}}}
	g, err := m.Group("g")
	if err != nil {
		t.Fatal(err)
	}
	c.lease, err = g.Campaign(c.hold.Into(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	c.life = party.New(party.Options{Clock: agentClock{a}, Do: func(tenure.Effect) {}, Config: tenure.Config{Lower: tenure.Program}})
	c.life.Give(tenure.Event{Kind: tenure.Elected, Token: c.numberOf(c.lease), At: a.Now(), Until: c.LeaseEnd()})
	c.hold.Lapse(protocol.Unhealthy, a.Name)
	cluster.Eventually(t, "the lease has run out", func() bool { return !c.lease.Valid() })
	c.life.Give(tenure.Event{Kind: tenure.ProgramStopped, Cause: protocol.Cause{Code: protocol.Resigned, Peer: protocol.Nobody}})
	c.release()
	if got := c.life.Cause().Code; got != protocol.Unhealthy {
		t.Errorf("the agent has %v, and the member %v", got, c.lease.Cause())
	}
}

// What is left is named where people look.
func TestHistoryNamesWhatMayBeLeft(t *testing.T) {
	t.Parallel()
	k := kept(t, func(context.Context) tree.Result {
		return tree.Result{Search: tenure.Search{Foreign: 1}, Foreign: []tree.Process{{Identity: tenure.Identity{Pid: 4711}, Name: "sudo"}}}
	})
	k.MarkDead()
	<-k.Ended
	const want = "the program died; something of what it had started may be left, so the lease ran out (of other users, not killed: 4711 (sudo, user 0))"
	cluster.Eventually(t, "the history names it", func() bool {
		c, _ := k.agent.ChangeLog.Group("g")
		return c != nil && c.Ended == want
	})
}
