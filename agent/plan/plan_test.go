package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regentproject/regent"
)

const ms = time.Millisecond

// host returns measurements of a minute: both threads paused for so long at most, and one peer.
func host(pause, trip time.Duration) *Measured {
	m := &Measured{}
	for _, thread := range []Thread{MemberThread, OrdinaryThread} {
		m.Pauses = append(m.Pauses, Pauses{Thread: thread, Load: AsIs, Realtime: true, For: time.Minute, Longest: pause,
			Buckets: []Bucket{{Upper: pause / 100, Count: 1000}, {Upper: pause, Count: 1}}})
	}
	if trip > 0 {
		m.Trips = []Trip{{Peer: "b", Count: 100, Median: trip / 2, Longest: trip}}
	}
	return m
}

// accepts has the library check constants, as Join would.
func accepts(t regent.Timing, members int) error {
	c := regent.Config{Name: "m0", CouncilID: "0123456789abcdef0123456789abcdef", Timing: t, Consistent: true}
	for i := range members {
		c.Council = append(c.Council, regent.Peer{Name: fmt.Sprintf("m%d", i), Addrs: []string{fmt.Sprintf("127.0.0.1:%d", 7400+i)}})
	}
	c.OwnKeys = regent.DrawKeys(c.Council)["m0"]
	return c.Check()
}

