package council

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// blank starts a member without a record that has learnt of a configuration, has waited and asks. It returns its ballot.
func blank(t *testing.T, name string, c *Config) (*node, Ballot) {
	t.Helper()
	n := start(t, name, nil, func(n *node) { n.inc = 0 })
	if _, _, ok := sent[*Fetch](n); !ok {
		t.Fatal("it does not ask for the configuration")
	}
	n.get('b', &Chosen{Conf: c, Bound: c.Terms.Wait()})
	n.pass(c.Terms.Wait() - 1)
	if _, _, ok := sent[*Recover](n); ok {
		t.Fatal("it asks before it has waited")
	}
	n.pass(1)
	r, _, ok := sent[*Recover](n)
	if !ok || r.Slot != c.Number+1 || r.Ballot == (Ballot{}) {
		t.Fatalf("it asks %+v", r)
	}
	return n, r.Ballot
}

func known(b Ballot, settled bool, v Vote) *Known {
	return &Known{Slot: 5, Ballot: b, Speaks: true, Promised: b, Settled: settled, Accepted: v, Highest: 30}
}

func TestMemberWithoutARecordTakesPartAgain(t *testing.T) {
	a, b := blank(t, "a", conf(4, "abc"))
	a.get('b', known(b, true, Vote{}))
	if a.recovered {
		t.Fatal("one of the two others has answered")
	}
	a.get('c', known(b, false, Vote{}))
	if !a.recovered || a.floor != 30 || a.m.Settled() || a.m.rec.Ballot != b {
		t.Errorf("recovered %v, floor %d, settled %v, ballot %v", a.recovered, a.floor, a.m.Settled(), a.m.rec.Ballot)
	}
}

func TestAnswersToAnotherQuestionDoNotCount(t *testing.T) {
	a, b := blank(t, "a", conf(4, "abc"))
	a.get('b', known(ballot(1, 'a'), true, Vote{}))
	low := known(b, true, Vote{})
	low.Promised.Round++
	a.get('c', low)
	a.get('b', known(b, true, Vote{}))
	if a.recovered {
		t.Error("D lostvote: a member that is bound by a higher ballot counts")
	}
}

// D lostvote: an acceptance that the member has forgotten must not choose a value after the member has begun anew.
func TestQuestionBindsThoseThatAnswer(t *testing.T) {
	c := conf(4, "abc")
	b := start(t, "b", settledAt(c, "b"))
	b.receive('a', &Recover{Slot: 5, Ballot: ballot(6, 'a')})
	k, durable, ok := sent[*Known](b)
	if _, dirty := b.m.TakeRecord(nil); !ok || !durable || !dirty || k.Promised != ballot(6, 'a') {
		t.Fatalf("D lostvote: %+v, waits for the disk: %v, written: %v", k, durable, dirty)
	}
	b.receive('c', &Accept{Slot: 5, Ballot: ballot(5, 'c'), Conf: step(c, nil)})
	if _, _, ok := sent[*Accepted](b); ok {
		t.Error("D lostvote: a lower ballot is accepted after the question")
	}
}

// D lostprev: abc became ab. Only c can still know a token that b, which lost its disk, and c gave out.
func TestMemberAsksThoseOfTheConfigurationBefore(t *testing.T) {
	c := step(conf(3, "abc"), role("c", Observer))
	b, q := blank(t, "b", c)
	b.get('a', known(q, false, Vote{}))
	if b.recovered {
		t.Fatal("D lostprev: nobody has settled, and c may know more")
	}
	b.get('c', known(q, false, Vote{}))
	if !b.recovered {
		t.Error("it does not go on")
	}
	b, q = blank(t, "b", c)
	b.get('a', known(q, true, Vote{}))
	if !b.recovered {
		t.Error("a has settled, and knows all")
	}
}

