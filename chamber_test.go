package regent

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/runtime/inmemory"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport/memory"
)

// A chamber is a council in one process, on a network in memory and, inside a bubble, in fake time.
type chamber struct {
	t       *testing.T
	dir     string
	network *memory.Network
	names   []string
	members map[string]*Member
	logs    strings.Builder
	mu      sync.Mutex
}

func (h *chamber) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.logs.Write(b)
}

func (h *chamber) log() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.logs.String()
}

// world returns the world of one member.
func (h *chamber) world(name string) world.World { return inmemory.World(h.network, name) }

// join makes a member join in a world.
func join(ctx context.Context, c Config, w world.World) (*Member, error) {
	return Join(world.Into(ctx, w), c)
}

func (h *chamber) config(name string) Config {
	dir, err := os.MkdirTemp(h.dir, name)
	h.must("", err)
	c := Config{Name: name, Key: []byte("0123456789abcdef"), Bootstrap: true, Dir: dir,
		Logger: slog.New(slog.NewTextHandler(h, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, n := range h.names {
		c.Council = append(c.Council, Peer{Name: n, Addrs: []string{n + ":7400"}})
	}
	return c
}

// join makes a member join that has no record.
func (h *chamber) join(name string) (*Member, error) { return h.joinAs(h.config(name)) }

// joinAs makes a member join with a configuration.
func (h *chamber) joinAs(c Config) (*Member, error) {
	m, err := join(h.t.Context(), c, h.world(c.Name))
	if err == nil {
		h.mu.Lock()
		h.members[c.Name] = m
		h.mu.Unlock()
	}
	return m, err
}

// newChamber returns a council in which nobody is yet. It must be called inside a bubble.
func newChamber(t *testing.T, names ...string) *chamber {
	// The directory is made first, so that it goes last: members write while they leave.
	h := &chamber{t: t, dir: t.TempDir(), network: memory.New(1, names...), names: names, members: make(map[string]*Member)}
	t.Cleanup(func() {
		var all sync.WaitGroup
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for _, m := range h.members {
			all.Go(func() { _ = m.Leave(ctx) })
		}
		all.Wait()
		h.network.Close()
		if t.Failed() {
			t.Log(h.log())
		}
	})
	return h
}

// assemble returns a council of which all members have joined.
func assemble(t *testing.T, names ...string) *chamber {
	t.Helper()
	h := newChamber(t, names...)
	var all sync.WaitGroup
	for _, n := range names {
		all.Go(func() {
			if _, err := h.join(n); err != nil {
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

var three = []string{"a", "b", "c"}

// sign is what the leading functions of a test say: who leads, and who has stopped.
type sign struct {
	who   string
	leads bool
	token uint64
	cause error
}

// leadAll makes all members lead the group whenever they can.
func (h *chamber) leadAll(ctx context.Context, group string) <-chan sign {
	signs := make(chan sign, 1000)
	for n, m := range h.members {
		go func() {
			_ = m.Group(group).Lead(ctx, func(ctx context.Context, l *Lease) error {
				signs <- sign{who: n, leads: true, token: l.Token()}
				<-ctx.Done()
				signs <- sign{who: n, token: l.Token(), cause: context.Cause(ctx)}
				return nil
			})
		}()
	}
	return signs
}

func (h *chamber) must(_ string, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}
