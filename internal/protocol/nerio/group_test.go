package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// trust tells all members whom the elector trusts.
func (d *driver) trust(who protocol.Rank) {
	for r := range d.members {
		d.Step(protocol.Rank(r), protocol.Trusts{Leader: who})
	}
}

func (d *driver) campaign(g protocol.Group, who ...protocol.Rank) {
	for _, r := range who {
		d.Step(r, protocol.Campaign{Group: g})
	}
}

// since returns how long after from the member first led the group.
func (d *driver) since(from protocol.Time, r protocol.Rank, g protocol.Group) time.Duration {
	d.t.Helper()
	for _, f := range d.members[r].Facts {
		if f.Ev == protocol.EvLease && f.Group == g && f.At >= from {
			return f.At.Sub(from)
		}
	}
	d.t.Fatalf("%v never led %s\n%s", r, g, d.transcript())
	return 0
}

func electorConfig(n int) Config {
	cfg := config(n)
	cfg.Elector = true
	return cfg
}

func TestTrustedMemberTriesFirst(t *testing.T) {
	d := newDriver(t, electorConfig(5))
	d.Run(100 * ms)
	d.trust(3)
	d.campaign("g", 0, 1, 2, 3, 4)
	d.Run(50 * ms)
	d.expect("g", 3, true)
	for r, x := range d.members {
		if n := x.count(protocol.EvAttempt); n > 0 != (r == 3) {
			t.Errorf("%v tried %d times", protocol.Rank(r), n)
		}
	}
}

// Others go the later the further their rank is from the trusted one, so that they do not get into each other's way.
func TestOthersTryInTurnIfTheTrustedMemberHasNoCandidate(t *testing.T) {
	for _, c := range []struct {
		trusted, who protocol.Rank
		turn         int
	}{{0, 1, 2}, {0, 4, 5}, {3, 4, 2}, {3, 0, 3}, {protocol.Nobody, 0, 1}, {protocol.Nobody, 2, 3}} {
		d := newDriver(t, electorConfig(5))
		d.Run(100 * ms)
		d.trust(c.trusted)
		from := d.Now
		d.campaign("g", c.who)
		d.Run(time.Second)
		want := time.Duration(c.turn) * 20 * ms
		if got := d.since(from, c.who, "g"); got < want || got > want+10*ms {
			t.Errorf("%v leads after %v with %v trusted, want about %v", c.who, got, c.trusted, want)
		}
	}
}

func TestWithoutAnElectorTheCandidateTriesAtOnce(t *testing.T) {
	d := newDriver(t, config(5))
	d.Run(100 * ms)
	from := d.Now
	d.campaign("g", 4)
	d.Run(100 * ms)
	if got := d.since(from, 4, "g"); got > 5*ms {
		t.Errorf("leads after %v", got)
	}
}

func TestLeaderRenewsWhateverTheElectorSays(t *testing.T) {
	d := newDriver(t, electorConfig(3))
	d.Run(100 * ms)
	d.trust(0)
	d.campaign("g", 0, 1, 2)
	d.Run(100 * ms)
	for i := range 20 {
		d.trust(protocol.Rank(i % 3))
		d.Run(100 * ms)
		d.expect("g", 0, true)
	}
	if n := len(d.tenures["g"]); n != 1 {
		t.Errorf("%d tenures, want one", n)
	}
}

// E-N2: a member that is granting to another does not try; one that is not does.
func TestNobodyTriesWhileItsOwnVoteIsGivenAway(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(100 * ms)
	d.campaign("g", 1)
	d.Run(time.Second)
	if n := d.members[1].count(protocol.EvAttempt); n != 0 {
		t.Errorf("tried %d times against a leader that its own vote backs", n)
	}
	d.Crash(0)
	d.Run(400 * ms)
	d.expect("g", 1, true)
}

// A crash is noticed by the lapse of the voters' own promises; the successor leads a few round trips later.
func TestFailOverTakesALeaseAndLittleMore(t *testing.T) {
	d := newDriver(t, electorConfig(3))
	d.Run(100 * ms)
	d.trust(1)
	d.campaign("g", 0)
	d.Run(300 * ms)
	d.campaign("g", 1, 2)
	d.Run(300 * ms)
	from := d.Now
	d.Crash(0)
	d.Run(time.Second)
	if got := d.since(from, 1, "g"); got > 225*ms {
		t.Errorf("led again after %v, want a lease of 200ms and little more", got)
	}
}

func TestUnfitAfterThreeAttemptsThatNobodyAnswered(t *testing.T) {
	d := newDriver(t, electorConfig(3))
	d.Run(100 * ms)
	d.trust(0)
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to }
	d.campaign("g", 0)
	d.campaign("h", 0) // fails together with g: that counts as one
	d.Run(450 * ms)
	if d.members[0].m.TakeUnfit() {
		t.Error("unfit after two attempts")
	}
	d.Run(1500 * ms)
	if !d.members[0].m.TakeUnfit() {
		t.Error("not unfit after many attempts that nobody answered")
	}
	if d.members[0].m.TakeUnfit() {
		t.Error("unfit twice for the same attempts")
	}
}

