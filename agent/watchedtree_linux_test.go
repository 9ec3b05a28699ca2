package agent

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// Who asks the agent to kill is believed about itself only, and about no shorter guard time than the agent's.
func TestARunnerIsBelievedOnlyAboutItself(t *testing.T) {
	a := &Agent{log: slog.New(slog.NewTextHandler(io.Discard, nil)), timing: regent.LAN}
	own := &session.Tree{Mark: "0123456789abcdef", Runner: os.Getpid()}
	self, other := peerWith(t, os.Getpid()), peerWith(t, os.Getppid())
	if _, err := a.watchTree(&session.Request{Tree: own}, other); err == nil || !strings.Contains(err.Error(), "is not the process that asks") {
		t.Errorf("another process was believed: %v", err)
	}
	for asked, want := range map[time.Duration]time.Duration{0: regent.LAN.Guard, time.Millisecond: regent.LAN.Guard, time.Second: time.Second} {
		k, err := a.watchTree(&session.Request{Tree: own, Guard: asked}, self)
		if err != nil || k.guard != want {
			t.Errorf("guard %v: %+v, %v, want %v", asked, k, err, want)
		}
	}
	// A program that is no runner has nothing to be killed.
	k, err := a.watchTree(&session.Request{}, self)
	if k != nil || err != nil {
		t.Errorf("%v, %v", k, err)
	}
}

// peerWith returns the process with the number as if it had opened a connection.
func peerWith(t *testing.T, pid int) *peer {
	t.Helper()
	fd, err := tree.OpenPeer(pid, os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{pid: pid, uid: os.Geteuid(), process: pollable(fd)}
	t.Cleanup(p.close)
	return p
}

// silence notifies a program that says nothing, and leads when it is told to.
type silence struct{ led chan struct{} }

func (v *silence) leads(*candidate)                     { close(v.led) }
func (v *silence) stop(*candidate, regent.Cause)        {}
func (v *silence) over(*candidate, regent.Cause, error) {}
func (v *silence) healed(*candidate, string)            {}
func (v *silence) renewed(c *candidate)                 { c.announceEnd() }
func (v *silence) await(t *testing.T, what string, c *candidate) {
	t.Helper()
	select {
	case <-v.led:
	case <-c.ended:
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
	a := open(t, 1, "").agents[0].agent
	for name, lose := range map[string]func(*candidate){"dead": (*candidate).markDead, "silent": (*candidate).disconnect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := &silence{led: make(chan struct{})}, &silence{led: make(chan struct{})}
			k := &candidate{group: name, program: "runner", via: "socket", notifier: first, tree: newWatchedTree(a, name, tree.Ref{}, a.timing.Guard)}
			gone, tries := make(chan struct{}), make(chan struct{}, 100)
			k.tree.look = func(context.Context) tree.Result {
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
			err := a.addCandidate(k)
			if err != nil {
				t.Fatal(err)
			}
			go k.run()
			first.await(t, "the runner", k)
			next := &candidate{group: name, program: "next", via: "socket", notifier: second}
			err = a.addCandidate(next)
			if err != nil {
				t.Fatal(err)
			}
			go next.run()
			defer next.markDead()
			lose(k)
			<-tries
			select {
			case <-second.led:
				if left := k.announced().Sub(a.now()); left > 0 {
					t.Errorf("the next program leads beside the processes of a runner, %v before the end that it knows", left)
				}
			case <-k.ended:
				t.Error("the candidacy ended while processes of its runner lived")
			case <-time.After(cluster.Patience):
				t.Error("a lease was renewed without end under processes that cannot be killed")
			}
			close(gone)
			<-k.ended
		})
	}
}

// kept returns a runner that leads, whose processes end as said.
func kept(t *testing.T, end func(context.Context) tree.Result) *candidate {
	t.Helper()
	a := open(t, 1, "").agents[0].agent
	v := &silence{led: make(chan struct{})}
	k := &candidate{group: "g", program: "runner", via: "socket", notifier: v, tree: newWatchedTree(a, "g", tree.Ref{}, a.timing.Guard)}
	k.tree.look = end
	if err := a.addCandidate(k); err != nil {
		t.Fatal(err)
	}
	go k.run()
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
	k.disconnect()
	<-looks
	k.reportStopped(protocol.Cause{}, newOrder(regent.Cause{}, ""))
	<-k.ended
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
	end := k.announced()
	k.markDead()
	<-k.ended
	cluster.Eventually(t, "the lease has run out", func() bool { return !k.currentLease().Valid() })
	if left := end.Sub(k.agent.now()); left > 0 {
		t.Errorf("given up %v before the end that was announced", left)
	}
}

// A runner that reports that nobody is left is believed: nothing is killed from then on.
func TestNothingIsKilledOnceTheRunnerReportsThatNobodyIsLeft(t *testing.T) {
	k := kept(t, func(context.Context) tree.Result { t.Error("it kills"); return proven })
	o := newOrder(regent.Cause{}, "")
	k.reportStopped(protocol.Cause{}, o)
	if err := <-o.outcome; err != nil {
		t.Error(err)
	}
	<-k.gone
}

// The cause that a runner has found out counts at its agent as well.
func TestCauseOfTheRunnerIsTheAgents(t *testing.T) {
	k := kept(t, func(context.Context) tree.Result { return proven })
	k.reportStopped(protocol.Cause{Code: protocol.LeaseExpired, Peer: protocol.Nobody}, newOrder(regent.Cause{}, ""))
	<-k.ended
	if got := k.life.Cause().Code; got != protocol.LeaseExpired {
		t.Errorf("the agent has %v", got)
	}
	if want := "the program said that it has stopped (lease expired)"; k.end.how != want {
		t.Errorf("history: %q, want %q", k.end.how, want)
	}
}