func TestIntentsBecomeTimings(t *testing.T) {
	for _, c := range []struct {
		name              string
		in                Intent
		m                 *Measured
		lease, renew      time.Duration
		safe              bool
		tolerates, within time.Duration
	}{
		{"a pause to tolerate", Intent{Pause: 500 * ms, Members: 3, RoundTrip: 20 * ms}, host(10*ms, 0), 801 * ms, 200 * ms, true, 500 * ms, time.Hour},
		{"a fail-over", Intent{FailOver: 50 * ms, Members: 3}, host(2*ms, 200*time.Microsecond), 35300 * time.Microsecond, 8820 * time.Microsecond, true, 4 * ms, 50 * ms},
		{"a fail-over that the host allows only with more renewals", Intent{FailOver: 1000 * ms, Members: 3, RoundTrip: 5 * ms}, host(300*ms, 0), 925 * ms, 185 * ms, true, 600 * ms, time.Second},
		{"what the host allows", Intent{Members: 3, RoundTrip: 5 * ms}, host(54*ms, 0), 175 * ms, 43700 * time.Microsecond, true, 108 * ms, time.Hour},
		{"a fail-over that the host does not allow", Intent{FailOver: 50 * ms, Members: 3, RoundTrip: ms}, host(54*ms, 0), 137 * ms, 13700 * time.Microsecond, false, 108 * ms, time.Hour},
		{"a fail-over that the network does not allow", Intent{FailOver: 50 * ms, Members: 3}, host(ms, 0), 46800 * time.Microsecond, 20 * ms, false, 2 * ms, time.Hour},
	} {
		p, err := Make(c.in, c.m)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.Timing.Lease != c.lease || p.Timing.Renew != c.renew || p.Safe != c.safe || p.Tolerates < c.tolerates || p.FailOver > c.within {
			t.Errorf("%s: lease %v, renewed every %v, safe %v, tolerates %v, fails over within %v: want %v", c.name, p.Timing.Lease, p.Timing.Renew, p.Safe, p.Tolerates, p.FailOver, c)
			for i := range p.Inequalities {
				t.Log(p.Inequalities[i].Holds, p.Inequalities[i].String())
			}
		}
		if err := accepts(p.Timing, c.in.Members); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// An agent without real-time scheduling gives programs longer leases than those that a plan for it would have: then that is no plan.
func TestOrdinaryThreadsGetNoLeasesThatAnAgentDoesNotGive(t *testing.T) {
	for _, realtime := range []bool{true, false} {
		m := host(2*ms, 200*time.Microsecond)
		for i := range m.Pauses {
			m.Pauses[i].Realtime = realtime && m.Pauses[i].Thread == MemberThread
		}
		for _, in := range []Intent{{FailOver: 50 * ms, Members: 3}, {Pause: 5 * ms, Members: 3}, {Members: 3}} {
			p, err := Make(in, m)
			if err != nil {
				t.Fatal(err)
			}
			if survives := p.Tolerates >= OrdinaryPause; survives == realtime || p.Safe != (realtime || in.FailOver == 0) {
				t.Errorf("%+v, real-time %v: a lease of %v that survives %v, safe %v", in, realtime, p.Timing.Lease, p.Tolerates, p.Safe)
			}
		}
		of := Explain(regent.Fast, 0, Intent{Members: 3, RoundTrip: ms}, m)
		if named := slices.ContainsFunc(of.Inequalities, func(q Inequality) bool { return q.Name == "ordinary scheduling" && !q.Holds }); named == realtime {
			t.Errorf("profile fast, real-time %v: %v", realtime, of.Inequalities)
		}
	}
}

// Where an intent cannot be kept the plan says which one can.
func TestAnUnsafeFailOverNamesTheShortestSafeOne(t *testing.T) {
	p, err := Make(Intent{FailOver: 50 * ms, Members: 3, RoundTrip: ms}, host(54*ms, 0))
	if err != nil || p.Safe || len(p.Advice) == 0 {
		t.Fatal(p, err)
	}
	again, err := Make(Intent{FailOver: up(p.FailOver), Members: 3, RoundTrip: ms}, host(54*ms, 0))
	if err != nil || !again.Safe {
		t.Errorf("the fail-over of %v that it names is not safe either: %v, %v", up(p.FailOver), again.Inequalities, err)
	}
	if want := fmt.Sprintf("--failover %v)", up(p.FailOver)); !slices.ContainsFunc(p.Advice, func(s string) bool { return strings.Contains(s, want) }) {
		t.Errorf("it does not name %q: %q", want, p.Advice)
	}
}

func drawHost(t *rapid.T) (Intent, *Measured) {
	length := func(name string, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(1, int64(most)).Draw(t, name)) >> rapid.IntRange(0, 20).Draw(t, name+" halved")
	}
	in := Intent{Members: rapid.IntRange(1, 9).Draw(t, "members")}
	if rapid.Bool().Draw(t, "by fail-over") {
		in.FailOver = max(ms, length("fail-over", time.Minute))
	}
	if rapid.Bool().Draw(t, "by pause") {
		in.Pause = max(ms, length("pause", time.Minute))
	}
	if in.FailOver > 0 && in.Pause >= in.FailOver { // refused
		in.FailOver = in.Pause + ms
	}
	trip := time.Duration(0)
	if rapid.Bool().Draw(t, "measured") {
		trip = length("trip", time.Second)
	}
	return in, host(max(100, length("longest", 10*time.Second)), trip)
}

// The library accepts every timing that is planned, and what the plan states holds: all that it calls safe is, by its own inequalities.
func TestEveryPlannedTimingIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, m := drawHost(t)
		p, err := Make(in, m)
		if err != nil {
			t.Fatal(err)
		}
		if err := accepts(p.Timing, in.Members); err != nil {
			t.Fatalf("%+v: %v", p.Timing, err)
		}
		for i := range p.Inequalities {
			q := &p.Inequalities[i]
			if got := sum(q.Left) > sum(q.Right) || !q.Strict && sum(q.Left) == sum(q.Right); got != q.Holds || !q.Holds && p.Safe {
				t.Fatalf("%v: holds %v, safe %v", q, q.Holds, p.Safe)
			}
		}
		if sum(spare(p.Timing)) != p.Tolerates {
			t.Fatalf("the sum %v is not what a lease tolerates, %v", spare(p.Timing), p.Tolerates)
		}
		if in.Pause > 0 && p.Tolerates < in.Pause {
			t.Fatalf("tolerates %v of %v", p.Tolerates, in.Pause)
		}
		if p.Safe && in.FailOver > 0 && p.FailOver > in.FailOver {
			t.Fatalf("fails over within %v, of %v", p.FailOver, in.FailOver)
		}
	})
}

