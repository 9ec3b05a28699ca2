package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

const rainPaper = "RAIN"

func rainExperiments() []*Experiment {
	return []*Experiment{
		{Name: "rain-table1", Paper: rainPaper, Where: "Table 1", Title: "two of four members lose their links one by one",
			Claim: "Links fail in the order N1N2, N1N3, N2N3, N4N1, N2N4. No node leads before the last; then N3 leads {N3, N4}.",
			Differs: "The printed definitions do not give this table (E-R1, E-R4): every candidate would lead at once, and N3 would ask about one of the two only. " +
				"N3 sends two cands, not four (E-R9).",
			run: rainTable},
		{Name: "rain-theorem31", Paper: rainPaper, Where: "Theorem 3.1", Title: "k members fail: the best-ranked of the rest leads them",
			Claim:   "For every k < n-1 failures the convergence condition eventually holds for exactly one node.",
			Differs: "Managers of smaller changes on the way are legitimate: the proof's \"no leader before T\" is too strong (E-R9). Without a quorum gate, as in the paper.",
			run:     rainFailures},
		{Name: "rain-theorem32", Paper: rainPaper, Where: "Theorem 3.2", Title: "k members fail and q return at the same time",
			Claim: "In a component of m nodes, k failures and q repairs eventually give exactly one leader of the new component of m-k+q nodes.",
			Differs: "The ranges are k < m-1 and q ≤ n-m; the paper prints k < n-1 and q < n-m, against its own scenario (E-R9). Dead members neither ask nor count (E-R2): as " +
				"printed, a dead member with a better rank deadlocks the rest.",
			run: rainRepairs},
		{Name: "rain-theorem33", Paper: rainPaper, Where: "Theorem 3.3", Title: "wrong suspicions leave no trace",
			Claim: "After a fake failure of k < n nodes no node is leader, and the state is the one before it.",
			Differs: "True if no cancel is overtaken on another link (E-R6). Here attempts are numbered, and the weak form is checked: without a new view, no member keeps a cand or an accept (R-33w). " +
				"One member keeps all of its links, so that at every instant a member sees each suspect.",
			run: rainSuspicions},
		{Name: "rain-slack", Paper: rainPaper, Where: "section 2, link histories", Title: "by how much one end of a link is ahead of the other",
			Claim: "Both ends of a link see the same history of ups and downs, and neither is more than a bounded number of transitions ahead.",
			Differs: "Transitions are counted and repeated in every packet; the paper passes tokens over a reliable channel. The bound is 2. Random faults, restarts and suspended hosts " +
				"included.",
			run: rainSlack},
		rainRecoveryExperiment(),
	}
}

// tableOne is Table 1: which link fails, what is said because of it, and who is dead and leads after that.
var tableOne = []struct {
	a, b        int
	said        string
	dead, leads string
}{
	{1, 2, "cand(1) 2→3, cand(1) 2→4, cand(2) 1→3, cand(2) 1→4", "", ""},
	{1, 3, "accept(1) 3→2, cand(3) 1→4", "", ""},
	{2, 3, "cand(1) 3→4, cand(2) 3→4, cand(3) 2→4", "", ""},
	{4, 1, "accept(1) 4→2", "1", ""},
	{2, 4, "accept(1) 4→3, accept(2) 4→3", "1 2", "3 leads {3 4}"},
}

// rainWatch notes what members say, who is dead, and which view each is in.
type rainWatch struct {
	said []string
	dead protocol.Set
	view []rainView
	// views counts those that were decided.
	views int
}

type rainView struct {
	members protocol.Set
	manager protocol.Rank
	number  uint64
}

func (t *rainWatch) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvCand, protocol.EvAccept, protocol.EvCancel:
		t.said = append(t.said, fmt.Sprintf("%s(%d) %d→%d", r.Ev, r.Members.Min()+1, r.Node+1, r.Peer.Rank+1))
	case protocol.EvNode:
		if r.Why == "dead" {
			t.dead.Add(r.Node)
		} else {
			t.dead.Remove(r.Node)
		}
	case protocol.EvInstall:
		t.view[r.Node] = rainView{r.Members, r.Peer.Rank, r.Gen}
	case protocol.EvConv:
		t.views++
	}
	return nil
}

// led returns which members each manager leads, of those that are not dead.
func (t *rainWatch) led() []string {
	var all []string
	for r := range protocol.Rank(len(t.view)) {
		if v := t.view[r]; !t.dead.Has(r) && v.manager == r {
			all = append(all, fmt.Sprintf("%d leads %s", r+1, numbers(v.members)))
		}
	}
	return all
}

