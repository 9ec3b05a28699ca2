package regentlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/kube/regentlock"
)

var three = []string{"a", "b", "c"}

func TestOneElectorLeadsAndTheNextFollowsWhenItsProgramHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		runs := map[string]*run{}
		const slow = 3 * time.Second
		for _, name := range three {
			runs[name] = b.elect(b.lock(name, regentlock.Config{}).Elector(b.callbacks(name, slow)))
		}
		first := b.await(0, "", starts)
		for _, name := range three {
			b.await(0, name, sees(first.who))
		}
		n := len(b.since(0))
		runs[first.who].stop()
		b.await(n, first.who, stops)
		ended := b.await(n, first.who, ends)
		next := b.await(n, "", starts)
		if next.who == first.who || next.token <= first.token {
			t.Errorf("%v with token %d after %v with %d", next, next.token, first, first.token)
		}
		if took := next.at.Sub(ended.at); took < 0 || took > time.Second {
			t.Errorf("%s leads %v after the program of %s has stopped", next.who, took, first.who)
		}
		b.await(n, "", sees(next.who))
	})
}

// The program of a leader that is cut off learns of it in time. OnStoppedLeading is the first callback of the elector after that, no elector leads
// before, and the elector campaigns again only after that.
func TestALostLeadershipIsReportedBeforeAnythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		stopping := map[string]bool{}
		locks, configs := map[string]*regentlock.Lock{}, map[string]leaderelection.LeaderElectionConfig{}
		for _, name := range three {
			locks[name] = b.lock(name, regentlock.Config{Lease: time.Second})
			configs[name] = locks[name].Elector(b.callbacks(name, 0))
			b.elect(configs[name])
		}
		last := b.await(0, "", starts)
		for range 4 {
			time.Sleep(5 * time.Second)
			if stopping[last.who] {
				t.Fatalf("%s leads, whose elector has ended", last.who)
			}
			n := len(b.since(0))
			b.must(b.Cut(last.who))
			next := b.await(n, "", starts)
			stopped := b.await(n, last.who, stops)
			if next.who == last.who || stopped.at.After(next.at) || next.token <= last.token {
				t.Errorf("%v with token %d at %v, %v with %d at %v", next, next.token, next.at, stopped, last.token, stopped.at)
			}
			for _, e := range b.since(n) {
				if e.who == last.who && e.what != ends {
					if e.what != stops {
						t.Errorf("the first callback after the loss: %v", e)
					}
					break
				}
			}
			if locks[last.who].Valid() {
				t.Errorf("the lock of %s is valid beside %s", last.who, next.who)
			}
			b.must(b.Heal(last.who))
			b.elect(configs[last.who])
			b.await(n, last.who, sees(next.who))
			last = next
		}
	})
}

// A pause of an agent, for all that others see, is a cut of the network. A lease of 5 s outlasts it, and nothing at all changes.
func TestPausesShorterThanTheLeaseChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		for _, name := range three {
			b.elect(b.lock(name, regentlock.Config{Lease: 5 * time.Second}).Elector(b.callbacks(name, 0)))
		}
		leader := b.await(0, "", starts)
		for _, name := range three {
			b.await(0, name, sees(leader.who))
		}
		n := len(b.since(0))
		for i := range 50 {
			b.must(b.Cut(leader.who))
			time.Sleep(1500 * time.Millisecond)
			b.must(b.Heal(leader.who))
			time.Sleep(1300*time.Millisecond + time.Duration(i)*37*time.Millisecond)
		}
		if changed := b.since(n); len(changed) > 0 {
			t.Errorf("%v", changed)
		}
	})
}

