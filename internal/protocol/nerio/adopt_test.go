package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/record"
)

// A member restarts, and is the only voter that is left before it has heard from any other: it waits for what it promised, and votes.
func TestRestartedMemberThatIsLeftAloneVotes(t *testing.T) {
	cfg := Config{Me: 0, Quorums: protocol.Majority(2), RoundTrip: 20 * time.Millisecond, Lease: 200 * time.Millisecond, Longest: 250 * time.Millisecond,
		Renew: 50 * time.Millisecond, Rho: protocol.DefaultRho, Guarded: true}
	rec := record.Record{Inc: 3, Longest: cfg.Longest, Promised: cfg.Longest}
	m, err := New(cfg, rec.Append(nil), 1)
	if err != nil {
		t.Fatal(err)
	}
	now := protocol.Time(time.Second)
	var out protocol.Effects
	step := func(ev protocol.Event) {
		m.Step(now, ev, &out)
		if len(out.Persist) > 0 {
			out.Reset()
			m.Step(now, protocol.Persisted{}, &out)
		}
		out.Reset()
	}
	step(protocol.Start{})
	if m.Promised() != protocol.Never {
		t.Fatalf("it has promised until %v before it has heard from anybody", m.Promised())
	}
	cfg.Quorums, cfg.Epoch = protocol.MajorityOf(2, protocol.NewSet(0)), 1
	m.Adopt(now, cfg, 0, &out)
	step(protocol.Tick{})
	if at := m.Promised(); at < now.Add(cfg.Longest) || at == protocol.Never {
		t.Errorf("C-LIVE: it has promised until %v", at)
	}
}
