package regent

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/regentproject/regent/internal/runtime/inmemory"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport/memory"
)

// A member that leaves in good order writes the highest token to its directory, and goes on from there.
func TestTokensCountOnAfterAMemberHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memory.New(1, "a")
		defer network.Close()
		council := []Peer{{Name: "a", Addrs: []string{"a:7400"}}}
		own, dir := DrawKeys(council), t.TempDir()
		last := uint64(0)
		for range 5 {
			m, err := Join(world.Into(t.Context(), inmemory.World(network, "a")), Config{Name: "a", Key: []byte("0123456789abcdef"), Bootstrap: true, Dir: dir,
				Logger: slog.New(slog.DiscardHandler), OwnKeys: own["a"], Council: council})
			if err != nil {
				t.Fatal(err)
			}
			l, err := must(m.Group("g")).Campaign(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Token(); got <= last || got > last+2 { // an attempt before the member votes may use one
				t.Errorf("leads with token %d, and before with %d", got, last)
			}
			last = l.Token()
			if err := l.Resign(t.Context()); err != nil {
				t.Error(err)
			}
			if err := m.Leave(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
