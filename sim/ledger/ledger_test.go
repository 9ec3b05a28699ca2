package ledger

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

const (
	a = protocol.Rank(iota)
	b
	c
	members = 3
)

func ident(r protocol.Rank, inc protocol.Inc) protocol.Ident {
	return protocol.Ident{Rank: r, Inc: inc}
}

// at returns a record of a member in its first incarnation, in the domain Quorum.
func at(t sim.Real, r protocol.Rank, f protocol.Fact) *sim.Record {
	if f.Dom == protocol.Elector {
		f.Dom = protocol.Quorum
	}
	return &sim.Record{T: t, Node: r, Inc: 1, Fact: f}
}

func promise(to protocol.Rank, gen uint64, until protocol.Time) protocol.Fact {
	return protocol.Fact{Ev: protocol.EvPromise, Peer: ident(to, 1), Gen: gen, Until: until}
}

func assign(g protocol.Group, to protocol.Rank, gen, term uint64) protocol.Fact {
	return protocol.Fact{Ev: protocol.EvAssign, Group: g, Peer: ident(to, 1), Gen: gen, Term: term, Tenure: 5}
}

func lease(g protocol.Group, tenure, token, horizon uint64, until protocol.Time) protocol.Fact {
	return protocol.Fact{Ev: protocol.EvLease, Group: g, Tenure: tenure, Term: token, Seq: horizon, Until: until, Members: protocol.NewSet(a, b)}
}

func take(l *Ledger, list ...*sim.Record) (last Change) {
	for _, r := range list {
		last = l.Take(r)
	}
	return last
}

// backs returns who backs a member in a domain, whenever the promises end.
func backs(l *Ledger, d protocol.Domain, g protocol.Group, to protocol.Ident) string {
	set := l.Backers(d, g, to, func(*Promise) bool { return true })
	return strings.Trim(set.String(), "{}")
}

func TestAGroupIsAssignedToOneHolderAtATime(t *testing.T) {
	l := New(members)
	did := take(l, at(1, c, promise(a, 1, 100)), at(2, c, promise(b, 1, 110)), at(3, c, assign("g", a, 1, 7)))
	if did.Before.Stood || did.Promise == nil || did.Promise.To != ident(a, 1) || did.Promise.Assigned[0] != (Assignment{"g", 7, 5}) {
		t.Errorf("the first assignment is %+v", did)
	}
	did = take(l, at(4, c, assign("g", b, 1, 8)))
	if !did.Before.Stood || did.Before.To != ident(a, 1) || did.Before.Term != 7 || did.Before.Until != 100 {
		t.Errorf("before the second stood %+v", did.Before)
	}
	if backs(l, protocol.Quorum, "g", ident(a, 1)) != "" || backs(l, protocol.Quorum, "g", ident(b, 1)) != "c" {
		t.Error("the group has two holders, or none")
	}
	if did = take(l, at(5, c, assign("g", a, 9, 9))); did.Promise != nil || backs(l, protocol.Quorum, "g", ident(a, 1)) != "" {
		t.Error("a group is assigned in a promise that was never made")
	}
}

func TestAnUnassignIsOfWhomItNames(t *testing.T) {
	l := New(members)
	take(l, at(1, c, promise(a, 1, 100)), at(2, c, assign("g", a, 1, 7)))
	other := at(3, c, protocol.Fact{Ev: protocol.EvUnassign, Group: "g", Peer: ident(b, 1)})
	if did := take(l, other); did.Promise != nil || !did.Before.Stood || backs(l, protocol.Quorum, "g", ident(a, 1)) != "c" {
		t.Errorf("the group was taken from somebody else: %+v", did)
	}
	mine := at(4, c, protocol.Fact{Ev: protocol.EvUnassign, Group: "g", Peer: ident(a, 1)})
	if did := take(l, mine); did.Promise == nil || did.Before.Term != 7 || backs(l, protocol.Quorum, "g", ident(a, 1)) != "" {
		t.Errorf("the group was not taken: %+v", did)
	}
}

func TestABrokenPromiseIsGoneWithItsGroups(t *testing.T) {
	l := New(members)
	take(l, at(1, c, promise(a, 1, 100)), at(2, c, assign("g", a, 1, 7)))
	did := take(l, at(3, c, protocol.Fact{Ev: protocol.EvBreak, Peer: ident(a, 1), Gen: 1}))
	if !did.Before.Stood || did.Before.Until != 100 || l.Promise(c, ident(a, 1), 1) != nil || len(l.Promises(c)) != 0 {
		t.Errorf("it stands: %+v", did)
	}
}