func TestRefusedMemberIsNotUnfit(t *testing.T) {
	d := newDriver(t, electorConfig(3))
	d.Run(100 * ms)
	d.trust(0)
	d.campaign("g", 0)
	d.Run(100 * ms)
	d.Crash(2)
	d.again(electorConfig(3), 2) // its vote is free, so it tries, and is refused
	d.campaign("g", 2)
	d.Drop = func(from, to protocol.Rank, m protocol.Message) bool {
		return from == 0 && to == 2 && m.Name() == "lease.Request"
	}
	d.Step(2, protocol.Trusts{Leader: 2})
	d.Run(3 * time.Second)
	if n := d.members[2].count(protocol.EvFail); n < 3 {
		t.Fatalf("only %d failed attempts", n)
	}
	if d.members[2].m.TakeUnfit() {
		t.Error("unfit though busy voters explain it")
	}
	d.expect("g", 0, false)
}

func TestBackOffIsBetweenOneAndFourRoundTrips(t *testing.T) {
	d := newDriver(t, config(3))
	seen := make(map[bool]bool)
	for range 1000 {
		p := d.members[0].m.pause(&groupState{})
		lo, hi := 20*ms+20*time.Microsecond, 4*(20*ms+20*time.Microsecond)
		if p < lo || p > hi {
			t.Fatalf("%v, want between %v and %v", p, lo, hi)
		}
		seen[p > (lo+hi)/2] = true
	}
	if len(seen) != 2 {
		t.Error("not spread")
	}
}

// E-N9: two candidates that each got half of the votes must not keep each other out for ever.
func TestTwoTwoVoteEnds(t *testing.T) {
	for seed := range 20 {
		d := newDriver(t, config(4))
		d.seed += seed * 100
		d.Run(100 * ms)
		d.Late = func(from, to protocol.Rank, _ protocol.Message) time.Duration {
			if from/2 != to/2 {
				return 3 * ms // so that each pair first hears its own candidate
			}
			return 0
		}
		d.campaign("g", 0, 2)
		d.Run(time.Second)
		if l := d.leaders("g"); len(l) != 1 {
			t.Fatalf("%v lead\n%s", l, d.transcript())
		}
	}
}

func TestEveryMemberIsToldWhoLeadsAndWhyNobodyDoes(t *testing.T) {
	d := newDriver(t, config(5))
	d.campaign("g", 0)
	d.Run(100 * ms)
	for r, x := range d.members {
		v := x.Views["g"]
		if v.Leader != (protocol.Ident{Rank: 0, Inc: d.members[0].Inc}) || v.Term != 1 || v.Cause.Code != protocol.Elected {
			t.Errorf("%v: %+v", protocol.Rank(r), v)
		}
		if (v.Tenure != 0) != (r == 0) || (v.Quorum != nil) != (r == 0) {
			t.Errorf("%v: tenure %d, quorum %v", protocol.Rank(r), v.Tenure, v.Quorum)
		}
	}
	d.Crash(0)
	d.Run(300 * ms)
	for _, x := range d.members[1:] {
		if v := x.Views["g"]; v.Leader != protocol.NoIdent || v.Cause != (protocol.Cause{Code: protocol.LeaseExpired, Peer: 0}) {
			t.Errorf("after the crash: %+v", v)
		}
	}
}

// A candidate that only tries is nobody's leader.
func TestFailedCandidateIsNeverTakenForTheLeader(t *testing.T) {
	d := newDriver(t, config(5))
	d.Run(100 * ms)
	d.Crash(3)
	d.Crash(4)
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from == 2 || to == 2 }
	d.campaign("g", 0)
	d.Run(time.Second)
	for _, v := range d.members[1].History {
		if v.Leader != protocol.NoIdent || v.Cause.Code == protocol.Elected {
			t.Errorf("believed that %v leads (%v)", v.Leader, v.Cause)
		}
	}
}

func TestLeaderCutOffSaysThatTooFewAnswer(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(100 * ms)
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to && (from == 0 || to == 0) }
	d.Run(300 * ms)
	if v := d.members[0].Views["g"]; v.Leader != protocol.NoIdent || v.Cause.Code != protocol.NoQuorum {
		t.Errorf("view %+v", v)
	}
}

func TestGroupsWithoutALeaderAreForgottenAndTheirTokensNotRepeated(t *testing.T) {
	d := newDriver(t, config(3))
	d.trusting = true
	names := make([]protocol.Group, 200)
	for i := range names {
		names[i] = protocol.Group(rune('A' + i))
		d.campaign(names[i], 0)
	}
	d.Run(200 * ms)
	for _, g := range names {
		d.Step(0, protocol.Resign{Group: g})
	}
	d.Run(20 * time.Second)
	for r, x := range d.members {
		for range 100 { // idle members are not woken for it: any event will do
			d.Now = d.Now.Add(50 * ms)
			d.Step(protocol.Rank(r), protocol.Tick{})
		}
		if n := len(x.m.groups); n > fewGroups+8 {
			t.Errorf("%v remembers %d groups", protocol.Rank(r), n)
		}
	}
	for _, g := range names[:5] {
		d.campaign(g, 1)
	}
	d.Run(300 * ms) // completed holds that tokens grow
	for _, g := range names[:5] {
		d.expect(g, 1, true)
	}
}
