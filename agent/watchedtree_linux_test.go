package agent

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
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

// A member may have lost the lease before it learns that the program has stopped. Its cause counts at the agent as well.
func TestCauseOfTheMemberIsTheAgents(t *testing.T) {
	a := open(t, 1, "").agents[0].agent
	m, err := a.awaitMember(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &candidate{agent: a, group: "g", program: "program"}
	c.lease, err = must(m.Group("g")).Campaign(c.hold.Into(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	c.life = party.New(party.Options{Clock: agentClock{a}, Do: func(tenure.Effect) {}, Config: tenure.Config{Lower: tenure.Program}})
	c.life.Give(tenure.Event{Kind: tenure.Elected, Token: c.lease.Token(), At: protocol.Time(a.now()), Until: protocol.Time(c.lease.Until())})
	c.hold.Lapse(protocol.Unhealthy, a.name)
	cluster.Eventually(t, "the lease has run out", func() bool { return !c.lease.Valid() })
	c.life.Give(tenure.Event{Kind: tenure.ProgramStopped, Cause: protocol.Cause{Code: protocol.Resigned, Peer: protocol.Nobody}})
	c.release()
	if got := c.life.Cause().Code; got != protocol.Unhealthy {
		t.Errorf("the agent has %v, and the member %v", got, c.lease.Cause())
	}
}

// The agent's own killers heed its configuration, and runners learn of it.
func TestOrdinaryAgentsKillWithOrdinaryThreads(t *testing.T) {
	policy := make(chan uint32, 1)
	r := open(t, 1, "").agents[0] // whose configuration has realtime: false
	w := newWatchedTree(r.agent, "g", tree.Ref{}, 0)
	w.found = func(func() bool, tenure.Kind) {}
	w.look = func(context.Context) tree.Result {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Error(err)
			attr = new(unix.SchedAttr)
		}
		policy <- attr.Policy
		return proven
	}
	w.begin()
	if p := <-policy; p != unix.SCHED_NORMAL {
		t.Errorf("the killer has policy %d", p)
	}
	if !r.dial(t).Greeting().Ordinary {
		t.Error("runners do not learn of it")
	}
}

// A runner's first process is known by more than its number: it is a child of the runner that leads a session.
func TestAgentLearnsTheFirstProcessOfARunner(t *testing.T) {
	r := open(t, 1, "").agents[0]
	c := r.dial(t)
	elected := make(chan struct{}, 1)
	claim := session.Tree{Mark: "a mark of this test", Runner: os.Getpid()}
	k, err := c.Enter(session.Candidate{Group: "g", Tree: &claim}, func(e *session.Event) {
		if e.Event == session.Leads {
			elected <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-elected
	first := exec.Command("/bin/sleep", "1000")
	first.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	second := exec.Command("/bin/sleep", "1000")
	late := exec.Command("/bin/sleep", "1000")
	late.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, p := range []*exec.Cmd{first, second, late} {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		defer p.Wait()
		defer p.Process.Kill()
	}
	known := func() int { return r.agent.candidateList()[0].tree.ref().First.Pid }
	for _, pid := range []int{second.Process.Pid, os.Getppid(), first.Process.Pid} {
		if err := k.Started(pid); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "the agent knows the first process", func() bool { return known() != 0 })
	if pid := known(); pid != first.Process.Pid {
		t.Errorf("the agent takes %d for the first process, which is %d", pid, first.Process.Pid)
	}
	cluster.Eventually(t, "the note names it", func() bool {
		notes, _ := r.agent.orphans.load()
		return len(notes) == 1 && notes[0].Tree.First.Pid == first.Process.Pid
	})
	if err := r.agent.candidateList()[0].learn(late.Process.Pid); err == nil || known() != first.Process.Pid {
		t.Errorf("another first process was taken: %v, now it is %d", err, known())
	}
	_ = k.Stopped(why.Cause{})
}

// What is left is named where people look.
func TestHistoryNamesWhatMayBeLeft(t *testing.T) {
	t.Parallel()
	k := kept(t, func(context.Context) tree.Result {
		return tree.Result{Search: tenure.Search{Foreign: 1}, Foreign: []tree.Process{{Identity: tenure.Identity{Pid: 4711}, Name: "sudo"}}}
	})
	k.markDead()
	<-k.ended
	const want = "the program died; something of what it had started may be left, so the lease ran out (of other users, not killed: 4711 (sudo, user 0))"
	cluster.Eventually(t, "the history names it", func() bool {
		c, _ := k.agent.changes.group("g")
		return c != nil && c.Ended == want
	})
}
