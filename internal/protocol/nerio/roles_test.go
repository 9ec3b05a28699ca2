package nerio

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// rolesConfig is a council of which the first members vote, and some of those lead.
func rolesConfig(n, voters int, leaders ...protocol.Rank) Config {
	c := electorConfig(n)
	c.Quorums = protocol.MajorityOf(n, protocol.Everyone(voters))
	c.Leaders = protocol.NewSet(leaders...)
	return c
}

func TestWitnessVotesAndNeverLeads(t *testing.T) {
	d := newDriver(t, rolesConfig(3, 3, 0, 1))
	d.Run(100 * ms)
	d.trust(2)
	d.campaign("g", 2)
	d.Run(500 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Fatalf("%v lead, of whom none may", l)
	}
	d.campaign("g", 0)
	d.Crash(1)
	d.Run(500 * ms)
	d.expect("g", 0, true)
	if v := d.members[0].Views["g"]; !v.Support.Has(2) {
		t.Errorf("supported by %v, without the witness", v.Support)
	}
}

// Whoever may not lead has no turn: the next goes first, and those after it wait for one turn less.
func TestTurnsAreOfThoseWhoMayLead(t *testing.T) {
	c := rolesConfig(5, 5, 1, 3, 4)
	d := newDriver(t, c)
	for _, tt := range []struct {
		trusted protocol.Rank
		barred  protocol.Set
		me      protocol.Rank
		first   protocol.Rank
		behind  int
	}{
		{0, protocol.Set{}, 1, 1, 0},
		{0, protocol.Set{}, 3, 1, 1},
		{0, protocol.Set{}, 4, 1, 2},
		{2, protocol.Set{}, 4, 3, 1},
		{2, protocol.Set{}, 1, 3, 2},
		{3, protocol.Set{}, 4, 3, 1},
		{3, protocol.NewSet(3), 4, 4, 0},
		{3, protocol.NewSet(3, 4), 1, 1, 0},
		{3, protocol.NewSet(1, 3, 4), 1, protocol.Nobody, 0},
		{protocol.Nobody, protocol.Set{}, 4, protocol.Nobody, 2},
	} {
		m := d.members[tt.me].m
		drivetest.Step(m, d.Now, protocol.Trusts{Leader: tt.trusted, Barred: tt.barred})
		if first := m.first(); first != tt.first {
			t.Errorf("trusting %v without %v: %v goes first, want %v", tt.trusted, tt.barred, first, tt.first)
		}
		if got := m.behind(m.first()); tt.first != tt.me && got != tt.behind {
			t.Errorf("trusting %v without %v: %d go before %v, want %d", tt.trusted, tt.barred, got, tt.me, tt.behind)
		}
	}
}

func TestVotersRefuseWhoMayNotLead(t *testing.T) {
	d := newDriver(t, rolesConfig(3, 3, 0, 1))
	// The third believes that it may: its configuration is wrong.
	c := rolesConfig(3, 3, 0, 1, 2)
	c.Me = 2
	d.Run(100 * ms)
	d.Crash(2)
	d.boot(c)
	d.Run(500 * ms)
	d.campaign("g", 2)
	d.Run(500 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Errorf("%v lead, though nobody should have granted it", l)
	}
}

func TestCouncilBeginsWithoutItsObservers(t *testing.T) {
	c := rolesConfig(5, 3)
	d := newDriver(t, c)
	d.Crash(3)
	d.Crash(4)
	d.Run(100 * ms)
	d.campaign("g", 0, 1, 2)
	d.trust(0)
	d.Run(200 * ms)
	d.expect("g", 0, true)
	// Two of three carry it, three of five that are not the right ones do not.
	d.Crash(1)
	d.Run(500 * ms)
	d.expect("g", 0, true)
	c.Me = 3
	d.boot(c)
	d.Run(500 * ms)
	if v := d.members[3].Views["g"]; v.Leader.Rank != 0 {
		t.Errorf("the observer believes in %v", v.Leader)
	}
	if v := d.members[0].Views["g"]; v.Support.Has(3) || !v.Support.Contains(protocol.NewSet(0, 2)) {
		t.Errorf("supported by %v, want those who vote", v.Support)
	}
	d.Crash(2)
	d.Run(500 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Errorf("%v lead with one vote of three", l)
	}
}

// An observer that has a record knows that the council has begun long ago.
func TestObserverWithARecordForbidsABootstrap(t *testing.T) {
	c := rolesConfig(3, 2)
	d := newDriver(t, c)
	d.Run(100 * ms)
	for r := range protocol.Rank(2) {
		d.Crash(r)
		d.members[r].Record = nil
	}
	for r := range protocol.Rank(2) {
		cc := c
		cc.Me = r
		d.boot(cc)
	}
	d.Run(100 * ms)
	for r := range protocol.Rank(2) {
		if d.members[r].m.speaks() && d.members[r].m.start.begun {
			t.Errorf("%v began the council anew", r)
		}
	}
}

