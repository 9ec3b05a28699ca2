package check

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// The traces of these tests have five members a to e, with exact clocks, in the group "g". κ is 400ms, Δ is 10ms and δ 3ms.
var hallSpec = HallSpec{Group: "g", Delta: 10 * time.Millisecond, OneWay: 3 * time.Millisecond, Kappa: 400 * time.Millisecond, Supporters: 1}

const milli = time.Millisecond

func hallRecord(at time.Duration, node protocol.Rank, f protocol.Fact) sim.Record {
	f.Dom, f.Group = protocol.Local, "g"
	return sim.Record{T: sim.Real(at), Node: node, Inc: 1, Fact: f}
}

func leasedAt(at time.Duration, node protocol.Rank, until time.Duration, support string) sim.Record {
	return hallRecord(at, node, protocol.Fact{Ev: protocol.EvLease, Tenure: 1, Seq: 1, Until: protocol.Time(until), Members: members(support)})
}

func lockedAt(at time.Duration, voter, to protocol.Rank, until time.Duration) sim.Record {
	return hallRecord(at, voter, protocol.Fact{Ev: protocol.EvGrant, Peer: protocol.Ident{Rank: to, Inc: 1}, Until: protocol.Time(until), At: protocol.Time(at)})
}

func unlockedAt(at time.Duration, voter, to protocol.Rank, why string) sim.Record {
	return hallRecord(at, voter, protocol.Fact{Ev: protocol.EvUngrant, Peer: protocol.Ident{Rank: to, Inc: 1}, At: protocol.Time(at), Why: why})
}

func simple(at time.Duration, node protocol.Rank, ev protocol.Ev, why string) sim.Record {
	return hallRecord(at, node, protocol.Fact{Ev: ev, Why: why})
}

// everybodyIn lets all five take part from the beginning.
func everybodyIn() []sim.Record {
	var all []sim.Record
	for r := range protocol.Rank(5) {
		all = append(all, simple(0, r, sim.EvCommand, "campaign"))
	}
	return all
}

// carried is a message that was sent at one time and arrived at another, with a proven bound; it never arrives if that is zero.
func carried(id uint64, from, to protocol.Rank, sent, arrives, bound time.Duration) []sim.Record {
	s := hallRecord(sent, from, protocol.Fact{Ev: sim.EvSend, Peer: protocol.Ident{Rank: to}, Seq: id})
	if arrives == 0 {
		return []sim.Record{s}
	}
	return []sim.Record{s, hallRecord(arrives, to, protocol.Fact{Ev: sim.EvDeliver, Peer: protocol.Ident{Rank: from}, Seq: id,
		Detail: sim.Delivery{Sent: sim.Real(sent), Bound: int64(bound)}})}
}

func members(s string) (set protocol.Set) {
	for _, c := range s {
		set.Add(protocol.Rank(c - 'a'))
	}
	return set
}

// hallCase is a trace and what must be said of it: the name of an invariant and some of the words, or nothing.
type hallCase struct {
	name, violates, says string
	spec                 func(*HallSpec)
	trace                []sim.Record
	end                  time.Duration
}

// judge plays a trace to the checker of one invariant, and to the one that keeps the state.
func (c *hallCase) judge(t *testing.T, invariant string) error {
	t.Helper()
	p := parse(t, "")
	spec := hallSpec
	if c.spec != nil {
		c.spec(&spec)
	}
	var list []Checker
	for i, x := range Hall(p, spec) {
		if i == 0 || x.Name() == invariant {
			list = append(list, x)
		}
	}
	p.records = append(c.trace, simple(c.end, 4, sim.EvPersist, ""))
	for i := range p.records {
		r := p.records[i]
		p.now = max(p.now, r.T)
		for _, x := range list {
			if err := x.Observe(&r); err != nil && x.Name() == invariant {
				return err
			}
		}
	}
	return list[len(list)-1].Finish()
}

func flat(parts ...any) []sim.Record {
	var all []sim.Record
	for _, p := range parts {
		switch p := p.(type) {
		case sim.Record:
			all = append(all, p)
		case []sim.Record:
			all = append(all, p...)
		}
	}
	return all
}

