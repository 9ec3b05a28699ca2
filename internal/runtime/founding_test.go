package runtime

import (
	"context"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
)

const foundingRetry = 200 * time.Millisecond

// A beginning is the founding of a council of two by member a. The test is b, the clock and the network.
type beginning struct {
	now     protocol.Time
	founder *Founder
	socket  *line2
	peer    *wire.Founding
	reports []string
	// waited is called instead of each wait, with how many there were.
	waited func(n int)
	waits  int
}

// newBeginning makes a with its keys, and b with its own.
func newBeginning(t *testing.T, a, b *wire.Pairs) *beginning {
	t.Helper()
	m, err := founding.New(founding.Config{Me: 0, Quorums: protocol.Majority(2), Drawn: protocol.CouncilID{7}, Bootstrap: true, Retry: foundingRetry}, 1)
	if err != nil {
		t.Fatal(err)
	}
	g := &beginning{now: 1e9, socket: &line2{}, peer: wire.NewFounding(b), waited: func(int) {}}
	g.founder = &Founder{Machine: m, Codec: wire.NewFounding(a), Socket: g.socket, Names: []string{"a", "b"},
		Addrs: [][]netip.AddrPort{{addr(1)}, {addr(2)}}, Report: func(w string) { g.reports = append(g.reports, w) }}
	return g
}

func (g *beginning) Wait(d, _ time.Duration) {
	g.now = g.now.Add(min(d, foundingRetry/4)) // packets wake it
	g.waits++
	g.waited(g.waits)
}
func (g *beginning) Wake()         {}
func (g *beginning) Close() error  { return nil }
func (g *beginning) Precise() bool { return false }

// found runs the founding for a number of waits at most.
func (g *beginning) found(waits int) (protocol.CouncilID, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	then := g.waited
	g.waited = func(n int) {
		then(n)
		if n >= waits {
			cancel()
		}
	}
	return g.founder.Found(ctx, func() protocol.Time { g.now++; return g.now }, g, func([]byte) error { return nil })
}

// answer lets b answer the questions that it can open, and returns how many they were.
func (g *beginning) answer() (opened int) {
	for _, p := range g.socket.out {
		if _, m, r := g.peer.Open(p.Data); r == datagram.Accepted {
			opened++
			g.say(&founding.Tell{Nonce: m.(*founding.Ask).Nonce, Begins: true})
		}
	}
	g.socket.out = nil
	return opened
}

// say lets b send a message to a.
func (g *beginning) say(m protocol.Message) {
	for _, data := range g.peer.Seal(0, m) {
		g.socket.in = append(g.socket.in, transport.Packet{Data: data, Addr: addr(2)})
	}
}

// otherKey returns the keys of a and of b, where b has another key than a lists, and what a has to list.
func otherKey(t *testing.T) (a, b, right *wire.Pairs) {
	own, other := wiretest.Private(wiretest.Name(0)), identity.Draw()
	b = keysOf(t, 1, []identity.Private{other}, []identity.Public{own.Public()})
	return wiretest.Pairs(0, 2), b, keysOf(t, 0, []identity.Private{own}, []identity.Public{other.Public()})
}

func TestFoundingGoesOnWithOtherKeys(t *testing.T) {
	a, b, right := otherKey(t)
	g := newBeginning(t, a, b)
	g.waited = func(n int) {
		if opened := g.answer(); n <= 3 && opened > 0 {
			t.Error("b opened a question that was sealed for another key")
		}
		if n == 3 {
			g.founder.SetKeys(right, g)
		}
	}
	if id, err := g.found(50); err != nil || id != (protocol.CouncilID{7}) {
		t.Errorf("%v, %v: want an id once a has the right key of b", id, err)
	}
}

func TestFoundingNamesWhatKeepsAMemberFromAnswering(t *testing.T) {
	a, b, right := otherKey(t)
	g := newBeginning(t, a, b)
	g.waited = func(n int) {
		if n < 20 {
			g.say(&founding.Ask{Nonce: 1})
		} else {
			g.socket.in = nil
		}
		if n == 20 {
			g.founder.SetKeys(right, g)
		}
	}
	_, err := g.found(40)
	if first := g.reports[0]; !strings.Contains(first, `b uses a key that is not listed here`) || strings.Contains(first, "start all members") {
		t.Errorf("reports %q, want the key of b named", g.reports)
	}
	if last := g.reports[len(g.reports)-1]; !strings.Contains(last, "waits for b to name the council") || strings.Contains(last, "dropped") {
		t.Errorf("with the right keys a still reports %q", last)
	}
	if err == nil || !strings.Contains(err.Error(), "waits for b") {
		t.Errorf("Found returned %v", err)
	}
	g = newBeginning(t, keysOf(t, 0, []identity.Private{wiretest.Private(wiretest.Name(0))}, nil), b)
	if _, err := g.found(10); err == nil || !strings.Contains(err.Error(), "b is revoked here and cannot answer (remove it from the council") {
		t.Errorf("Found returned %v, want that b is revoked", err)
	}
}

// What is dropped while the council is founded is counted by its reason, as later.
func TestFoundingCountsWhatItDrops(t *testing.T) {
	a, b, _ := otherKey(t)
	g := newBeginning(t, a, b)
	member := make([]byte, 200)
	copy(member, "Rk")
	for _, data := range [][]byte{[]byte("junk"), member, make([]byte, 200)} {
		g.socket.in = append(g.socket.in, transport.Packet{Data: data, Addr: addr(9)})
	}
	g.say(&founding.Ask{Nonce: 1})
	_, _ = g.found(3)
	c := g.founder.Counts()
	want := map[string]uint64{"short": 1, "foreign": 1, "unknown key": 1, "unknown member key": 1}
	if !maps.Equal(c.Dropped, want) || c.PacketsIn != 4 || c.PacketsOut == 0 || c.BytesIn == 0 || c.BytesOut == 0 {
		t.Errorf("counted %+v, want the reasons %v", c, want)
	}
}

// A sender that keeps packets in the socket does not keep the member from asking.
func TestFloodDoesNotStopTheFounding(t *testing.T) {
	g := newBeginning(t, wiretest.Pairs(0, 2), wiretest.Pairs(1, 2))
	reads := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g.socket.taken = func() {
		g.now = g.now.Add(foundingRetry / 10)
		g.socket.in = append(g.socket.in, transport.Packet{Data: []byte("junk"), Addr: addr(9)})
		if reads++; reads >= 100 {
			cancel()
		}
	}
	_, _ = g.founder.Found(ctx, func() protocol.Time { return g.now }, g, func([]byte) error { return nil })
	if asked := g.answer(); asked < 8 {
		t.Errorf("a asked %d times in 10 intervals", asked)
	}
}
