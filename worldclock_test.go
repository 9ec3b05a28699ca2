package regent

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/inmemory"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport/memory"
)

// An agent gives its member its own clock, so that it can turn the member's instants into those of the host at any time.
func TestMemberReadsTheClockOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ahead = 1000 * time.Hour
		begun := time.Now()
		theirs := clock.Of(func() protocol.Time { return protocol.Time(0).Add(ahead + time.Since(begun)) })
		network := memory.New(1, "a")
		defer network.Close()
		council := []Peer{{Name: "a", Addrs: []string{"a:7400"}}}
		own := DrawKeys(council)
		ctx := world.WithClock(world.Into(t.Context(), inmemory.World(network, "a")), theirs)
		m, err := Join(ctx, Config{Name: "a", Key: []byte("0123456789abcdef"), Bootstrap: true, Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
			OwnKeys: own["a"], Council: council})
		if err != nil {
			t.Fatal(err)
		}
		if now, want := m.world.Clock.Now(), theirs.Now(); now > want || want.Sub(now) > time.Second {
			t.Errorf("the member reads %v, and the clock %v", now, want)
		}
		if err := m.Leave(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
