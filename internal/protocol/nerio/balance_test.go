package nerio

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// A balancedDriver is a balanced council in which every member would lead every group.
type balancedDriver struct {
	*driver
	cfg    Config
	groups []protocol.Group
	// most is how many moves of one member were under way at once.
	most int
}

func balancedConfig(n int) Config {
	c := electorConfig(n)
	c.PerGroup, c.Longest = 50*time.Microsecond, 800*ms
	for i := range n {
		c.Balance = append(c.Balance, balance.Share{Seed: balance.Seed(fmt.Sprint("host", i))})
	}
	return c
}

func newBalanced(t testing.TB, cfg Config, groups int) *balancedDriver {
	d := &balancedDriver{driver: newDriver(t, cfg), cfg: cfg}
	d.trusting = groups > 100
	after := d.After
	if d.trusting {
		after = nil
	}
	d.After = func(m *drivetest.Member) {
		if after != nil {
			after(m)
		}
		d.most = max(d.most, len(d.members[m.Rank].m.balance.moving))
	}
	for i := range groups {
		d.groups = append(d.groups, protocol.Group(fmt.Sprint("group/", i)))
	}
	d.Run(100 * ms)
	d.trust(0)
	for r := range d.members {
		d.begin(protocol.Rank(r))
	}
	return d
}

// begin has the programs of a member campaign.
func (d *balancedDriver) begin(r protocol.Rank) {
	for _, g := range d.groups {
		d.Step(r, protocol.Campaign{Group: g})
	}
}

// restart starts a member that is down, and its programs.
func (d *balancedDriver) restart(r protocol.Rank) {
	c := d.cfg
	c.Me = r
	d.boot(c)
	d.Run(20 * ms)
	d.begin(r)
	d.Step(r, protocol.Trusts{Leader: 0})
}

// led returns how many groups each member leads, how many are not at their places among some members, and how many have no leader.
func (d *balancedDriver) led(among protocol.Set) (counts map[protocol.Rank]int, astray, free int) {
	counts = make(map[protocol.Rank]int)
	for _, g := range d.groups {
		switch l := d.leaders(g); {
		case len(l) == 0:
			free++
		default:
			counts[l[0]]++
			if d.cfg.Balance != nil && l[0] != d.cfg.Balance.First(g, among) {
				astray++
			}
		}
	}
	return counts, astray, free
}

// counts returns how many groups a member leads.
func (d *balancedDriver) counts(r protocol.Rank) (n int) {
	for _, g := range d.groups {
		if d.leads(r, g) {
			n++
		}
	}
	return n
}

// settled fails unless every group is led at its place among some members.
func (d *balancedDriver) settled(when string, among protocol.Set) {
	d.t.Helper()
	if counts, astray, free := d.led(among); astray+free > 0 {
		d.t.Errorf("%s: %d groups are not at their places, %d have no leader; %v", when, astray, free, counts)
	}
}

// changes returns how often leaders have begun.
func (d *balancedDriver) changes() int {
	n := 0
	for _, l := range d.tenures {
		n += len(l)
	}
	return n
}

func TestGroupsGoStraightToTheirPlaces(t *testing.T) {
	d := newBalanced(t, balancedConfig(5), 60)
	all := protocol.Everyone(5)
	d.Run(500 * ms)
	d.settled("at the start", all)
	if d.changes() != len(d.groups) {
		t.Errorf("%d leaders of %d groups", d.changes(), len(d.groups))
	}
	counts, _, _ := d.led(all)
	d.Crash(2)
	d.Run(time.Second)
	d.settled("after a death", all.Without(2))
	if want := len(d.groups) + counts[2]; d.changes() != want {
		t.Errorf("%d leaders, want %d: other groups have moved", d.changes(), want)
	}
	d.restart(2)
	d.Run(3 * time.Second)
	d.settled("after a restart", all)
	if want := len(d.groups) + 2*counts[2]; d.changes() != want {
		t.Errorf("%d leaders, want %d", d.changes(), want)
	}
}

