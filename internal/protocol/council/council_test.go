package council

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const (
	trip    = 20 * time.Millisecond
	longest = 250 * time.Millisecond
)

var id = protocol.CouncilID{7}

// conf returns a configuration in which the named members vote, in seats by their letters.
func conf(number uint64, voters string) *Config {
	c := &Config{Council: id, Number: number, Terms: Terms{Longest: longest, Rho: protocol.DefaultRho}}
	for _, r := range voters {
		c.Members = append(c.Members, Member{Seat: protocol.Rank(r - 'a'), Name: string(r), Birth: Birth{byte(r)}, Role: Leader})
	}
	return c
}

// step returns the configuration after c, as change makes it.
func step(c *Config, change func(*Config)) *Config {
	n := c.clone()
	n.Number, n.Before = c.Number+1, c.Voters()
	if change != nil {
		change(&n)
	}
	n.Former = c.former(&n)
	return &n
}

// role sets the role of a member, or adds it.
func role(name string, r Role) func(*Config) {
	return func(c *Config) {
		if m := c.Named(name); m != nil {
			m.Role = r
			return
		}
		c.seat(Member{Seat: protocol.Rank(name[0] - 'a'), Since: c.Number, Name: name, Birth: Birth{name[0]}, Role: r})
	}
}

// A node is a machine that a test drives, with a host that does as it is told.
type node struct {
	t         *testing.T
	m         *Machine
	now       protocol.Time
	out       protocol.Effects
	inc       protocol.Inc
	highest   uint64
	promised  protocol.Time
	leads     uint32
	assigned  uint32
	adopted   uint64
	floor     uint64
	recovered bool
	distrust  bool
	left      bool
	unbegun   bool
	withheld  bool
	missing   bool
	caughtUp  int
	held      protocol.Time
}

func (n *node) Inc() protocol.Inc                                 { return n.inc }
func (n *node) Highest() uint64                                   { return n.highest }
func (n *node) Promised() protocol.Time                           { return n.promised }
func (n *node) Leads() (uint32, uint32)                           { return n.leads, n.assigned }
func (n *node) Adopt(_ protocol.Time, c *Config, _ protocol.Rank) { n.adopted = c.Number }
func (n *node) Carried(uint64) bool                               { return !n.missing }
func (n *node) CaughtUp(protocol.Time)                            { n.caughtUp++ }
func (n *node) Raise(_ protocol.Time, floor uint64) {
	n.floor, n.highest = floor, max(n.highest, floor)
}
func (n *node) Recovered(_ protocol.Time, floor uint64) {
	n.recovered, n.floor, n.inc = true, floor, 77
}
func (n *node) Distrust(protocol.Time) { n.distrust, n.inc = true, 0 }
func (n *node) Begun() bool            { return !n.unbegun }
func (n *node) Withhold()              { n.withheld = true }
func (n *node) Leave(protocol.Time)    { n.left = true }
func (n *node) Hold(_, until protocol.Time) {
	n.held, n.promised = until, until
}

func options(name string) Options {
	return Options{Name: name, Peers: protocol.Everyone(3), RoundTrip: trip, Renew: 50 * time.Millisecond, Dead: 3 * time.Second, Quiet: time.Second,
		Patience: time.Second, Mourn: 10 * time.Second}
}

// start starts a member from a record; nil if it has none.
func start(t *testing.T, name string, rec *Record, change ...func(*node)) *node {
	t.Helper()
	n := &node{t: t, now: 1e9, inc: 5}
	for _, f := range change {
		f(n)
	}
	n.m = New(options(name), n, rec, true, uint64(name[0]))
	n.step(func() { n.m.Start(n.now, &n.out) })
	return n
}

// settledAt is the record of a member that has settled in a configuration.
func settledAt(c *Config, name string) *Record {
	return &Record{Conf: c, Settled: true, Bound: c.Terms.Wait(), Birth: Birth{name[0]}, Serial: 3}
}

func (n *node) step(f func()) {
	n.out.Reset()
	f()
}

// get lets a message arrive, and what it leads to be written.
func (n *node) get(from rune, msg protocol.Message) {
	n.receive(from, msg)
	n.persist()
}

func (n *node) receive(from rune, msg protocol.Message) {
	ev := protocol.Receive{From: protocol.Ident{Rank: protocol.Rank(from - 'a'), Inc: 9}, Message: msg}
	n.step(func() { n.m.Step(n.now, &ev, &n.out) })
}

// persist writes what waits to be written, and keeps what the Step before has sent.
func (n *node) persist() {
	if _, ok := n.m.TakeRecord(nil); ok {
		n.m.Durable(n.now, n.m.Serial(), &n.out)
	}
}

