package among_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/among"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// A puppet elector trusts whom it is told to, by rank among its own, and writes down what it gets.
type puppet struct {
	got    []string
	effect protocol.Effects
}

func (p *puppet) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev := ev.(type) {
	case *protocol.Receive:
		p.got = append(p.got, "from "+ev.From.String())
	case protocol.Unfit:
		p.got = append(p.got, "unfit")
	case protocol.Tick:
		p.got = append(p.got, "tick")
	}
	drivetest.Append(out, p.effect)
	p.effect = protocol.Effects{Wake: protocol.Never}
}

func (p *puppet) trusts(r protocol.Rank) {
	p.effect = protocol.Effects{Wake: protocol.Never, Views: []protocol.View{{Leader: protocol.Ident{Rank: r, Inc: 7}, Term: 3,
		Support: protocol.Everyone(2), Cause: protocol.Cause{Code: protocol.Elected, Peer: r}}}}
}

type word struct{}

func (*word) Copy() protocol.Message { return &word{} }
func (*word) Name() string           { return "word" }

const repeat = 100

// members returns d among b, d and f, to which it is the second of three.
func members(t *testing.T) (*among.Machine, *puppet) {
	t.Helper()
	p := &puppet{effect: protocol.Effects{Wake: protocol.Never}}
	m, err := among.New(among.Config{Self: 3, Members: protocol.NewSet(1, 3, 5), Repeat: repeat * time.Nanosecond},
		func(self protocol.Rank, n int) (protocol.Machine, error) {
			if self != 1 || n != 3 {
				t.Errorf("the elector is member %d of %d", self, n)
			}
			return p, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return m, p
}

func TestRanksAreThoseOfTheCouncilOutside(t *testing.T) {
	m, p := members(t)
	for _, from := range []protocol.Rank{0, 1, 2, 5, 9} { // a, c and j take no part
		drivetest.Step(m, 0, &protocol.Receive{From: protocol.Ident{Rank: from, Inc: 4}, Message: &word{}})
	}
	if got := strings.Join(p.got, ", "); got != "from a/4, from c/4" {
		t.Errorf("the elector heard %s", got)
	}
	p.trusts(2)
	p.effect.Send = []protocol.Envelope{{To: 0, Message: &word{}}, {To: 2, Message: &word{}}}
	p.effect.Facts = []protocol.Fact{{Ev: protocol.EvWeak, Peer: protocol.Ident{Rank: 2, Inc: 7}, Members: protocol.Everyone(3)}}
	p.effect.Wake = 50
	e := drivetest.Step(m, 10, protocol.Tick{})
	if v := e.Views[0]; v.Leader != (protocol.Ident{Rank: 5, Inc: 7}) || v.Cause.Peer != 5 || v.Support != protocol.NewSet(1, 3) || v.Term != 3 {
		t.Errorf("it shows %+v", v)
	}
	if e.Send[0].To != 1 || e.Send[1].To != 5 || e.Facts[0].Peer.Rank != 5 || e.Facts[0].Members != protocol.NewSet(1, 3, 5) || e.Wake != 50 {
		t.Errorf("effects %+v", e)
	}
	p.effect.Views = []protocol.View{{Leader: protocol.NoIdent, Cause: protocol.Cause{Peer: protocol.Nobody}}}
	if v := drivetest.Step(m, 20, protocol.Tick{}).Views[0]; v.Leader != protocol.NoIdent || v.Cause.Peer != protocol.Nobody {
		t.Errorf("nobody is %+v", v)
	}
}

func TestMemberThatIsNotWellIsNeverShownAndMovesOn(t *testing.T) {
	m, p := members(t)
	p.trusts(1)
	if e := drivetest.Step(m, 0, protocol.Start{}); e.Views[0].Leader.Rank != 3 {
		t.Fatalf("it shows %+v", e.Views)
	}
	e := drivetest.Step(m, 10, protocol.Health{OK: false})
	if v := e.Views[0]; v.Leader != protocol.NoIdent || v.Term != 0 || v.Cause.Code != protocol.Unhealthy || e.Wake != 10 {
		t.Fatalf("ill, it shows %+v and wakes at %v", v, e.Wake)
	}
	if e := drivetest.Step(m, 10, protocol.Tick{}); e.Wake != 10+repeat || strings.Join(p.got, " ") != "unfit" {
		t.Errorf("the elector got %v; wakes at %v", p.got, e.Wake)
	}
	drivetest.Step(m, 10+repeat-1, protocol.Tick{})
	drivetest.Step(m, 10+repeat, protocol.Tick{}) // it is trusted still
	if got := strings.Join(p.got, " "); got != "unfit tick unfit" {
		t.Errorf("the elector got %s", got)
	}
	p.trusts(1)
	if e := drivetest.Step(m, 200, protocol.Tick{}); e.Views[0].Leader != protocol.NoIdent {
		t.Errorf("ill, and it leads: %+v", e.Views)
	}
	p.trusts(1)
	p.effect.Views[0].Leader, p.effect.Views[0].Cause.Code = protocol.NoIdent, protocol.NoQuorum
	if e := drivetest.Step(m, 201, protocol.Tick{}); e.Views[0].Cause.Code != protocol.Unhealthy || e.Wake != protocol.Never {
		t.Errorf("it moved on because of %v; wakes at %v", e.Views[0].Cause, e.Wake)
	}
	p.trusts(0)
	if e := drivetest.Step(m, 300, protocol.Tick{}); e.Views[0].Leader.Rank != 1 || e.Wake != protocol.Never {
		t.Errorf("ill, it follows %+v", e.Views)
	}
	p.trusts(1)
	drivetest.Step(m, 310, protocol.Tick{})
	if e := drivetest.Step(m, 320, protocol.Health{OK: true}); len(e.Views) != 1 || e.Views[0].Leader.Rank != 3 || e.Views[0].Cause.Code != protocol.Elected {
		t.Errorf("well again, it shows %+v", e.Views)
	}
	if e := drivetest.Step(m, 330, protocol.Health{OK: true}); len(e.Views) != 0 {
		t.Errorf("no news, but %+v", e.Views)
	}
}

func TestOnlyThoseThatTakePartHaveAMachine(t *testing.T) {
	if _, err := among.New(among.Config{Self: 2, Members: protocol.NewSet(1, 3)}, nil); err == nil || !strings.Contains(err.Error(), "take part") {
		t.Errorf("got %v", err)
	}
	wrong := errors.New("wrong")
	if _, err := among.New(among.Config{Self: 1, Members: protocol.NewSet(1, 3)}, func(protocol.Rank, int) (protocol.Machine, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
}
