package nerio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// A copy must go on exactly as the original does, and neither may touch the other.
func TestCloneBehavesLikeItsOriginalAndApart(t *testing.T) {
	for seed := range uint64(20) {
		d := newDriver(t, electorConfig(3))
		rng := rand.New(rand.NewPCG(seed, 2))
		d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to && rng.IntN(10) == 0 }
		for range 40 {
			r := protocol.Rank(rng.IntN(3))
			d.Step(r, []protocol.Event{protocol.Campaign{Group: "g"}, protocol.Campaign{Group: "h"}, protocol.Resign{Group: "g"},
				protocol.Trusts{Leader: protocol.Rank(rng.IntN(3))}, protocol.Transfer{Group: "h", To: 1, ID: 3},
				protocol.Verify{Group: "g", ID: 4}, protocol.Find{Group: "x", ID: 5}}[rng.IntN(7)])
			if l, leads := d.members[r].m.holder.Lease("g"); leads {
				d.Step(r, protocol.Announce{Group: "g", Tenure: l.Tenure, Value: fmt.Sprint(rng.IntN(9))})
			}
			d.Run(time.Duration(rng.IntN(100)) * ms)
		}
		for i, x := range d.members {
			before := x.m.AppendState(nil)
			c := x.m.Clone().(*Machine)
			if !bytes.Equal(before, c.AppendState(nil)) {
				t.Fatalf("seed %d: the copy of %d is in another state", seed, i)
			}
			for k := range 30 { // what a machine does alone
				now := d.Now.Add(time.Duration(k) * 20 * ms)
				drivetest.Step(c, now, protocol.Tick{})
			}
			if !bytes.Equal(before, x.m.AppendState(nil)) {
				t.Fatalf("seed %d: the copy of %d changed its original", seed, i)
			}
			for k := range 30 {
				drivetest.Step(x.m, d.Now.Add(time.Duration(k)*20*ms), protocol.Tick{})
			}
			if !bytes.Equal(c.AppendState(nil), x.m.AppendState(nil)) {
				t.Fatalf("seed %d: the copy of %d went another way", seed, i)
			}
		}
	}
}

// States repeat though time goes on, or no exploration would ever end.
func TestStateDoesNotDependOnWhatTheClockShows(t *testing.T) {
	state := func(start protocol.Time) []byte {
		cfg := config(3)
		cfg.Diskless = true
		m, err := New(cfg, nil, 9)
		if err != nil {
			t.Fatal(err)
		}
		drivetest.Step(m, start, protocol.Start{})
		drivetest.Step(m, start+5, protocol.Campaign{Group: "g"})
		return m.AppendState(nil)
	}
	if !bytes.Equal(state(1000), state(999_999_999)) {
		t.Error("the same history at another time is another state")
	}
}

func TestStateTellsMembersApartThatWillActDifferently(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(100 * ms)
	base := d.members[1].m.Clone().(*Machine)
	for name, change := range map[string]func(*Machine){
		"trust":     func(m *Machine) { drivetest.Step(m, d.Now, protocol.Trusts{Leader: 2}) },
		"candidate": func(m *Machine) { drivetest.Step(m, d.Now, protocol.Campaign{Group: "g"}) },
		"term":      func(m *Machine) { m.grantor.See(d.Now, "g", 77) },
		"peer":      func(m *Machine) { m.start.peers[0].life.Inc++ },
		"time":      func(m *Machine) { drivetest.Step(m, d.Now.Add(10*ms), protocol.Tick{}) },
		"ceiling":   func(m *Machine) { m.terms.Durable++ },
		"chance":    func(m *Machine) { m.rng.Uint64() },
		"closing":   func(m *Machine) { drivetest.Step(m, d.Now, protocol.Close{}) },
	} {
		c := base.Clone().(*Machine)
		change(c)
		if bytes.Equal(c.AppendState(nil), base.AppendState(nil)) {
			t.Errorf("%s makes no difference to the state", name)
		}
	}
}