func TestAnOrphanBacksUntilItIsForgotten(t *testing.T) {
	crash := &sim.Record{T: 3, Node: c, Inc: 1, Fact: protocol.Fact{Ev: sim.EvCrash}}
	later := &sim.Record{T: 3, Node: c, Inc: 2, Fact: promise(b, 1, 200)}
	later.Dom = protocol.Quorum
	for name, end := range map[string]*sim.Record{"a crash": crash, "another incarnation": later} {
		l := New(members)
		take(l, at(1, c, promise(a, 1, 100)), at(1, c, promise(b, 1, 100)), at(2, c, assign("g", a, 1, 7)), end)
		if backs(l, protocol.Quorum, "g", ident(a, 1)) != "c" || l.Promise(c, ident(a, 1), 1) != nil {
			t.Errorf("after %s the holder may not rely on the promise, or the voter knows it", name)
		}
		take(l, at(4, c, protocol.Fact{Ev: protocol.EvUnassign, Group: "g", Peer: ident(a, 1)}))
		if backs(l, protocol.Quorum, "g", ident(a, 1)) != "c" {
			t.Errorf("after %s an orphan changed", name)
		}
		if p := l.Promises(c)[0]; !p.Orphan || p.To != ident(a, 1) {
			t.Errorf("after %s there is %+v", name, l.Promises(c))
		}
		l.Forget(c, func(p *Promise) bool { return p.Until <= 99 })
		if backs(l, protocol.Quorum, "g", ident(a, 1)) != "c" {
			t.Errorf("after %s an orphan that stands was forgotten", name)
		}
		l.Forget(c, func(p *Promise) bool { return p.Until <= 100 })
		if backs(l, protocol.Quorum, "g", ident(a, 1)) != "" || end == later && len(l.Promises(c)) != 1 {
			t.Errorf("after %s and the end there is %+v", name, l.Promises(c))
		}
	}
}

func TestALockIsAPromiseOfOneGroup(t *testing.T) {
	lock := func(ev protocol.Ev, to protocol.Rank, until protocol.Time) *sim.Record {
		return at(sim.Real(until), c, protocol.Fact{Ev: ev, Dom: protocol.Local, Group: "g", Peer: ident(to, 1), Until: until})
	}
	l := New(members)
	take(l, lock(protocol.EvGrant, a, 10))
	if did := take(l, lock(protocol.EvGrant, a, 20)); !did.Before.Stood || did.Before.Until != 10 || did.Promise.Until != 20 || len(l.Promises(c)) != 1 {
		t.Errorf("the lock was not extended: %+v", did)
	}
	if did := take(l, lock(protocol.EvGrant, b, 30)); did.Before.To != ident(a, 1) || backs(l, protocol.Local, "g", ident(a, 1)) != "" {
		t.Errorf("the voter is locked to two: %+v", did)
	}
	if backs(l, protocol.Local, "g", ident(b, 1)) != "c" || backs(l, protocol.Quorum, "g", ident(b, 1)) != "" {
		t.Error("a lock counts in another domain, or not in its own")
	}
	if did := take(l, lock(protocol.EvUngrant, b, 0)); did.Before.To != ident(b, 1) || len(l.Promises(c)) != 0 {
		t.Errorf("the lock stands: %+v", did)
	}
}