func TestAtMostSomeGroupsMoveAtOnce(t *testing.T) {
	cfg := balancedConfig(3)
	cfg.Moves = 2
	d := newBalanced(t, cfg, 60)
	d.Run(500 * ms)
	d.Crash(1)
	d.Run(time.Second)
	d.restart(1)
	d.Run(5 * time.Second)
	d.settled("after a restart", protocol.Everyone(3))
	if d.most != 2 {
		t.Errorf("%d groups of one member moved at once, want 2", d.most)
	}
	// Programs that do not stop hold the others up.
	for _, x := range d.members {
		x.obeys = false
	}
	d.Crash(1)
	d.Run(time.Second)
	d.restart(1)
	d.Run(5 * time.Second)
	if d.most != 2 {
		t.Errorf("%d groups of one member moved at once, though none has stopped", d.most)
	}
}

// A leader that was slow loses its groups, and does not get them back by being heard again.
func TestMemberThatLapsedGoesLastAndGetsNothingBack(t *testing.T) {
	d := newBalanced(t, balancedConfig(3), 30)
	all := protocol.Everyone(3)
	d.Run(500 * ms)
	cut := true
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return cut && (from == 1) != (to == 1) }
	for d.counts(1) > 0 {
		d.Run(ms)
	}
	cut = false // all that it led has run out just now, and nobody waits for it to go first
	d.Run(10 * ms)
	d.settled("right after a lapse", all.Without(1))
	d.Run(2 * time.Second)
	d.settled("after a lapse", all.Without(1))
	before := d.changes()
	d.Run(5 * time.Second)
	if d.changes() != before {
		t.Errorf("%d groups have moved since, and nobody has joined", d.changes()-before)
	}
	// Much later it is as good as others.
	d.Crash(0)
	d.Run(2 * time.Second)
	for _, g := range d.groups {
		if d.cfg.Balance.First(g, all) == 0 {
			d.expect(g, d.cfg.Balance.First(g, all.Without(0)), false)
		}
	}
}

func TestRecoveryMovesNothingAndUndrainDoes(t *testing.T) {
	d := newBalanced(t, balancedConfig(3), 30)
	all := protocol.Everyone(3)
	d.Run(500 * ms)
	bar := func(s protocol.Set) {
		for r := range protocol.Rank(3) {
			d.Step(r, protocol.Trusts{Leader: 0, Barred: s})
		}
	}
	d.Step(1, protocol.Health{})
	bar(protocol.NewSet(1))
	d.Run(time.Second)
	d.settled("ill", all.Without(1))
	before := d.changes()
	bar(protocol.Set{})
	d.Step(1, protocol.Health{OK: true})
	d.Run(3 * time.Second)
	if d.changes() != before {
		t.Errorf("%d groups have moved because a member is well again", d.changes()-before)
	}
	d.Step(1, protocol.Health{OK: true, Drained: true})
	bar(protocol.NewSet(1))
	d.Run(time.Second)
	d.Step(1, protocol.Health{Drained: true})
	d.Step(1, protocol.Health{}) // undrained, and ill
	d.Run(time.Second)
	if d.changes() != before {
		t.Errorf("%d groups have moved to a member that is ill", d.changes()-before)
	}
	bar(protocol.Set{})
	d.Step(1, protocol.Health{OK: true})
	d.Run(3 * time.Second)
	d.settled("undrained", all)
}

// A member that is drained while it is ill counts as a newcomer once it is well, so a fact shows the drain.
func TestFactShowsADrainOfAMemberThatIsIll(t *testing.T) {
	for name, events := range map[string][]protocol.Health{
		"ill first": {{}, {Drained: true}, {}, {OK: true}},
		"at once":   {{Drained: true}, {}, {OK: true}},
	} {
		d := newBalanced(t, balancedConfig(3), 1)
		d.Run(500 * ms)
		for _, ev := range events {
			d.Step(1, ev)
		}
		var got []string
		for _, f := range d.members[1].Facts {
			if f.Ev == protocol.EvHealth {
				got = append(got, f.Why)
			}
		}
		if !slices.Contains(got, "drained") || got[len(got)-1] != "well" {
			t.Errorf("TestFactShowsADrain: %s: %q, want drained, and well at the end", name, got)
		}
	}
}

