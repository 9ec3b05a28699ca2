package nerio

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/record"
)

// quarter is what a bound is ahead of a length.
func quarter(d time.Duration) time.Duration { return d + d/4 }

func TestLongPromiseLeavesOnlyWhenTheDiskKnowsOfIt(t *testing.T) {
	d := newDriver(t, mixed(3))
	d.Run(500 * ms)
	if p := d.disk0(1).Promised; p != quarter(200*ms) {
		t.Fatalf("%v is promised on disk after the start", p)
	}
	writes := d.members[1].m.disk.record
	d.Step(0, protocol.Campaign{Group: "quick"})
	d.Run(500 * ms)
	if d.disk0(1).Promised != writes.Promised || d.disk0(1).Ceiling != writes.Ceiling {
		t.Error("leases of the council's length write to the disk")
	}
	d.Disk = 60 * ms
	d.Step(0, protocol.Campaign{Group: "slow", Length: 2 * time.Second})
	d.Run(30 * ms)
	for r := range protocol.Rank(3) {
		if p := d.disk0(r).Promised; p >= 2*time.Second {
			t.Fatalf("%v has written already", r)
		}
	}
	if l := d.leaders("slow"); len(l) > 0 {
		t.Fatalf("%v leads by promises that a restart would not wait for", l)
	}
	d.Run(100 * ms)
	d.expect("slow", 0, true)
	for r := range protocol.Rank(3) {
		if p := d.disk0(r).Promised; p != quarter(2*time.Second) {
			t.Errorf("%v has %v on disk", r, p)
		}
	}
}

// restartWait returns how long a member waits that crashes now, from the first answer on.
func (d *driver) restartWait(cfg Config, r protocol.Rank) time.Duration {
	d.Crash(r)
	d.again(cfg, r)
	if d.members[r].m.Votes() != protocol.Never {
		d.t.Fatalf("%v counts its wait from its own start", r)
	}
	d.Run(20 * ms)
	m := d.members[r].m
	return m.Votes().Sub(m.start.reached)
}

// The disk of b is restored as an image: the record is of its last life, and of before a lease of 2 s was known. Nobody can detect that. The leader of that lease, which b helped to it,
// cannot reach b. Another member has heard of such leases, so b waits for the promise that its record does not state.
func TestRestoredImageWaitsForPromisesThatOthersKnow(t *testing.T) {
	cfg := mixed(3)
	d := newDriver(t, cfg)
	d.Run(time.Second)
	image := slices.Clone(d.members[1].Record)
	d.Step(0, protocol.Campaign{Group: "slow", Length: 2 * time.Second})
	d.Run(time.Second)
	was, err := record.Decode(image)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := d.disk0(1), was; a.Inc != b.Inc || a.Promised <= b.Promised {
		t.Fatalf("the image has life %d and %v, the disk %d and %v", b.Inc, b.Promised, a.Inc, a.Promised)
	}
	cut := protocol.NewSet(2)
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool {
		return from == 0 && cut.Has(to) || to == 0 && cut.Has(from)
	}
	d.Run(4 * time.Second) // c's own promise is over
	d.expect("slow", 0, false)
	d.Crash(1)
	cut.Add(1)
	d.members[1].Record = image
	d.again(cfg, 1)
	d.Step(2, protocol.Campaign{Group: "slow", Length: 2 * time.Second})
	d.Run(5 * time.Second) // fails if two lead
	d.expect("slow", 2, false)
}

// A peer cannot make a restarted member wait for longer than any promise of the council may stand.
func TestRestartBelievesNoEndlessPromise(t *testing.T) {
	cfg := mixed(3)
	d := newDriver(t, cfg)
	d.Run(time.Second)
	d.members[0].m.reach.Bound = 1000 * time.Hour
	if w := d.restartWait(cfg, 1); w != cfg.Rho.WaitAtLeast(cfg.Longest) {
		t.Errorf("waits %v, and no promise stands for longer than %v", w, cfg.Longest)
	}
}