func TestALeaseLivesBehindItsHorizon(t *testing.T) {
	l := New(members)
	did := take(l, at(5, a, lease("g", 1, 9, 2, 100)))
	if did.Begun == nil || len(did.Moved) != 1 || did.Begun.Since != 5 || did.Begun.Token != 9 || did.Begun.Holder != ident(a, 1) {
		t.Fatalf("it begins as %+v", did)
	}
	take(l, at(6, a, lease("h", 2, 9, 3, 100)))
	horizon := func(id uint64, until protocol.Time) *sim.Record {
		return at(7, a, protocol.Fact{Ev: protocol.EvHorizon, Seq: id, Until: until})
	}
	if did := take(l, horizon(2, 150)); len(did.Moved) != 1 || did.Moved[0].Group != "g" || did.Begun != nil {
		t.Errorf("the horizon moves %+v", did.Moved)
	}
	take(l, horizon(2, 120))
	take(l, at(8, a, lease("g", 1, 9, 0, 130)))
	x := l.Lease(a, protocol.Quorum, "g")
	if x.Until != 150 || !x.Frozen || x.Since != 5 {
		t.Errorf("the end moved back, or the lease is not frozen: %+v", x)
	}
	if end, ok := l.End(a, protocol.Quorum, "g", 0); !ok || end != 150 {
		t.Errorf("it ends at %v", end)
	}
	if _, ok := l.End(a, protocol.Quorum, "g", 2); ok {
		t.Error("it still lies behind the horizon that it left")
	}
	if did := take(l, at(9, a, lease("g", 3, 12, 2, 200))); did.Begun == nil || len(did.Ended) != 1 || did.Ended[0].Tenure != 1 {
		t.Errorf("the next tenure does not end the one before: %+v", did)
	}
	if did := take(l, at(10, a, protocol.Fact{Ev: protocol.EvStepdown, Group: "g"})); len(did.Ended) != 1 || did.Ended[0].Tenure != 3 {
		t.Errorf("it steps down from %+v", did.Ended)
	}
	if did := take(l, &sim.Record{Node: a, Fact: protocol.Fact{Ev: sim.EvClose}}); len(did.Ended) != 1 || did.Ended[0].Group != "h" || len(l.Leases(a)) != 0 {
		t.Errorf("with the process end %+v", did.Ended)
	}
}

func TestTheHorizonOfAGroupStandsForItself(t *testing.T) {
	l := New(members)
	take(l, at(1, a, protocol.Fact{Ev: protocol.EvHorizon, Dom: protocol.Consistent, Group: "g", Seq: 4, Until: 50}))
	if end, ok := l.End(a, protocol.Consistent, "g", 4); !ok || end != 50 {
		t.Errorf("it ends at %v", end)
	}
	take(l, &sim.Record{Node: a, Fact: protocol.Fact{Ev: sim.EvRestart}})
	if _, ok := l.End(a, protocol.Consistent, "g", 4); ok {
		t.Error("it outlives its process")
	}
}

// draw returns a record that may or may not make sense.
func draw(d *rand.Rand, t sim.Real) *sim.Record {
	evs := []protocol.Ev{protocol.EvPromise, protocol.EvPromise, protocol.EvBreak, protocol.EvAssign, protocol.EvAssign, protocol.EvUnassign,
		protocol.EvGrant, protocol.EvUngrant, protocol.EvLease, protocol.EvLease, protocol.EvHorizon, protocol.EvStepdown, sim.EvCrash, protocol.EvWeak}
	r := &sim.Record{T: t, Node: protocol.Rank(d.IntN(members)), Inc: protocol.Inc(1 + t/30)}
	r.Ev, r.Dom, r.Group = evs[d.IntN(len(evs))], protocol.Quorum, []protocol.Group{"g", "h"}[d.IntN(2)]
	r.Peer, r.Gen, r.Term, r.Tenure, r.Seq = ident(protocol.Rank(d.IntN(members)), 1), uint64(d.IntN(2)), uint64(t), uint64(d.IntN(2)), uint64(d.IntN(3))
	r.Until = protocol.Time(t) + protocol.Time(d.IntN(9))
	switch r.Ev {
	case protocol.EvGrant, protocol.EvUngrant:
		r.Dom = protocol.Local
	case protocol.EvHorizon:
		r.Group = ""
	}
	return r
}

// reference answers by going through all records so far, for one voter or holder and one group at a time.
type reference []*sim.Record

func down(r *sim.Record) bool { return r.Ev == sim.EvCrash }

// lease returns tenure, end and horizon of a lease; zero if there is none.
func (w reference) lease(r protocol.Rank, d protocol.Domain, g protocol.Group) (tenure uint64, inc protocol.Inc, until protocol.Time, horizon uint64, stands bool) {
	for _, x := range w {
		if x.Node != r {
			continue
		}
		switch {
		case down(x), x.Ev == protocol.EvStepdown && x.Dom == d && x.Group == g:
			stands = false
		case x.Ev == protocol.EvLease && x.Dom == d && x.Group == g:
			if !stands || tenure != x.Tenure || inc != x.Inc {
				tenure, inc, until = x.Tenure, x.Inc, 0
			}
			until, horizon, stands = max(until, x.Until), x.Seq, true
		case x.Ev == protocol.EvHorizon && x.Dom == d && stands && horizon == x.Seq:
			until = max(until, x.Until)
		}
	}
	return tenure, inc, until, horizon, stands
}

