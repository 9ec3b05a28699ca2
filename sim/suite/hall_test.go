package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// hallWorld returns a world of members that elect local leaders as told, over quick links.
func hallWorld(t testing.TB, members int, seed uint64, change func(*hall.Config), more func(*sim.Config)) *sim.World {
	t.Helper()
	c := sim.Config{Members: members, Seed: seed, Groups: []protocol.Group{suite.HallGroup},
		Link:    sim.Link{Delay: sim.Between(100*time.Microsecond, 300*time.Microsecond)},
		Program: sim.ProgramSpec{Again: sim.Between(1, 1)},
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			cfg := suite.HallConfig("hall plain", b)
			if change != nil {
				change(&cfg)
			}
			return hall.New(cfg)
		}}
	if more != nil {
		more(&c)
	}
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// tally counts what is sent, by its name, and the rounds.
type tally struct {
	on     bool
	sent   map[string]int
	rounds int
}

func (c *tally) Observe(r *sim.Record) error {
	switch {
	case !c.on:
	case r.Ev == sim.EvSend && r.Node != r.Peer.Rank:
		c.sent[r.Why]++
	case r.Ev == protocol.EvAttempt:
		c.rounds++
	}
	return nil
}

func TestSteadyStateIsOneBroadcastAndOneReplyOfEachOther(t *testing.T) {
	for _, n := range []int{1, 2, 5, 8, 30} {
		w := hallWorld(t, n, 1, nil, func(c *sim.Config) { c.Messages = true })
		c := &tally{sent: map[string]int{}}
		w.Observe(c)
		if err := w.Run(sim.Real(995 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		c.on = true
		// The count begins and ends between two rounds.
		if err := w.Run(sim.Real(10*time.Second + 995*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"hall.Election": c.rounds * (n - 1), "hall.Reply": c.rounds * (n - 1)}
		for name, count := range want {
			if c.sent[name] != count {
				t.Errorf("%d members: %d %s in %d rounds, want %d", n, c.sent[name], name, c.rounds, count)
			}
		}
		if c.rounds < 100 || len(c.sent) > 2 {
			t.Errorf("%d members: %d rounds, sent %v", n, c.rounds, c.sent)
		}
	}
}
