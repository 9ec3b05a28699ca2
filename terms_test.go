package regent

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/roster"
)

// agreedOn waits until all members have a timing in force, and no member sees a difference to another.
func (c *changingCouncil) agreedOn(what string, want roster.Timing) {
	c.t.Helper()
	time.Sleep(3 * time.Second) // wall clock: the bubble of the caller has a virtual one
	for name, m := range c.members {
		t := m.Timing()
		if now := m.Council(); now.Timing != want || !now.Settled || t.LongestLease != want.LongestLease || t.Drift != want.Drift {
			c.t.Errorf("%s: %s has %v in force, and shows %+v", what, name, t, now)
		}
		for _, p := range m.Members() {
			if p.Problem != "" || !p.Self && (!p.Heard || p.Silent) {
				c.t.Errorf("%s: %s says of %s: heard %v, silent %v, %s", what, name, p.Name, p.Heard, p.Silent, p.Problem)
			}
		}
	}
}

// What is agreed on as a number of billionths is the same number to everybody. A fraction between two is the higher one.
func TestDriftIsRoundedUp(t *testing.T) {
	for r := protocol.Rho(1); r < 500_000_000; r += 1 + r/997 {
		if got := (&Timing{Drift: r.Fraction()}).rho(); got != r {
			t.Fatalf("%d comes back as %d", r, got)
		}
		if got := (&Timing{Drift: (float64(r) + 0.01) / 1e9}).rho(); got != r+1 {
			t.Fatalf("a little more than %d is %d", r, got)
		}
	}
}

// The members agree on another longest lease and another drift. Leaders notice nothing, and what was agreed on outlasts restarts and lost
// disks, whatever the files say.
func TestTimingChangesWhileTheCouncilRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		lead := c.lead("a", "g")
		before := c.members["a"].Council()
		now := c.change("b", roster.Change{Timing: &roster.Timing{LongestLease: 10 * time.Second}})
		if now.Number != 1 || now.Difference(&before) != "longest_lease became 10s" {
			t.Errorf("number %d: %s", now.Number, now.Difference(&before))
		}
		short := roster.Timing{LongestLease: 10 * time.Second, Drift: 0.001}
		c.agreedOn("shorter", short)
		if got, want := c.members["c"].Council().FileDiffers, "the file has longest_lease 30s, drift 0.001, and the council longest_lease 10s, drift 0.001 (number 1)"; got != want {
			t.Errorf("file: %s\nwant  %s", got, want)
		}
		_, err := must(c.members["b"].Group("h")).WithLease(11 * time.Second).Campaign(t.Context())
		if err == nil || !strings.Contains(err.Error(), "longer than the longest of the council, 10s") {
			t.Errorf("a longer lease: %v", err)
		}
		for _, disk := range []bool{true, false} {
			c.crash("c")
			if !disk {
				c.wipe("c")
			}
			time.Sleep(3 * time.Second)
			other := LAN
			other.LongestLease, other.Drift = 25*time.Second, 0.005
			c.join("c", Config{Council: slices.Clone(c.first), Bootstrap: true, Timing: other})
			c.expect("c started again", []string{"c"}, "a", "b", "c")
			c.agreedOn("c started again", short)
			if t.Failed() {
				t.FailNow()
			}
		}
		c.change("c", roster.Change{Timing: &roster.Timing{LongestLease: time.Minute, Drift: 0.0012}})
		long := roster.Timing{LongestLease: time.Minute, Drift: 0.0012}
		c.agreedOn("longer", long)
		l, err := must(c.members["b"].Group("h")).WithLease(15 * time.Second).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		go c.welcome("d")
		c.change("a", roster.Change{Add: []Peer{c.peers["d"]}})
		c.agreedOn("d has come", long)
		c.stillLeads(lead, "after all changes")
		c.stillLeads(&aLeader{l}, "with 15 s")
	})
}

// Timing that cannot be is refused, and so is a longest lease that is shorter than leases in force. Nothing changes then.
func TestTimingThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		l, err := must(c.members["a"].Group("db")).WithLease(20 * time.Second).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for what, timing := range map[string]roster.Timing{
			"must be at least the lease 200ms": {LongestLease: 100 * time.Millisecond},
			"drift 0.6: must be above 0":       {Drift: 0.6},
			"must not be negative":             {LongestLease: -1},
			"a has db with leases of 20s":      {LongestLease: 19 * time.Second},
		} {
			_, err := c.members["b"].Change(t.Context(), roster.Change{Timing: &timing})
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if now := c.members["b"].Council(); now.Number != 0 || now.Running() {
			t.Errorf("the council has changed: %+v", now)
		}
		c.change("b", roster.Change{Timing: &roster.Timing{LongestLease: 20 * time.Second}})
		c.stillLeads(&aLeader{l}, "with as much")
	})
}

// Under another drift local groups begin anew, with the longer waits that follow from it.
func TestLocalGroupsBeginAnewUnderAnotherDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		l, err := must(c.members["a"].LocalGroup("cache")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lock := c.members["a"].localConfig(1).Lock
		c.change("b", roster.Change{Timing: &roster.Timing{LongestLease: time.Minute}})
		time.Sleep(time.Second)
		if !l.Valid() || c.members["a"].localConfig(1).Lock != lock {
			t.Error("another longest lease has ended a local leader")
		}
		c.change("b", roster.Change{Timing: &roster.Timing{Drift: 0.002}})
		select {
		case <-l.Done():
		case <-time.After(time.Minute):
			t.Fatal("the local leader goes on")
		}
		if longer := c.members["a"].localConfig(1).Lock; longer <= lock {
			t.Errorf("locks of %v, before %v", longer, lock)
		}
		if _, err := must(c.members["a"].LocalGroup("cache")).Campaign(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A consistent group notices nothing of another timing.
func TestConsistentGroupGoesOnUnderAnotherTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkforce(t, []string{"a", "b", "c"})
		before := w.now("a")
		w.change("b", roster.Change{Timing: &roster.Timing{LongestLease: 10 * time.Second, Drift: 0.002}})
		w.agreedOn("shorter", roster.Timing{LongestLease: 10 * time.Second, Drift: 0.002})
		w.agree("a", "b", "c")
		if now := w.now("a"); now.Agreement.Number != before.Agreement.Number || now.Token != before.Token {
			t.Errorf("view %+v, before %+v", now, before)
		}
	})
}