// Groups with long leases are renewed seldom. They come back after an undrain, too, and to a better-ranked candidate, whichever of the others answers last.
func TestGroupsWithLongLeasesMoveToAMemberThatAnswersSecond(t *testing.T) {
	const length = 5 * time.Second
	for late := range protocol.Rank(3) {
		cfg := balancedConfig(3)
		cfg.Longest = length
		d := newBalanced(t, cfg, 0)
		d.Late = func(from, _ protocol.Rank, _ protocol.Message) time.Duration {
			if from == late {
				return 2 * ms
			}
			return 0
		}
		for i := range 30 {
			g := protocol.Group(fmt.Sprint("group/", i))
			d.groups = append(d.groups, g)
			for r := range d.members {
				d.Step(protocol.Rank(r), protocol.Campaign{Group: g, Length: length})
			}
		}
		all := protocol.Everyone(3)
		d.Run(500 * ms)
		d.settled("at the start", all)
		d.Step(1, protocol.Health{OK: true, Drained: true})
		d.Run(time.Second)
		d.settled("drained", all.Without(1))
		d.Step(1, protocol.Health{OK: true})
		d.Run(10 * time.Second)
		d.settled(fmt.Sprint("undrained, while ", late, " answers late"), all)
	}
	for _, late := range []protocol.Rank{0, 2} { // a preferred candidate
		cfg := electorConfig(3)
		cfg.Longest, cfg.Prefer = length, 3*time.Second
		d := newDriver(t, cfg)
		d.Late = func(from, _ protocol.Rank, _ protocol.Message) time.Duration {
			if from == late {
				return 2 * ms
			}
			return 0
		}
		d.Run(100 * ms)
		d.trust(0)
		d.Step(1, protocol.Campaign{Group: "g", Length: length})
		d.Run(time.Second)
		d.expect("g", 1, true)
		d.Step(0, protocol.Campaign{Group: "g", Length: length})
		d.Run(10 * time.Second)
		d.expect("g", 0, true)
	}
}

// The council gives a member another weight, and then a candidate joins in one group. That moves no other group.
func TestAnotherWeightMovesNothing(t *testing.T) {
	d := newBalanced(t, balancedConfig(3), 60)
	d.Step(1, protocol.Campaign{Group: "late"})
	d.Run(500 * ms)
	all := protocol.Everyone(3)
	d.settled("at the start", all)
	before := d.changes()
	d.cfg.Balance, d.cfg.Epoch = slices.Clone(d.cfg.Balance), 1
	d.cfg.Balance[0].Weight = 9
	if _, astray, _ := d.led(all); astray < 10 {
		t.Fatalf("with another weight %d groups have another place", astray)
	}
	for r := range protocol.Rank(3) {
		c := d.cfg
		c.Me = r
		d.members[r].m.Adopt(d.Now, c, 0, &protocol.Effects{})
	}
	d.Run(100 * ms)
	d.Step(2, protocol.Campaign{Group: "late"})
	d.Run(3 * time.Second)
	if len(d.leaders("late")) != 1 {
		t.Fatal("the group with a new candidate has no leader")
	}
	if moved := len(d.tenures["late"]) - 1; d.changes() != before+moved {
		t.Errorf("N-STAB (moves): another weight moved %d groups", d.changes()-before)
	}
}

