package rain

import (
	"reflect"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/link"
)

// chamber is a council that a test changes.
type chamber struct {
	conf    *council.Config
	seat    protocol.Rank
	settled bool
	stopped bool
}

func (c *chamber) Conf() *council.Config { return c.conf }
func (c *chamber) Seat() protocol.Rank   { return c.seat }
func (c *chamber) Settled() bool         { return c.settled }
func (c *chamber) Stopped() bool         { return c.stopped }

// posts records what a member says over its links, which are all up.
type posts struct{ said []post }

type post struct {
	to  protocol.Rank
	msg link.Message
}

func (p *posts) Send(to protocol.Rank, m link.Message) bool {
	p.said = append(p.said, post{to, m.Copy().(link.Message)})
	return true
}

func (p *posts) SendDurable(to protocol.Rank, m link.Message) bool { return p.Send(to, m) }

// last returns the last message of a kind to a member.
func last[M link.Message](p *posts, to protocol.Rank) (msg M, ok bool) {
	for _, s := range p.said {
		if m, is := s.msg.(M); is && s.to == to {
			msg, ok = m, true
		}
	}
	return msg, ok
}

// configuration returns one with a number in which the named members vote, in seats by their letters, since the first one.
func configuration(number uint64, voters, before string) *council.Config {
	c := &council.Config{Number: number, Terms: council.Terms{Longest: 250 * time.Millisecond, Rho: protocol.DefaultRho}}
	for _, r := range voters {
		c.Members = append(c.Members, council.Member{Seat: protocol.Rank(r - 'a'), Name: string(r), Role: council.Leader})
	}
	c.Before = seats(before)
	return c
}

func seats(names string) (s protocol.Set) {
	for _, r := range names {
		s.Add(protocol.Rank(r - 'a'))
	}
	return s
}

// A seated is a member of a council that changes, whose links are all up.
type seated struct {
	*Machine
	t   *testing.T
	c   *chamber
	out *posts
	now protocol.Time
}