func (n *node) pass(d time.Duration) {
	n.now = n.now.Add(d)
	n.step(func() { n.m.Step(n.now, protocol.Tick{}, &n.out) })
}

// sent returns the last message of a kind that the last Step has sent, and whether it waits for the disk.
func sent[M protocol.Message](n *node) (msg M, durable, ok bool) {
	for _, e := range n.out.Send {
		if m, is := e.Message.(M); is {
			msg, durable, ok = m, e.Durable, true
		}
	}
	return msg, durable, ok
}

func ballot(round uint32, seat rune) Ballot {
	return Ballot{Round: round, Seat: protocol.Rank(seat - 'a'), Inc: 9, Nonce: 1}
}

func TestStepChangesOneVote(t *testing.T) {
	abc := conf(4, "abc")
	abc.Floor = 9
	with := step(abc, role("d", Observer))
	for _, c := range []struct {
		name string
		from *Config
		to   *Config
		ok   bool
	}{
		{"nothing changes", abc, step(abc, nil), true},
		{"an observer comes", abc, with, true},
		{"it gets its vote", with, step(with, role("d", Leader)), true},
		{"a vote goes", abc, step(abc, role("c", Observer)), true},
		{"a witness", abc, step(abc, role("c", Witness)), true},
		{"two votes go", abc, step(abc, func(c *Config) { role("b", Observer)(c); role("c", Observer)(c) }), false},
		{"one comes and one goes", with, step(with, func(c *Config) { role("d", Leader)(c); role("c", Observer)(c) }), false},
		{"a newcomer votes", abc, step(abc, role("d", Leader)), false},
		{"a voter vanishes", abc, step(abc, func(c *Config) { c.Members = c.Members[:2] }), false},
		{"a seat changes hands", abc, step(abc, func(c *Config) { c.Members[2].Birth, c.Members[2].Role = Birth{1}, Observer }), false},
		{"a member moves", abc, step(abc, func(c *Config) { c.Members[2].Seat = 7 }), false},
		{"a member is renamed", abc, step(abc, func(c *Config) { c.Members[2].Name = "x" }), false},
		{"a number is skipped", abc, step(abc, func(c *Config) { c.Number++ }), false},
		{"another council", abc, step(abc, func(c *Config) { c.Council[0]++ }), false},
		{"the floor falls", abc, step(abc, func(c *Config) { c.Floor = 8 }), false},
		{"a newcomer has its seat since another number", abc, step(abc, func(c *Config) {
			c.seat(Member{Seat: 3, Since: 4, Name: "d", Birth: Birth{4}})
		}), false},
		{"a member has its seat since another number", abc, step(abc, func(c *Config) { c.Members[2].Since = 5 }), false},
		{"other voters before", abc, step(abc, func(c *Config) { c.Before = protocol.NewSet(0) }), false},
		{"nobody may lead", conf(0, "a"), step(conf(0, "a"), role("a", Witness)), false},
	} {
		if err := c.from.CheckStep(c.to); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSeatIsUsedAgainAfterANumber(t *testing.T) {
	c := step(conf(4, "abc"), role("c", Observer))
	gone := step(c, func(c *Config) { c.Members = c.Members[:2] })
	fresh := func(c *Config) { c.seat(Member{Seat: 2, Since: c.Number, Name: "c", Birth: Birth{1, 2}}) }
	if err := gone.CheckStep(step(gone, fresh)); err != nil {
		t.Error(err)
	}
	at := step(c, func(c *Config) { c.Members = c.Members[:2]; fresh(c) })
	if c.CheckStep(at) == nil {
		t.Error("a seat changes hands from one number to the next")
	}
}

// A configuration says who had a seat before, as long as not too many have left since.
func TestFormerMembersKeepTheirNames(t *testing.T) {
	c := step(conf(4, "abc"), role("c", Observer))
	gone := step(c, func(c *Config) { c.Members = c.Members[:2] })
	if err := c.CheckStep(gone); err != nil {
		t.Fatal(err)
	}
	without := *gone
	without.Former = nil
	if c.CheckStep(&without) == nil {
		t.Error("former members: an acceptor takes a configuration that forgets who has left")
	}
	again := step(gone, func(c *Config) { c.seat(Member{Seat: 2, Since: c.Number, Name: "x", Birth: Birth{7}}) })
	again, err := DecodeConfig(again.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		seat   protocol.Rank
		number uint64
		name   string
	}{{2, 4, "c"}, {2, 5, "c"}, {2, 6, ""}, {2, 7, "x"}, {2, 9, "x"}, {0, 4, "a"}, {5, 7, ""}} {
		if got := again.NameAt(x.seat, x.number); got != x.name {
			t.Errorf("seat %v in configuration %d is that of %q: want %q", x.seat, x.number, got, x.name)
		}
	}
	for n := range uint64(2 * maxFormer) {
		again = step(again, func(c *Config) { c.seat(Member{Seat: 9, Since: c.Number, Name: "y", Birth: Birth{8, byte(n)}}) })
		again = step(again, func(c *Config) { c.Members = c.Members[:3] })
	}
	if n := len(again.Former); n != maxFormer || again.NameAt(2, 4) != "" || again.NameAt(9, again.Number-1) != "y" {
		t.Errorf("%d former members are listed, the first and the last as %q and %q", n, again.NameAt(2, 4), again.NameAt(9, again.Number-1))
	}
}

func TestEncodingIsCanonical(t *testing.T) {
	c := step(conf(4, "abd"), func(c *Config) {
		c.Members[1].Addrs, c.Members[1].Priority, c.Members[2].Guest, c.Floor = []string{"x:1", "y:2"}, -3, true, 77
		c.Goal = &Goal{Terms: c.Terms, Wishes: []Wish{{Name: "a", Role: Leader, Seat: protocol.Nobody}, {Name: "q", Role: Witness, Not: Birth{3}, Key: "k"}}}
	})
	b := c.Append(nil)
	d, err := DecodeConfig(b)
	if err != nil || d.Digest() != c.Digest() {
		t.Fatalf("%+v, %v", d, err)
	}
	for i := range b {
		if _, err := DecodeConfig(b[:i]); err == nil {
			t.Errorf("%d of %d bytes are read", i, len(b))
		}
	}
	r := Record{Conf: c, Settled: true, Ballot: ballot(3, 'b'), Accepted: Vote{ballot(2, 'a'), c}, Bound: 5, Birth: Birth{1}, Removed: true, Serial: 8}
	x, err := DecodeRecord(r.Append(nil))
	if err != nil || x.Serial != 8 || x.Accepted.Ballot != r.Accepted.Ballot || !x.Removed || x.Accepted.Conf.Digest() != c.Digest() {
		t.Errorf("%+v, %v", x, err)
	}
}

// D nosettle: two steps within one lease would part the majorities.
func TestAcceptorVotesOnlyOnceSettled(t *testing.T) {
	c := conf(4, "abc")
	rec := settledAt(c, "a")
	rec.Settled = false
	a := start(t, "a", rec)
	a.promised = protocol.Never
	a.m.until = protocol.Never
	a.get('b', &Prepare{Slot: 5, Ballot: ballot(1, 'b')})
	if _, _, ok := sent[*Promise](a); ok {
		t.Error("D nosettle: it promises before it has settled")
	}
	a.get('b', &Accept{Slot: 5, Ballot: ballot(1, 'b'), Conf: step(c, nil)})
	if _, _, ok := sent[*Accepted](a); ok {
		t.Error("D nosettle: it accepts before it has settled")
	}
}

// D onephase, D volacc: what an acceptor answers is on disk.
func TestAcceptorWritesBeforeItAnswers(t *testing.T) {
	c := conf(4, "abc")
	a := start(t, "a", settledAt(c, "a"))
	a.receive('b', &Prepare{Slot: 5, Ballot: ballot(2, 'b')})
	p, durable, ok := sent[*Promise](a)
	if _, dirty := a.m.TakeRecord(nil); !ok || !durable || !dirty || p.Serial != a.m.Serial() {
		t.Errorf("D volacc: promise %+v, waits for the disk: %v, written: %v", p, durable, dirty)
	}
	a.receive('c', &Prepare{Slot: 5, Ballot: ballot(1, 'c')})
	if r, _, ok := sent[*Refused](a); !ok || r.Promised != ballot(2, 'b') {
		t.Error("D onephase: a lower ballot is not refused")
	}
	v := step(c, role("d", Observer))
	a.receive('b', &Accept{Slot: 5, Ballot: ballot(2, 'b'), Conf: v})
	_, durable, ok = sent[*Accepted](a)
	b, dirty := a.m.TakeRecord(nil)
	if !ok || !durable || !dirty {
		t.Errorf("D volacc: accepted, waits for the disk: %v, written: %v", durable, dirty)
	}
	rec, err := DecodeRecord(b)
	if err != nil || rec.Accepted.Conf.Digest() != v.Digest() {
		t.Fatal(rec, err)
	}
	again := start(t, "a", rec)
	again.receive('c', &Prepare{Slot: 5, Ballot: ballot(3, 'c')})
	if p, _, ok := sent[*Promise](again); !ok || p.Accepted.Conf == nil || p.Accepted.Ballot != ballot(2, 'b') {
		t.Error("D volacc: it has forgotten what it accepted")
	}
	a.receive('b', &Accept{Slot: 5, Ballot: ballot(2, 'b'), Conf: step(c, nil)})
	if _, _, ok := sent[*Accepted](a); ok {
		t.Error("it accepts another value in the same ballot")
	}
	a.receive('b', &Accept{Slot: 5, Ballot: ballot(4, 'b'), Conf: step(c, func(c *Config) { c.Members = c.Members[:1] })})
	if _, _, ok := sent[*Accepted](a); ok {
		t.Error("D bigstep: it accepts what is no step")
	}
}

// goal returns a goal of voters.
func goal(voters string) *Goal {
	g := &Goal{Terms: Terms{Longest: longest, Rho: protocol.DefaultRho}}
	for _, r := range voters {
		g.Wishes = append(g.Wishes, Wish{Name: string(r), Role: Leader, Seat: protocol.Nobody})
	}
	return g
}

// propose lets a member begin to propose, and returns its ballot.
func (n *node) propose(g *Goal) Ballot {
	n.t.Helper()
	n.step(func() {})
	if err := n.m.Change(n.now, Change{Goal: g}); err != nil {
		n.t.Fatal(err)
	}
	n.pass(0)
	p, _, ok := sent[*Prepare](n)
	if !ok {
		n.t.Fatal("it proposes nothing")
	}
	return p.Ballot
}

func TestProposerTakesWhatWasAcceptedInTheHighestBallot(t *testing.T) {
	c := conf(4, "abc")
	a := start(t, "a", settledAt(c, "a"))
	b := a.propose(goal("abcd"))
	x, y := step(c, role("x", Observer)), step(c, role("y", Observer))
	a.get('b', &Promise{Slot: 5, Ballot: b, Accepted: Vote{ballot(1, 'b'), x}})
	a.get('c', &Promise{Slot: 5, Ballot: b, Accepted: Vote{ballot(1, 'c'), y}})
	if m, _, ok := sent[*Accept](a); !ok || m.Conf.Digest() != y.Digest() {
		t.Error("C-ONE: it does not propose what may have been chosen")
	}
}

// D nofloor: a token of the configuration before is above the terms of the next one.
func TestConfigurationHasTheHighestTermAsItsFloor(t *testing.T) {
	a := start(t, "a", settledAt(conf(4, "abc"), "a"))
	b := a.propose(goal("abcd"))
	a.get('a', &Promise{Slot: 5, Ballot: b, Highest: 11})
	a.get('c', &Promise{Slot: 5, Ballot: b, Highest: 40})
	a.pass(4 * trip) // b may object until then
	m, _, ok := sent[*Accept](a)
	if !ok || m.Conf.Floor != 40 {
		t.Fatalf("D nofloor: %+v", m)
	}
	if d := m.Conf.Named("d"); d == nil || d.Role != Observer || m.Conf.Goal == nil {
		t.Errorf("%+v", m.Conf)
	}
	a.get('a', &Accepted{Slot: 5, Ballot: b})
	if a.m.Adopting() {
		t.Error("one of three has accepted")
	}
	a.receive('b', &Accepted{Slot: 5, Ballot: b})
	if x, _, ok := sent[*Chosen](a); !ok || x.Conf.Number != 5 || !a.m.Adopting() || a.adopted == 5 {
		t.Error("D volconf: it is not chosen, or in force before it is on disk")
	}
	a.persist()
	if a.adopted != 5 || a.m.Adopting() {
		t.Error("it is not in force")
	}
}

// D untimed: a member that lost its disk waits for the longest promise, and no longer.
func TestLateAnswersDoNotCount(t *testing.T) {
	a := start(t, "a", settledAt(conf(4, "abc"), "a"))
	b := a.propose(goal("abcd"))
	a.get('b', &Promise{Slot: 5, Ballot: b})
	a.now = a.now.Add(protocol.DefaultRho.WaitAtMost(longest))
	a.get('c', &Promise{Slot: 5, Ballot: b})
	if _, _, ok := sent[*Accept](a); ok {
		t.Error("D untimed: a late promise counts")
	}
}

// D ballotreuse, D recoverequal: a ballot of an earlier life is another one.
func TestBallotsNameLives(t *testing.T) {
	one := start(t, "a", settledAt(conf(4, "abc"), "a")).propose(goal("abcd"))
	n := &node{t: t, now: 1e9, inc: 5}
	n.m = New(options("a"), n, settledAt(conf(4, "abc"), "a"), true, 99)
	n.step(func() { n.m.Start(n.now, &n.out) })
	if two := n.propose(goal("abcd")); one == two {
		t.Error("D ballotreuse: two lives use one ballot")
	}
	n.step(func() { n.m.Restored(n.now, protocol.StartBits{1}) })
	if n.m.nonce == one.Nonce {
		t.Error("D ballotreuse: a restored snapshot uses the ballots of its other life")
	}
}
