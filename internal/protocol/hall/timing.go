package hall

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Timing is the constants that all members of a group have in common. Lengths are of real time, or of a member's own
// clock where it says so. Check holds them to the inequalities C1 to C8 of PROTOCOLS §2.5.
type Timing struct {
	Rho protocol.Rho
	// Delta is Δ: a message that is proven to have taken no longer is fast. OneWay is δ, what a message takes in good times,
	// and MinDelay what every message between two members takes at least.
	Delta, OneWay, MinDelay time.Duration
	// MaxAge is the age at which the datagram layer forgets an echo.
	MaxAge time.Duration
	// Sched is σ: how late a timer may be, and a member is still timely.
	Sched time.Duration
	// Period is EP, on the own clock: a candidate asks for support at least this often.
	Period time.Duration
	// Lock is lockTime, on the voter's clock: for how long a supportive reply binds it.
	Lock time.Duration
	// Expires is how long, on the own clock, a member counts as alive after a fast message of it.
	Expires time.Duration
	// Losses is how many messages in a row may be lost before a member no longer counts as alive.
	Losses int
	// Renew is R, on the own clock: how far apart the renewals of a leader shall be at least.
	Renew time.Duration
	// Retries is how many rounds in a row a leader can lose to silence before its lease runs out. Each costs a round and σ of
	// the lease, so renewals come closer together.
	Retries int
}

const ms = time.Millisecond

// The profiles of PROTOCOLS §2.5. Its periods are a little longer here: with ρ = 1e-3 the table's own break C2 by about one
// part in five hundred.
var (
	// LAN suits a local network with ordinary hosts.
	LAN = Timing{Rho: protocol.DefaultRho, Delta: 10 * ms, OneWay: 3 * ms, MaxAge: 1250 * ms, Sched: 10 * ms,
		Period: 121 * ms, Lock: 100 * ms, Expires: 300 * ms, Losses: 1, Renew: 50 * ms}
	// Fast suits a quiet local network with members that always have a processor at hand.
	Fast = Timing{Rho: protocol.DefaultRho, Delta: 2 * ms, OneWay: 700 * time.Microsecond, MaxAge: 250 * ms, Sched: 2 * ms,
		Period: 20100 * time.Microsecond, Lock: 16 * ms, Expires: 50 * ms, Losses: 1, Renew: 6 * ms}
	// WAN suits members in different places.
	WAN = Timing{Rho: protocol.DefaultRho, Delta: 100 * ms, OneWay: 35 * ms, MaxAge: 12500 * ms, Sched: 20 * ms,
		Period: 602 * ms, Lock: 480 * ms, Expires: 1600 * ms, Losses: 1, Renew: 200 * ms}
)

// directWindow is how many Δ a round takes without a reply tree: there and back.
const directWindow = 2

// window returns G, on the own clock: how long a candidate waits for replies.
func (t *Timing) window(deltas int) time.Duration {
	return t.Rho.WaitAtLeast(time.Duration(deltas) * t.Delta)
}

// lease returns L, on the own clock: how long from its request on a leader may rely on locks of that request. A voter's lock
// stands for at least RealAtLeast(Lock), whatever its clock does.
func (t *Timing) lease() time.Duration { return t.Rho.WaitAtMost(t.Rho.RealAtLeast(t.Lock)) }

// lateness is σ on the own clock.
func (t *Timing) lateness() time.Duration { return t.Rho.WaitAtLeast(t.Sched) }

// leastExpires returns the least Expires that C5 allows.
func (t *Timing) leastExpires(deltas int) time.Duration {
	skew := t.spread(deltas) - t.MinDelay
	one := t.Rho.WaitAtLeast(t.Rho.RealAtMost(t.Period) + skew)
	two := time.Duration(t.Losses+1)*t.Period + t.Rho.WaitAtLeast(time.Duration(deltas)*t.Delta-2*t.MinDelay)
	return max(one, two)
}

// spread returns S, in real time: how long after a round begins its request has reached every voter. One that is relayed counts
// within Δ. Voters that have not answered by 2Δ before the end of the round are asked directly, and that takes one Δ too.
func (t *Timing) spread(deltas int) time.Duration { return time.Duration(deltas-1) * t.Delta }

// leastPeriod returns the least Period that C2 allows: a lock given just before a request of mine has ended when my next
// one arrives.
func (t *Timing) leastPeriod(deltas int) time.Duration {
	return t.Sched + t.Rho.WaitAtLeast(t.Rho.RealAtMost(t.Lock)+t.spread(deltas)-t.MinDelay)
}

// leastLock returns the least Lock with which a leader can renew every Renew without a gap (C4; C1 follows).
func (t *Timing) leastLock(deltas int) time.Duration {
	return t.Rho.WaitAtLeast(t.Rho.RealAtMost(t.ahead(deltas) + t.Renew))
}

// ahead returns how long before the end of its lease a leader asks for the next: time for a round and two late timers, the
// one that begins it and the one that ends it (E-H4), and for each retry another round and a late timer.
func (t *Timing) ahead(deltas int) time.Duration {
	return time.Duration(1+t.Retries)*(t.window(deltas)+t.lateness()) + t.lateness()
}