// An elector with ReleaseOnCancel releases before its program has stopped. That is refused, and the elector stops all the same: with the error that
// resource locks usually return it would try again without end.
func TestAReleaseUnderAProgramIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		const slow = 3 * time.Second
		config := b.lock("a", regentlock.Config{}).Elector(b.callbacks("a", slow))
		config.ReleaseOnCancel = true
		a := b.elect(config)
		b.await(0, "a", starts)
		b.elect(b.lock("b", regentlock.Config{}).Elector(b.callbacks("b", 0)))
		time.Sleep(time.Second)
		before := time.Now()
		a.stop()
		if took := time.Since(before); took > time.Second {
			t.Errorf("the elector took %v to stop", took)
		}
		ended, next := b.await(0, "a", ends), b.await(0, "b", starts)
		if next.at.Before(ended.at) {
			t.Errorf("b leads %v before the program of a has stopped", ended.at.Sub(next.at))
		}
	})
}

// A member that leaves asks the program to stop while its lease runs. The elector learns of it, and the group is given up when both have stopped.
func TestAnElectorThatIsAskedToStopHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		lock := b.lock("a", regentlock.Config{})
		b.elect(lock.Elector(b.callbacks("a", time.Second)))
		b.await(0, "a", starts)
		b.elect(b.lock("b", regentlock.Config{}).Elector(b.callbacks("b", 0)))
		time.Sleep(time.Minute)
		left := make(chan error, 1)
		asked := time.Now()
		go func() { left <- b.Member("a").Leave(t.Context()) }()
		stopped, ended, next := b.await(0, "a", stops), b.await(0, "a", ends), b.await(0, "b", starts)
		if next.at.Before(stopped.at) || next.at.Before(ended.at) {
			t.Errorf("b leads at %v, a: %v at %v, %v at %v", next.at, stopped, stopped.at, ended, ended.at)
		}
		if c, took := lock.Config(), stopped.at.Sub(asked); took > c.RenewDeadline+c.RetryPeriod+time.Millisecond {
			t.Errorf("the elector of a stopped %v after the request", took)
		}
		b.must(<-left)
	})
}

// With an elector that the lock did not configure, nothing tells when its program has stopped: the program does, by Stopped.
func TestAnElectorOfItsOwnGivesUpByStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		lock := b.lock("a", regentlock.Config{})
		c := lock.Config()
		a := b.elect(leaderelection.LeaderElectionConfig{Lock: lock, LeaseDuration: c.Lease, RenewDeadline: c.RenewDeadline, RetryPeriod: c.RetryPeriod,
			ReleaseOnCancel: true, Callbacks: b.callbacks("a", 0)})
		b.await(0, "a", starts)
		b.elect(b.lock("b", regentlock.Config{}).Elector(b.callbacks("b", 0)))
		a.stop()
		time.Sleep(time.Minute)
		if lock.Lease() == nil || !lock.Lease().Valid() {
			t.Fatal("the group was given up although the program may run")
		}
		if err := lock.Create(t.Context(), record("a", c)); err == nil || !strings.Contains(err.Error(), "call Stopped") {
			t.Errorf("the elector could lead again: %v", err)
		}
		b.must(lock.Stopped(t.Context()))
		b.await(0, "b", starts)
	})
}

// A function that returns at once has handed its work on: the elector leads on, and the group is not given up when it stops.
func TestAFunctionThatReturnsAtOnceHasNotStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		lock, worker := b.lock("a", regentlock.Config{Lease: time.Second}), make(chan context.Context, 1)
		calls := b.callbacks("a", 0)
		calls.OnStartedLeading = func(ctx context.Context) { worker <- ctx }
		config := lock.Elector(calls)
		a := b.elect(config)
		ctx := <-worker
		time.Sleep(time.Minute)
		if !lock.Valid() || ctx.Err() != nil {
			t.Fatal("it does not lead any more")
		}
		a.stop()
		time.Sleep(time.Minute)
		if lease := regentlock.LeaseOf(ctx); ctx.Err() == nil || !lease.Valid() {
			t.Errorf("the context of the worker: %v; its lease is valid: %v", ctx.Err(), lease.Valid())
		}
		b.must(b.Cut("a")) // its lease is lost: what the worker does now is its own affair, as with any elector
		time.Sleep(time.Minute)
		b.must(b.Heal("a"))
		b.elect(config)
		if again := <-worker; regentlock.LeaseOf(again).Token() <= regentlock.LeaseOf(ctx).Token() {
			t.Error("the token has not grown")
		}
	})
}

