package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

const nerioPaper = "Nerio"

func nerioExperiments() []*Experiment {
	return []*Experiment{
		{Name: "nerio-lemmas", Paper: nerioPaper, Where: "(14), Lemmas 3.1 and 7.1", Title: "how often the invariants and the order of stamps were checked, under random faults",
			Claim: "A lease in force is backed by a quorum of grants that outlast it (14, 3.1). Quorum timestamps are ordered as leases were obtained (7.1), so edicts are ordered, too.",
			Differs: "The paper leaves restarts out: here members restart, lose disks and are suspended. A promise is between members and serves many groups; a tenure keeps its first " +
				"quorum timestamp. Releases name what they give back (E-N3).",
			run: nerioLemmas},
		{Name: "nerio-failover", Paper: nerioPaper, Where: "sections 8 and 10.1", Title: "time without a leader after a crash, by δ",
			Claim: "A leader that crashes is succeeded when its grants end, at most δ(1+ρ)/(1-ρ) later, and a round trip after that. A shorter δ costs more renewals.",
			Differs: "Candidates try by themselves, without a weak elector, so the time includes attempts that get into each other's way: up to 4d of back-off each. The round-trip " +
				"bound d is 20 ms.",
			run: nerioFailover},
	}
}

// lemmaCounts is how often each claim was looked at in one run, and which one was violated.
type lemmaCounts struct {
	leases, backed, promises, tenures, pairs, common, edicts, verified, faults int

	stamps   map[protocol.Group][]stamp.Quorum
	last     map[tenure]bool
	disorder error
	violated string
	err      error
}

type tenure struct {
	who    protocol.Ident
	group  protocol.Group
	number uint64
}

// Observe counts, and compares the stamps of each new tenure with those of all before it.
func (l *lemmaCounts) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvPromise:
		l.promises++
	case protocol.EvHorizon:
		l.leases++
	case protocol.EvEdict:
		l.edicts++
	case protocol.EvVerify:
		l.verified++
	case sim.EvFault:
		l.faults++
	case protocol.EvLease:
		q, ok := r.Detail.(stamp.Quorum)
		if r.Dom != protocol.Quorum || !ok {
			return nil
		}
		l.leases++
		l.backed += len(q)
		if key := (tenure{protocol.Ident{Rank: r.Node, Inc: r.Inc}, r.Group, r.Tenure}); !l.last[key] {
			l.last[key] = true
			l.begins(r, q)
		}
	}
	return nil
}

// begins compares a tenure with all before it.
func (l *lemmaCounts) begins(r *sim.Record, q stamp.Quorum) {
	l.tenures++
	for _, before := range l.stamps[r.Group] {
		l.pairs++
		for _, e := range q {
			if slices.ContainsFunc(before, func(f stamp.Entry) bool { return f.Voter == e.Voter }) {
				l.common++
			}
		}
		if order, err := before.Compare(q); l.disorder == nil && (order >= 0 || err != nil) {
			l.disorder = fmt.Errorf("%v at %v: %v does not come before %v: %d, %v", r.Node, r.T, before, q, order, err)
		}
	}
	l.stamps[r.Group] = append(l.stamps[r.Group], slices.Clone(q))
}

// nerioLemmas runs random faults with all checkers on, and counts what they looked at.
func nerioLemmas(r *run, out *Report) error {
	p, err := suite.Lookup("nerio")
	if err != nil {
		return err
	}
	runs := r.pick(8, 300)
	all, err := each(r, runs, func(i int) (*lemmaCounts, error) {
		l := &lemmaCounts{stamps: map[protocol.Group][]stamp.Quorum{}, last: map[tenure]bool{}}
		_, run, err := fuzz.Seed(p, 3+i%4, r.Seed<<20+uint64(i), fuzz.DefaultFor, l)
		l.violated, l.err = run.Violated(), run.Err
		return l, err
	})
	if err != nil {
		return err
	}
	var sum lemmaCounts
	violations := map[string]int{}
	var first error
	for i, l := range all {
		sum.leases, sum.backed, sum.promises, sum.tenures = sum.leases+l.leases, sum.backed+l.backed, sum.promises+l.promises, sum.tenures+l.tenures
		sum.pairs, sum.common, sum.edicts, sum.verified = sum.pairs+l.pairs, sum.common+l.common, sum.edicts+l.edicts, sum.verified+l.verified
		sum.faults += l.faults
		if l.disorder != nil {
			violations["N-EO"]++
			first = fmt.Errorf("run %d: %w", i, l.disorder)
		}
		if l.violated != "" {
			violations[l.violated]++
			first = fmt.Errorf("run %d: %w", i, l.err)
		}
	}
	t := out.table(fmt.Sprintf("%d runs of 3 to 6 members, %d faults:", runs, sum.faults), "claim", "checker", "checked", "violated")
	for _, row := range []struct {
		claim, name string
		checked     int
	}{
		{"leader uniqueness, at every lease and renewal", "N-LU", sum.leases},
		{"(14) and Lemma 3.1, at every voter of a lease", "N-14", sum.backed},
		{"a voter keeps its promises", "N-16'", sum.promises},
		{"Lemma 7.1, at every pair of tenures", "N-EO", sum.pairs},
		{"the same, at every common voter", "N-EO", sum.common},
		{"edicts lie within a lease", "N-EV", sum.edicts},
		{"tokens grow from tenure to tenure", "N-TOK", sum.tenures},
		{"verified leaders lead", "N-VER", sum.verified},
	} {
		t.add(row.claim, row.name, row.checked, violations[row.name])
	}
	least := min(sum.leases, sum.promises, sum.pairs, sum.common, sum.edicts, sum.verified)
	out.check(2*least >= runs, "every claim was looked at", "%d times at least, in %d runs", least, runs)
	out.check(first == nil, "no run violated an invariant", "%s", errorOr(first, fmt.Sprintf("0 of %d runs", runs)))
	return nil
}

