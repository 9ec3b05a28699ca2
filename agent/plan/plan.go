package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/regentproject/regent"
)

// An Intent is what an operator wants. Without FailOver and Pause: the shortest leases that survive this host.
type Intent struct {
	// FailOver bounds how long a group may be without a leader after its leader has died; zero: any length.
	FailOver time.Duration
	// Pause is what leases must survive; zero: twice the longest pause that was measured.
	Pause time.Duration
	// Members is how many members the council has.
	Members int
	// RoundTrip is what the operator knows of the network; zero: what was measured.
	RoundTrip time.Duration
}

// margin is how many times the longest pause measured a lease survives: a longer one may come.
const margin = 2

const (
	// shortestTrip is the least round trip to count on: the threads at both ends need a moment.
	shortestTrip = time.Millisecond
	// usualRenewals is how many renewals there are in a lease, and mostRenewals how many there may be where that makes the difference.
	usualRenewals = 4
	mostRenewals  = 10
	// guardPart is which part of a lease is the guard time.
	guardPart = 10
)

// A Plan is constants, and why they are right.
type Plan struct {
	Timing regent.Timing `json:"-"`
	// Constants are those of Timing by their keys in the configuration.
	Constants []Term `json:"constants"`
	// Safe says that all inequalities hold, and that all hosts that were asked have answered.
	Safe bool `json:"safe"`
	// Assumed says that the round trip was not measured.
	Assumed bool `json:"round_trip_assumed"`
	// Tolerates is the longest pause that a lease survives, FailOver the bound on a fail-over.
	Tolerates time.Duration `json:"tolerates_ns"`
	FailOver  time.Duration `json:"fail_over_ns"`
	// Awake says that an agent with this timing holds the processors awake, where it may.
	Awake        bool         `json:"holds_awake"`
	Inequalities []Inequality `json:"inequalities"`
	Bounds       []Bound      `json:"bounds"`
	Cost         Cost         `json:"cost"`
	// Advice is what to do next.
	Advice []string `json:"advice,omitempty"`
	// YAML is what to put into the configuration of all members.
	YAML string `json:"yaml"`
}

// wakeful is how short a pause must be that costs a lease, for the agent to hold the processors awake: deep sleep costs more than power then.
const wakeful = 50 * time.Millisecond

// HoldAwake says whether a member with this timing needs processors that do not sleep deeply.
func HoldAwake(t regent.Timing) bool { return t.Tolerates() < wakeful }

// OrdinaryPause is what a thread without real-time scheduling must be expected to be paused for. An agent without such a thread gives programs no leases that
// do not survive it.
const OrdinaryPause = 50 * time.Millisecond

// Ordinary says that the member's thread was watched, and had no real-time scheduling.
func (m *Measured) Ordinary() bool {
	for i := range m.Pauses {
		if p := &m.Pauses[i]; p.Thread == MemberThread && p.For > 0 && !p.Realtime {
			return true
		}
	}
	return false
}

// Check returns what is wrong with an intent.
func (in *Intent) Check() error {
	switch {
	case in.FailOver < 0:
		return fmt.Errorf("fail-over %v: must not be negative", in.FailOver)
	case in.Pause < 0:
		return fmt.Errorf("pause %v: must not be negative", in.Pause)
	case in.RoundTrip < 0:
		return fmt.Errorf("round trip %v: must not be negative", in.RoundTrip)
	case in.RoundTrip > 0 && in.RoundTrip < shortestTrip:
		return fmt.Errorf("round trip %v: at least %v is counted on, since the threads at both ends need a moment", in.RoundTrip, shortestTrip)
	case in.FailOver > 0 && in.Pause >= in.FailOver:
		return fmt.Errorf("leases that survive pauses of %v are longer than %v: a fail-over, which waits for a lease to end, takes longer", in.Pause, in.FailOver)
	case max(in.FailOver, in.Pause, in.RoundTrip) > longest:
		return fmt.Errorf("%v: at most %v can be planned", max(in.FailOver, in.Pause, in.RoundTrip), longest)
	case in.Members < 1 || in.Members > mostMembers:
		return fmt.Errorf("%d members: must be between 1 and %d", in.Members, mostMembers)
	}
	return nil
}

const (
	longest     = time.Hour
	mostMembers = 64
)

// Make plans. It always returns the best timing that there is; Safe and Inequalities say what it does not keep.
func Make(in Intent, m *Measured) (*Plan, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	if got, _ := m.longest(MemberThread, false); in.Pause == 0 && in.FailOver == 0 && got == 0 {
		return nil, fmt.Errorf("no pauses were measured: measure longer, or set the pause to tolerate")
	}
	// Processors that the agent holds awake are another host. Whether it does depends on the timing, which depends on the host.
	t := choose(in, m, true)
	if !HoldAwake(t) {
		t = choose(in, m, false)
	}
	p := Explain(t, 0, in, m)
	if in.FailOver > 0 && !p.keepsFailOver(in.FailOver) {
		again := fmt.Sprintf("regent plan --failover %v", up(p.FailOver))
		if in.Pause > 0 {
			again += fmt.Sprintf(" --tolerate-pause %v", in.Pause)
		}
		p.Advice = append(p.Advice, fmt.Sprintf("a fail-over within %s is not safe here: the shortest that is takes up to %s (%s)", Length(in.FailOver), Length(p.FailOver), again))
	}
	return p, nil
}

func (p *Plan) keepsFailOver(d time.Duration) bool { return p.FailOver <= d }

