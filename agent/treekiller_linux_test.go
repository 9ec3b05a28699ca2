package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/session"
)

// Who asks the agent to kill is believed about itself only, and about no shorter guard time than the agent's.
func TestARunnerIsBelievedOnlyAboutItself(t *testing.T) {
	a := &Agent{log: slog.New(slog.NewTextHandler(io.Discard, nil)), timing: regent.LAN}
	own := &session.Tree{Mark: "0123456789abcdef", Runner: os.Getpid()}
	if _, err := a.watchTree(&session.Request{Tree: own}, os.Getppid()); err == nil || !strings.Contains(err.Error(), "is not the process that asks") {
		t.Errorf("another process was believed: %v", err)
	}
	for asked, want := range map[time.Duration]time.Duration{0: regent.LAN.Guard, time.Millisecond: regent.LAN.Guard, time.Second: time.Second} {
		k, err := a.watchTree(&session.Request{Tree: own, Guard: asked}, os.Getpid())
		if err != nil || k.guard != want {
			t.Errorf("guard %v: %+v, %v, want %v", asked, k, err, want)
		}
	}
	// A program that is no runner has nothing to be killed.
	k, err := a.watchTree(&session.Request{}, os.Getpid())
	if k != nil || err != nil {
		t.Errorf("%v, %v", k, err)
	}
	k.kill()
	k.killAndWait()
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

// A runner that is dead, or silent until its lease is over, has left processes behind that take long to die. Until the last of
// them is gone the group is not given up: the next candidate would lead beside them.
func TestNothingIsGivenUpBeforeTheTreeIsGone(t *testing.T) {
	t.Parallel()
	a := open(t, 1, "").agents[0].agent
	for name, lose := range map[string]func(*candidate){"dead": (*candidate).markDead, "silent": (*candidate).disconnect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := &silence{led: make(chan struct{})}, &silence{led: make(chan struct{})}
			k := &candidate{group: name, program: "runner", via: "socket", notifier: first}
			err := a.addCandidate(k)
			if err != nil {
				t.Fatal(err)
			}
			gone, tries := make(chan struct{}), make(chan struct{}, 100)
			k.killer = newTreeKiller(a, name, tree.Ref{}, a.timing.Guard)
			k.killer.killAll = func(context.Context) error {
				select {
				case tries <- struct{}{}:
				default:
				}
				select {
				case <-gone:
					return nil
				case <-time.After(10 * time.Millisecond):
					return errors.New("one of them waits for its disk")
				}
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
				t.Error("the next program leads beside the processes of a runner")
			case <-k.ended:
				t.Error("the group was given up while processes of its runner lived")
			case <-time.After(2 * a.timing.Lease): // wall clock: what must not happen within any time
			}
			close(gone)
			second.await(t, "the next program", next)
		})
	}
}

// kept returns a runner that leads, whose processes end as said.
func kept(t *testing.T, end func(context.Context) error) *candidate {
	t.Helper()
	a := open(t, 1, "").agents[0].agent
	v := &silence{led: make(chan struct{})}
	k := &candidate{group: "g", program: "runner", via: "socket", notifier: v}
	if err := a.addCandidate(k); err != nil {
		t.Fatal(err)
	}
	k.killer = newTreeKiller(a, "g", tree.Ref{}, a.timing.Guard)
	k.killer.killAll = end
	go k.run()
	v.await(t, "the runner", k)
	return k
}

// What a runner starts for its next leadership looks like what it started for the last one. So the agent is done with that
// before the runner is told to go on.
func TestRunnerGoesOnWhenTheAgentHasDoneKilling(t *testing.T) {
	looks, seen := make(chan struct{}), make(chan struct{})
	k := kept(t, func(context.Context) error {
		close(looks)
		<-seen
		return nil
	})
	k.killer.kill()
	<-looks
	o := newOrder(regent.Cause{}, "")
	k.stopped <- o
	select {
	case <-o.outcome:
		close(seen)
		t.Fatal("the runner goes on while the agent looks for its processes")
	case <-time.After(50 * time.Millisecond): // wall clock: what must not happen
	}
	close(seen)
	if err := <-o.outcome; err != nil {
		t.Error(err)
	}
}

// A transfer that is refused ends nothing: the runner is looked after as before.
func TestRunnerIsLookedAfterWhenATransferWasRefused(t *testing.T) {
	looks := make(chan struct{}, 10)
	k := kept(t, func(context.Context) error { looks <- struct{}{}; return nil })
	o := newOrder(regent.Cause{}, "nobody")
	k.stopped <- o
	var refused *transferError
	if err := <-o.outcome; !errors.As(err, &refused) || refused.begun {
		t.Fatalf("the transfer to nobody: %v", err)
	}
	k.markDead()
	select {
	case <-k.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the runner is dead, and its group is not given up")
	}
	if len(looks) == 0 {
		t.Error("nobody looked for what a dead runner left")
	}
}

// Whom the agent is about to kill is told of no later end, though the lease was renewed that moment: it would take its death for
// its own.
func TestWhoIsBeingKilledIsToldOfNoLaterEnd(t *testing.T) {
	a := open(t, 1, "").agents[0].agent
	k := &candidate{group: "g", program: "runner", via: "socket", notifier: &unread{silence{led: make(chan struct{})}}}
	if err := a.addCandidate(k); err != nil {
		t.Fatal(err)
	}
	go k.run()
	k.notifier.(*unread).await(t, "the runner", k)
	defer k.markDead()
	told := k.announceEnd()
	if k.untilKill(0) <= 0 {
		t.Fatal("its end has passed: the test shows nothing")
	}
	if k.untilKill(time.Hour) > 0 {
		t.Fatal("an hour before its end has not come yet")
	}
	cluster.Eventually(t, "the lease is renewed", func() bool { return k.currentLease().Until()-regent.Instant(k.margin) > told })
	if got := k.announceEnd(); got != told {
		t.Errorf("it was told %v, and is told %v while it is killed", told, got)
	}
}

// A runner that says that nobody is left is believed: nothing is killed from then on.
func TestNothingIsKilledOnceTheRunnerSaysThatNobodyIsLeft(t *testing.T) {
	own, err := clock.System()
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{clock: own}
	k := newTreeKiller(a, "g", tree.Ref{}, 0)
	k.killAll = func(context.Context) error { t.Error("it kills"); return nil }
	k.disarm()
	k.run(&candidate{agent: a, deadline: newDeadlines(a.now).newDeadline(0)}, nil) // whose end has passed
	<-k.gone
}