// record is what an elector of client-go writes.
func record(id string, c regentlock.Config) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: id, LeaseDurationSeconds: int(c.Lease / time.Second)}
}

// A process that was stopped past its lease goes on: its elector comes with what it would do, in any order, before it stops.
func TestALostLeadershipIsNotFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		l := b.lock("a", regentlock.Config{Lease: time.Second})
		r := record("a", l.Config())
		b.must(l.Create(t.Context(), r))
		b.must(l.Update(t.Context(), r))
		if own, _, err := l.Get(t.Context()); err != nil || own.HolderIdentity != "a" || own.LeaderTransitions != int(l.Lease().Token()) {
			t.Errorf("the elector's own record: %v, %v", own, err)
		}
		lease := l.Lease()
		b.must(b.Cut("a"))
		time.Sleep(2 * time.Second)
		if l.Valid() {
			t.Error("the lock is valid past its lease")
		}
		b.must(b.Heal("a"))
		time.Sleep(5 * time.Second) // there is no leader, and a could lead again
		for range 3 {
			if _, _, err := l.Get(t.Context()); err == nil || apierrors.IsNotFound(err) {
				t.Errorf("Get: %v: the elector would go on", err)
			}
			for _, ask := range []func(context.Context, resourcelock.LeaderElectionRecord) error{l.Update, l.Create} {
				if err := ask(t.Context(), r); err == nil {
					t.Fatal("the elector leads again, and its program has not learnt of the loss")
				}
			}
			released := r
			released.HolderIdentity = ""
			if err := l.Update(t.Context(), released); err == nil || apierrors.IsConflict(err) {
				t.Errorf("a release: %v", err)
			}
			time.Sleep(time.Second)
		}
		l.RecordEvent("became leader")
		if err := l.Create(t.Context(), r); err == nil {
			t.Error("another event ended the leadership")
		}
		l.RecordEvent("stopped leading")
		b.must(l.Create(t.Context(), r))
		if l.Lease().Token() <= lease.Token() || !l.Valid() {
			t.Errorf("token %d after %d", l.Lease().Token(), lease.Token())
		}
	})
}

// An elector tells its program RenewDeadline after the last renewal that succeeded: so none succeeds that the lease does not outlast by that.
func TestARenewalSucceedsOnlyIfTheLeaseOutlastsTheElector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		l := b.lock("a", regentlock.Config{Lease: 5 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 500 * time.Millisecond})
		c := l.Config()
		r := record("a", c)
		b.must(l.Create(t.Context(), r))
		b.must(b.Cut("a"))
		last := time.Now()
		for time.Since(last) < time.Second || l.Lease().Remaining() > 0 {
			if l.Update(t.Context(), r) == nil {
				last = time.Now()
				if left, need := l.Lease().Remaining(), c.RenewDeadline+c.RetryPeriod+regent.LAN.Guard; left < need {
					t.Fatalf("a renewal succeeded with %v left, the elector needs %v", left, need)
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func TestWhatTheElectorAndTheLockMustAgreeOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		l := b.lock("a", regentlock.Config{})
		c := l.Config()
		refused := func(err error, words string) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("got %v, want %q", err, words)
			}
		}
		other := record("a", c)
		other.LeaseDurationSeconds = 15
		refused(l.Create(t.Context(), other), "a lease duration of 15 s, the lock a lease of 5s")
		refused(l.Create(t.Context(), record("z", c)), `the holder "z" is not the identity "a"`)
		b.must(l.Create(t.Context(), record("a", c)))
		ctx, cancel := context.WithTimeout(t.Context(), c.RenewDeadline)
		defer cancel()
		b.must(l.Update(ctx, record("a", c)))
		long, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		refused(l.Update(long, record("a", c)), "a renew deadline of at least 10s, the lock of 1.852s")
	})
}