// Explain says what follows from the constants of a council, for leases of a length, and what they must satisfy. Zero: the council's length.
func Explain(council regent.Timing, length time.Duration, in Intent, m *Measured) *Plan {
	t := council.ForLease(length)
	p := &Plan{Timing: t, Safe: true, Assumed: m.trip() == 0 && in.RoundTrip == 0, Tolerates: t.Tolerates(), FailOver: t.FailOver(in.Members), Awake: HoldAwake(council)}
	p.Add(leaseInequalities(t, in, m, p.Awake))
	p.Add(councilInequalities(council, m, p.Awake))
	for i := range m.Trips {
		p.Safe = p.Safe && m.Trips[i].Count > 0
	}
	for _, thread := range []Thread{MemberThread, OrdinaryThread} {
		if _, watched := m.longest(thread, p.Awake); watched > 0 {
			p.Bounds = append(p.Bounds, m.Bound(thread, p.Awake, p.Tolerates))
		}
	}
	p.Constants = constants(council)
	p.Cost = costOf(t, in.Members)
	p.YAML = YAML(council)
	p.Advice = append(p.Advice, m.advice(p)...)
	return p
}

// Add adds inequalities.
func (p *Plan) Add(more []Inequality) {
	p.Inequalities = append(p.Inequalities, more...)
	for i := range more {
		p.Safe = p.Safe && more[i].Holds
	}
}

// choose returns the longest lease that fails over in time, or the shortest that survives the pauses.
func choose(in Intent, m *Measured, awake bool) regent.Timing {
	trip, need := tripFor(in, m, awake), in.need(m, awake)
	if in.FailOver > 0 {
		if t, ok := inTime(in, trip, need); ok {
			return t
		}
		return shortest(need, trip, mostRenewals)
	}
	return shortest(need, trip, usualRenewals)
}

// need returns the pause that leases must survive.
func (in *Intent) need(m *Measured, awake bool) time.Duration {
	least := time.Duration(0)
	if m.Ordinary() {
		least = OrdinaryPause
	}
	if in.Pause > 0 {
		return max(in.Pause, least)
	}
	member, _ := m.longest(MemberThread, awake)
	ordinary, _ := m.longest(OrdinaryThread, awake)
	return max(margin*max(member, ordinary), least)
}

// tripFor returns the round trip to count on: twice the longest, and the thread at the other end late as it usually is.
func tripFor(in Intent, m *Measured, awake bool) time.Duration {
	switch measured := m.trip(); {
	case in.RoundTrip > 0:
		return max(in.RoundTrip, shortestTrip)
	case measured == 0:
		return regent.LAN.RoundTrip
	default:
		return max(up(2*measured+m.usually(awake)), shortestTrip)
	}
}

// inTime returns the longest lease that fails over in time, renewed as seldom as the pause allows; false if there is none.
func inTime(in Intent, trip, need time.Duration) (regent.Timing, bool) {
	for lease := down(in.FailOver); lease > 2*trip; lease = down(lease - 1) {
		if build(lease, lease/usualRenewals, trip).FailOver(in.Members) > in.FailOver {
			continue
		}
		for _, parts := range []time.Duration{usualRenewals, 5, 6, 8, mostRenewals} {
			if t := build(lease, lease/parts, trip); t.Tolerates() >= need && fits(t) {
				return t, true
			}
		}
		return regent.Timing{}, false // shorter leases survive less
	}
	return regent.Timing{}, false
}

// shortest returns the shortest lease that survives the pause, with so many renewals in it.
func shortest(need, trip, parts time.Duration) regent.Timing {
	for lease := up(max(need, 2*trip)); ; lease = up(lease + 1) {
		if t := build(lease, lease/parts, trip); t.Tolerates() >= need && fits(t) {
			return t
		}
	}
}

// fits says whether answers to a renewal come before the next one, beside what the library refuses.
func fits(t regent.Timing) bool {
	return t.Lease > 2*t.RoundTrip && t.Tolerates() > 0 && t.Guard <= t.LongestLocalGuard()
}

// build returns all constants for a lease. Those that bear neither on pauses nor on fail-overs follow the proportions of the profiles.
func build(lease, renew, trip time.Duration) regent.Timing {
	t := regent.LAN
	t.RoundTrip, t.Lease, t.Renew, t.Guard = trip, lease, max(down(renew), trip), down(lease/guardPart)
	t.LongestLease = max(t.LongestLease, lease)
	t.Heartbeat = max(t.Heartbeat, up(7*trip))
	t.Suspect = max(t.Suspect, up(12*t.Heartbeat/5))
	t.Delay = max(5*time.Millisecond, up(trip/2), up(t.Guard/4)) // a local lease, of some Delays, has room for the guard time
	t.Evict = max(up(40*t.Renew), up(8*t.Renew+2*trip))
	return t
}

// up and down round to three significant digits, so that people can read constants.
func up(d time.Duration) time.Duration {
	s := step(d)
	return (d + s - 1) / s * s
}

func down(d time.Duration) time.Duration {
	s := step(d)
	return d / s * s
}

// step is what lengths of about d are rounded to: a hundredth of the power of ten below them, at least a microsecond.
func step(d time.Duration) time.Duration {
	if d <= 0 {
		return time.Microsecond
	}
	ten := math.Pow(10, math.Floor(math.Log10(float64(d))))
	return max(time.Microsecond, time.Duration(ten)/100)
}