func seat(t *testing.T, conf *council.Config, me rune, begun bool) *seated {
	t.Helper()
	s := &seated{t: t, c: &chamber{conf: conf, seat: protocol.Rank(me - 'a')}, out: &posts{}, now: 1e9}
	c := Default(0, 1, 0)
	c.Council = s.c
	m, err := New(c, &authority{inc: 1, begun: begun}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Machine = m
	drivetest.Step(m, s.now, protocol.Start{})
	m.remembers = begun
	m.sender = s.out
	m.group("g")
	s.linked()
	drivetest.Step(m, s.now, protocol.Tick{})
	return s
}

// linked brings the links up.
func (s *seated) linked() {
	for r := range s.Machine.group("g").peers {
		s.Machine.group("g").peers[r].up = true
	}
}

func (s *seated) g() *group { return s.Machine.groups[0] }

// move puts another configuration in force.
func (s *seated) move(c *council.Config) {
	s.c.conf, s.out.said = c, nil
	s.tick(time.Millisecond)
	s.Machine.sender = s.out
	s.linked()
}

func (s *seated) tick(d time.Duration) {
	s.now = s.now.Add(d)
	s.Machine.belowWake = s.now // the authority takes a Step
	drivetest.Step(s.Machine, s.now, protocol.Tick{})
}

func (s *seated) get(from rune, msg link.Message) {
	drivetest.Step(inside{s.Machine}, s.now, act{f: func(m *Machine) { m.deliver(s.now, protocol.Rank(from-'a'), msg) }})
}

// told answers the question of the member.
func (s *seated) told(from rune, known, settled bool) {
	s.get(from, &Told{Number: s.term.number, Nonce: s.term.pull.nonce, Known: known, Settled: settled})
}

// The rules of a reading. The counter-examples are in the package doc.
func TestReadingAcrossConfigurations(t *testing.T) {
	for _, c := range []struct {
		name            string
		voters, before  string
		answered, known string
		settled, want   bool
	}{
		{"a majority knows, and one has settled", "abc", "abcd", "ab", "ab", true, true},
		{"known ones meet every majority, and so do those of the next number", "abcd", "abc", "cd", "cd", true, false},
		{"a majority answers, and half of the voters know", "abcd", "abc", "bcd", "cd", true, true},
		{"the same, and nobody has settled", "abcd", "abc", "bcd", "cd", false, false},
		{"a majority knows, which meets those before", "abcd", "abc", "bcd", "bcd", false, true},
		{"too few know", "abc", "abc", "abc", "c", true, true}, // all have answered
		{"too few know and one is missing", "abc", "abc", "bc", "c", true, false},
	} {
		m := seat(t, configuration(4, c.voters, c.before), 'a', true)
		r := reading{answered: seats(c.answered), known: seats(c.known), settled: c.settled}
		if got := r.hasAll(m.Machine); got != c.want {
			t.Errorf("%s: done %v", c.name, got)
		}
	}
}

func TestWhatCountsIsOfOneConfiguration(t *testing.T) {
	s := seat(t, configuration(4, "abc", "abc"), 'a', true)
	s.c.settled = true
	g := s.g()
	v := View{Number: Number{7, 1}, Members: seats("abc"), Joined: seats("abc"), Manager: 0, Epoch: 4}
	g.view, g.phase = v, Alive
	g.pending = pending{number: v.Number}
	s.get('b', &Installed{Group: "g", Number: v.Number, Epoch: 3})
	if !g.pending.has.Empty() {
		t.Error("R-UNIQ: an acknowledgement of another configuration counts")
	}
	s.get('b', &Installed{Group: "g", Number: v.Number, Epoch: 4})
	if !g.pending.has.Has(1) {
		t.Fatal("an acknowledgement does not count")
	}
	g.lease.token, g.reading = 9, reading{token: 9}
	s.get('b', &Answer{Group: "g", Token: 9, Known: true, Epoch: 3})
	if !g.reading.answered.Empty() {
		t.Error("R-UNIQ: an answer of another configuration counts")
	}
	s.get('b', &Answer{Group: "g", Token: 9, Known: true, Epoch: 4})
	g.stay.heard[1] = 5
	s.move(configuration(5, "abc", "abc"))
	if g.pending.has.Has(1) || g.stay.heard[1] != 0 || g.reading.answered.Has(1) {
		t.Errorf("R-UNIQ: after the step %v have the view, %v have answered, leave as of %v", g.pending.has, g.reading.answered, g.stay.heard)
	}
	if !reflect.DeepEqual(g.view, v) || g.phase != Alive {
		t.Errorf("C-VIEW: the view is %+v, and the member %v", g.view, g.phase)
	}
}

func TestLeaveToGoOnIsOfOneConfiguration(t *testing.T) {
	s := seat(t, configuration(4, "abc", "abc"), 'a', true)
	s.g().view = View{Number: Number{7, 1}, Members: seats("abc"), Epoch: 4}
	ask := func(epoch uint64) bool {
		e := drivetest.Step(s.Machine, s.now, &protocol.Receive{From: protocol.Ident{Rank: 1, Inc: 1}, Message: &Stay{Group: "g", Inc: 1, At: 5, Epoch: epoch}})
		for _, m := range e.Send {
			if m.Message.Name() == "rain.Stays" {
				return true
			}
		}
		return false
	}
	if !ask(4) || ask(3) || ask(5) {
		t.Error("R-OUT: a member vouches for one of another configuration, or not for one of its own")
	}
}

// A seat is used again: the view means the member that had it.
func TestViewMeansTheMembersOfItsConfiguration(t *testing.T) {
	again := configuration(6, "abc", "abc")
	again.Members[2].Since, again.Members[2].Name = 6, "x"
	s := seat(t, configuration(4, "abc", "abc"), 'a', true)
	s.g().view = View{Number: Number{7, 1}, Members: seats("abc"), Epoch: 4}
	if s.g().lost(2) {
		t.Fatal("a member that is there counts as lost")
	}
	s.move(configuration(5, "ab", "abc"))
	if !s.g().lost(2) {
		t.Error("R-JOB: a member that has left the council does not count as lost")
	}
	s.move(again)
	if !s.g().lost(2) {
		t.Error("R-JOB: a member that has left the council does not count as lost, for another one has its seat")
	}
	x := seat(t, again, 'c', true)
	x.g().phase = Joining
	x.get('a', &Install{Group: "g", View: View{Number: Number{7, 1}, Members: seats("abc"), Joined: seats("abc"), Manager: 0, Epoch: 4}})
	if x.g().phase == Alive {
		t.Error("R-JOB: a newcomer takes a view for its own that means the member before it in its seat")
	}
	x.get('a', &Install{Group: "g", View: View{Number: Number{7, 2}, Members: seats("abc"), Joined: seats("c"), Manager: 0, Epoch: 6}})
	if x.g().phase != Alive {
		t.Error("a newcomer that is admitted is", x.g().phase)
	}
}

// A member without a record starts in the first configuration, and learns that it has left and was added again since. It takes part.
func TestMemberThatWasAddedAgainWhileItWasAwayTakesPart(t *testing.T) {
	again := configuration(6, "abc", "ab")
	again.Members[2].Since = 6
	s := seat(t, configuration(0, "abc", ""), 'c', false)
	s.below.(*authority).inc, s.inc = 0, 0 // it does not know yet as whom it speaks
	s.move(again)
	if s.closed {
		t.Error("C-AGREE: a member that was added again takes part in no group")
	}
	s = seat(t, configuration(4, "abc", "abc"), 'c', true)
	s.move(again)
	if !s.closed {
		t.Error("R-OUT: a member goes on for the one that has its name and seat now")
	}
}

// A view of a later configuration may name members that this one has not heard of. Its program gets the view once they have names.
func TestProgramGetsNoViewOfALaterConfiguration(t *testing.T) {
	s := seat(t, configuration(4, "abc", "abc"), 'a', true)
	g := s.g()
	g.view = View{Number: Number{7, 2}, Members: seats("abcd"), Joined: seats("d"), Manager: 1, Epoch: 5, Before: 4}
	g.phase, g.reported, g.stay.end, g.stay.due = Alive, g.view.Number, s.now.Add(time.Hour), protocol.Never
	publish := func() { drivetest.Step(inside{s.Machine}, s.now, act{f: func(*Machine) { g.publish() }}) }
	publish()
	if g.delivered == g.view.Number {
		t.Error("R-JOB: the program got a view of a configuration that its member does not know")
	}
	s.move(configuration(5, "abcd", "abc"))
	publish()
	if g.delivered != g.view.Number {
		t.Error("the program does not get the view once the member knows the configuration")
	}
}

// A member fails, and before anybody has recovered it another one has its seat, and fails too. Both are named.
func TestTwoMembersOfOneSeatAreTwoLosses(t *testing.T) {
	v := View{Before: 6, Failed: seats("cd"), Unfinished: []protocol.Loss{{Number: 2, Members: seats("c")}, {Number: 6, Members: seats("b")}}}
	want := []protocol.Loss{{Number: 2, Members: seats("c")}, {Number: 6, Members: seats("bcd")}}
	if got := v.owed(); !reflect.DeepEqual(got, want) {
		t.Errorf("R-REC: what is owed is %v: want %v", got, want)
	}
	if len(v.Unfinished) != 2 || v.Unfinished[1].Members != seats("b") {
		t.Errorf("the view has changed: %v", v.Unfinished)
	}
}

// A member settles only once it knows what programs received before.
func TestViewsAreCarried(t *testing.T) {
	s := seat(t, configuration(4, "abcd", "abc"), 'd', false)
	s.told('c', true, false)
	if s.Carried(4) {
		t.Fatal("C-VIEW: one of three has answered, and the two others may know more")
	}
	s.told('b', true, false)
	if !s.Carried(4) || s.Carried(5) {
		t.Error("views are not carried, or to a configuration that is not in force")
	}
	s = seat(t, configuration(4, "abcd", "abc"), 'd', false)
	s.told('c', false, false)
	s.told('b', true, true)
	if !s.Carried(4) {
		t.Error("b has settled, and knows all")
	}
	s.move(configuration(5, "abcd", "abcd"))
	s.get('b', &Told{Number: 4, Nonce: s.term.pull.nonce, Known: true, Settled: true})
	if s.Carried(5) {
		t.Error("C-VIEW: an answer of another configuration counts")
	}
}

// What a member acknowledged before it lost its disk may still count at a manager, until that has found its link broken.
func TestMemberRemembersOnceNobodyCountsWhatItForgot(t *testing.T) {
	s := seat(t, configuration(4, "abc", "abc"), 'a', false)
	s.told('b', true, true)
	s.told('c', true, true)
	if s.remembers {
		t.Fatal("R-UNIQ: it takes part again before its link can have been found broken")
	}
	s.tick(s.cfg.Rho.WaitAtLeast(s.cfg.Tin + s.cfg.Tout))
	s.Machine.sender = s.out
	if _, ok := last[*Ask](s.out, 1); !ok || !s.term.pull.waited {
		t.Fatal("it does not ask again")
	}
	s.told('b', true, true)
	if s.remembers {
		t.Fatal("R-UNIQ: b and itself are no answer: a view may be known to c alone")
	}
	s.told('c', true, true)
	if !s.remembers || !s.g().known {
		t.Error("it does not take part again")
	}
	g := s.g()
	g.pending = pending{number: Number{7, 1}, has: seats("bc")}
	g.view.Number = Number{7, 1}
	drivetest.Step(inside{s.Machine}, s.now, act{f: func(*Machine) {
		g.onLink(s.now, &link.Change{Peer: protocol.Ident{Rank: 1, Inc: 1}})
	}})
	if g.pending.has.Has(1) {
		t.Error("R-UNIQ: what b acknowledged counts after its link was found broken")
	}
}

// The council is one member by now: it is a quorum, so it is not the one that failed.
func TestMemberThatIsTheCouncilDecidesAlone(t *testing.T) {
	s := seat(t, configuration(3, "ab", "ab"), 'a', true)
	g := s.g()
	s.move(configuration(4, "a", "ab"))
	g.open, g.phase, g.again = true, Alive, true
	g.view = View{Number: Number{7, 1}, Members: seats("ab"), Joined: seats("ab"), Epoch: 3}
	g.reported, g.recovered = g.view.Number, g.view.Number
	g.lease.token, g.lease.tenure, g.lease.until, g.lease.horizon = 7, 1, s.now.Add(time.Hour), 1
	s.horizons[1] = s.now.Add(time.Hour)
	s.tick(time.Millisecond)
	if g.view.Members != seats("a") || g.view.Failed != seats("b") {
		t.Errorf("alone it does not decide: %+v", g.view)
	}
}

// A peer that was in another configuration is asked again when it has caught up.
func TestPeerThatCatchesUpIsAskedAgain(t *testing.T) {
	s := seat(t, configuration(4, "abc", "abc"), 'a', true)
	g := s.g()
	g.phase, g.view = Alive, View{Number: Number{7, 1}, Members: seats("abc"), Epoch: 4}
	g.topic(Dn, 2, true).candTo[1] = 9
	g.lease.token, g.reading = 9, reading{token: 9}
	s.out.said = nil
	s.get('b', &Ask{Number: 4, Nonce: 3})
	if c, ok := last[*Cand](s.out, 1); !ok || c.Attempt != 9 {
		t.Error("it is not asked what it has not confirmed")
	}
	if _, ok := last[*Query](s.out, 1); !ok {
		t.Error("it is not asked for its view")
	}
	if a, ok := last[*Told](s.out, 1); !ok || a.Number != 4 || a.Nonce != 3 || !a.Known {
		t.Errorf("it is answered %+v", a)
	}
	s.out.said = nil
	s.get('b', &Ask{Number: 5, Nonce: 4})
	if _, ok := last[*Told](s.out, 1); ok {
		t.Fatal("C-VIEW: a question of a later configuration is answered in an earlier one")
	}
	s.move(configuration(5, "abc", "abc"))
	if a, ok := last[*Told](s.out, 1); !ok || a.Number != 5 || a.Nonce != 4 {
		t.Error("the question is forgotten")
	}
}

// A member that the council is to lose leaves its groups in good order first, and comes back if the change is cancelled.
func TestGoingMemberLeavesInGoodOrder(t *testing.T) {
	c := configuration(4, "abc", "abc")
	s := seat(t, c, 'a', true)
	g := s.g()
	g.open, g.phase, g.delivered = true, Alive, Number{7, 1}
	g.view = View{Number: Number{7, 1}, Members: seats("abc"), Epoch: 4}
	g.shown = protocol.View{Group: "g", Agreed: &protocol.Agreed{}}
	going := configuration(5, "abc", "abc")
	going.Members[0].Role = council.Observer
	going.Goal = &council.Goal{Wishes: []council.Wish{{Name: "b", Role: council.Leader}, {Name: "c", Role: council.Leader}}}
	s.move(going)
	if g.phase != Alive || g.retiring.Code != protocol.Closed {
		t.Fatalf("it is %v, and stops for %v", g.phase, g.retiring)
	}
	drivetest.Step(s.Machine, s.now, protocol.Stopped{Group: "g"})
	if g.phase != Out {
		t.Fatalf("its program has stopped, and it is %v", g.phase)
	}
	s.move(configuration(6, "abc", "abc"))
	if g.phase != Joining {
		t.Errorf("the change is cancelled, and it is %v", g.phase)
	}
	s.move(configuration(7, "bc", "abc"))
	if g.phase != Out || g.open || !s.closed {
		t.Errorf("C-OUT: it is none any more, and is %v", g.phase)
	}
}

// The drift that members have agreed on holds for consistent groups, too.
func TestGroupsGoByTheDriftThatWasAgreedOn(t *testing.T) {
	s := seat(t, configuration(0, "abc", ""), 'a', true)
	next := configuration(1, "abc", "abc")
	next.Terms.Rho *= 5
	s.move(next)
	if s.cfg.Rho != next.Terms.Rho {
		t.Errorf("drift %v, want %v", s.cfg.Rho, next.Terms.Rho)
	}
}
