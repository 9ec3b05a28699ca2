package regent

import (
	"fmt"
	"math"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rain"
)

// Timing is all constants that have to do with time. Every member of a council must have the same, except for Guard. LongestLease and Drift are those
// that a council begins with: [Member.Change] changes them while it runs, and [Member.Timing] returns what is in force.
//
// Take a profile, [Fast], [LAN] or [WAN], and change what you must:
//
//	t := regent.LAN
//	t.Lease = 300 * time.Millisecond
//
// A set of constants that cannot work is refused by [Join] with the inequality that it breaks.
type Timing struct {
	// RoundTrip is within what time a message and its answer pass between any two members while all is well. A request
	// that is not answered by then is repeated. Too short costs packets, too long makes the first election slower.
	RoundTrip time.Duration
	// Renew is how often a leader renews its lease: each time one packet to, and one from, every other member, however
	// many groups it leads. Local leaders renew theirs about as often, and leaders of eventual groups say as often that they
	// are alive.
	Renew time.Duration
	// Lease is for how long a leader is promised not to be replaced, from each renewal. If it dies, the others wait for
	// the rest of it: between Lease - Renew and Lease. It must outlast Renew, a round trip, the longest pause that
	// members are to survive without losing their lease, and Guard.
	Lease time.Duration
	// LongestLease is the longest lease that anybody may ask for, and part of what all members must agree on. A member
	// that has lost its record, or keeps none ([Config.Dir]), waits for as long, after its start, before it asks the others
	// and votes. All other waits follow the leases that were granted. The profiles take 30 s. Zero: Lease.
	LongestLease time.Duration
	// PerGroup is by how much longer a member's lease is for each group that it leads, up to LongestLease. All groups of a
	// member share one lease. Were it shorter than the time that it takes to move them all to another member, they might
	// never come to rest.
	PerGroup time.Duration
	// Guard is how long before the end of its lease a leading program is asked to stop, if no renewal came: the context
	// ends, Done is closed. It is the time that the program has to stop in when all goes wrong; it costs as much of the
	// pauses that a lease survives. A write that takes longer than Guard needs a fence, and so does any program that may
	// be paused; but even one that is not paused needs a moment to notice. The profiles take about a tenth of the lease.
	Guard time.Duration
	// Heartbeat is how often members that do not hear of one another otherwise say that they are alive, and Suspect how
	// long one may be silent before the others no longer wait for it to go first in an election. Neither bears on
	// safety, nor on how soon a dead leader is replaced: that is what the lease is for.
	Heartbeat, Suspect time.Duration
	// Delay is the delay up to which a packet counts as fast, by proof. It decides which of several addresses of a
	// member is used, and how often silent pairs probe one another. In local groups only fast packets count: members between
	// which they are slower are apart.
	Delay time.Duration
	// Evict is for how long a link between two members of a consistent group may be broken, while all else is well, before one of the two has to leave
	// the group. Until then nothing can be agreed on. Shorter makes the group wait less for a bad cable; longer lets a short disturbance pass without
	// anybody leaving. It must exceed 4 Renew and a round trip, after which a silent link counts as broken. The profiles take 40 Renew. Zero: never.
	Evict time.Duration
	// Drift bounds by how much the rate of any member's clock may differ from that of real time, as a fraction. Leases
	// are safe only within it. The default of the profiles, 0.001, is ten times what a bad crystal does.
	Drift float64
}