func tellHall(t *testing.T, cases []hallCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			name, ok := strings.CutPrefix(c.violates, "not ")
			err := c.judge(t, name)
			var v *Violation
			switch {
			case ok && err != nil:
				t.Errorf("flagged: %v", err)
			case ok:
			case !errors.As(err, &v) || v.Name != name || !strings.Contains(v.Text, c.says):
				t.Errorf("got %v, want %s with %q", err, name, c.says)
			}
		})
	}
}

func TestLocalLeadersAndTheirSupport(t *testing.T) {
	majority := func(s *HallSpec) { s.Supporters = 3 }
	tellHall(t, []hallCase{
		{"leads without itself", "H-LS", "a leads {b c}", nil, flat(leasedAt(0, 0, milli, "bc")), 0},
		{"leads with itself", "not H-LS", "", nil, flat(leasedAt(0, 0, milli, "ab")), 0},
		{"one supports two", "H-SO", "{b} supports both", nil, flat(leasedAt(0, 0, 50*milli, "ab"), leasedAt(10*milli, 2, 60*milli, "bc")), 0},
		{"one after the other", "not H-SO", "", nil, flat(leasedAt(0, 0, 50*milli, "ab"), leasedAt(50*milli, 2, 90*milli, "bc")), 0},
		{"after a stepdown", "not H-SO", "", nil,
			flat(leasedAt(0, 0, 50*milli, "ab"), simple(milli, 0, protocol.EvStepdown, ""), leasedAt(10*milli, 2, 90*milli, "bc")), 0},
		{"after a crash", "not H-SO", "", nil,
			flat(leasedAt(0, 0, 50*milli, "ab"), simple(milli, 0, sim.EvCrash, ""), leasedAt(10*milli, 2, 90*milli, "bc")), 0},
		{"side by side", "not H-SO", "", nil, flat(leasedAt(0, 0, 50*milli, "ab"), leasedAt(10*milli, 2, 60*milli, "cd")), 0},
		{"a minority", "H-MAJ", "fewer than 3", majority, flat(leasedAt(0, 0, 50*milli, "ab")), 0},
		{"two leaders", "H-MAJ", "so does", majority, flat(leasedAt(0, 0, 50*milli, "abc"), leasedAt(10*milli, 2, 60*milli, "cde")), 0},
		{"one majority", "not H-MAJ", "", majority, flat(leasedAt(0, 0, 50*milli, "abc")), 0},
	})
}

func TestLocks(t *testing.T) {
	tellHall(t, []hallCase{
		{"moves too early", "H-LOCK", "is locked to a/1", nil, flat(lockedAt(0, 2, 0, 50*milli), lockedAt(20*milli, 2, 1, 90*milli)), 0},
		{"lapses too early", "H-LOCK", "before its end", nil, flat(lockedAt(0, 2, 0, 50*milli), unlockedAt(50*milli, 2, 0, "lapsed")), 0},
		{"lapses in time", "not H-LOCK", "", nil,
			flat(lockedAt(0, 2, 0, 50*milli), unlockedAt(50*milli+1, 2, 0, "lapsed"), lockedAt(50*milli+1, 2, 1, 90*milli)), 0},
		{"gets shorter", "H-LOCK", "shortens", nil, flat(lockedAt(0, 2, 0, 50*milli), lockedAt(10*milli, 2, 0, 40*milli)), 0},
		{"forgotten in a crash", "H-LOCK", "before it crashed", nil,
			flat(lockedAt(0, 2, 0, 50*milli), simple(milli, 2, sim.EvCrash, ""), lockedAt(20*milli, 2, 1, 90*milli)), 0},
		{"over after a crash", "not H-LOCK", "", nil,
			flat(lockedAt(0, 2, 0, 50*milli), simple(milli, 2, sim.EvCrash, ""), lockedAt(51*milli, 2, 1, 90*milli)), 0},
		{"released under a leader", "H-LOCK", "who leads {a c}", nil,
			flat(lockedAt(0, 0, 0, 50*milli), lockedAt(0, 2, 0, 50*milli), leasedAt(milli, 0, 40*milli, "ac"), unlockedAt(20*milli, 2, 0, "released")), 0},
		{"released in order", "not H-LOCK", "", nil,
			flat(lockedAt(0, 0, 0, 50*milli), lockedAt(0, 2, 0, 50*milli), leasedAt(milli, 0, 40*milli, "ac"),
				simple(2*milli, 0, protocol.EvStepdown, ""), unlockedAt(20*milli, 2, 0, "released")), 0},
		{"a lease beyond its locks", "H-LOCK", "c is not locked", nil,
			flat(lockedAt(0, 0, 0, 90*milli), lockedAt(0, 2, 0, 50*milli), leasedAt(milli, 0, 51*milli, "ac")), 0},
		{"what was never given", "H-LOCK", "has not given", nil, flat(unlockedAt(0, 2, 0, "released")), 0},
	})
}