func TestNothingMovesToWhereNoProgramWaits(t *testing.T) {
	d := newBalanced(t, balancedConfig(3), 30)
	all := protocol.Everyone(3)
	d.Run(500 * ms)
	for _, g := range d.groups {
		d.Step(1, protocol.Resign{Group: g})
	}
	d.Run(time.Second)
	d.settled("without programs at b", all.Without(1))
	before := d.changes()
	d.Crash(1)
	d.Run(time.Second)
	c := d.cfg
	c.Me = 1
	d.boot(c)
	d.Run(3 * time.Second)
	if d.changes() != before {
		t.Errorf("%d groups have moved", d.changes()-before)
	}
	// Half of the programs begin.
	half := d.groups[:15]
	for _, g := range half {
		d.Step(1, protocol.Campaign{Group: g})
	}
	d.Run(3 * time.Second)
	for i, g := range d.groups {
		want := d.cfg.Balance.First(g, all)
		if i >= len(half) {
			want = d.cfg.Balance.First(g, all.Without(1))
		}
		d.expect(g, want, false)
	}
}

// A program that resigned or handed over campaigns again, and does not get the group back at once.
func TestProgramThatGaveAGroupUpDoesNotGetItBack(t *testing.T) {
	d := newBalanced(t, balancedConfig(3), 30)
	all := protocol.Everyone(3)
	d.Run(500 * ms)
	for _, g := range d.groups {
		if d.leads(1, g) {
			d.Step(1, protocol.Resign{Group: g})
		}
	}
	d.Run(500 * ms)
	d.begin(1)
	d.Run(3 * time.Second)
	d.settled("resigned", all.Without(1))
	before := d.changes()
	d.Step(1, protocol.Health{OK: true, Drained: true})
	d.Run(500 * ms)
	d.Step(1, protocol.Health{OK: true})
	d.Run(3 * time.Second)
	d.settled("undrained", all)
	if d.changes() == before {
		t.Error("nothing was to move: the test proves nothing")
	}
}

// Votes forget groups that nobody has led for long. A program that campaigns in one of them again does not join: it was there before.
func TestForgottenGroupIsNotJoinedAgain(t *testing.T) {
	d := newBalanced(t, balancedConfig(3), fewGroups+36)
	d.Run(500 * ms)
	for r := range d.members {
		for _, g := range d.groups {
			d.Step(protocol.Rank(r), protocol.Resign{Group: g})
		}
	}
	d.Run(20 * time.Second)
	for range 200 {
		for r := range d.members { // idle members are not woken for it: any event will do
			d.Step(protocol.Rank(r), protocol.Tick{})
		}
		d.Run(50 * ms)
	}
	m, astray := d.members[1].m, 0
	for _, g := range d.groups {
		if s := m.groups[g]; s == nil || !s.known {
			t.Fatalf("%s is not known any more", g)
		} else if s.published {
			continue
		}
		astray++
		d.Step(1, protocol.Campaign{Group: g})
		if s := m.groups[g]; s.joined {
			t.Fatalf("%s is joined again", g)
		}
		d.Step(1, protocol.Resign{Group: g})
	}
	if astray == 0 {
		t.Fatal("no group was forgotten: the test proves nothing")
	}
	d.Run(20 * time.Second)
	for range 200 {
		for r := range d.members {
			d.Step(protocol.Rank(r), protocol.Tick{})
		}
		d.Run(50 * ms)
	}
	d.Step(1, protocol.Health{OK: true, Drained: true})
	d.Step(1, protocol.Health{OK: true})
	if n := len(m.groups); n > fewGroups {
		t.Errorf("%d groups are remembered after an undrain", n)
	}
}

func TestNothingMovesToALowerClassOrAWitness(t *testing.T) {
	cfg := balancedConfig(5)
	cfg.Leaders = protocol.NewSet(0, 1, 2)
	cfg.Balance[0].Class, cfg.Balance[1].Class = 10, 10
	d := newBalanced(t, cfg, 30)
	d.Run(500 * ms)
	d.settled("with two of the first class", protocol.NewSet(0, 1))
	d.Crash(1)
	d.Run(time.Second)
	d.settled("with one", protocol.NewSet(0))
	d.Crash(2)
	d.Run(time.Second)
	d.restart(2)
	d.Run(2 * time.Second)
	d.settled("when a lower class joins", protocol.NewSet(0))
	d.restart(1)
	d.Run(3 * time.Second)
	d.settled("when the first class joins", protocol.NewSet(0, 1))
}