// Fit returns the timing with the shortest Lock, Period and Expires that satisfy every constraint for rounds of so many Δ,
// the rest being as given.
func (t Timing) Fit(deltas int) Timing {
	t.Lock = t.leastLock(deltas)
	t.Period = t.leastPeriod(deltas)
	t.Expires = t.leastExpires(deltas)
	return t
}

// Kappa returns κ for rounds of so many Δ: within it there is a leader in every stable partition (T), and from then on it
// is backed by everybody that it is connected to (BI). It is the larger of the two, in real time.
func (t *Timing) Kappa(deltas int) time.Duration { return max(t.kappaT(deltas), t.kappaBI(deltas)) }

// kappaT is C6, and kappaBI is C7.
func (t *Timing) kappaT(deltas int) time.Duration {
	return t.Rho.RealAtMost(t.Expires+t.lateness()+t.Period) + time.Duration(deltas)*t.Delta + 1
}

func (t *Timing) kappaBI(deltas int) time.Duration {
	return time.Duration(deltas)*t.Delta + t.Rho.RealAtMost(t.Expires+t.lease())
}

// A Broken constraint is an inequality that a timing does not satisfy.
type Broken struct {
	// Name is C1 to C8; Rule is the inequality; Numbers are both of its sides; Do is the nearest value that would do.
	Name, Rule, Numbers, Do string
}

// Error says which inequality is broken, with what numbers, and what to do.
func (b *Broken) Error() string {
	return fmt.Sprintf("hall: %s is broken: %s: %s; %s", b.Name, b.Rule, b.Numbers, b.Do)
}

func broken(name, rule string, left, right time.Duration, do string, value time.Duration) error {
	return &Broken{Name: name, Rule: rule, Numbers: fmt.Sprintf("%v against %v", left, right), Do: fmt.Sprintf("%s %v would do", do, value)}
}

// Check returns the first constraint that the timing breaks, for rounds of so many Δ.
func (t *Timing) Check(deltas int) error {
	if err := t.Rho.Check(); err != nil {
		return err
	}
	switch {
	case t.OneWay <= 0 || t.MinDelay < 0 || t.MinDelay > t.OneWay:
		return fmt.Errorf("hall: one way %v, least delay %v: must satisfy 0 <= least delay <= one way, and one way > 0", t.OneWay, t.MinDelay)
	case t.Delta <= 0 || t.Sched < 0 || t.Renew < 0 || t.MaxAge < 0 || t.Losses < 0 || t.Retries < 0 || t.Lock <= 0:
		return fmt.Errorf("hall: delta %v, scheduling %v, renew %v, max age %v, losses %d, retries %d, lock %v: must not be negative, and delta and lock not zero",
			t.Delta, t.Sched, t.Renew, t.MaxAge, t.Losses, t.Retries, t.Lock)
	}
	g, l, late := t.window(deltas), t.lease(), t.lateness()
	if need := g + late; l <= need {
		return broken("C1", "a lease must outlast its own election: lockTime·(1-ρ)/(1+ρ) > G + σ(1+ρ)", l, need, "a lock of", t.leastLock(deltas))
	}
	if need := t.ahead(deltas) + t.Renew; l < need {
		return broken("C4", "a lease must cover its rounds, late timers and the wanted spacing: lockTime·(1-ρ)/(1+ρ) >= (1+retries)(G + σ(1+ρ)) + σ(1+ρ) + R",
			l, need, "a lock of", t.leastLock(deltas))
	}
	if need := time.Duration(deltas)*t.Delta + t.spread(deltas) + 2*t.Sched - t.MinDelay; t.Period < need {
		return broken("C3", "the period must leave room for any lock at all: EP >= wΔ + S + 2σ - δmin", t.Period, need, "a period of", max(need, t.leastPeriod(deltas)))
	}
	if need := t.leastPeriod(deltas); t.Period < need {
		most := t.Rho.WaitAtMost(max(0, t.Rho.RealAtLeast(max(0, t.Period-t.Sched))-t.spread(deltas)+t.MinDelay))
		return broken("C2", "a competitor's lock must end before my second request arrives: lockTime <= (1-ρ)((EP-σ)/(1+ρ) - S + δmin)",
			t.Lock, most, "a period of", need)
	}
	if need := t.leastExpires(deltas); t.Expires < need {
		return broken("C5", fmt.Sprintf("who is heard every period must stay alive, %d losses included: expires >= (m+1)EP + (1+ρ)(roundtrip - 2δmin)", t.Losses),
			t.Expires, need, "expires of", need)
	}
	if need := 2*t.OneWay - t.MinDelay + 2*(t.Rho.WaitAtLeast(t.MaxAge)-t.MaxAge); t.Delta < need {
		return broken("C8", "a message that takes no longer than δ must be proven fast: Δ >= 2δ - δmin + 2ρ·MaxAge", t.Delta, need, "delta of", need)
	}
	return nil
}