// D lostregress, D evenlock: what was accepted may be chosen. The member grants nothing at the earlier number, and helps.
func TestMemberWithoutARecordVotesForWhatWasAccepted(t *testing.T) {
	c := conf(4, "ab")
	next := step(c, role("d", Observer))
	a, q := blank(t, "a", c)
	a.get('b', known(q, true, Vote{ballot(2, 'b'), next}))
	if a.recovered {
		t.Fatal("D lostregress: it takes part at number 4")
	}
	m, _, ok := sent[*Accept](a)
	if !ok || m.Ballot != q || m.Conf.Digest() != next.Digest() {
		t.Fatalf("D evenlock: it does not vote: %+v", m)
	}
	a.get('b', &Accepted{Slot: 5, Ballot: q})
	if _, _, ok := sent[*Chosen](a); !ok || a.adopted != 5 || a.recovered {
		t.Errorf("D evenlock: number %d, recovered %v", a.adopted, a.recovered)
	}
	if r, _, ok := sent[*Recover](a); !ok || r.Slot != 6 {
		t.Error("it does not ask again")
	}
}

// D evenlock: the vote of a member without a record completes a choice, and its news is lost. Nobody else knows then what was chosen: it
// has to say so, or both wait for each other without end.
func TestMemberWithoutARecordSaysWhatWasChosen(t *testing.T) {
	c := conf(4, "ab")
	next := step(c, role("d", Observer))
	for _, ask := range []protocol.Message{&Fetch{Have: 4, Council: id}, &Prepare{Slot: 5, Ballot: ballot(9, 'b')}} {
		a, q := blank(t, "a", c)
		a.get('b', known(q, true, Vote{ballot(2, 'b'), next}))
		a.get('b', &Accepted{Slot: 5, Ballot: q})
		if a.adopted != 5 || a.recovered {
			t.Fatalf("number %d, recovered %v", a.adopted, a.recovered)
		}
		a.pass(trip)
		a.get('b', ask)
		news, _, ok := sent[*Chosen](a)
		if !ok || news.Conf.Digest() != next.Digest() || news.Bound < c.Terms.Wait() {
			t.Errorf("D evenlock: it answers %s with %+v", ask.Name(), news)
		}
	}
}

func TestLongerWaitIsServed(t *testing.T) {
	c := conf(4, "abc")
	a, b := blank(t, "a", c)
	k := known(b, true, Vote{})
	k.Bound = 4 * c.Terms.Wait()
	a.get('b', k)
	a.get('c', known(b, true, Vote{}))
	if a.recovered {
		t.Error("D shortmax: a longer bound was named")
	}
}

// R10: a copy of an old record, taken in the same life, is found out by its serial.
func TestOldCopyOfARecordIsFoundOut(t *testing.T) {
	c := conf(4, "abc")
	b := start(t, "b", settledAt(c, "b"))
	old := protocol.Receive{From: protocol.Ident{Rank: 0, Inc: 9}, Message: &Carry{Number: 4, Settled: true, Serial: 12}}
	b.step(func() { b.m.Step(b.now, &old, &b.out) })
	ask := protocol.Receive{From: protocol.Ident{Rank: 0, Inc: 10}, Message: &Recover{Slot: 4, Serial: 3, Nonce: 8}} // from an earlier number
	b.step(func() { b.m.Step(b.now, &ask, &b.out) })
	k, _, ok := sent[*Known](b)
	if !ok || k.Heard != 12 {
		t.Fatalf("it remembers %+v", k)
	}
	a := start(t, "a", settledAt(c, "a"), func(n *node) { n.promised = n.now.Add(longest) })
	r, _, ok := sent[*Recover](a)
	if !ok || r.Serial != 3 {
		t.Fatalf("it asks %+v", r)
	}
	a.receive('c', &Prepare{Slot: 5, Ballot: ballot(1, 'c')})
	if _, _, ok := sent[*Promise](a); ok {
		t.Error("D restored: it votes before its wait is over")
	}
	a.get('b', &Known{Slot: 5, Nonce: r.Nonce, Speaks: true, Heard: 12})
	if !a.distrust || !a.m.Forgetful() {
		t.Error("D restored: it believes its record")
	}
}