// backs reports whether a voter has the group assigned to the holder: one of its lives has, and did not take it back.
func (w reference) backs(r protocol.Rank, d protocol.Domain, g protocol.Group, to protocol.Ident) bool {
	type made struct {
		to  protocol.Ident
		gen uint64
	}
	stands, orphans := map[made]bool{}, false
	var has *made // where the present life has the group
	voter := protocol.Inc(0)
	end := func() {
		orphans = orphans || has != nil && has.to == to
		has = nil
		clear(stands)
	}
	for _, x := range w {
		about := made{x.Peer, x.Gen}
		switch {
		case x.Node != r:
		case down(x):
			end()
		case (x.Ev == protocol.EvPromise || x.Ev == protocol.EvGrant) && x.Inc != voter:
			// Whatever domain it speaks in, it is another incarnation from here on.
			end()
			voter = x.Inc
		}
		if x.Node != r || x.Dom != d {
			continue
		}
		switch x.Ev {
		case protocol.EvPromise:
			stands[about] = true
		case protocol.EvBreak:
			delete(stands, about)
			if has != nil && *has == about {
				has = nil
			}
		case protocol.EvAssign:
			if x.Group == g {
				has = nil
				if stands[about] {
					has = &about
				}
			}
		case protocol.EvUnassign:
			if x.Group == g && has != nil && has.to == x.Peer {
				has = nil
			}
		case protocol.EvGrant:
			if x.Group == g {
				has = &about
			}
		case protocol.EvUngrant:
			if x.Group == g {
				has = nil
			}
		}
	}
	return orphans || has != nil && has.to == to
}

// differs returns what a ledger and its twin do not agree on.
func differs(l *Ledger, w reference) string {
	for r := range protocol.Rank(members) {
		for _, d := range []protocol.Domain{protocol.Quorum, protocol.Local} {
			for _, g := range []protocol.Group{"g", "h"} {
				tenure, inc, until, horizon, stands := w.lease(r, d, g)
				x := l.Lease(r, d, g)
				if stands != (x != nil) || stands && (x.Tenure != tenure || x.Holder.Inc != inc || x.Until != until || uint64(x.Horizon) != horizon) {
					return "the lease of " + r.String()
				}
				backers := l.Backers(d, g, ident(r, 1), func(*Promise) bool { return true })
				for voter := range protocol.Rank(members) {
					if backers.Has(voter) != w.backs(voter, d, g, ident(r, 1)) {
						return voter.String() + " backs " + r.String() + " " + d.String() + " " + string(g)
					}
				}
			}
		}
	}
	return ""
}

func TestALedgerAndItsCloneAgreeWithATwinThatReadsEverythingAgain(t *testing.T) {
	for seed := range uint64(20) {
		d := rand.New(rand.NewPCG(seed, 1))
		l, w := New(members), reference{}
		for now := range sim.Real(100) {
			r := draw(d, now)
			w = append(w, r)
			other := l.Clone()
			other.Take(r)
			for range d.IntN(4) {
				l.Take(draw(d, now)) // the one goes astray, the other must not notice
			}
			l = other
			if diff := differs(l, w); diff != "" {
				t.Fatalf("seed %d, record %d (%+v): %s", seed, now, r, diff)
			}
		}
	}
}

func TestTheSameRecordsMakeTheSameLedger(t *testing.T) {
	one, two := New(members), New(members)
	d := rand.New(rand.NewPCG(9, 9))
	for now := range sim.Real(300) {
		r := draw(d, now)
		one.Take(r)
		two.Take(r)
		two = two.Clone()
	}
	for r := range protocol.Rank(members) {
		if !reflect.DeepEqual(one.Leases(r), two.Leases(r)) && len(one.Leases(r))+len(two.Leases(r)) > 0 {
			t.Errorf("%v has %+v and %+v", r, one.Leases(r), two.Leases(r))
		}
		for i, p := range one.Promises(r) {
			if q := two.Promises(r)[i]; !reflect.DeepEqual(p, q) && len(p.Assigned)+len(q.Assigned) > 0 {
				t.Errorf("%v has %+v and %+v", r, p, q)
			}
		}
	}
	if g, h := one.Holders(nil, protocol.Quorum, "g"), two.Holders(nil, protocol.Quorum, "g"); !reflect.DeepEqual(g, h) {
		t.Errorf("the holders are %v and %v", g, h)
	}
}