func TestPartitionsAndTheirLeaders(t *testing.T) {
	slow := carried(1, 0, 3, 100*milli, 104*milli, 5*milli)
	tellHall(t, []hallCase{
		{"nobody leads", "H-T", "{a b c d e} has been a partition", nil, everybodyIn(), 500 * milli},
		{"not for long enough", "not H-T", "", nil, everybodyIn(), 399 * milli},
		{"somebody has led", "not H-T", "", nil, flat(everybodyIn(), leasedAt(0, 3, 200*milli, "abcde")), 550 * milli},
		{"nobody has since", "H-T", "nobody in it has led", nil, flat(everybodyIn(), leasedAt(0, 3, 100*milli, "abcde")), 550 * milli},
		{"two are not connected", "H-T", "{a b c e}", nil, flat(everybodyIn(), slow), 500 * milli},
		{"a message that never comes", "H-T", "{a b c e}", nil, flat(everybodyIn(), carried(1, 0, 3, 200*milli, 0, 0)), 500 * milli},
		{"one sleeps", "H-T", "{a b d e}", nil, flat(everybodyIn(), hallRecord(200*milli, 2, protocol.Fact{Ev: sim.EvFault, Detail: sim.Fault{Kind: sim.Pause, A: 2}})),
			500 * milli},
		{"all but one", "H-T", "{a b c d}", nil, flat(everybodyIn()[:4]), 500 * milli},
		{"heard from outside", "not H-T", "", nil, flat(everybodyIn()[:4], carried(1, 4, 0, 200*milli, 201*milli, 2*milli)), 500 * milli},
		{"the wrong one leads", "H-MIN", "a leads: false", nil, flat(everybodyIn(), leasedAt(0, 1, 900*milli, "abcde")), 500 * milli},
		{"the right one leads", "not H-MIN", "", nil, flat(everybodyIn(), leasedAt(0, 0, 900*milli, "abcde")), 500 * milli},
		{"it stops", "H-MIN", "a leads: false", nil,
			flat(everybodyIn(), leasedAt(0, 0, 900*milli, "abcde"), simple(600*milli, 0, protocol.EvStepdown, "")), 700 * milli},
		{"connected and not asked", "H-BI", "has been connected to", nil, flat(everybodyIn(), leasedAt(0, 0, 900*milli, "abce")), 500 * milli},
		{"connected lately", "not H-BI", "", nil, flat(everybodyIn(), slow, leasedAt(200*milli, 0, 900*milli, "abce")), 500 * milli},
		{"connected long ago", "H-BI", "to d for", nil, flat(everybodyIn(), slow, leasedAt(200*milli, 0, 900*milli, "abce")), 503 * milli},
	})
}

func TestGraphChecker(t *testing.T) {
	chain := []protocol.Set{members("ab"), members("abd"), members("cd"), members("bcd"), members("e")}
	for _, c := range []struct {
		leads string
		says  string
	}{{"ace", ""}, {"ae", "c does not lead"}, {"abce", "b leads"}} {
		p := parse(t, "")
		g := NewGraph(p, hallSpec, chain, sim.Real(100*milli), nil)
		for r := range members(c.leads).All() {
			rec := leasedAt(10*milli, r, 900*milli, "")
			if err := g.Observe(&rec); err != nil {
				t.Errorf("judged too early: %v", err)
			}
		}
		rec := simple(200*milli, 4, sim.EvPersist, "")
		err := g.Observe(&rec)
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s lead: got %v, want %q", c.leads, err, c.says)
		}
	}
}
