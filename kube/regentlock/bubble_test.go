package regentlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/kube/regentlock"
)

// A bubble is a council in memory, in fake time, with electors of client-go at its members. They use the real clock of client-go, which is the fake one
// of the bubble.
type bubble struct {
	*cluster.Cluster
	t  *testing.T
	mu sync.Mutex
	// diary is what callbacks noted, in order.
	diary []entry
}

// entry is a call of a callback, or a word of a program.
type entry struct {
	who, what string
	token     uint64
	at        time.Time
}

func (e entry) String() string { return fmt.Sprintf("%s %s", e.who, e.what) }

// What callbacks note.
const (
	starts = "OnStartedLeading"
	stops  = "OnStoppedLeading"
	ends   = "the program has stopped"
)

func sees(who string) string { return "OnNewLeader " + who }

// newBubble must be called inside synctest.Test.
func newBubble(t *testing.T, names ...string) *bubble {
	t.Helper()
	b := &bubble{Cluster: cluster.Open(t, cluster.Options{Names: names, Hosts: cluster.Memory, Seed: 1}), t: t}
	b.must(b.JoinAll(t.Context(), names...))
	return b
}

func (b *bubble) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// lock returns a lock of a candidate that is called as its member is, unless the configuration names it.
func (b *bubble) lock(name string, c regentlock.Config) *regentlock.Lock {
	b.t.Helper()
	if c.Identity == "" {
		c.Identity = name
	}
	g, err := b.Member(name).Group("g")
	b.must(err)
	l, err := regentlock.New(g, c)
	b.must(err)
	return l
}

// note writes into the diary.
func (b *bubble) note(who, what string, lease *regent.Lease) {
	e := entry{who: who, what: what, at: time.Now()}
	if lease != nil {
		e.token = lease.Token()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.diary = append(b.diary, e)
}

// since returns the diary from an entry on.
func (b *bubble) since(n int) []entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]entry(nil), b.diary[n:]...)
}

// callbacks returns callbacks that note when they are called, with a program that needs a while to stop.
func (b *bubble) callbacks(who string, slow time.Duration) leaderelection.LeaderCallbacks {
	return leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) {
			b.note(who, starts, regentlock.LeaseOf(ctx))
			<-ctx.Done()
			time.Sleep(slow) // wall clock: it is the fake one of the bubble
			b.note(who, ends, nil)
		},
		OnStoppedLeading: func() { b.note(who, stops, nil) },
		OnNewLeader:      func(id string) { b.note(who, sees(id), nil) },
	}
}

// A run is an elector that runs.
type run struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// stop ends it, and waits until it has.
func (r *run) stop() {
	r.cancel()
	<-r.done
}

// elect runs an elector until the test ends or it is stopped.
func (b *bubble) elect(c leaderelection.LeaderElectionConfig) *run {
	b.t.Helper()
	e, err := leaderelection.NewLeaderElector(c)
	b.must(err)
	ctx, cancel := context.WithCancel(b.t.Context())
	r := &run{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		e.Run(ctx)
	}()
	b.t.Cleanup(r.stop)
	return r
}

// await waits for an entry among those from the nth on.
func (b *bubble) await(n int, who, what string) entry {
	b.t.Helper()
	for range 10_000 {
		for _, e := range b.since(n) {
			if (who == "" || e.who == who) && e.what == what {
				return e
			}
		}
		time.Sleep(time.Millisecond) // wall clock: it is the fake one of the bubble
	}
	b.t.Fatalf("waited in vain for: %s %s; diary: %v", who, what, b.since(0))
	return entry{}
}
