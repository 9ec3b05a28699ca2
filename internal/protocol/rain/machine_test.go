package rain

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/link"
	"github.com/regentproject/regent/internal/protocol/record"
)

// authority is one that does what a test says.
type authority struct {
	inc   protocol.Inc
	begun bool
	prove protocol.Time
	next  protocol.Effects // of the next Step
	took  []protocol.Event
}

func (a *authority) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	a.took = append(a.took, ev)
	if a.next.Wake == 0 {
		a.next.Wake = protocol.Never
	}
	drivetest.Append(out, a.next)
	a.next = protocol.Effects{Wake: protocol.Never}
}

func (a *authority) Incarnation() protocol.Inc { return a.inc }
func (a *authority) Votes() protocol.Time      { return 0 }
func (a *authority) Closed() bool              { return false }
func (a *authority) Begun() bool               { return a.begun }
func (a *authority) Proved() protocol.Time     { return a.prove }

func gatedConfig(members int) Config {
	c := Default(0, members, 0)
	c.Quorums = protocol.Majority(members)
	return c
}

// started returns the member 0 of three that has just begun a council, with an empty record on disk.
func started(t *testing.T) (*Machine, *authority) {
	t.Helper()
	a := &authority{begun: true}
	m, err := New(gatedConfig(3), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := record.Record{Inc: 1}
	a.next.Persist = rec.Append(nil)
	if e := drivetest.Step(m, 1, protocol.Start{}); len(e.Persist) == 0 {
		t.Fatal("the authority's record was not written")
	}
	a.inc = 1
	drivetest.Step(m, 2, protocol.Persisted{})
	return m, a
}

// N-VER: the guardian of a member with consistent groups waits for the proofs of its leases, too.
func TestProofsOfTheAuthorityAreShown(t *testing.T) {
	m, a := started(t)
	a.prove = 700
	if m.Proved() != 700 {
		t.Errorf("proved until %v, want 700", m.Proved())
	}
}

// meet lets the machine hear from a peer until the link is up; it returns the peer's end.
func meet(t *testing.T, m *Machine, peer protocol.Rank, now *protocol.Time) *link.Links {
	t.Helper()
	cfg := m.cfg.links(1)
	cfg.Self = peer
	l, err := link.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var out protocol.Effects
	for range 6 {
		*now += protocol.Time(time.Millisecond)
		out.Reset()
		l.Flush(*now, &out)
		for _, e := range out.Send {
			if e.To == 0 {
				for _, back := range drivetest.Step(m, *now, &protocol.Receive{From: protocol.Ident{Rank: peer, Inc: 1}, Message: e.Message}).Send {
					if back.To == peer {
						l.Receive(*now, &protocol.Receive{From: protocol.Ident{Rank: 0, Inc: 1}, Message: back.Message})
					}
				}
			}
		}
		*now += protocol.Time(m.cfg.Ping)
	}
	if _, up := l.Up(0); !up {
		t.Fatal("the link did not come up")
	}
	return l
}

// give sends the machine a message over a link.
func give(t *testing.T, m *Machine, l *link.Links, from protocol.Rank, now protocol.Time, msg link.Message) protocol.Effects {
	t.Helper()
	if !l.Send(0, msg) {
		t.Fatal("the link is down")
	}
	var out protocol.Effects
	l.Flush(now, &out)
	for _, e := range out.Send {
		if e.To == 0 && e.Message.Name() == msg.Name() {
			return drivetest.Step(m, now, &protocol.Receive{From: protocol.Ident{Rank: from, Inc: 1}, Message: e.Message})
		}
	}
	t.Fatal("nothing was sent")
	return protocol.Effects{}
}

func TestAViewIsOnDiskBeforeItIsAcknowledged(t *testing.T) {
	m, _ := started(t)
	drivetest.Step(m, 3, protocol.Campaign{Group: "g"})
	now := protocol.Time(10)
	l := meet(t, m, 1, &now)
	v := View{Number: Number{7, 1}, Members: protocol.Everyone(3), Joined: protocol.Everyone(3), Manager: 1}
	e := give(t, m, l, 1, now, &Install{Group: "g", View: v})
	rec, err := record.Decode(e.Persist)
	if err != nil {
		t.Fatalf("TestAViewIsOnDiskBeforeItIsAcknowledged: no record: %v", err)
	}
	i := slices.IndexFunc(e.Send, func(e protocol.Envelope) bool { return e.Message.Name() == "rain.Installed" })
	if i < 0 || !e.Send[i].Durable || e.Send[i].To != 1 {
		t.Errorf("TestAViewIsOnDiskBeforeItIsAcknowledged: the acknowledgement does not wait for the disk: %+v", e.Send)
	}
	again, err := New(gatedConfig(3), &authority{}, rec.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if g := again.group("g"); !reflect.DeepEqual(g.view, v) || !g.known || g.phase != Out {
		t.Errorf("after a restart the member is %v and has %+v", g.phase, g.view)
	}
	if !again.remembers || !again.group("new").known {
		t.Error("a member that has lost nothing does not know that a new group is empty")
	}
}

func TestTheRecordOfTheAuthorityAndTheViewsAreOne(t *testing.T) {
	m, a := started(t)
	drivetest.Step(m, 3, protocol.Campaign{Group: "g"})
	now := protocol.Time(10)
	l := meet(t, m, 1, &now)
	v := View{Number: Number{7, 1}, Members: protocol.Everyone(3), Joined: protocol.Everyone(3), Manager: 1}
	give(t, m, l, 1, now, &Install{Group: "g", View: v})
	newer := record.Record{Inc: 1, Ceiling: 99}
	a.next.Persist = newer.Append(nil)
	a.took = nil
	e := drivetest.Step(m, now+1, protocol.Find{Group: "g"})
	rec, err := record.Decode(e.Persist)
	if err != nil || rec.Ceiling != 99 || rec.View == nil {
		t.Fatalf("the record is %+v, %v", rec, err)
	}
	// The first write was ours alone, the second the authority's.
	drivetest.Step(m, now+2, protocol.Persisted{})
	if len(a.took) != 1 {
		t.Errorf("the authority was told of a write that is not its own: %v", a.took)
	}
	drivetest.Step(m, now+3, protocol.Persisted{})
	if len(a.took) != 2 || a.took[1] != (protocol.Persisted{}) {
		t.Errorf("the authority was not told of its write: %v", a.took)
	}
}

func TestAMemberThatLostItsRecordDoesNotClaimToKnow(t *testing.T) {
	a := &authority{inc: 4}
	m, err := New(gatedConfig(3), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	drivetest.Step(m, 1, protocol.Start{})
	drivetest.Step(m, 2, protocol.Campaign{Group: "g"})
	g := m.group("g")
	if g.known {
		t.Error("it claims to know its view")
	}
	g.install(3, View{Number: Number{1, 1}, Members: protocol.Everyone(3), Joined: protocol.Everyone(3)}, "heard")
	if g.known || g.phase == Alive {
		t.Error("hearsay is enough for it to know, and to live")
	}
	g.install(3, View{Number: Number{1, 2}, Members: protocol.Everyone(3), Joined: protocol.Everyone(3)}, "told")
	if !g.known || g.phase != Alive {
		t.Error("a decision made since then is not enough")
	}
}

func TestOtherGroupsAreTheAuthoritysBusiness(t *testing.T) {
	a := &authority{inc: 1}
	c := gatedConfig(3)
	c.Owns = func(g protocol.Group) bool { return g == "mine" }
	m, err := New(c, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	drivetest.Step(m, 1, protocol.Campaign{Group: "theirs"})
	drivetest.Step(m, 2, protocol.Campaign{Group: "mine"})
	if len(a.took) != 1 || a.took[0] != (protocol.Campaign{Group: "theirs"}) {
		t.Errorf("the authority took %v", a.took)
	}
	a.next.Views = []protocol.View{{Domain: protocol.Quorum, Group: "theirs"}, {Domain: protocol.Quorum, Group: "mine"}}
	e := drivetest.Step(m, 3, protocol.Find{})
	if len(e.Views) != 1 || e.Views[0].Group != "theirs" {
		t.Errorf("views %+v", e.Views)
	}
}

func TestWhatNoHonestMemberSaysIsDropped(t *testing.T) {
	m, _ := started(t)
	drivetest.Step(m, 3, protocol.Campaign{Group: "g"})
	now := protocol.Time(10)
	l := meet(t, m, 1, &now)
	beyond := View{Number: Number{7, 1}, Members: protocol.NewSet(0, 9), Manager: 1}
	for _, msg := range []link.Message{
		&Cand{Topic: Topic{Group: "g", About: 9, Attempt: 1}}, &Accept{Topic: Topic{Group: "g", Kind: 7, Attempt: 1}},
		&Cancel{Topic: Topic{Group: "g"}}, &Install{Group: "g", View: beyond}, &State{Group: "g", View: beyond}, &Answer{Group: "g", View: beyond},
		&Install{Group: "g", View: View{Number: Number{7, 1}, Members: protocol.Everyone(3), Manager: 2}},
	} {
		now++
		give(t, m, l, 1, now, msg)
	}
	if g := m.group("g"); g.view.Number != (Number{}) || len(g.topics) > 0 {
		t.Errorf("it took %+v, %d topics", g.view, len(g.topics))
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	a := &authority{}
	for _, c := range []struct {
		change func(*Config)
		below  Authority
	}{
		{func(c *Config) {}, nil},
		{func(c *Config) { c.Quorums = protocol.Quorums{} }, a},
		{func(c *Config) { c.Quorums = protocol.Majority(5) }, a},
		{func(c *Config) { c.Form = Phi }, a},
		{func(c *Config) { c.Stay = c.Renew }, a},
		{func(c *Config) { c.Stall = -1 }, a},
		{func(c *Config) { c.Rho = -1 }, a},
		{func(c *Config) { c.Tout = 0 }, a},
	} {
		cfg := gatedConfig(3)
		c.change(&cfg)
		if _, err := New(cfg, c.below, nil); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
	if _, err := New(gatedConfig(3), a, nil); err != nil {
		t.Errorf("the default is refused: %v", err)
	}
}

func TestDamagedViewsAreRefused(t *testing.T) {
	rec := record.Record{Inc: 1, View: []byte{1, 1, 3, 'g'}}
	if _, err := New(gatedConfig(3), &authority{}, rec.Append(nil)); err == nil {
		t.Error("a record with half a view was accepted")
	}
}

// A member that waits for nothing costs no memory.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	m, _ := started(t)
	drivetest.Step(m, 3, protocol.Campaign{Group: "g"})
	now := protocol.Time(10)
	l := meet(t, m, 1, &now)
	v := View{Number: Number{7, 1}, Members: protocol.Everyone(3), Joined: protocol.Everyone(3), Manager: 1}
	give(t, m, l, 1, now, &Install{Group: "g", View: v})
	ask, yes := &Stay{Group: "g", Inc: 1}, &Stays{Group: "g", Inc: 1}
	in := &protocol.Receive{From: protocol.Ident{Rank: 1, Inc: 1}}
	var ev protocol.Event = in
	var out drivetest.Buffer
	step := func() {
		now += 1000
		in.Message, ask.At, yes.At = ask, now, now-m.groups[0].stay.zero
		out.Step(m, now, ev)
		in.Message = yes
		out.Step(m, now, ev)
		out.Step(m, now, protocol.Tick{})
	}
	step()
	if got := testing.AllocsPerRun(50, step); got > 0 {
		t.Errorf("%v allocations", got)
	}
	if m.groups[0].phase != Alive || m.groups[0].stay.end == 0 {
		t.Fatalf("the member is %v: this measured nothing", m.groups[0].phase)
	}
}

func TestAGroupTooManyIsRefused(t *testing.T) {
	m, err := New(gatedConfig(3), &authority{inc: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := func(i int) protocol.CauseCode {
		e := drivetest.Step(m, protocol.Time(i+1), protocol.Campaign{Group: protocol.Group(fmt.Sprint("g", i))})
		if len(e.Views) != 1 || e.Views[0].Domain != protocol.Consistent {
			t.Fatalf("TestAGroupTooMany: group %d: %+v", i, e.Views)
		}
		return e.Views[0].Cause.Code
	}
	for i := range MaxGroups {
		if c := last(i); c != protocol.Started {
			t.Fatalf("group %d: %v", i, c)
		}
	}
	if c := last(MaxGroups); c != protocol.TooMany {
		t.Errorf("TestAGroupTooMany: it waits, because %v", c)
	}
	if e := drivetest.Step(m, 100, protocol.Resign{Group: "g99"}); len(e.Views) > 0 || len(m.groups) != MaxGroups {
		t.Errorf("TestAGroupTooMany: %+v, and %d groups", e.Views, len(m.groups))
	}
}
