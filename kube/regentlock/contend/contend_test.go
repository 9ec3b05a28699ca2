package contend

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engines/kubernetes"
	"github.com/regentproject/regent/engines/kubernetes/kubetest"
)

// The lengths of both kinds. The engine renews more than once a second, so that electors see times in whole seconds that differ less than its renewals do.
const (
	lease    = 4 * time.Second
	renew    = 300 * time.Millisecond
	deadline = 2 * time.Second
	retry    = 200 * time.Millisecond
)

// A reign is one leadership of one contender, by the lease clock.
type reign struct {
	who         string
	from, until engine.Instant
}

// A field is an object for which contenders contend.
type field struct {
	*testing.T
	server *kubetest.Server
	clock  engine.Clock

	mu     sync.Mutex
	reigns []*reign
}

func newField(t *testing.T) *field {
	t.Helper()
	clock, err := engine.SystemClock()
	if err != nil {
		t.Fatal(err)
	}
	f := &field{T: t, server: kubetest.New(), clock: clock}
	if err := f.server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.server.Kill() })
	return f
}

// begin notes that a contender leads, until end says otherwise.
func (f *field) begin(who string, from engine.Instant) *reign {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &reign{who: who, from: from, until: from.Add(time.Hour)}
	f.reigns = append(f.reigns, r)
	return r
}

func (f *field) end(r *reign, at engine.Instant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.until = at
}

// judge finds two that led at once.
func (f *field) judge() (count map[string]int) {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	count = make(map[string]int)
	slices.SortFunc(f.reigns, func(x, y *reign) int { return int(x.from.Sub(y.from)) })
	for i, r := range f.reigns {
		count[r.who]++
		for _, before := range f.reigns[:i] {
			if d := before.until.Sub(r.from); d > 0 {
				f.Errorf("OneLeads: %s led for another %v when %s began", before.who, d, r.who)
			}
		}
	}
	return count
}

// session opens the engine.
func (f *field) session(name string) engine.Session {
	f.Helper()
	e, done, err := kubernetes.Open("http://" + f.server.Address() + "/" + kubetest.Namespace)
	if err != nil {
		f.Fatal(err)
	}
	s, err := e.Open(f.Context(), engine.Host{Name: name, Clock: f.clock, Lease: lease, Renew: renew, Drift: 0.001, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close(); _ = done() })
	return s
}

// lead campaigns, and leads until a function has returned; that says whether the group is released then, or runs out.
func (f *field) lead(ctx context.Context, who string, s engine.Session, rule func(engine.Tenure) (release bool)) error {
	t, err := s.Campaign(ctx, "g", "")
	if err != nil {
		return err
	}
	r := f.begin(who, f.clock.Now())
	if rule(t) {
		f.end(r, min2(f.clock.Now(), t.Until()))
		t.Release()
		return nil
	}
	t.LetRunOut()
	<-t.Lost()
	f.end(r, t.Until())
	t.Release()
	return nil
}

func min2(a, b engine.Instant) engine.Instant {
	if b.Before(a) {
		return b
	}
	return a
}

// elect runs an elector of client-go until ctx ends.
func (f *field) elect(ctx context.Context, who string, release bool) {
	client, err := coordination.NewForConfig(&rest.Config{Host: "http://" + f.server.Address(), ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}})
	if err != nil {
		f.Error(err)
		return
	}
	var r *reign
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: kubetest.Namespace, Name: "g"}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: who}},
		LeaseDuration: lease, RenewDeadline: deadline, RetryPeriod: retry, ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				f.mu.Lock()
				defer f.mu.Unlock()
				r = &reign{who: who, from: f.clock.Now(), until: f.clock.Now().Add(time.Hour)}
				f.reigns = append(f.reigns, r)
				context.AfterFunc(ctx, func() { f.end(r, f.clock.Now()) })
			},
			OnStoppedLeading: func() {},
		},
	})
}

// leads waits until a contender has begun its nth reign, and returns it.
func (f *field) leads(who string, n int) reign {
	f.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) { // wall clock: electors and a server
		f.mu.Lock()
		found := 0
		for _, r := range f.reigns {
			if r.who == who {
				found++
			}
			if found == n {
				defer f.mu.Unlock()
				return *r
			}
		}
		f.mu.Unlock()
	}
	f.Fatalf("%s does not lead for the time %d", who, n)
	return reign{}
}

func TestEngineAndElectorTakeTurns(t *testing.T) {
	f := newField(t)
	s := f.session("engine")
	for round := 1; round <= 4; round++ {
		release := round%2 == 0
		led, next := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(led)
			if err := f.lead(t.Context(), "engine", s, func(engine.Tenure) bool { <-next; return release }); err != nil {
				t.Error(err)
			}
		}()
		mine := f.leads("engine", round)
		// The elector sees many renewals, and waits.
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); f.elect(ctx, "elector", release) }()
		time.Sleep(lease * 3 / 2) // wall clock: an elector that waits
		if f.judge()["elector"] != round-1 {
			t.Fatal("the elector does not respect the engine")
		}
		close(next)
		<-led
		theirs := f.leads("elector", round)
		gap := theirs.from.Sub(f.leads("engine", round).until)
		t.Logf("round %d: the engine led for %v; the elector began %v after it", round, theirs.from.Sub(mine.from), gap)
		if release && gap > lease/2 {
			t.Errorf("the elector began %v after the release", gap)
		}
		// Now the engine waits, and the elector goes.
		won := make(chan struct{})
		go func() {
			defer close(won)
			if err := f.lead(t.Context(), "again", s, func(engine.Tenure) bool { return true }); err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(lease * 3 / 2) // wall clock: the engine waits
		if f.judge()["again"] != round-1 {
			t.Fatal("the engine does not respect the elector")
		}
		cancel()
		<-ended
		<-won
		gap = f.leads("again", round).from.Sub(f.leads("elector", round).until)
		t.Logf("round %d: the engine began %v after the elector", round, gap)
		if release && gap > lease/2 || !release && gap < lease/2 {
			t.Errorf("the engine began %v after the elector (released: %t)", gap, release)
		}
	}
	f.judge()
}

func TestManyContendWhileTheServerFails(t *testing.T) {
	f := newField(t)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for i := range 2 {
		name, s := fmt.Sprint("engine ", i), f.session(fmt.Sprint("engine ", i))
		all.Go(func() {
			for ctx.Err() == nil {
				err := f.lead(ctx, name, s, func(tenure engine.Tenure) bool {
					select {
					case <-time.After(time.Duration(rand.N(int64(2 * time.Second)))):
					case <-tenure.Lost():
					}
					return rand.N(2) == 0
				})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
		elector := fmt.Sprint("elector ", i)
		all.Go(func() {
			for ctx.Err() == nil {
				turn, end := context.WithTimeout(ctx, 3*time.Second+time.Duration(rand.N(int64(6*time.Second))))
				f.elect(turn, elector, rand.N(2) == 0)
				end()
			}
		})
	}
	for ctx.Err() == nil {
		select {
		case <-time.After(time.Duration(rand.N(int64(6 * time.Second)))):
			if err := f.server.Kill(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Duration(rand.N(int64(time.Second)))) // wall clock: a server that is down
			if err := f.server.Start(); err != nil {
				t.Error(err)
			}
		case <-ctx.Done():
		}
	}
	all.Wait()
	count := f.judge()
	t.Logf("leaderships: %v", count)
	if count["engine 0"]+count["engine 1"] < 3 || count["elector 0"]+count["elector 1"] < 3 {
		t.Errorf("one kind hardly led: %v", count)
	}
}
