package rain

import (
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// tableSteps is Table 1 of the paper: four nodes, of which 1 and 2 fail, losing their links in this order. For each step what is sent (as
// it differs from the step before), who is dead, and who leads.
var tableSteps = []struct {
	a, b        int
	sent        string
	dead, leads string
}{
	{1, 2, "cand(1) 2->3, cand(1) 2->4, cand(2) 1->3, cand(2) 1->4", "", ""},
	{1, 3, "accept(1) 3->2, cand(3) 1->4", "", ""},
	{2, 3, "cand(1) 3->4, cand(2) 3->4, cand(3) 2->4", "", ""},
	{4, 1, "accept(1) 4->2", "1", ""},
	{2, 4, "accept(1) 4->3, accept(2) 4->3", "1 2", "3 leads {c d}"},
}

// R-TAB: step by step, all forms of the protocol do what Table 1 says. (E-R1, E-R4; E-R9: N3 sends two cands, not four.)
func TestTable1(t *testing.T) {
	for _, form := range []Form{Phi, Psi, Omega} {
		t.Run(form.String(), func(t *testing.T) {
			r := newHarness(t, 4, func(c *Config) { c.Form = form })
			for i, step := range tableSteps {
				r.both(step.a-1, step.b-1, false)
				r.run()
				if got := r.said(); got != step.sent {
					t.Errorf("R-TAB: step %d: sent %q, want %q", i+1, got, step.sent)
				}
				if got := r.dead(); got != step.dead {
					t.Errorf("R-TAB: step %d: dead are %q, want %q", i+1, got, step.dead)
				}
				if got := r.managers(); got != step.leads {
					t.Errorf("R-TAB: step %d: %q, want %q", i+1, got, step.leads)
				}
			}
		})
	}
}

// dead lists who is dead.
func (r *harness) dead() string {
	var all []string
	for i := range r.members {
		if r.group(i).phase != Alive {
			all = append(all, string(rune('1'+i)))
		}
	}
	return strings.Join(all, " ")
}

// Theorem 3.1: whatever the order in which the links of k nodes are lost, exactly the smallest of the rest leads, for exactly that set.
func TestTheSmallestOfTheRestLeads(t *testing.T) {
	for seed := range uint64(200) {
		n := 3 + int(seed%4)
		k := 1 + int(seed/4)%(n-2)
		r := newHarness(t, n, nil)
		dice := newDice(seed)
		failing := dice.perm(n)[:k]
		fails := make([]bool, n)
		rest := protocol.Everyone(n)
		for _, f := range failing {
			fails[f] = true
			rest.Remove(protocol.Rank(f))
		}
		var links [][2]int
		for i := range n {
			for j := range i {
				if fails[i] || fails[j] {
					links = append(links, [2]int{i, j})
				}
			}
		}
		for _, l := range dice.perm(len(links)) {
			r.both(links[l][0], links[l][1], false)
			for range dice.next(3) {
				if len(r.inFlight) > 0 {
					r.deliver(0)
				}
			}
		}
		r.run()
		// Managers of smaller changes on the way are legitimate; each has something to recover before the next.
		for range k + 1 {
			for i := range r.members {
				r.group(i).delivered = r.group(i).view.Number
				r.group(i).onRecovered(r.group(i).view.Number)
			}
			r.run()
		}
		for i := range n {
			g := r.group(i)
			if fails[i] != (g.phase != Alive) || !fails[i] && (g.view.Members != rest || g.view.Manager != rest.Min()) {
				t.Fatalf("R-31/32: seed %d: of %d nodes %v fail: %d is %v in %+v", seed, n, failing, i+1, g.phase, g.view)
			}
		}
	}
}

// E-R6: a confirmation that is late belongs to the attempt that was cancelled, and does not count for the next.
func TestAnOldConfirmationDoesNotCount(t *testing.T) {
	r := newHarness(t, 4, nil)
	r.both(0, 3, false)
	r.both(1, 3, false)
	r.deliver(r.find("rain.Cand", 0, 1)) // 2 confirms; that takes its time
	r.both(0, 3, true)                   // 1 takes it back,
	r.both(1, 3, true)
	r.deliver(r.find("rain.Cancel", 0, 1))
	r.deliver(r.find("rain.Cand", 0, 2))
	r.deliver(r.find("rain.Cancel", 0, 2))
	r.both(0, 3, false) // and asks again, now together with 3
	r.both(2, 3, false)
	r.deliver(r.find("rain.Cand", 0, 2))
	r.deliver(r.find("rain.Accept", 2, 0))
	r.deliver(r.find("rain.Accept", 1, 0)) // the late one
	if got := r.managers(); got != "" {
		t.Errorf("E-R6: %s, though 2 sees 4", got)
	}
	r.deliver(r.find("rain.Cancel", 1, 0))
	r.run()
	if got := r.managers(); got != "" {
		t.Errorf("E-R6: %s, though 2 sees 4", got)
	}
}

// R-33w: whatever was wrongly suspected, when all links are up and all is said nobody remembers anything, and the view is the one before.
func TestAWrongSuspicionLeavesNoTrace(t *testing.T) {
	for seed := range uint64(300) {
		n := 3 + int(seed%3)
		r := newHarness(t, n, nil)
		dice := newDice(seed)
		victim := dice.next(n)
		// One member at least sees the victim all the time, and is better ranked than no asker: it never confirms.
		witness := (victim + 1) % n
		for range 12 {
			i := dice.next(n)
			if i != victim && i != witness {
				r.both(i, victim, !r.group(i).peers[victim].up)
			}
			for range dice.next(4) {
				if len(r.inFlight) > 0 {
					r.deliver(0)
				}
			}
		}
		for i := range n {
			if i != victim && !r.group(i).peers[victim].up {
				r.both(i, victim, true)
			}
		}
		r.run()
		for i := range n {
			g := r.group(i)
			trace := g.remembers(func(t *topic) []uint64 { return t.candFrom }) || g.remembers(func(t *topic) []uint64 { return t.accFrom })
			if g.asks() || g.confirms() || trace || g.view.Number.Vid != 1 {
				t.Fatalf("R-33w: seed %d: %d remembers something, or is in view %+v", seed, i+1, g.view.Number)
			}
		}
	}
}
