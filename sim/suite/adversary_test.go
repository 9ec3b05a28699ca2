package suite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// An adversary delays messages, and does nothing else: nobody crashes and nothing is lost. It waits until all agree on a
// leader, holds what the leader sends until the others have given it up, delivers everything, and begins anew. This is the
// run that the proof of the paper's first theorem makes up.
type adversary struct {
	*sim.World
	// patience is how long it holds a message at most; zero: until the leader is given up.
	patience time.Duration
	// spares lists links that it must leave alone: a ◇f-source's.
	spares func(from, to protocol.Rank) bool
	// centre, if not Nobody, is a member whose answers must win at the members of cluster: MP. To delay what it says to them the
	// adversary delays all that they hear, and delivers the centre's words first.
	centre  protocol.Rank
	cluster protocol.Set

	victim  protocol.Rank
	since   sim.Real
	held    []sim.Intercepted
	deposed []sim.Real                       // when a leader was given up
	beliefs map[protocol.Rank]protocol.Ident // whom each trusts
	last    sim.Real                         // when one of them changed
	broken  string                           // how an assumption that it must keep was broken
}

// newAdversary returns a world of the protocol under an adversary, with links as told.
func newAdversary(t *testing.T, p *suite.Protocol, members int, seed uint64, links func(from, to protocol.Rank) sim.Link) *adversary {
	t.Helper()
	a := &adversary{victim: protocol.Nobody, centre: protocol.Nobody, beliefs: map[protocol.Rank]protocol.Ident{}}
	c := sim.Config{Members: members, Seed: seed, Spawn: p.Spawn, Links: links, Intercept: a.intercept}
	if p.Configure != nil {
		p.Configure(&c)
	}
	var err error
	a.World, err = sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	a.Observe(traceObserver{a})
	a.At(0, a.look)
	return a
}

// traceObserver is how the adversary sees the trace.
type traceObserver struct{ *adversary }

func (a traceObserver) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvWeak:
		if a.beliefs[r.Node] != r.Peer {
			a.beliefs[r.Node], a.last = r.Peer, r.T
		}
	case counter.EvRound:
		if a.cluster.Has(r.Node) && !r.Members.Has(a.centre) && a.broken == "" {
			a.broken = fmt.Sprintf("MP: at %v the answers of %v won at %v, without %v", r.T, r.Members, r.Node, a.centre)
		}
	}
	return nil
}

// intercept holds what the adversary wants to be late.
func (a *adversary) intercept(l sim.Intercepted) bool {
	if a.victim == protocol.Nobody || l.From.Rank == l.To || a.spares != nil && a.spares(l.From.Rank, l.To) {
		return false
	}
	if l.From.Rank == a.victim || a.victim == a.centre && a.cluster.Has(l.To) {
		a.held = append(a.held, l)
		return true
	}
	return false
}

// look decides what to do, every few milliseconds.
func (a *adversary) look() {
	switch {
	case a.victim == protocol.Nobody:
		a.victim = a.agreed()
		if a.victim != protocol.Nobody {
			a.since = a.Now()
		}
	case a.givenUp():
		a.deposed = append(a.deposed, a.Now())
		a.release()
	case a.patience > 0 && a.Now().Sub(a.since) > a.patience:
		a.release()
	}
	a.At(a.Now().Add(5*time.Millisecond), a.look)
}

// trusts returns whom a member trusts.
func (a *adversary) trusts(r protocol.Rank) protocol.Rank {
	for _, v := range a.Views(r) {
		if v.Domain == protocol.Elector {
			return v.Leader.Rank
		}
	}
	return protocol.Nobody
}

// agreed returns the leader if all agree on one.
func (a *adversary) agreed() protocol.Rank {
	leader := a.trusts(0)
	for r := range protocol.Rank(a.Members()) {
		if a.trusts(r) != leader {
			return protocol.Nobody
		}
	}
	return leader
}

// givenUp says whether nobody else trusts the victim. Who hears nothing while the victim is the centre cannot know.
func (a *adversary) givenUp() bool {
	for r := range protocol.Rank(a.Members()) {
		deaf := a.victim == a.centre && a.cluster.Has(r)
		if r != a.victim && !deaf && (a.trusts(r) == a.victim || a.trusts(r) == protocol.Nobody) {
			return false
		}
	}
	return true
}

// release delivers what was held, in its order but for this: what the centre says comes first.
func (a *adversary) release() {
	for _, l := range a.held {
		at := a.Now()
		if a.victim == a.centre && l.From.Rank != a.centre {
			at = at.Add(20 * time.Millisecond)
		}
		a.Deliver(l, at)
	}
	a.held, a.victim = a.held[:0], protocol.Nobody
}

// until lets time pass.
func (a *adversary) until(t *testing.T, at time.Duration) {
	t.Helper()
	if err := a.Run(sim.Real(at)); err != nil {
		t.Fatal(err)
	}
}

