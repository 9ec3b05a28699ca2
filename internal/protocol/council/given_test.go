package council

import (
	"errors"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

var heirID = protocol.CouncilID{8}

// recovery gives the council up for lack of the named members.
func recovery(lost ...string) Change {
	return Change{Recovery: &Recovery{ID: heirID, Lost: lost, At: 1700000000, By: "a"}}
}

// survivors start members of a council of five that have heard nothing of the others for as long as it takes.
func survivors(t *testing.T, names string) (list []*node) {
	t.Helper()
	for _, x := range names {
		n := start(t, string(x), settledAt(conf(4, "abcde"), string(x)))
		n.pass(options("").Mourn)
		list = append(list, n)
	}
	return list
}

// carry delivers what a node has sent to one of the others, and lets that write, until nobody says anything more; lose drops messages.
func carry(nodes []*node, lose func(from *node, to *node, m protocol.Message) bool) {
	type letter struct {
		from, to *node
		msg      protocol.Message
	}
	var queue []letter
	collect := func(n *node) {
		for _, e := range n.out.Send {
			for _, to := range nodes {
				if to.m.Seat() == e.To && (lose == nil || !lose(n, to, e.Message)) {
					queue = append(queue, letter{n, to, e.Message})
				}
			}
		}
		n.out.Reset()
	}
	for _, n := range nodes {
		collect(n)
	}
	for range 500 {
		if len(queue) == 0 {
			return
		}
		l := queue[0]
		queue = queue[1:]
		l.to.get(rune('a'+l.from.m.Seat()), l.msg)
		collect(l.to)
	}
}

func ask(t *testing.T, n *node, c Change) {
	t.Helper()
	if err := n.m.Change(n.now, c); err != nil {
		t.Fatal(err)
	}
	n.pass(0)
}

func TestSurvivorsGoOnAsAnotherCouncil(t *testing.T) {
	all := survivors(t, "ab")
	a, b := all[0], all[1]
	b.highest = 90
	ask(t, a, recovery("c", "d", "e"))
	carry(all, nil)
	for _, n := range all {
		c := n.m.Conf()
		switch {
		case c.Council != heirID || c.Number != 5 || c.Parent() == nil || c.Parent().Council != id || c.Parent().Number != 4:
			t.Fatalf("%s is in %v number %d, which goes on from %+v", n.m.opt.Name, c.Council, c.Number, c.Parents)
		case c.Voters() != protocol.NewSet(0, 1) || n.m.Stopped():
			t.Errorf("voters %v, stopped %v", c.Voters(), n.m.Stopped())
		case c.Floor < 90+FloorAhead:
			t.Errorf("C-TOK: its terms lie above %d", c.Floor)
		case n.held != n.now.Add(conf(4, "a").Terms.Wait()):
			t.Errorf("C-WAIT: it grants from %v on, at %v", n.held, n.now)
		case n.m.Settled():
			t.Error("it has settled before it has waited")
		}
	}
	a.pass(longest * 2)
	b.pass(longest * 2)
	carry(all, nil)
	a.pass(time.Second)
	carry(all, nil)
	if !a.m.Settled() {
		t.Error("it does not settle")
	}
	ask(t, a, Change{Acknowledge: true})
	carry(all, nil)
	if c := b.m.Conf(); c.Number != 6 || !c.Acknowledged || c.Parent() == nil {
		t.Errorf("acknowledged: %+v", c)
	}
	if err := a.m.Change(a.now, Change{Acknowledge: true}); !errors.Is(err, ErrNothing) {
		t.Errorf("acknowledged twice: %v", err)
	}
}

func TestSurvivorsObject(t *testing.T) {
	for _, c := range []struct {
		name  string
		lost  []string
		do    func(*node)
		why   Objection
		about protocol.Rank
	}{
		{"a majority is left", []string{"d", "e"}, nil, Majority, 0},
		{"a lost one was heard", []string{"c", "d", "e"}, func(n *node) { n.get('d', &Carry{Number: 4}); n.pass(time.Second) }, HeardFrom, 3},
		{"it is lost itself", []string{"a", "d", "e"}, nil, Named, 0},
		{"it has no record", []string{"c", "d", "e"}, func(n *node) { n.m.Forget(n.now) }, Forgot, 0},
		{"it does not speak", []string{"c", "d", "e"}, func(n *node) { n.inc = 0 }, NotSeated, 0},
	} {
		a := survivors(t, "a")[0]
		if c.do != nil {
			c.do(a)
		}
		var refused *Refusal
		err := a.m.Change(a.now, recovery(c.lost...))
		if !errors.As(err, &refused) || refused.Why != c.why || refused.About != c.about {
			t.Errorf("%s: %v", c.name, err)
		}
		var lost protocol.Set
		for _, n := range c.lost {
			lost.Add(protocol.Rank(n[0] - 'a'))
		}
		a.receive('b', &Abandon{Number: 4, Ballot: ballot(3, 'b'), Lost: lost})
		if o, _, ok := sent[*Objected](a); !ok || o.Why != c.why || o.Free != (a.m.phase == seated) {
			t.Errorf("%s: it answers %+v", c.name, o)
		}
	}
	w := start(t, "a", settledAt(step(conf(3, "abc"), role("a", Witness)), "a"))
	w.pass(options("").Mourn)
	var refused *Refusal
	if err := w.m.Change(w.now, recovery("b", "c")); !errors.As(err, &refused) || refused.Why != NoLeader {
		t.Errorf("a witness alone: %v", err)
	}
	early := start(t, "a", settledAt(conf(4, "abc"), "a"))
	early.pass(time.Second)
	if err := early.m.Change(early.now, recovery("b", "c")); !errors.As(err, &refused) || refused.Why != HeardFrom {
		t.Errorf("just started: %v", err)
	}
}

func TestNobodyGoesOnBeforeAllSurvivorsHaveAgreed(t *testing.T) {
	all := survivors(t, "ab")
	a, b := all[0], all[1]
	ask(t, a, recovery("c", "d", "e"))
	carry(all, func(from, to *node, m protocol.Message) bool { _, is := m.(*Inherit); return is && to == b })
	if a.m.Conf().Council != id || b.m.Conf().Council != id {
		t.Error("C-HEIR: it goes on alone")
	}
	if !a.m.Stopped() || a.held != protocol.Never {
		t.Error("C-STOP: it has agreed, and grants")
	}
	a.receive('b', &Prepare{Slot: 5, Ballot: ballot(9, 'b')})
	if _, _, ok := sent[*Promise](a); ok {
		t.Error("C-STOP: it votes in the council that it gives up")
	}
	a.receive('c', &Chosen{Conf: step(conf(4, "abcde"), nil)})
	if a.m.Adopting() {
		t.Error("C-STOP: it goes on in the council that it gives up")
	}
	// Only what is on disk counts.
	a.receive('b', &Inherit{})
	x := survivors(t, "b")[0]
	x.get('a', &Abandon{Number: 4, Ballot: ballot(3, 'a'), Lost: protocol.NewSet(2, 3, 4)})
	p, _, ok := sent[*Abandoned](x)
	if !ok {
		t.Fatal("it does not answer")
	}
	heir := conf(4, "abcde").heir(recovery("c", "d", "e").Recovery, protocol.NewSet(2, 3, 4), 7)
	x.receive('a', &Inherit{Number: 4, Ballot: ballot(3, 'a'), Nonce: p.Nonce + 1, Conf: heir})
	if x.m.Stopped() {
		t.Error("it agrees to an attempt of before its restart")
	}
	x.receive('a', &Inherit{Number: 4, Ballot: ballot(3, 'a'), Nonce: p.Nonce, Conf: heir})
	if _, durable, ok := sent[*Inherited](x); !ok || !durable {
		t.Errorf("C-HEIR: it agrees, on disk %v, at all %v", durable, ok)
	}
}

func TestAnotherSurvivorFinishes(t *testing.T) {
	all := survivors(t, "ab")
	a, b := all[0], all[1]
	ask(t, a, recovery("c", "d", "e"))
	carry(all, func(from, to *node, m protocol.Message) bool { _, is := m.(*Inherited); return is && from == b })
	rec, err := DecodeRecord(a.m.rec.Append(nil))
	if err != nil || rec.Heir.Conf == nil || !b.m.Stopped() {
		t.Fatalf("%+v, %v", rec, err)
	}
	again := start(t, "a", rec)
	if again.held != protocol.Never || !again.m.Stopped() {
		t.Error("C-STOP: after its restart it grants")
	}
	all[0] = again
	// The members that were lost are back. That does not count any more.
	again.get('c', &Carry{Number: 4})
	b.get('c', &Carry{Number: 4})
	for range 400 {
		again.pass(trip)
		b.pass(trip)
		carry(all, nil)
	}
	if c := again.m.Conf(); c.Council != heirID || b.m.Conf().Digest() != c.Digest() {
		t.Errorf("C-LIVE: %v and %v", c.Council, b.m.Conf().Council)
	}
}

// b has agreed, and asks again, because nobody has told it what came of it. a says that it has not agreed, and does not: c is back.
func TestAgreementIsTakenBack(t *testing.T) {
	heir := conf(4, "abcde").heir(recovery("c", "d", "e").Recovery, protocol.NewSet(2, 3, 4), 7)
	rec := settledAt(conf(4, "abcde"), "b")
	rec.Heir = Vote{ballot(3, 'a'), heir}
	for _, free := range []bool{true, false} {
		b := start(t, "b", rec)
		b.pass(2 * trip)
		q, _, ok := sent[*Abandon](b)
		if !ok {
			t.Fatal("it does not ask")
		}
		b.get('a', &Objected{Number: 4, Ballot: q.Ballot, Why: HeardFrom, About: 2, Free: free})
		if b.m.Stopped() == free {
			t.Errorf("a is free: %v; b is stopped: %v", free, b.m.Stopped())
		}
		if free && b.held != b.now.Add(b.m.rec.Bound) {
			t.Error("it grants without a wait")
		}
	}
}

// What survivors have agreed to may be in force at one of them: another attempt of the same survivors proposes that.
func TestWhatWasAgreedIsProposedAgain(t *testing.T) {
	a := survivors(t, "a")[0]
	other := recovery("c", "d", "e")
	heir := conf(4, "abcde").heir(&Recovery{ID: protocol.CouncilID{9}, By: "b"}, protocol.NewSet(2, 3, 4), 7)
	ask(t, a, other)
	q, _, _ := sent[*Abandon](a)
	own := &Abandoned{Number: 4, Ballot: q.Ballot, Nonce: 1, Highest: 3}
	a.get('a', own)
	a.get('b', &Abandoned{Number: 4, Ballot: q.Ballot, Nonce: 2, Highest: 3, Heir: Vote{ballot(1, 'b'), heir}})
	i, _, ok := sent[*Inherit](a)
	if !ok || i.Conf.Council != heir.Council {
		t.Errorf("C-HEIR: it proposes %+v", i)
	}
}

func TestLostMemberIsToldAndLeaves(t *testing.T) {
	five := conf(4, "abcde")
	heir := five.heir(recovery("c", "d", "e").Recovery, protocol.NewSet(2, 3, 4), 7)
	a := start(t, "a", &Record{Conf: heir, Settled: true, Bound: heir.Terms.Wait(), Birth: Birth{'a'}})
	ahead := step(step(step(five, nil), nil), nil)
	c := start(t, "c", settledAt(ahead, "c"))
	f, _, ok := sent[*Fetch](c)
	if !ok {
		t.Fatal("it does not ask when it starts")
	}
	a.get('c', f)
	news, _, ok := sent[*Chosen](a)
	if !ok {
		t.Fatal("it is not told")
	}
	c.get('a', news)
	if !c.left || !c.m.Out() {
		t.Error("C-OUT: it goes on in a council that was given up")
	}
	if again := start(t, "c", &c.m.rec); !again.left {
		t.Error("C-OUT: it comes back")
	}
	x := survivors(t, "b")[0] // a survivor that has lost what it agreed to
	x.get('a', &Chosen{Conf: heir, Bound: heir.Terms.Wait()})
	if !x.distrust || !x.m.Forgetful() || x.m.Conf().Council != heirID {
		t.Error("it believes its record")
	}
	rec := settledAt(five, "b")
	rec.Heir = Vote{ballot(3, 'b'), five.heir(&Recovery{ID: protocol.CouncilID{9}}, protocol.NewSet(2, 3, 4), 7)}
	y := start(t, "b", rec)
	y.get('a', &Chosen{Conf: heir, Bound: heir.Terms.Wait()})
	if y.m.Conf().Council != id || y.m.Adopting() {
		t.Error("C-HEIR: it goes on as one council after it has agreed to another")
	}
}

func TestSurvivorThatRestartsWaitsAgain(t *testing.T) {
	heir := conf(4, "abc").heir(recovery("b", "c").Recovery, protocol.NewSet(1, 2), 7)
	a := start(t, "a", &Record{Conf: heir, Bound: heir.Terms.Wait(), Birth: Birth{'a'}})
	if a.held != a.now.Add(heir.Terms.Wait()) {
		t.Errorf("C-WAIT: it grants from %v on, at %v", a.held, a.now)
	}
}

func TestHeirsAreChecked(t *testing.T) {
	five := conf(4, "abcde")
	good := func() *Config {
		return five.heir(recovery("c", "d", "e").Recovery, protocol.NewSet(2, 3, 4), 7)
	}
	if err := five.CheckHeir(good()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"the same id":     func(c *Config) { c.Council = id },
		"no parent":       func(c *Config) { c.Parents = nil },
		"another parent":  func(c *Config) { c.Parents[0].Council[1]++ },
		"a later number":  func(c *Config) { c.Number++ },
		"a stranger":      func(c *Config) { c.Members[0].Birth[1]++ },
		"another role":    func(c *Config) { c.Members[0].Role = Witness },
		"other terms":     func(c *Config) { c.Terms.Longest++ },
		"a goal":          func(c *Config) { c.Goal = &Goal{} },
		"an older number": func(c *Config) { c.Parents[0].Number-- },
	} {
		c := good()
		spoil(c)
		if five.CheckHeir(c) == nil {
			t.Errorf("%s: it is an heir", name)
		}
	}
	next := step(good(), nil)
	if err := good().CheckStep(next); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Config){
		"the parent is forgotten": func(c *Config) { c.Parents = nil },
		"another time":            func(c *Config) { c.Parents = []Parent{c.Parents[0]}; c.Parents[0].At++ },
	} {
		c := next.clone()
		spoil(&c)
		if good().CheckStep(&c) == nil {
			t.Errorf("%s: it is a step", name)
		}
	}
	noted := next.clone()
	noted.Acknowledged = true
	taken := step(&noted, func(c *Config) { c.Acknowledged = false })
	if err := good().CheckStep(&noted); err != nil || noted.CheckStep(taken) == nil {
		t.Errorf("acknowledged: %v; or taken back", err)
	}
	b := noted.Append(nil)
	if d, err := DecodeConfig(b); err != nil || d.Digest() != noted.Digest() || d.Parent().Lost[2] != "e" || !d.Acknowledged {
		t.Errorf("%+v, %v", d, err)
	}
}