// The profiles, by what their leases tolerate and what they give ([Timing.Tolerates], [Timing.FailOver]). Each fails over
// within about its Lease.
//
//	Fast  one rack or host, with a core to spare: leases survive pauses of 5 ms, and a dead leader is replaced after 28 ms
//	LAN   a data centre: pauses of 109 ms, 200 ms. It is the default
//	WAN   several continents: pauses of 997 ms, 2 s
//
// [Group.WithLease] gives single groups longer leases, which survive longer pauses under the same profile.
var (
	Fast = Timing{RoundTrip: 4 * time.Millisecond, Renew: 15 * time.Millisecond, Lease: 28 * time.Millisecond, LongestLease: longestLease,
		PerGroup: 10 * time.Microsecond,
		Guard:    3 * time.Millisecond, Heartbeat: 500 * time.Millisecond, Suspect: 1200 * time.Millisecond,
		Delay: 5 * time.Millisecond, Evict: 600 * time.Millisecond, Drift: 0.001}
	LAN = Timing{RoundTrip: 20 * time.Millisecond, Renew: 50 * time.Millisecond, Lease: 200 * time.Millisecond, LongestLease: longestLease,
		PerGroup: 10 * time.Microsecond,
		Guard:    20 * time.Millisecond, Heartbeat: 500 * time.Millisecond, Suspect: 1200 * time.Millisecond,
		Delay: 10 * time.Millisecond, Evict: 2 * time.Second, Drift: 0.001}
	WAN = Timing{RoundTrip: 300 * time.Millisecond, Renew: 500 * time.Millisecond, Lease: 2 * time.Second, LongestLease: longestLease,
		PerGroup: 10 * time.Microsecond,
		Guard:    200 * time.Millisecond, Heartbeat: 2 * time.Second, Suspect: 5 * time.Second,
		Delay: 100 * time.Millisecond, Evict: 20 * time.Second, Drift: 0.001}
)

// longestLease is that of the profiles. It costs nothing until a member loses its record.
const longestLease = 30 * time.Second

// ForLease returns the constants as they are for leases of a length in this council: long leases are renewed less often. Zero: Lease.
func (t Timing) ForLease(length time.Duration) Timing {
	if length != 0 {
		t.Renew = lease.RenewEvery(length, t.Lease, t.Renew)
		t.Lease = length
	}
	return t
}

// Tolerates returns for how long members may be paused, all at once or one after the other between two renewals, without losing a lease:
// what the lease lasts by the clock of its holder, less Renew, RoundTrip and Guard.
func (t Timing) Tolerates() time.Duration {
	return max(0, t.rho().WaitAtMost(t.Lease)-t.Renew-t.rho().WaitAtLeast(t.RoundTrip)-t.Guard)
}

// Kappa is within what time every part of the network that holds together has a local leader, counted from when it began to
// (κ of HALL). It follows from Delay, Renew and Drift; [Config.Calm] adds to it, which [Status.Kappa] shows.
func (t Timing) Kappa() time.Duration {
	h := t.local()
	return h.Kappa(directRound)
}

// FailOver bounds how long a quorum group has no leader after its leader has died, in a council of which so many members may
// lead. It counts on a majority that is left with a program waiting in it; no packet that is lost, or takes more than half of
// RoundTrip; no member that is paused; and attempts to lead that meet one another twice at most, which is all but certain. A
// leader of many groups has a lease that is longer by PerGroup for each. Most fail-overs take about as long as Lease.
func (t Timing) FailOver(leaders int) time.Duration {
	c := nerio.Config{Quorums: protocol.Majority(leaders), RoundTrip: t.RoundTrip, Lease: t.Lease, Longest: max(t.Lease, t.LongestLease),
		PerGroup: t.PerGroup, Renew: t.Renew, Rho: t.rho()}
	return c.FailOver()
}

// Restart is how long a member that was not stopped in good order waits, after its start, before it votes, if it has
// promised leases of the length Lease only, and not for very many groups. Longer ones that may still stand make it wait
// for a quarter more than their length.
func (t Timing) Restart() time.Duration {
	c := nerio.Config{Lease: t.Lease, Longest: max(t.Lease, t.LongestLease)}
	return c.Restart()
}

// directRound is how many Delays a round of a local group takes: there and back.
const directRound = 2

// local works out the constants of local groups. A message that takes three eighths of Delay is proven to be fast,
// whatever the age of the echo that proves it (datagram.Config.MaxAge); a timer may be as late as a packet; one
// message in a row may be lost without costing a lease, or making a member count as dead.
func (t *Timing) local() hall.Timing {
	rho := t.rho()
	h := hall.Timing{Rho: rho, Delta: t.Delay, MaxAge: datagram.DefaultMaxAge(t.Delay, rho), Sched: t.Delay, Renew: t.Renew, Losses: 1, Retries: 1}
	// C8: Δ >= 2δ + 2ρ·MaxAge.
	h.OneWay = max(1, (t.Delay-2*(rho.WaitAtLeast(h.MaxAge)-h.MaxAge))/2)
	return h.Fit(directRound)
}