// A member that is a quorum by itself waits for no answer.
func TestMemberThatIsAQuorumWaitsFromItsStart(t *testing.T) {
	cfg := config(1)
	d := newDriver(t, cfg)
	d.Run(time.Second)
	d.Crash(0)
	promised := d.disk0(0).Promised
	d.again(cfg, 0)
	if w := d.members[0].m.Votes().Sub(d.Now); promised == 0 || w != cfg.Rho.WaitAtLeast(promised) {
		t.Errorf("waits %v", w)
	}
}

func TestRestartWaitsForWhatWasPromised(t *testing.T) {
	cfg := mixed(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Step(0, protocol.Campaign{Group: "quick"})
	d.Run(500 * ms)
	if w := d.restartWait(cfg, 1); w != cfg.Rho.WaitAtLeast(quarter(200*ms)) {
		t.Errorf("waits %v after promises of 200 ms", w)
	}
	d.Run(time.Second)
	d.Step(0, protocol.Campaign{Group: "slow", Length: 2 * time.Second})
	d.Run(time.Second)
	if w := d.restartWait(cfg, 1); w != cfg.Rho.WaitAtLeast(quarter(2*time.Second)) {
		t.Errorf("waits %v after promises of 2 s", w)
	}
	// A crash during the wait does not shorten it: what the start before this one promised may still stand.
	d.Run(100 * ms)
	if w := d.restartWait(cfg, 1); w != cfg.Rho.WaitAtLeast(quarter(2*time.Second)) {
		t.Errorf("waits %v after a crash during the wait", w)
	}
	d.Crash(2)
	d.members[2].Record = nil
	d.again(cfg, 2)
	d.Run(10 * ms)
	if st := &d.members[2].m.start; st.waited.Sub(st.reached) != cfg.Rho.WaitAtLeast(cfg.Longest) {
		t.Errorf("a lost record waits %v from the first answer on, want the longest of the council", st.waited.Sub(st.reached))
	}
}

func TestBoundIsLoweredOnlyWhenItsPromisesAreOver(t *testing.T) {
	cfg := mixed(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Step(0, protocol.Campaign{Group: "quick"})
	d.Step(0, protocol.Campaign{Group: "slow", Length: 2 * time.Second})
	d.Run(20 * time.Second)
	if p := d.disk0(1).Promised; p != quarter(2*time.Second) {
		t.Fatalf("%v on disk while a lease of 2 s is held", p)
	}
	d.Step(0, protocol.Resign{Group: "slow"})
	over := d.Now.Add(cfg.Rho.WaitAtLeast(2 * time.Second))
	for d.disk0(1).Promised == quarter(2*time.Second) {
		d.Run(50 * ms)
		if d.Now.Sub(over) > time.Minute {
			t.Fatal("never lowered")
		}
	}
	if d.Now < over {
		t.Errorf("lowered %v before the last promise is over", over.Sub(d.Now))
	}
	d.Run(time.Minute)
	if p := d.disk0(1).Promised; p != quarter(200*ms) {
		t.Errorf("lowered to %v", p)
	}
}

// From the instant at which a lower bound is on its way, the disk may have it.
func TestBoundThatIsBeingLoweredNoLongerCounts(t *testing.T) {
	cfg := mixed(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	m := d.members[0].m
	m.reach = lease.NewReach(&m.lcfg, d.Now.Add(-time.Minute), 2*time.Second)
	m.reach.Durable, m.disk.record.Promised = 2*time.Second, 2*time.Second
	d.Disk = 10 * ms
	d.Step(0, protocol.Tick{})
	if m.reach.Bound != quarter(200*ms) || m.reach.Durable != m.reach.Bound || len(m.disk.pending) == 0 {
		t.Errorf("bound %v, of which %v counts as durable", m.reach.Bound, m.reach.Durable)
	}
	// A raise behind it counts when both are written.
	m.reach.Wish = 2 * time.Second
	d.Step(0, protocol.Tick{})
	d.Run(9 * ms)
	if m.reach.Durable != quarter(200*ms) {
		t.Errorf("%v counts as durable before it is written", m.reach.Durable)
	}
	d.Run(2 * ms)
	if m.reach.Durable != quarter(2*time.Second) {
		t.Errorf("%v counts as durable", m.reach.Durable)
	}
}

// A leader passes on for how long others would lead, so that they do not wait for a disk when it dies.
func TestFailoverToALongerLeaseDoesNotWaitForDisks(t *testing.T) {
	gap := func(disk time.Duration) time.Duration {
		d := newDriver(t, mixed(3))
		d.Run(100 * ms)
		d.Step(0, protocol.Campaign{Group: "g"})
		d.Run(100 * ms)
		d.Step(2, protocol.Campaign{Group: "g", Length: 2 * time.Second})
		d.Run(2 * time.Second)
		d.expect("g", 0, true)
		d.Disk = disk
		d.Crash(0)
		died := d.Now
		for len(d.leaders("g")) == 0 {
			d.Run(ms)
		}
		d.expect("g", 2, false)
		return d.Now.Sub(died)
	}
	if fast, slow := gap(ms), gap(100*ms); slow > fast+fast/10 {
		t.Errorf("led again after %v with slow disks, and after %v with fast ones", slow, fast)
	}
}

// Ten thousand groups that move make promises longer, by PerGroup, step by step. And a voter that crashed before begins above the ceilings of all.
func TestFailoverOfManyGroupsDoesNotWaitForDisks(t *testing.T) {
	const n = 10_000
	name := func(i int) protocol.Group { return protocol.Group(fmt.Sprintf("group-%05d", i)) }
	gap := func(disk time.Duration) time.Duration {
		cfg := mixed(3)
		cfg.PerGroup = 10 * time.Microsecond
		d := newDriver(t, cfg)
		d.trusting = true
		for r := range protocol.Rank(2) {
			for i := range n {
				d.Step(r, protocol.Campaign{Group: name(i)})
			}
			d.Run(700 * ms)
		}
		d.Run(9 * time.Second)
		d.Disk = disk
		d.Crash(2)
		d.again(cfg, 2)
		d.Run(time.Second)
		d.Crash(0)
		died := d.Now
		for led := 0; led < n; {
			d.Run(5 * ms)
			for led < n && d.leads(1, name(led)) {
				led++
			}
			if d.Now.Sub(died) > 10*time.Second {
				t.Fatalf("%d groups are led", led)
			}
		}
		return d.Now.Sub(died)
	}
	if fast, slow := gap(ms/10), gap(20*ms); slow > fast+fast/10 {
		t.Errorf("led again after %v with slow disks, and after %v with fast ones", slow, fast)
	} else {
		t.Logf("led again after %v with slow disks, and after %v with fast ones", slow, fast)
	}
}

// A restarted member waits for the promises of its last start from the first answer on. Until then its bound is not lowered: the next start waits by it, too.
func TestBoundIsNotLoweredBeforeTheFirstAnswer(t *testing.T) {
	cfg := mixed(3)
	d := newDriver(t, cfg)
	d.Step(1, protocol.Campaign{Group: "slow", Length: 2 * time.Second})
	d.Run(3 * time.Second)
	if p := d.disk0(1).Promised; p != quarter(2*time.Second) {
		t.Fatalf("bound %v: the test proves nothing", p)
	}
	d.Crash(1)
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from == 1 || to == 1 }
	d.again(cfg, 1)
	d.Run(5 * time.Minute)
	if p := d.disk0(1).Promised; p != quarter(2*time.Second) {
		t.Errorf("lowered to %v without an answer", p)
	}
	d.Drop = nil
	answered := d.Now
	m := d.members[1].m
	for d.disk0(1).Promised != quarter(200*ms) {
		d.Step(1, protocol.Tick{}) // an idle member is not woken for it
		if d.Run(10 * ms); d.Now.Sub(answered) > 5*time.Minute {
			t.Fatal("never lowered")
		}
	}
	if wait := m.lcfg.LongestPromise(quarter(2 * time.Second)); d.Now.Sub(answered) < wait {
		t.Errorf("lowered %v after the first answer, want at least %v", d.Now.Sub(answered), wait)
	}
}