// A process that starts again under its old name sees its old leadership, until that is over. It does not lead by that.
func TestACandidateDoesNotTakeItsOldLeadershipForItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		old, again := b.lock("a", regentlock.Config{Identity: "same"}), b.lock("b", regentlock.Config{Identity: "same"})
		b.must(old.Create(t.Context(), record("same", old.Config())))
		time.Sleep(time.Second)
		if _, _, err := again.Get(t.Context()); !apierrors.IsNotFound(err) {
			t.Errorf("Get: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := again.Create(ctx, record("same", again.Config())); err == nil {
			t.Error("two lead")
		}
	})
}

func TestASecondElectorWithALockIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, three...)
		first, l := b.lock("b", regentlock.Config{}), b.lock("a", regentlock.Config{})
		b.must(first.Create(t.Context(), record("b", first.Config())))
		time.Sleep(time.Second)
		for range 2 { // the first look is to report the leader
			if r, _, err := l.Get(t.Context()); err != nil || r.HolderIdentity != "b" {
				t.Fatalf("%v, %v", r, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Update(ctx, record("a", l.Config())) }()
		synctest.Wait()
		if err := l.Update(t.Context(), record("a", l.Config())); err == nil || !strings.Contains(err.Error(), "another elector") {
			t.Errorf("got %v", err)
		}
		cancel()
		if err := <-done; err == nil {
			t.Error("it leads")
		}
		time.Sleep(time.Minute) // a campaign that was cancelled leaves nothing behind
		l.RecordEvent("stopped leading")
		if l.Lease() != nil {
			t.Error("it has a lease")
		}
	})
}

func TestConfigsThatCannotWorkAreRefusedWithTheirNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := newBubble(t, "a").Member("a").Group("g")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			config regentlock.Config
			want   string
		}{
			{"what controller-runtime takes, under a short lease", regentlock.Config{Lease: 5 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second},
				"renew deadline 10s and retry period 2s: together 12s, at most 3.70"},
			{"just too long", regentlock.Config{Lease: 200 * time.Millisecond, RenewDeadline: 100 * time.Millisecond, RetryPeriod: 20 * time.Millisecond},
				"together 120ms, at most 109."},
			{"retries too rarely", regentlock.Config{RenewDeadline: 1100 * time.Millisecond, RetryPeriod: time.Second}, "renew deadline 1.1s: must exceed 1.2s"},
			{"negative", regentlock.Config{RetryPeriod: -1}, "must be positive"},
			{"negative lease", regentlock.Config{Lease: -1}, "lease -1ns: must be positive"},
			{"lease too short", regentlock.Config{Lease: time.Millisecond}, "lease 1ms: too short"},
			{"lease too long", regentlock.Config{Lease: time.Hour}, "longer than the longest of the council"},
			{"identity", regentlock.Config{Identity: strings.Repeat("x", 257)}, "at most 256 bytes"},
		} {
			if _, err := regentlock.New(g, c.config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		}
		if _, err := regentlock.New(nil, regentlock.Config{}); err == nil {
			t.Error("no group, and no error")
		}
		// What has no default is consistent for every lease and profile.
		for _, timing := range []regent.Timing{{}, regent.Fast, regent.LAN, regent.WAN} {
			for _, lease := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second} {
				config := regentlock.Config{Lease: lease, Timing: timing}
				if timing.CheckLease(lease) != nil && timing != (regent.Timing{}) {
					continue
				}
				l, err := regentlock.New(g, config)
				if err != nil {
					t.Errorf("%v, lease %v: %v", timing, lease, err)
					continue
				}
				calls := leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}}
				if _, err := leaderelection.NewLeaderElector(l.Elector(calls)); err != nil {
					t.Errorf("%v, lease %v: %v", timing, lease, err)
				}
			}
		}
	})
}
