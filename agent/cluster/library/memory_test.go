package library_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// inMemory is a cluster in memory and, inside a bubble, in fake time, with its members.
type inMemory struct {
	*cluster.Cluster
	t       *testing.T
	mu      sync.Mutex
	members map[string]*regent.Member
	// last is the configuration with which a member joined last.
	last map[string]regent.Config
}

// newInMemory returns a cluster without members. It must be called inside a bubble.
func newInMemory(t *testing.T, names ...string) *inMemory {
	t.Helper()
	return &inMemory{Cluster: cluster.Open(t, cluster.Options{Names: names, Hosts: cluster.Memory, Seed: 1}), t: t, members: make(map[string]*regent.Member),
		last: make(map[string]regent.Config)}
}

// assemble returns a cluster of which all members have joined.
func assemble(t *testing.T, names ...string) *inMemory {
	t.Helper()
	return assembleWith(t, func(*regent.Config) {}, names...)
}

// assembleWith returns a cluster of which all members have joined, each with a configuration of its own.
func assembleWith(t *testing.T, change func(*regent.Config), names ...string) *inMemory {
	t.Helper()
	h := newInMemory(t, names...)
	var all sync.WaitGroup
	for _, n := range names {
		all.Go(func() {
			c := h.config(n)
			change(&c)
			if _, err := h.joinAs(c); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return h
}

// config returns the configuration of a member that has no record.
func (h *inMemory) config(name string) regent.Config {
	h.t.Helper()
	c, err := h.MemberConfig(name)
	h.must(err)
	c.Dir, err = os.MkdirTemp(filepath.Dir(c.Dir), name+"-")
	h.must(err)
	return c
}

// join makes a member join that has no record.
func (h *inMemory) join(name string) (*regent.Member, error) { return h.joinAs(h.config(name)) }

// joinAs makes a member join with a configuration.
func (h *inMemory) joinAs(c regent.Config) (*regent.Member, error) {
	m, err := h.Join(h.t.Context(), c)
	if err == nil {
		h.mu.Lock()
		h.members[c.Name], h.last[c.Name] = m, c
		h.mu.Unlock()
	}
	return m, err
}

// joinAgain makes a member join that has gone, with its record.
func (h *inMemory) joinAgain(name string) (*regent.Member, error) { return h.joinAs(h.last[name]) }

func (h *inMemory) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

var three = []string{"a", "b", "c"}

// sign is what the leading functions of a test report: who leads, and who has stopped.
type sign struct {
	who   string
	leads bool
	token uint64
	cause error
}

// leadAll makes all members lead the group whenever they can.
func (h *inMemory) leadAll(ctx context.Context, group string) <-chan sign {
	signs := make(chan sign, 1000)
	for n, m := range h.members {
		go func() {
			_ = must(m.Group(group)).Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
				signs <- sign{who: n, leads: true, token: l.Token()}
				<-ctx.Done()
				signs <- sign{who: n, token: l.Token(), cause: context.Cause(ctx)}
				return nil
			})
		}()
	}
	return signs
}

// must returns a value that a test is about to use.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A group is one of any mode.
type group interface {
	View(ctx context.Context) (regent.View, error)
}

func view(g group) regent.View { return must(g.View(context.Background())) }

func leader(g group) string { return view(g).Leader }
