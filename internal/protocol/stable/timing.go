package stable

import "time"

// Timing is every length of time that a configuration comes to. Those of the machine are local: lengths on its own
// clock. With a period of δ and perfect clocks they are those of the paper, given on the right.
type Timing struct {
	// Period is how far OKs are apart: at least Config.Period of real time, whatever the clock does.    δ
	Period time.Duration
	// Silence is how long a leader may be silent: the longest period, and the longest delay.            2δ
	Silence time.Duration
	// First is how long the leader of a new round may take: START to it, and OK back.                   2δ
	First time.Duration
	// Probe is how long PONGs are waited for.                                                           2δ
	Probe time.Duration
	// Hold is for how long an ALERT keeps a leader from being elected.                                  6δ
	Hold time.Duration
	// Spread is how much the numbers of two OKs must differ that were sent δ apart.                     1
	Spread uint64

	// Stable is the k of k-stability as a length of real time: 3δ, (n+4)δ, 6δ. Zero: not stable.
	Stable time.Duration
	// Election is within what real time a leader is found when all is well and rounds of dead members are skipped:       9δ
	Election time.Duration
}

// Timing works out the lengths of time.
func (c *Config) Timing() Timing {
	t := Timing{Period: c.Rho.WaitAtLeast(c.Period), Spread: 1}
	longest := c.Rho.RealAtMost(t.Period)
	t.Silence = c.Rho.WaitAtLeast(longest + c.Delta)
	t.Probe = c.Rho.WaitAtLeast(2 * c.Delta)
	t.First = max(t.Silence, t.Probe)
	if c.Period < c.Delta {
		t.Spread = uint64((c.Delta + c.Period - 1) / c.Period)
	}
	// How long a member may be in a later round without anybody hearing of it: it waits for the leader of its round, and
	// then for answers, unless it gives warning before it asks, or what it asks is a warning.
	quiet := c.Rho.RealAtMost(t.First)
	if c.Ping && c.Variant != Alerting {
		quiet += c.Rho.RealAtMost(t.Probe)
	}
	t.Hold = c.Rho.WaitAtLeast(quiet + 4*c.Delta)
	switch c.Variant {
	case Alerting:
		t.Stable = c.Rho.RealAtMost(t.Hold)
	case Lossy:
		t.Stable = quiet + time.Duration(c.Members+2)*c.Delta
	case Reliable:
		t.Stable = quiet + c.Delta
	}
	t.Election = longest*time.Duration(t.Spread) + c.Rho.RealAtMost(t.Silence) + c.Rho.RealAtMost(t.Probe) + 4*c.Delta
	return t
}