// LongestLocalGuard is the longest guard time that a program can have under the lease of a local leader: what the lease lasts, less Renew and the
// two Delays that a renewal may take. With a longer one the program would have to stop between two renewals.
func (t Timing) LongestLocalGuard() time.Duration {
	return max(0, t.LocalLease()-t.Renew-t.rho().WaitAtLeast(directRound*t.Delay))
}

// LocalLease is how long the lease of a local leader lasts from each renewal, by its own clock.
func (t Timing) LocalLease() time.Duration {
	h := t.local()
	return h.Rho.WaitAtMost(h.Rho.RealAtLeast(h.Lock))
}

// consistent works out the constants of consistent groups.
func (t *Timing) consistent() rain.Config {
	return rain.Config{Ping: t.Renew, Tin: 2*t.Renew + t.RoundTrip, Tout: 4*t.Renew + t.RoundTrip, Renew: 2 * t.Renew, Stay: 7*t.Renew + t.RoundTrip,
		Stall: 20 * t.Renew, Evict: t.Evict, Rho: t.rho()}
}

// checkConsistent returns the inequality that the constants of consistent groups break.
func (t *Timing) checkConsistent() error {
	if broken := t.consistent().Tout; t.Evict != 0 && t.Evict <= broken {
		return fmt.Errorf("config: evict %v: must exceed %v, 4 renewals and a round trip (or be 0: never)", t.Evict, broken)
	}
	return nil
}

// rho returns the drift as the protocols want it, rounded up.
func (t *Timing) rho() protocol.Rho {
	exact := t.Drift * 1e9
	r := protocol.Rho(math.Round(exact))
	if exact > float64(r)+rounding { // drift: the fraction of a Rho comes back as that Rho, and all else is rounded up
		r++
	}
	return r
}

// rounding is by how much a drift that was worked out of a protocol.Rho may miss it.
const rounding = 1e-6

// CheckLease returns what is wrong with leases of another length than Lease, as [Group.WithLease] asks for them.
func (t Timing) CheckLease(length time.Duration) error {
	if length == 0 {
		return nil
	}
	if length > t.LongestLease {
		return fmt.Errorf("lease %v: longer than the longest of the council, %v (raise that with 'regent members timing longest_lease=%v')", length, t.LongestLease, length)
	}
	with := t.ForLease(length)
	if err := with.check(); err != nil {
		return fmt.Errorf("lease %v: too short: %w", length, err)
	}
	return nil
}

// check returns the inequality that the constants break. The protocols check theirs.
func (t *Timing) check() error {
	if t.Drift <= 0 || t.Drift >= 0.5 {
		return fmt.Errorf("config: drift %v: must be above 0 and below 0.5, such as 0.001", t.Drift)
	}
	for _, c := range []struct {
		name   string
		length time.Duration
	}{{"round trip", t.RoundTrip}, {"renewal interval", t.Renew}, {"lease", t.Lease}, {"heartbeat", t.Heartbeat}, {"suspect", t.Suspect}, {"delay", t.Delay}} {
		if c.length <= 0 {
			return fmt.Errorf("config: %s %v: must be positive; start from a profile, such as regent.LAN", c.name, c.length)
		}
	}
	if t.Suspect <= t.Heartbeat {
		return fmt.Errorf("config: suspect %v: must exceed the heartbeat %v", t.Suspect, t.Heartbeat)
	}
	used := t.rho().WaitAtMost(t.Lease)
	if need := t.Renew + t.rho().WaitAtLeast(t.RoundTrip); t.Guard < 0 || used-t.Guard < need {
		return fmt.Errorf("config: guard %v: must not be negative, and at most %v: the lease %v, of which a leader can use %v, "+
			"less the renewal interval %v and the round trip %v", t.Guard, max(0, used-need), t.Lease, used, t.Renew, t.RoundTrip)
	}
	return nil
}