// numbers writes members as the paper does.
func numbers(s protocol.Set) string {
	var all []string
	for r := range s.All() {
		all = append(all, fmt.Sprintf("%d", r+1))
	}
	return "{" + strings.Join(all, " ") + "}"
}

// rainWorld returns a world of members that agree on failures without a quorum, as in the paper, and who have all begun.
func rainWorld(n int, seed uint64, checkers ...string) (*sim.World, *rainWatch, []check.Checker, error) {
	p, err := suite.Lookup("rain plain")
	if err != nil {
		return nil, nil, nil, err
	}
	if p, err = p.With("stall=0s", "evict=0s", "recover=10ms"); err != nil {
		return nil, nil, nil, err
	}
	// Members start one after the other, so that their pings are not in step.
	c := sim.Config{Members: n, Seed: seed, Spawn: p.Spawn, Groups: p.Groups, Link: sim.Link{Delay: sim.Between(time.Millisecond, 5*time.Millisecond)},
		Stagger: sim.Between(0, 50*time.Millisecond)}
	p.Configure(&c)
	w, err := sim.New(c)
	if err != nil {
		return nil, nil, nil, err
	}
	t := &rainWatch{view: make([]rainView, n)}
	var on []check.Checker
	for _, c := range p.Checkers(w) {
		if slices.Contains(checkers, c.Name()) {
			on = append(on, c)
			w.Observe(c)
		}
	}
	w.Observe(t)
	if err := w.Run(sim.Real(3 * time.Second)); err != nil {
		return nil, nil, nil, err
	}
	if v := t.view[0]; v.members != protocol.Everyone(n) || !t.dead.Empty() {
		return nil, nil, nil, fmt.Errorf("seed %d: %d members are in %v after 3 s without faults", seed, n, v.members)
	}
	return w, t, on, nil
}

// cut cuts a link in both directions, after a while and for so long; 0: for good.
func cut(w *sim.World, a, b protocol.Rank, after, length time.Duration) {
	at := w.Now().Add(after)
	w.Schedule(sim.Fault{At: at, For: length, Kind: sim.Cut, A: a, B: b}, sim.Fault{At: at, For: length, Kind: sim.Cut, A: b, B: a})
}

func rainTable(r *run, out *Report) error {
	w, t, _, err := rainWorld(4, r.Seed)
	if err != nil {
		return err
	}
	table := out.table("What members send after each link fails:", "link", "sent", "dead", "leads", "as in Table 1")
	right := 0
	for _, step := range tableOne {
		t.said = nil
		cut(w, protocol.Rank(step.a-1), protocol.Rank(step.b-1), 0, 0)
		before := t.views
		if err := w.Run(w.Now().Add(2 * time.Second)); err != nil {
			return err
		}
		slices.Sort(t.said)
		said, dead, leads := strings.Join(t.said, ", "), strings.Trim(numbers(t.dead), "{}"), ""
		if t.views > before {
			leads = strings.Join(t.led(), ", ")
		}
		same := said == step.said && dead == step.dead && leads == step.leads
		if same {
			right++
		}
		table.add(fmt.Sprintf("N%dN%d", step.a, step.b), said, dead, leads, map[bool]string{true: "yes", false: "no"}[same])
	}
	out.check(right == len(tableOne), "each step is that of Table 1 (R-TAB)", "%d of %d steps", right, len(tableOne))
	return nil
}

// A change is some members failing, and some returning, in one run.
type change struct {
	n, m, k, q int
	took       time.Duration // from the first link that changes to the last member in the final view
	between    int           // views that were decided before the last
	wrong      string
}

// changes plays random changes: in a component of m of n members k fail and q of the others return.
func changes(r *run, runs int, draw func(d *sim.Dice) (n, m, k, q int)) ([]change, error) {
	return each(r, runs, func(i int) (change, error) {
		seed := r.Seed<<20 + uint64(i)
		d := sim.NewDice(seed, 0x3a1)
		c := change{}
		c.n, c.m, c.k, c.q = draw(d)
		err := c.play(d, seed)
		return c, err
	})
}

