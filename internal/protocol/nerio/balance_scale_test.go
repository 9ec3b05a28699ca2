package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// evenly fails unless all groups are led, and no member leads more than 1.1 times the mean.
func (d *balancedDriver) evenly(when string, members int) {
	d.t.Helper()
	counts, _, free := d.led(protocol.Everyone(len(d.members)))
	mean := len(d.groups) / members
	for r, n := range counts {
		if n*10 > mean*11 {
			d.t.Errorf("%s: %v leads %d groups, the mean is %d", when, r, n, mean)
		}
	}
	if free > 0 || len(counts) != members {
		d.t.Errorf("%s: %d groups have no leader; %v", when, free, counts)
	}
}

func TestTenThousandGroupsStayBalanced(t *testing.T) {
	cfg := balancedConfig(5)
	cfg.Moves = 0
	d := newBalanced(t, cfg, 10_000)
	d.Run(3 * time.Second)
	d.evenly("at the start", 5)
	d.Crash(1)
	d.Run(4 * time.Second)
	d.evenly("after a death", 4)
	d.restart(1)
	d.Run(10 * time.Second)
	d.evenly("after its restart", 5)
	d.Step(3, protocol.Close{})
	d.Run(3 * time.Second)
	d.Crash(3)
	d.evenly("after a stop", 4)
	d.restart(3)
	d.Run(10 * time.Second)
	d.evenly("after its start", 5)
	if d.most > DefaultMoves {
		t.Errorf("%d groups of one member moved at once", d.most)
	}
}

// failOver returns how long groups have no leader, on average and at most, after the leader of some dies.
func (d *balancedDriver) failOver(victim protocol.Rank) (mean, longest time.Duration) {
	d.t.Helper()
	var lost []protocol.Group
	for _, g := range d.groups {
		if d.leads(victim, g) {
			lost = append(lost, g)
		}
	}
	d.Crash(victim)
	begin, sum, n := d.Now, time.Duration(0), len(lost)
	for len(lost) > 0 && d.Now.Sub(begin) < 5*time.Second {
		d.Run(ms)
		rest := lost[:0]
		for _, g := range lost {
			if len(d.leaders(g)) == 0 {
				rest = append(rest, g)
				continue
			}
			longest = d.Now.Sub(begin)
			sum += longest
		}
		lost = rest
	}
	if n == 0 || len(lost) > 0 {
		d.t.Fatalf("%d of %d groups have no leader", len(lost), n)
	}
	return sum / time.Duration(n), longest
}

// The second death is of a council in which a member is dead that nobody may wait for.
func TestBalanceCostsNoFailOver(t *testing.T) {
	plain := balancedConfig(5)
	plain.Balance = nil
	times := func(cfg Config) (out [4]time.Duration) {
		d := newBalanced(t, cfg, 300)
		d.Run(time.Second)
		out[0], out[1] = d.failOver(0)
		d.trust(1) // electors notice it some time later
		d.Run(time.Second)
		out[2], out[3] = d.failOver(1)
		return out
	}
	with, without := times(balancedConfig(5)), times(plain)
	t.Logf("mean and longest of the first death, and of the second: %v with balance, %v without", with, without)
	for i := range with {
		if float64(with[i]) > 1.1*float64(without[i]) {
			t.Errorf("%v with balance, %v without", with, without)
		}
	}
}
