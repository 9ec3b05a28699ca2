package core

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/core/coretest/alone"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/session"
)

// obedience is of a program that stops as soon as it is asked to.
type obedience struct{ silence }

func (v *obedience) Stop(c *Candidate, _ regent.Cause) { go c.Goodbye() }

// A program that waits for a turn does not keep its agent from leaving.
func TestLeavingEndsThoseThatWaitInGroupsThatHostsLead(t *testing.T) {
	a := Joined(t, "groups: [{name: cache, mode: local}, {name: ops, mode: eventual}]\n")
	ctx, leave := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	a.openGroups(ctx, &tasks)
	var waiting []*Candidate
	for group, mode := range map[string]regent.Mode{"cache": regent.Local, "ops": regent.Eventual} {
		for i := range 2 {
			v := &obedience{silence{led: make(chan struct{})}}
			c, err := a.AddCandidate(Candidacy{Candidate: session.Candidate{Group: group, Mode: mode}, Notifier: v})
			if err != nil {
				t.Fatal(err)
			}
			go c.Run()
			if i == 0 {
				v.await(t, "the program", c)
			} else {
				waiting = append(waiting, c)
			}
		}
	}
	leave()
	if err := a.Leave(func(context.Context) {}); err != nil {
		t.Error(err)
	}
	tasks.Wait()
	for _, c := range waiting {
		select {
		case <-c.Ended:
		default:
			t.Errorf("the program still waits to lead %s", c.Group)
		}
	}
}

func TestAGuardTimeThatDoesNotFitTheLeaseOfTheHostIsRefused(t *testing.T) {
	a := Joined(t, "consistent: true\ngroups: [{name: cache, mode: local}, {name: ops, mode: eventual}, {name: set, mode: consistent}]\n")
	for group, mode := range map[string]regent.Mode{"cache": regent.Local, "ops": regent.Eventual} {
		p := Candidacy{Candidate: session.Candidate{Group: group, Mode: mode}, Margin: session.Skew, Notifier: &silence{led: make(chan struct{})}}
		longest := a.longestGuard(&Candidate{Candidacy: p}, mode)
		for _, guard := range []time.Duration{longest, longest + 1} {
			p.Tree = a.Trees.Watch(group, tree.Ref{}, guard)
			c, err := a.AddCandidate(p)
			if fits := err == nil; fits != (guard == longest) || !fits && !strings.Contains(err.Error(), "does not fit the lease of a host there") {
				t.Errorf("%s: guard %v, and the longest is %v: %v", mode, guard, longest, err)
			}
			if err == nil {
				c.Withdraw()
			}
		}
	}
	if c, err := a.AddCandidate(Candidacy{Candidate: session.Candidate{Group: "set", Mode: regent.Consistent}, Tree: a.Trees.Watch("set", tree.Ref{}, time.Second), Notifier: &silence{led: make(chan struct{})}}); err != nil {
		t.Errorf("a consistent group has no lease of a local host: %v", err)
	} else {
		c.Withdraw()
	}
	if longest := a.Timing.LongestLocalGuard(); longest < a.Timing.Guard || longest > 60*time.Millisecond { // of 120 ms
		t.Errorf("the longest guard time in local groups is %v", longest)
	}
}