// play plays it.
func (c *change) play(d *sim.Dice, seed uint64) error {
	w, t, _, err := rainWorld(c.n, seed)
	if err != nil {
		return err
	}
	order := make([]protocol.Rank, c.n)
	for i := range order {
		order[i] = protocol.Rank(i)
	}
	for i := range order {
		j := i + d.N(c.n-i)
		order[i], order[j] = order[j], order[i]
	}
	outside, failing := set(order[:c.n-c.m]), set(order[c.n-c.m:][:c.k])
	returning := set(order[:c.q])
	away := outside.Minus(returning)
	const first, spread, settle = 3 * time.Second, 150 * time.Millisecond, 6 * time.Second
	final := protocol.Everyone(c.n).Minus(away).Minus(failing)
	for a := range protocol.Rank(c.n) {
		for b := range a {
			switch {
			case failing.Has(a) || failing.Has(b):
				if outside.Has(a) || outside.Has(b) {
					cut(w, a, b, 0, 0) // they do not return to those that fail
				} else {
					cut(w, a, b, first+d.Between(0, spread), 0)
				}
			case away.Has(a) || away.Has(b):
				cut(w, a, b, 0, 0)
			case outside.Has(a) || outside.Has(b):
				cut(w, a, b, 0, first+d.Between(0, spread))
			}
		}
	}
	began := w.Now().Add(first)
	if err := w.Run(began); err != nil {
		return err
	}
	before := t.views
	for w.Now().Sub(began) < settle && !t.settled(final) {
		if err := w.Run(w.Now().Add(time.Millisecond)); err != nil {
			return err
		}
	}
	c.took = w.Now().Sub(began)
	if err := w.Run(began.Add(settle)); err != nil {
		return err
	}
	c.between = max(0, t.views-before-1)
	if leads := t.led(); len(leads) != 1 || !t.settled(final) {
		c.wrong = fmt.Sprintf("seed %d, n = %d, m = %d, k = %d, q = %d: %s; dead are %s, want one leader of %s", seed, c.n, c.m, c.k, c.q,
			strings.Join(leads, ", "), numbers(t.dead), numbers(final))
	}
	return nil
}

// settled reports whether exactly these members are alive and in one view of themselves.
func (t *rainWatch) settled(final protocol.Set) bool {
	for r := range protocol.Rank(len(t.view)) {
		if final.Has(r) == t.dead.Has(r) || final.Has(r) && (t.view[r].members != final || t.view[r] != t.view[final.Min()]) {
			return false
		}
	}
	return true
}

func set(of []protocol.Rank) protocol.Set {
	var s protocol.Set
	for _, r := range of {
		s.Add(r)
	}
	return s
}

func rainFailures(r *run, out *Report) error {
	all, err := changes(r, r.pick(20, 400), func(d *sim.Dice) (n, m, k, q int) {
		n = 3 + d.N(6)
		return n, n, 1 + d.N(n-2), 0
	})
	if err != nil {
		return err
	}
	return reportChanges(out, all, "the rest has one leader, its best-ranked member, after k < n-1 failures", func(c change) int { return c.k }, "k")
}

func rainRepairs(r *run, out *Report) error {
	all, err := changes(r, r.pick(20, 400), func(d *sim.Dice) (n, m, k, q int) {
		n = 5 + d.N(4)
		m = n - 1 - d.N(2)
		return n, m, d.N(m - 1), 1 + d.N(n-m)
	})
	if err != nil {
		return err
	}
	return reportChanges(out, all, "the new component has one leader after k failures and q repairs", func(c change) int { return c.k + c.q }, "k + q")
}

// reportChanges writes what came of changes, by how many members changed.
func reportChanges(out *Report, all []change, claim string, by func(change) int, name string) error {
	t := out.table(fmt.Sprintf("%d changes in random order of the links, within 150 ms:", len(all)), name, "changes", "one leader", "views on the way", "median", "longest")
	curves := []Curve{{Name: "median"}, {Name: "longest"}}
	wrong, first := 0, ""
	for v := 1; ; v++ {
		var took []time.Duration
		right, between, more := 0, 0, false
		for _, c := range all {
			more = more || by(c) > v
			if by(c) != v {
				continue
			}
			took, between = append(took, c.took), between+c.between
			if c.wrong == "" {
				right++
			} else {
				wrong, first = wrong+1, ": "+c.wrong
			}
		}
		if len(took) > 0 {
			slices.Sort(took)
			t.add(v, len(took), right, between, share(took, 0.5), share(took, 1))
			curves[0].Points = append(curves[0].Points, Point{float64(v), milliseconds(share(took, 0.5))})
			curves[1].Points = append(curves[1].Points, Point{float64(v), milliseconds(share(took, 1))})
		}
		if !more {
			break
		}
	}
	out.chart("Time until all are in the final view", name, "ms", curves...)
	out.check(wrong == 0, claim+" (R-31/32)", "%d of %d changes%s", len(all)-wrong, len(all), first)
	return nil
}