func TestIllLeaderGivesUpAndStaysACandidate(t *testing.T) {
	d := council3(t)
	d.Step(0, protocol.Health{})
	d.Run(100 * ms)
	d.expect("g", 1, true)
	last := protocol.View{}
	for _, v := range d.members[0].History {
		if v.Leader == protocol.NoIdent {
			last = v
		}
	}
	if last.Cause.Code != protocol.Unhealthy {
		t.Errorf("it gave up because of %v, want unhealthy", last.Cause)
	}
	// It is no successor while it is ill, and is when it is well.
	for _, ok := range []bool{false, true} {
		d.Step(0, protocol.Health{OK: ok})
		d.Run(100 * ms)
		d.Step(1, protocol.Transfer{Group: "g", To: 0, ID: 7})
		d.Run(100 * ms)
		a, _ := d.members[1].answer(7)
		d.members[1].Answers = nil
		if a.OK != ok || !ok && a.Why != protocol.NoCandidate {
			t.Errorf("well: %v; answer %+v", ok, a)
		}
	}
	d.expect("g", 0, true)
}

func TestIllCandidateTriesAgainWhenItIsWell(t *testing.T) {
	d := newDriver(t, electorConfig(3))
	d.Run(100 * ms)
	d.trust(0)
	d.Step(0, protocol.Health{})
	d.campaign("g", 0)
	d.Run(500 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Fatalf("%v lead", l)
	}
	d.Step(0, protocol.Health{OK: true})
	d.Run(10 * ms)
	d.expect("g", 0, true)
}

func preferring(t *testing.T) *driver {
	c := electorConfig(3)
	c.Prefer = 300 * ms
	d := newDriver(t, c)
	d.Run(100 * ms)
	d.trust(1)
	d.campaign("g", 1)
	d.Run(200 * ms)
	d.expect("g", 1, true)
	return d
}

func TestPreferredCandidateIsHandedTheGroupAfterAWhile(t *testing.T) {
	d := preferring(t)
	d.Run(time.Second)
	d.campaign("g", 0, 2)
	d.Run(100 * ms)
	d.expect("g", 0, true)
	// The one that gave way is still a candidate.
	d.Step(0, protocol.Resign{Group: "g"})
	d.Run(100 * ms)
	d.expect("g", 1, true)
	d.Run(2 * time.Second)
	d.expect("g", 1, true)
}

func TestCandidateThatHasJustComeIsNotPreferredYet(t *testing.T) {
	d := preferring(t)
	d.campaign("g", 0)
	d.Run(60 * ms)
	d.expect("g", 1, true) // it has led for less than the while
	d.Run(300 * ms)
	d.expect("g", 0, true)
}

func TestCandidateBehindASlowLinkIsNotPreferred(t *testing.T) {
	d := preferring(t)
	d.Late = func(from, to protocol.Rank, _ protocol.Message) time.Duration {
		if from == 0 || to == 0 {
			return 12 * ms
		}
		return 0
	}
	d.campaign("g", 0)
	d.Run(3 * time.Second)
	d.expect("g", 1, true)
	d.Late = nil
	d.Run(500 * ms)
	d.expect("g", 0, true)
}

func TestCandidateThatAnswersNowAndThenIsNotPreferred(t *testing.T) {
	d := preferring(t)
	d.campaign("g", 0)
	d.Run(20 * ms)
	d.Drop = func(from, _ protocol.Rank, _ protocol.Message) bool {
		return from == 0 && d.Now.Sub(0)%(260*ms) < 240*ms
	}
	d.Run(3 * time.Second)
	d.expect("g", 1, false)
}

func TestTransferSaysWhyItIsRefused(t *testing.T) {
	d := newDriver(t, rolesConfig(4, 3, 0, 1))
	d.Run(100 * ms)
	d.trust(0)
	d.campaign("g", 0)
	d.Run(200 * ms)
	for id, tt := range []struct {
		at, to protocol.Rank
		why    protocol.Refusal
	}{{0, 3, protocol.MayNotLead}, {0, 2, protocol.MayNotLead}, {0, 1, protocol.NoCandidate}, {0, 0, protocol.ToItself},
		{1, 0, protocol.NotLeading}} {
		d.Step(tt.at, protocol.Transfer{Group: "g", To: tt.to, ID: uint64(id + 1)})
		if a, ok := d.members[tt.at].answer(uint64(id + 1)); !ok || a.OK || a.Why != tt.why {
			t.Errorf("from %v to %v: answer %+v, want %v", tt.at, tt.to, a, tt.why)
		}
	}
	d.expect("g", 0, true)
}

func TestRolesThatMakeNoSense(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"have no vote":     func(c *Config) { c.Leaders = protocol.NewSet(0, 3) },
		"not be negative;": func(c *Config) { c.Prefer = -1 },
	} {
		c := rolesConfig(4, 3)
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
