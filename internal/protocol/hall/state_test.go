package hall_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/hall"
)

// anEvent draws something that may happen to the second of four members.
func anEvent(r *rand.Rand, request uint64) protocol.Event {
	from := protocol.Rank(r.IntN(4))
	set := func() (s protocol.Set) {
		for x := range protocol.Rank(4) {
			if r.IntN(2) == 0 {
				s.Add(x)
			}
		}
		return s
	}
	var msg protocol.Message
	switch r.IntN(12) {
	case 0, 1, 2:
		msg = &hall.Election{Request: uint64(r.IntN(9)), Alive: set(), Nodes: set(), Support: set(), Rotation: uint64(r.IntN(6))}
	case 3, 4, 5, 6:
		msg = &hall.Reply{Request: request, Root: 1, Yes: protocol.NewSet(from)}
	case 7:
		msg = &hall.Reply{Request: uint64(r.IntN(9)), Root: protocol.Rank(r.IntN(4)), Yes: set(), No: set(), Age: time.Duration(r.IntN(1e7))}
	case 8:
		msg = &hall.Release{Request: uint64(r.IntN(9)), Rotation: uint64(r.IntN(6))}
	case 9:
		return []protocol.Event{protocol.Campaign{Group: group}, protocol.Resign{Group: group}, protocol.Stopped{Group: group}, protocol.Unfit{}}[r.IntN(4)]
	default:
		return protocol.Tick{}
	}
	return &protocol.Receive{From: protocol.Ident{Rank: from, Inc: protocol.Inc(1 + r.IntN(20)/19)}, Message: msg, Delay: time.Duration(r.IntN(12)) * time.Millisecond}
}

// TestCopiesGoTheSameWay lets random events happen to a machine and to a copy of it made on the way: they must do the same, and
// encode the same, and a third that goes another way must not disturb them.
func TestCopiesGoTheSameWay(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		x := join(t, 1, 4, func(c *hall.Config) {
			switch seed % 4 {
			case 1:
				c.Arity = 2
				c.Timing = c.Timing.Fit(c.Window())
			case 2:
				c.Rotate = 3
			case 3:
				c.Calm = time.Second
			}
		})
		for range 100 {
			x.Now = x.Now.Add(time.Duration(r.IntN(20)) * time.Millisecond)
			x.step(anEvent(r, x.sent))
		}
		twin, other := x.m.Clone(), x.m.Clone()
		if !bytes.Equal(x.m.AppendState(nil), twin.(*hall.Machine).AppendState(nil)) {
			t.Fatalf("seed %d: a copy encodes differently", seed)
		}
		for i := range 100 {
			x.Now = x.Now.Add(time.Duration(r.IntN(20)) * time.Millisecond)
			ev := anEvent(r, x.sent)
			drivetest.Step(other, x.Now, anEvent(r, x.sent))
			b := show(drivetest.Step(twin, x.Now, ev))
			if a := show(x.step(ev)); a != b {
				t.Fatalf("seed %d, step %d: the machine does %s, its copy %s", seed, i, a, b)
			}
			if !bytes.Equal(x.m.AppendState(nil), twin.(*hall.Machine).AppendState(nil)) {
				t.Fatalf("seed %d, step %d: the two encode differently", seed, i)
			}
		}
	}
}

// show writes effects out, with what their messages say.
func show(e protocol.Effects) string {
	s := fmt.Sprint(e.Views, e.Horizons, e.Wake, e.Facts)
	for _, env := range e.Send {
		s += fmt.Sprintf(" %v:%+v", env.To, env.Message)
	}
	return s
}

func TestStatesThatDifferEncodeDifferently(t *testing.T) {
	seen := map[string]string{}
	add := func(name string, x *member) {
		key := string(x.m.AppendState(nil))
		if before, ok := seen[key]; ok {
			t.Errorf("%s encodes as %s", name, before)
		}
		seen[key] = name
	}
	add("fresh", join(t, 1, 4))
	x := join(t, 1, 4)
	x.supported(0, &hall.Election{Request: 1})
	add("locked", x)
	x.Now += ms
	x.step(protocol.Tick{})
	add("locked, later", x)
	x = join(t, 1, 4)
	x.lead(2)
	add("leads", x)
	x.step(protocol.Resign{Group: group})
	add("stops", x)
}