func tuned(t *testing.T, name string, settings ...string) *suite.Protocol {
	t.Helper()
	p, err := suite.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.With(settings...); err != nil {
		t.Fatal(err)
	}
	return p
}

// family lists the electors that count, as purists would have them: without a limit upon waiting.
var family = []string{"timefree", "fsource", "hybrid"}

// TestTheoremOne is the paper's first theorem: an adversary that does nothing but delay makes any elector change leaders for
// ever, since a leader whose messages are late cannot be told from one that has crashed.
func TestTheoremOne(t *testing.T) {
	for _, name := range []string{"rank", "stable", "timefree", "fsource", "hybrid"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAdversary(t, tuned(t, name), 4, 1, nil)
			a.until(t, 4*time.Minute)
			late := 0
			for _, at := range a.deposed {
				if at > sim.Real(3*time.Minute) {
					late++
				}
			}
			if len(a.deposed) < 100 || late < 10 {
				t.Errorf("%d leaders were given up in four minutes, %d of them in the last; want no end of it", len(a.deposed), late)
			}
			t.Logf("%d leaders in four minutes", len(a.deposed))
		})
	}
}

// between gives all links but those of some pairs a delay.
func between(rest, special sim.Delay, is func(from, to protocol.Rank) bool) func(from, to protocol.Rank) sim.Link {
	return func(from, to protocol.Rank) sim.Link {
		if is(from, to) {
			return sim.Link{Delay: special}
		}
		return sim.Link{Delay: rest}
	}
}

// converged says whether nobody has changed its mind for half of the run, and all agree.
func (a *adversary) converged() bool { return a.agreed() != protocol.Nobody && a.last < a.Now()/2 }

// judge runs four minutes and checks who converges.
func (a *adversary) judge(t *testing.T, want bool) {
	t.Helper()
	a.until(t, 4*time.Minute)
	if a.broken != "" {
		t.Fatal(a.broken)
	}
	if got := a.converged(); got != want {
		t.Errorf("converged: %v, want %v; %d leaders were given up, all agree on %v, the last change was at %v", got, want, len(a.deposed), a.agreed(), a.last)
	}
}

// TestOnlyTheOrderOfAnswersIsKept is a schedule in which the answers of c always win at a and b, so that MP holds (n = 4, f =
// 1), and in which nobody is timely for anybody: whoever leads is held back beyond every time-out. It separates the
// electors: timefree and hybrid converge, fsource does not.
func TestOnlyTheOrderOfAnswersIsKept(t *testing.T) {
	for _, name := range family {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2) {
				quick := func(from, to protocol.Rank) bool { return from == 2 || to == 2 }
				a := newAdversary(t, tuned(t, name, "limit=0s"), 4, seed,
					between(sim.Between(5*ms, 10*ms), sim.Between(ms, 2*ms), quick))
				a.patience, a.centre, a.cluster = 2*time.Second, 2, protocol.NewSet(0, 1)
				a.judge(t, name != "fsource")
			}
		})
	}
}

// TestOnlyOneLinkIsTimely is a schedule in which the one link from c to d is timely, so that c is a ◇1-source (n = 4, f =
// 1), and in which whoever leads has its answers held back until they have lost. Even at d those of c lose, for others are
// quicker. It separates the electors the other way: fsource and hybrid converge, timefree does not.
func TestOnlyOneLinkIsTimely(t *testing.T) {
	for _, name := range family {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(2) {
				source := func(from, to protocol.Rank) bool { return from == 2 && to == 3 }
				a := newAdversary(t, tuned(t, name, "limit=0s"), 4, seed,
					between(sim.Between(ms, 2*ms), sim.Between(20*ms, 30*ms), source))
				a.patience, a.spares = 2*time.Second, source
				a.judge(t, name != "timefree")
			}
		})
	}
}

// TestASourceIsFoundThoughAllOthersAreAccused is the ◇f-source alone: its one link is timely, every other link carries
// messages too seldom for any time-out. However high its counter was before, it leads in the end.
func TestASourceIsFoundThoughAllOthersAreAccused(t *testing.T) {
	for _, name := range []string{"fsource", "hybrid"} {
		p := tuned(t, name)
		w, err := sim.New(sim.Config{Members: 5, Seed: 3, Spawn: p.Spawn})
		if err != nil {
			t.Fatal(err)
		}
		w.Schedule(sim.Fault{Kind: sim.Crash, A: 2, At: sim.Real(time.Second), For: 5 * time.Second})
		if err := w.Run(sim.Real(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		w.Relink(suite.FromSource(2, protocol.NewSet(4), protocol.Everyone(5).Without(2), 500*ms))
		if err := w.Run(sim.Real(5 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		leader := w.Views(0)[0].Leader
		if name == "fsource" && leader.Rank != 2 {
			t.Errorf("a trusts %v, want c", leader)
		}
		for r := range protocol.Rank(5) {
			if v := w.Views(r); v[0].Leader != leader {
				t.Errorf("%s: %v trusts %v, but a trusts %v", name, r, v[0].Leader, leader)
			}
		}
	}
}
