package hall_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/hall"
)

const (
	ms    = protocol.Time(time.Millisecond)
	group = protocol.Group("g")
)

// A member is a machine with a clock that the test moves.
type member struct {
	drivetest.Hand // over m, or over the elector that it is inside of
	t              testing.TB
	m              *hall.Machine
	cfg            hall.Config
	sent           uint64           // the last request seen
	mine           protocol.Message // what the member sent to itself last
}

// join returns a member that takes part since a second, so that the wait after its start is over. Before that it has been
// silent.
func join(t testing.TB, self protocol.Rank, members int, change ...func(*hall.Config)) *member {
	t.Helper()
	c := hall.Default(self, members, 1, hall.LAN)
	c.Group = group
	for _, f := range change {
		f(&c)
	}
	m, err := hall.New(c)
	if err != nil {
		t.Fatal(err)
	}
	x := &member{Hand: drivetest.Hand{Machine: m}, t: t, m: m, cfg: c}
	x.step(protocol.Start{})
	x.Now = 1000 * ms
	x.step(protocol.Campaign{Group: group})
	return x
}

func (x *member) step(ev protocol.Event) protocol.Effects {
	x.Step(ev)
	for _, e := range x.Last.Send {
		if el, ok := e.Message.(*hall.Election); ok {
			x.sent = el.Request
		}
		if e.To == x.cfg.Self {
			x.mine = e.Message.Copy()
		}
	}
	return x.Last
}

// at moves the clock and ticks.
func (x *member) at(now protocol.Time) protocol.Effects {
	x.Now = now
	return x.step(protocol.Tick{})
}

// hear lets a message arrive now that is proven to have taken a millisecond.
func (x *member) hear(from protocol.Rank, msg protocol.Message) protocol.Effects {
	return x.hearSlowly(from, msg, time.Millisecond)
}

func (x *member) hearSlowly(from protocol.Rank, msg protocol.Message, bound time.Duration) protocol.Effects {
	return x.step(&protocol.Receive{From: protocol.Ident{Rank: from, Inc: 1}, Message: msg, Delay: bound})
}

// loop lets what the member sent to itself last come back to it.
func (x *member) loop() protocol.Effects { return x.hear(x.cfg.Self, x.mine) }

func yes(request uint64, root protocol.Rank, who ...protocol.Rank) *hall.Reply {
	return &hall.Reply{Request: request, Root: root, Yes: protocol.NewSet(who...)}
}

func no(request uint64, root protocol.Rank, who ...protocol.Rank) *hall.Reply {
	return &hall.Reply{Request: request, Root: root, No: protocol.NewSet(who...)}
}

// lead makes the member a leader that is supported by the given others. It leads when it returns, at the instant of its second
// request and a round.
func (x *member) lead(others ...protocol.Rank) protocol.Effects {
	x.t.Helper()
	for range 2 {
		request := x.sent
		x.loop()
		for _, r := range others {
			x.hear(r, yes(request, x.cfg.Self, r))
		}
		x.at(x.Now + 21*ms)
	}
	if v := x.view(); v.Leader.Rank != x.cfg.Self {
		x.t.Fatalf("does not lead: %+v", v)
	}
	return x.Last
}

// view returns the last view of the last Step, which must have one.
func (x *member) view() protocol.View {
	x.t.Helper()
	if len(x.Last.Views) == 0 {
		x.t.Fatal("no view was published")
	}
	return x.Last.Views[len(x.Last.Views)-1]
}

// reply returns the only Reply of the last Step, and to whom it went.
func (x *member) reply() (*hall.Reply, protocol.Rank) {
	x.t.Helper()
	var found *hall.Reply
	var to protocol.Rank
	for _, e := range x.Last.Send {
		if r, ok := e.Message.(*hall.Reply); ok {
			if found != nil {
				x.t.Fatal("several replies were sent")
			}
			found, to = r, e.To
		}
	}
	if found == nil {
		x.t.Fatal("no reply was sent")
	}
	return found, to
}

// supported says whether the member supports an Election that comes now.
func (x *member) supported(from protocol.Rank, e *hall.Election) bool {
	x.t.Helper()
	x.hear(from, e)
	r, _ := x.reply()
	return r.Yes.Has(x.cfg.Self)
}

// lease returns L, as a leader counts it from its request on.
func (x *member) lease() time.Duration {
	return x.cfg.Rho.WaitAtMost(x.cfg.Rho.RealAtLeast(x.cfg.Lock))
}