// rainSuspicions cuts links for a while, none of them of one member.
func rainSuspicions(r *run, out *Report) error {
	type fake struct {
		suspects, said int
		wrong          string
	}
	all, err := each(r, r.pick(20, 400), func(i int) (fake, error) {
		seed := r.Seed<<20 + uint64(i)
		d := sim.NewDice(seed, 0xfa3e)
		n := 4 + d.N(5)
		w, t, checkers, err := rainWorld(n, seed, "R-33w", "R-TAB", "R-DEAD")
		if err != nil {
			return fake{}, err
		}
		hub := protocol.Rank(d.N(n))
		before, views := slices.Clone(t.view), t.views
		t.said = nil
		var suspects protocol.Set
		for a := range protocol.Rank(n) {
			for b := range a {
				if a != hub && b != hub && d.N(2) == 0 {
					cut(w, a, b, d.Between(0, 100*time.Millisecond), d.Between(300*time.Millisecond, 800*time.Millisecond))
					suspects.Add(a)
					suspects.Add(b)
				}
			}
		}
		f := fake{suspects: suspects.Len()}
		err = w.Run(w.Now().Add(5 * time.Second))
		for _, c := range checkers {
			if err == nil {
				err = c.Finish()
			}
		}
		f.said = len(t.said)
		switch {
		case err != nil:
			f.wrong = fmt.Sprintf("seed %d: %v", seed, err)
		case t.views != views || !slices.Equal(before, t.view) || !t.dead.Empty():
			f.wrong = fmt.Sprintf("seed %d: %d views were decided; dead are %s", seed, t.views-views, numbers(t.dead))
		}
		return f, nil
	})
	if err != nil {
		return err
	}
	t := out.table(fmt.Sprintf("%d councils of 4 to 8 members with links that are cut for 0.3 to 0.8 s:", len(all)), "suspects", "councils", "messages", "without a trace")
	said, wrong, first := 0, 0, ""
	for v := range 9 {
		count, right, messages := 0, 0, 0
		for _, f := range all {
			if f.suspects != v {
				continue
			}
			count, messages = count+1, messages+f.said
			if f.wrong == "" {
				right++
			} else {
				wrong, first = wrong+1, ": "+f.wrong
			}
		}
		said += messages
		if count > 0 {
			t.add(v, count, messages, right)
		}
	}
	out.check(said > 2*len(all), "members suspected each other", "%d cands, accepts and cancels", said)
	out.check(wrong == 0, "no view is installed, and no trace remains (R-33w)", "%d of %d councils%s", len(all)-wrong, len(all), first)
	return nil
}

// slackWatch counts by how many transitions an end of a link is ahead of the other when it makes one.
type slackWatch struct {
	at    map[[2]protocol.Ident]uint64
	ahead [8]int
	err   error
}

func (s *slackWatch) Observe(r *sim.Record) error {
	if r.Ev != protocol.EvLink {
		return nil
	}
	self := protocol.Ident{Rank: r.Node, Inc: r.Inc}
	s.at[[2]protocol.Ident{self, r.Peer}] = r.Seq
	other := s.at[[2]protocol.Ident{r.Peer, self}]
	lead := max(r.Seq, other) - min(r.Seq, other)
	s.ahead[min(lead, uint64(len(s.ahead)-1))]++
	return nil
}

func rainSlack(r *run, out *Report) error {
	p, err := suite.Lookup("link")
	if err != nil {
		return err
	}
	runs := r.pick(10, 400)
	all, err := each(r, runs, func(i int) (*slackWatch, error) {
		s := &slackWatch{at: map[[2]protocol.Ident]uint64{}}
		_, run, err := fuzz.Seed(p, 2+i%4, r.Seed<<20+uint64(i), fuzz.DefaultFor, s)
		s.err = run.Err
		return s, err
	})
	if err != nil {
		return err
	}
	var sum [8]int
	total := 0
	var first error
	for i, s := range all {
		for k, n := range s.ahead {
			sum[k] += n
			total += n
		}
		if s.err != nil {
			first = fmt.Errorf("run %d: %w", i, s.err)
		}
	}
	t := out.table(fmt.Sprintf("Difference of the two ends after a transition, %d transitions in %d runs with random faults:", total, runs), "ahead by", "transitions", "share")
	c := Curve{Name: "transitions"}
	beyond := 0
	for k, n := range sum {
		if k > 2 {
			beyond += n
		}
		if k < 5 {
			t.add(k, n, fmt.Sprintf("%.3g%%", 100*float64(n)/float64(total)))
			c.Points = append(c.Points, Point{float64(k), 100 * float64(n) / float64(total)})
		}
	}
	out.chart("How far one end is ahead", "transitions", "% of the transitions", c)
	if !r.Quick {
		out.check(sum[2] > 0, "an end can be two transitions ahead", "%d times", sum[2])
	}
	out.check(beyond == 0 && first == nil, "no end is more than two transitions ahead (CH1 to CH4)", "%d times; %s", beyond, errorOr(first, fmt.Sprintf("0 of %d runs violated an invariant", runs)))
	return nil
}
