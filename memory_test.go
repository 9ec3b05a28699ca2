package regent

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/runtime/inmemory"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport/memory"
)

// Tests of members in memory are in agent/cluster/library. The few that look inside a member are here.

// assemble joins members in memory. It must be called inside a bubble.
func assemble(t *testing.T, change func(*Config), names ...string) map[string]*Member {
	t.Helper()
	network := memory.New(1, names...)
	members := make(map[string]*Member)
	dirs := t.TempDir() // made first, so that it goes last: members write while they leave
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for _, m := range members {
			all.Go(func() { _ = m.Leave(ctx) })
		}
		all.Wait()
		network.Close()
	})
	var all sync.WaitGroup
	var mu sync.Mutex
	var council []Peer
	for _, p := range names {
		council = append(council, Peer{Name: p, Addrs: []string{p + ":7400"}})
	}
	own := DrawKeys(council)
	for _, n := range names {
		c := Config{Name: n, Key: []byte("0123456789abcdef"), Bootstrap: true, Dir: dirs + "/" + n, Logger: slog.New(slog.DiscardHandler),
			OwnKeys: own[n], Council: slices.Clone(council)}
		if change != nil {
			change(&c)
		}
		all.Go(func() {
			m, err := Join(world.Into(t.Context(), inmemory.World(network, n)), c)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			members[n] = m
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return members
}

// logged keeps what a member logs.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (r *logged) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(b)
}

func (r *logged) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// must returns a value that a test is about to use.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
