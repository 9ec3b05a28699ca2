package regent

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/inmemory"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport/memory"
)

// A revoked member cannot answer. Without an id the others wait only if they are enough to name one that the council has.
func TestFoundingWithARevokedMemberIsRefused(t *testing.T) {
	for _, c := range []struct {
		members int
		revoked []int
		refused string
	}{{3, nil, ""}, {3, []int{2}, "c is revoked and cannot"}, {5, []int{4}, ""}, {5, []int{3, 4}, "d and e are revoked and cannot take part in agreeing on one (remove them"},
		{7, []int{3, 4, 5, 6}, "d, e, f and g are revoked"}} {
		all := &council{self: 0}
		for r := range c.members {
			all.peers = append(all.peers, Peer{Name: string(rune('a' + r))})
		}
		for _, r := range c.revoked {
			all.peers[r].Revoked = true
		}
		err := all.foundable(protocol.Majority(c.members))
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%d members, %v are revoked: %v, want %q", c.members, c.revoked, err, c.refused)
		}
	}
}

// A wrong key in the file of one member keeps the council from beginning until the right one is put in force.
func TestCouncilBeginsOnceAWrongKeyIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memory.New(1, "a", "b")
		defer network.Close()
		council := []Peer{{Name: "a", Addrs: []string{"a:7400"}}, {Name: "b", Addrs: []string{"b:7400"}}}
		own, dir := DrawKeys(council), t.TempDir()
		config := func(name string) Config {
			return Config{Name: name, Key: []byte("0123456789abcdef"), Bootstrap: true, Dir: dir + "/" + name, Logger: slog.New(slog.DiscardHandler),
				OwnKeys: own[name], Council: slices.Clone(council)}
		}
		wrong := config("a")
		wrong.Council[1].PublicKeys = []string{identity.Draw().Public().String()}
		rekeys, joined := make(chan func(Config) error, 1), make(chan *Member, 2)
		join := func(c Config) {
			ctx := world.WithRekey(world.Into(t.Context(), inmemory.World(network, c.Name)), func(f func(Config) error) {
				if c.Name == "a" {
					rekeys <- f
				}
			})
			m, err := Join(ctx, c)
			if err != nil {
				t.Error(err)
			}
			joined <- m
		}
		go join(wrong)
		go join(config("b"))
		time.Sleep(5 * time.Second)
		if len(joined) > 0 {
			t.Error("the council began with a wrong key")
		}
		rekey := <-rekeys
		if err := rekey(config("a")); err != nil {
			t.Error(err)
		}
		time.Sleep(30 * time.Second)
		if len(joined) != 2 {
			t.Fatal("the council did not begin with the right key")
		}
		for range 2 {
			_ = (<-joined).Leave(t.Context())
		}
	})
}

// A member that lost its disk and its key within a second of its first start begins above that start.
func TestFirstIncarnationsOfTwoStartsDiffer(t *testing.T) {
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if a, b := firstIncarnation(first), firstIncarnation(first.Add(2*time.Millisecond)); a >= b {
		t.Errorf("a start at %v has incarnation %d, and the next one %d", first, a, b)
	}
	if got := firstIncarnation(time.Unix(0, 0)); got != 1 {
		t.Errorf("a clock that is not set gives incarnation %d, want 1", got)
	}
}