func TestAProgramThatNothingCanKillDoesNotKeepTheAgent(t *testing.T) {
	a := Joined(t, "stop_grace: 100ms\ngroups: [{name: cache, mode: local}]\n")
	ctx, leave := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	a.openGroups(ctx, &tasks)
	if _, err := a.seats["cache"].campaign(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	leave()
	_ = a.Leave(func(context.Context) {})
	over := make(chan struct{})
	go func() {
		tasks.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(cluster.Patience):
		t.Error("the agent waits for the program although the member has left")
	}
}

// renewals counts how often a program is to learn of a later end.
type renewals struct {
	silence
	count atomic.Int64
}

func (v *renewals) Renewed(c *Candidate) {
	v.count.Add(1)
	c.AnnounceEnd()
}

// The end of a turn without a lease moves all the time. That others are renewed does not have its program told more often.
func TestAProgramOfAnEventualGroupGetsALaterEndOnceInARenewal(t *testing.T) {
	file, conf := alone.Configured(t, "groups: [{name: ops, mode: eventual}]\n")
	for _, others := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, err := New(file, &conf, "test", slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			a.clock = clock.Package()
			close(a.joined)
			a.seats["ops"].lead(nil)
			ctx, cancel := context.WithCancel(t.Context())
			go a.pushRenewals(ctx)
			v := &renewals{silence: silence{led: make(chan struct{})}}
			c, err := a.AddCandidate(Candidacy{Candidate: session.Candidate{Group: "ops", Mode: regent.Eventual}, Margin: session.Skew, Notifier: v})
			if err != nil {
				t.Fatal(err)
			}
			go c.Run()
			<-v.led
			const periods = 100
			for range 10 * periods {
				time.Sleep(a.Timing.Renew / 10)
				if others {
					a.deadlines.move()
				}
			}
			most := int64(periods + 1)
			if others {
				most = 2 * periods // half of a renewal apart
			}
			if n := v.count.Load(); n < periods-1 || n > most || !c.LeadsNow() {
				t.Errorf("others are renewed: %v: told %d times in %d renewals, leads: %v", others, n, periods, c.LeadsNow())
			}
			c.MarkDead()
			<-c.Ended
			cancel()
		})
	}
}

func TestProgramsInLocalGroupsLearnTheLeaseOfTheirHost(t *testing.T) {
	a := &Agent{Timing: regent.LAN}
	for mode, want := range map[regent.Mode]time.Duration{"": a.Timing.Lease, regent.Local: a.Timing.LocalLease(), regent.Eventual: a.Timing.Lease} {
		c := &Candidate{Candidacy: Candidacy{Candidate: session.Candidate{Group: "g", Mode: mode}}, agent: a}
		if got := c.LeaseLength(); got != want {
			t.Errorf("%q: %v, want %v", mode, got, want)
		}
	}
}

// A program that has waited for a minute leads since it was elected, not since it came.
func TestAProgramLeadsSinceItWasElected(t *testing.T) {
	file, conf := alone.Configured(t, "groups: [{name: ops, mode: eventual}]\n")
	synctest.Test(t, func(t *testing.T) {
		a, err := New(file, &conf, "test", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		a.clock = clock.Package()
		close(a.joined)
		v := &renewals{silence: silence{led: make(chan struct{})}}
		c, err := a.AddCandidate(Candidacy{Candidate: session.Candidate{Group: "ops", Mode: regent.Eventual}, Margin: session.Skew, Notifier: v})
		if err != nil {
			t.Fatal(err)
		}
		came := time.Now()
		go c.Run()
		time.Sleep(time.Minute)
		if got := c.info(); got.State != "waiting" || !got.Since.Equal(came) {
			t.Errorf("it waits: %s since %v, want %v", got.State, got.Since, came)
		}
		a.seats["ops"].lead(nil)
		<-v.led
		if got := c.info(); got.State != "leading" || got.Since.Sub(came) != time.Minute {
			t.Errorf("it leads: %s since %v, want %v", got.State, got.Since, came.Add(time.Minute))
		}
		c.MarkDead()
		<-c.Ended
	})
}

// A lease that is longer than any may be is refused for that, and not for the guard time of its runner.
func TestALeaseThatIsTooLongIsNotBlamedOnTheGuard(t *testing.T) {
	a := Joined(t, "")
	for lease, blamed := range map[time.Duration]bool{5 * time.Hour: false, a.Timing.Lease: true} {
		p := Candidacy{Candidate: session.Candidate{Group: "g", Lease: lease}, Margin: session.Skew, Notifier: &silence{led: make(chan struct{})}}
		p.Tree = a.Trees.Watch("g", tree.Ref{}, a.Timing.Lease)
		_, err := a.AddCandidate(p)
		if err == nil || strings.Contains(err.Error(), "guard") != blamed || !blamed && !strings.Contains(err.Error(), "longer than the longest of the council") {
			t.Errorf("lease %v: %v", lease, err)
		}
	}
}