func TestRemovedMemberLeaves(t *testing.T) {
	c := step(conf(4, "abc"), role("c", Observer))
	x := start(t, "c", settledAt(c, "c"))
	x.receive('a', &Chosen{Conf: step(c, func(c *Config) { c.Members = c.Members[:2] })})
	b, _ := x.m.TakeRecord(nil)
	rec, err := DecodeRecord(b)
	if err != nil || !rec.Removed || x.left {
		t.Fatalf("%+v, %v, left %v", rec, err, x.left)
	}
	x.m.Durable(x.now, x.m.Serial(), &x.out)
	if !x.left || !x.m.Out() {
		t.Error("C-OUT: it stays")
	}
	if again := start(t, "c", rec); !again.left || again.m.Seated() {
		t.Error("C-OUT: it comes back")
	}
	other := step(c, func(c *Config) { c.Members[2].Birth = Birth{9, 9} })
	other.Number++
	x = start(t, "c", settledAt(c, "c"))
	x.get('a', &Chosen{Conf: other})
	if !x.left {
		t.Error("C3: it takes another member of its name for itself")
	}
}

func TestOtherCouncilsAreNotHeard(t *testing.T) {
	c := conf(4, "abc")
	a := start(t, "a", settledAt(c, "a"))
	a.get('b', &Chosen{Conf: step(c, func(c *Config) { c.Council[3] = 9 })})
	if a.adopted != 0 {
		t.Error("it adopts a configuration of another council")
	}
}

func TestMembersOfOtherNumbersAreToldAndAsked(t *testing.T) {
	c := conf(4, "abc")
	a := start(t, "a", settledAt(c, "a"))
	a.receive('b', &Prepare{Slot: 4, Ballot: ballot(1, 'b')})
	if m, _, ok := sent[*Chosen](a); !ok || m.Conf.Number != 4 {
		t.Error("a member that is behind is not told")
	}
	a.receive('b', &Carry{Number: 3})
	if _, _, ok := sent[*Chosen](a); ok {
		t.Error("it is told twice in a round trip")
	}
	a.receive('c', &Carry{Number: 6})
	if m, _, ok := sent[*Fetch](a); !ok || m.Have != 4 {
		t.Error("a member that is ahead is not asked")
	}
}

// The others have gone on before the member has written that it takes part again. It asks them once more, without another wait.
func TestMemberThatHasNotBegunAsksAgain(t *testing.T) {
	c := conf(4, "abc")
	a, b := blank(t, "a", c)
	a.unbegun = true
	a.get('b', known(b, true, Vote{}))
	a.get('c', known(b, true, Vote{}))
	a.inc = 0
	if !a.recovered {
		t.Fatal("it does not go on")
	}
	a.receive('b', &Chosen{Conf: step(c, nil), Bound: c.Terms.Wait()})
	if r, _, ok := sent[*Recover](a); !ok || r.Slot != 6 || !a.withheld || a.m.Adopting() {
		t.Errorf("C-LIVE: it waits for a disk that nobody writes: asks %+v, adopting %v", r, a.m.Adopting())
	}
}

// All members have copies of their records, and trust none of them. Once all have answered, nobody knows more.
func TestMembersThatAllAskGoOn(t *testing.T) {
	c := conf(4, "abc")
	n := &node{t: t, now: 1e9}
	n.m = New(options("a"), n, settledAt(c, "a"), false, 'a')
	n.step(func() { n.m.Start(n.now, &n.out) })
	n.get('b', &Chosen{Conf: c, Bound: c.Terms.Wait()})
	n.pass(c.Terms.Wait())
	r, _, ok := sent[*Recover](n)
	if !ok {
		t.Fatal("it does not ask")
	}
	b := &node{t: t, now: 1e9}
	b.m = New(options("b"), b, settledAt(c, "b"), false, 'b')
	b.step(func() { b.m.Start(b.now, &b.out) })
	b.receive('a', r)
	k, _, ok := sent[*Known](b)
	if !ok || !k.Asks || k.Speaks || !k.Settled {
		t.Fatalf("a member that asks answers %+v", k)
	}
	n.get('b', k)
	if n.recovered {
		t.Fatal("c has not answered, and may know more")
	}
	accepted := Vote{ballot(3, 'c'), step(c, role("d", Observer))}
	n.get('c', &Known{Slot: 5, Ballot: r.Ballot, Asks: true, Settled: true, Accepted: accepted, Highest: 70})
	if !n.recovered || n.floor != 70 || n.m.rec.Accepted.Conf != accepted.Conf || n.m.Settled() {
		t.Errorf("recovered %v above %d, accepted %v", n.recovered, n.floor, n.m.rec.Accepted.Ballot)
	}
}