// nerioTrip is d, and nerioMembers how many members take part in failovers.
const (
	nerioTrip    = 20 * time.Millisecond
	nerioMembers = 5
)

// nerioFailover crashes leaders at random instants.
func nerioFailover(r *run, out *Report) error {
	leases := []time.Duration{75, 100, 150, 200, 400, 800}
	runs := r.pick(15, 200)
	took, err := each(r, len(leases)*runs, func(i int) (time.Duration, error) {
		return succeed(leases[i/runs]*time.Millisecond, r.Seed<<20+uint64(i))
	})
	if err != nil {
		return err
	}
	t := out.table(fmt.Sprintf("Time from the crash of a leader to the next lease, %d crashes each, %d members:", runs, nerioMembers), "δ", "median", "99%", "longest", "bound")
	curves := []Curve{{Name: "median"}, {Name: "longest"}, {Name: "δ(1+ρ)/(1-ρ) + 4d + d", Bound: true}}
	within := 0
	for i, ms := range leases {
		lease := ms * time.Millisecond
		all := took[i*runs : (i+1)*runs]
		slices.Sort(all)
		rho := protocol.DefaultRho
		bound := rho.RealAtMost(rho.WaitAtLeast(lease)) + 5*nerioTrip
		t.add(lease, share(all, 0.5), share(all, 0.99), share(all, 1), bound)
		for k, d := range []time.Duration{share(all, 0.5), share(all, 1), bound} {
			curves[k].Points = append(curves[k].Points, Point{milliseconds(lease), milliseconds(d)})
		}
		if share(all, 1) <= bound {
			within++
		}
	}
	out.chart("Failover by the length of a lease", "δ, ms", "ms", curves...)
	out.check(within == len(leases), "the successor leads within δ(1+ρ)/(1-ρ), a back-off and a round trip", "for %d of %d lengths", within, len(leases))
	slope, r2 := linear(curves[0].Points)
	out.check(slope > 0.5 && slope < 1.1 && r2 > 0.95, "the time grows linearly with δ", "%.3g ms for each ms of δ in the median, R² = %.3f", slope, r2)
	return nil
}

// succeed crashes the leader of a council at a random instant and returns after what time another leads.
func succeed(lease time.Duration, seed uint64) (time.Duration, error) {
	const group protocol.Group = "blue"
	w, err := sim.New(sim.Config{Members: nerioMembers, Seed: seed, Groups: []protocol.Group{group},
		Link: sim.Link{Delay: sim.Between(200*time.Microsecond, time.Millisecond)},
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			c := suite.NerioConfig(b)
			c.RoundTrip, c.Lease, c.Longest, c.Renew = nerioTrip, lease, lease, lease/5
			return nerio.New(c, b.Record, b.Seed)
		}})
	if err != nil {
		return 0, err
	}
	s := &successor{leader: protocol.Nobody}
	w.Observe(s)
	at := sim.Real(5*time.Second + w.Dice().Between(0, lease))
	if err := w.Run(at); err != nil {
		return 0, err
	}
	if s.leader == protocol.Nobody {
		return 0, fmt.Errorf("seed %d: nobody leads after 5 s without faults", seed)
	}
	old := s.leader
	w.Begin(sim.Fault{Kind: sim.Crash, A: old, B: protocol.Nobody})
	for s.leader == old {
		if err := w.Run(w.Now().Add(lease / 10)); err != nil {
			return 0, err
		}
		if w.Now().Sub(at) > time.Minute {
			return 0, fmt.Errorf("seed %d: nobody leads a minute after the crash of %v", seed, old)
		}
	}
	return s.since.Sub(at), nil
}

// successor notes who leads, and since when.
type successor struct {
	leader protocol.Rank
	since  sim.Real
}

func (s *successor) Observe(r *sim.Record) error {
	if r.Ev == protocol.EvLease && r.Node != s.leader {
		s.leader, s.since = r.Node, r.T
	}
	return nil
}