// A longer pause never makes a shorter lease, and more time for a fail-over never one that survives less.
func TestPlansAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, m := drawHost(t)
		in.FailOver = 0
		in.Pause = max(in.Pause, ms)
		longer := in
		longer.Pause += time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "more"))
		x, err1 := Make(in, m)
		y, err2 := Make(longer, m)
		if err1 != nil || err2 != nil || x.Timing.Lease > y.Timing.Lease {
			t.Fatalf("pause %v: lease %v; pause %v: lease %v; %v %v", in.Pause, x.Timing.Lease, longer.Pause, y.Timing.Lease, err1, err2)
		}
		quick := Intent{FailOver: in.Pause + time.Second, Members: in.Members, RoundTrip: ms}
		slow := quick
		slow.FailOver += longer.Pause
		still := host(ms, 0)
		x, err1 = Make(quick, still)
		y, err2 = Make(slow, still)
		if err1 != nil || err2 != nil || x.Timing.Lease > y.Timing.Lease || !x.Safe || !y.Safe {
			t.Fatalf("fail-over %v: lease %v; fail-over %v: lease %v; %v %v", quick.FailOver, x.Timing.Lease, slow.FailOver, y.Timing.Lease, err1, err2)
		}
	})
}

// An agent that holds the processors awake has another host; one with long leases does not hold them.
func TestHeldProcessorsCountWhereTheAgentHoldsThem(t *testing.T) {
	m := host(54*ms, 0)
	for _, thread := range []Thread{MemberThread, OrdinaryThread} {
		m.Pauses = append(m.Pauses, Pauses{Thread: thread, Load: Awake, Realtime: true, For: time.Minute, Longest: ms, Buckets: []Bucket{{Upper: ms, Count: 100}}})
	}
	p, err := Make(Intent{FailOver: 50 * ms, Members: 3, RoundTrip: ms}, m)
	if err != nil || !p.Safe || !p.Awake {
		t.Errorf("fast: %+v, %v", p, err)
	}
	if b := p.Bounds[0]; b.For != time.Minute || b.Seen != 0 {
		t.Errorf("its bound counts the host as it is: %v", b)
	}
	p, err = Make(Intent{FailOver: time.Second, Members: 3, RoundTrip: ms}, m)
	if err != nil || !p.Safe || p.Awake {
		t.Errorf("slow: %+v, %v", p, err)
	}
	if q := p.Inequalities[0]; sum(q.Right) != 108*ms {
		t.Errorf("without the agent's hold, twice the longest pause is %v", sum(q.Right))
	}
}

func TestIntentsThatMakeNoSense(t *testing.T) {
	for _, in := range []Intent{{FailOver: -1, Members: 3}, {Pause: -1, Members: 3}, {RoundTrip: -1, Members: 3}, {}, {Members: 65}, {Pause: 2 * time.Hour, Members: 3}} {
		if _, err := Make(in, host(ms, 0)); err == nil {
			t.Errorf("%+v is planned", in)
		}
	}
	if _, err := Make(Intent{Members: 3}, &Measured{}); err == nil {
		t.Error("nothing was measured, and there is a plan")
	}
}

// Councils of three were measured: 280 packets a second with the profile fast (docs/performance.md), and 14.7 with agents and one program at a lease of 5 s.
func TestTheCostIsAboutWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		timing   regent.Timing
		measured float64
	}{{regent.Fast, 280}, {regent.LAN.ForLease(5 * time.Second), 14.7}} {
		if got := costOf(c.timing, 3).Packets; got < 0.9*c.measured || got > 1.1*c.measured {
			t.Errorf("lease %v: %.1f packets/s, measured %v", c.timing.Lease, got, c.measured)
		}
	}
	if got := costOf(regent.LAN, 1); got != (Cost{}) {
		t.Errorf("a council of one costs %v", got)
	}
}
