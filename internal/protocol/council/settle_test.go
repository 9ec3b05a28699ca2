package council

import (
	"testing"
	"time"
)

// D renewed: a lease rests on promises of before until those are over, whatever was renewed since.
func TestSettlesWhenAMajorityHasWaited(t *testing.T) {
	c := conf(4, "abc")
	a := start(t, "a", settledAt(c, "a"))
	a.promised = a.now.Add(longest)
	a.highest = 7
	a.get('b', &Chosen{Conf: step(c, nil)})
	if a.adopted != 5 || a.m.Settled() {
		t.Fatal("not adopted")
	}
	a.promised = 0 // of later promises it does not depend
	a.get('b', &Carry{Number: 5, Waited: true, Highest: 20})
	a.get('c', &Carry{Number: 5, Waited: true, Highest: 10})
	if a.m.Settled() {
		t.Error("D renewed: it settles before its own promises are over")
	}
	if x := a.m.carry(a.now); x.Waited {
		t.Error("D renewed: it says that it has waited")
	}
	a.pass(longest)
	if !a.m.Settled() || a.floor != 20 {
		t.Errorf("D nocarry: settled %v with the floor %d", a.m.Settled(), a.floor)
	}
}

// C-VIEW: views of consistent groups are carried before a member settles, by itself or by another's word.
func TestSettlesOnceAllIsCarried(t *testing.T) {
	c := conf(4, "abc")
	a := start(t, "a", settledAt(c, "a"))
	a.missing = true
	a.get('b', &Chosen{Conf: step(c, nil)})
	a.get('b', &Carry{Number: 5, Waited: true})
	a.get('c', &Carry{Number: 5, Settled: true, Waited: true})
	if a.adopted != 5 || a.m.Settled() {
		t.Error("C-VIEW: it has settled, and does not know all views")
	}
	a.missing = false
	a.pass(0)
	if !a.m.Settled() {
		t.Error("it does not settle")
	}
}

// D blocksettle: one of two that have to wait is not a majority of three, and neither is one that has not waited.
func TestAMinorityDoesNotSettle(t *testing.T) {
	c := conf(4, "abcde")
	a := start(t, "a", settledAt(c, "a"))
	a.get('b', &Chosen{Conf: step(c, nil)})
	a.get('b', &Carry{Number: 5, Waited: true})
	a.get('c', &Carry{Number: 5})
	a.get('d', &Carry{Number: 5})
	a.get('e', &Carry{Number: 4, Waited: true})
	if a.m.Settled() {
		t.Error("D blocksettle: two of five have waited")
	}
	a.get('e', &Carry{Number: 5, Settled: true, Highest: 31})
	if !a.m.Settled() || a.floor != 31 {
		t.Error("it does not believe a member that has settled")
	}
}

// D shortmax: what a lost disk promised under a longer term may stand until the next configuration has settled, and for the longest promise
// of before after that: a voter that is not of the majority which has waited may have promised it until then, and its holder counts it still.
func TestBoundFallsOnlyWhenSettled(t *testing.T) {
	c := conf(4, "abc")
	c.Terms.Longest = time.Second
	short := step(c, func(c *Config) { c.Terms.Longest = longest })
	a := start(t, "a", settledAt(c, "a"))
	a.promised = a.now.Add(time.Second)
	a.get('b', &Chosen{Conf: short})
	a.receive('c', &Recover{Slot: 6, Ballot: ballot(1, 'c')})
	if k, _, ok := sent[*Known](a); !ok || k.Bound != c.Terms.Wait() {
		t.Errorf("D shortmax: it names %v, want %v", k.Bound, c.Terms.Wait())
	}
	a.get('b', &Carry{Number: 5, Settled: true})
	a.pass(c.Terms.Wait() - 1)
	a.receive('c', &Recover{Slot: 6, Ballot: ballot(2, 'c')})
	if k, _, ok := sent[*Known](a); !ok || k.Bound != c.Terms.Wait() {
		t.Errorf("D shortmax: as soon as it has settled it names %v, want %v", k.Bound, c.Terms.Wait())
	}
	if at := a.m.Wake(); at > a.now+1 {
		t.Errorf("it wakes at %v, and the bound falls at %v", at, a.now+1)
	}
	a.pass(1)
	a.persist()
	a.receive('c', &Recover{Slot: 6, Ballot: ballot(2, 'c')})
	if k, _, ok := sent[*Known](a); !ok || k.Bound != short.Terms.Wait() {
		t.Errorf("it names %v, want %v", k.Bound, short.Terms.Wait())
	}
}
