package memory

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/transport/fault"
)

// member is a connection that notes what comes, and when.
type member struct {
	*Conn
	begun time.Time
	mu    sync.Mutex
	came  []string
}

func join(t *testing.T, n *Network, name string) *member {
	t.Helper()
	c, err := n.Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{Conn: c, begun: time.Now()}
	go func() {
		ps := transport.NewPackets(4)
		for {
			k, err := c.Read(ps)
			if err != nil {
				return
			}
			m.mu.Lock()
			for _, p := range ps[:k] {
				m.came = append(m.came, fmt.Sprintf("%s@%v", p.Data, time.Since(m.begun)))
			}
			m.mu.Unlock()
		}
	}()
	return m
}

func (m *member) say(t *testing.T, to *member, text string) {
	t.Helper()
	if _, err := m.Write([]transport.Packet{{Data: []byte(text), Addr: to.LocalAddr()}}); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, m *member, want ...string) {
	t.Helper()
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if fmt.Sprint(m.came) != fmt.Sprint(want) {
		t.Errorf("%v came, want %v", m.came, want)
	}
	m.came = nil
}

func TestDatagramsTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1, "a", "b")
		defer n.Close()
		a, b := join(t, n, "a"), join(t, n, "b")
		a.say(t, b, "now")
		expect(t, b, "now@0s")
		if err := n.Links().Set("a", "b", fault.Link{Delay: 5 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		a.say(t, b, "x")
		a.say(t, b, "y")
		b.say(t, a, "back")
		expect(t, a, "back@0s")
		time.Sleep(4 * time.Millisecond)
		expect(t, b)
		time.Sleep(2 * time.Millisecond)
		expect(t, b, "x@5ms", "y@5ms")
		// A faster link does not let what is sent later overtake.
		a.say(t, b, "slow")
		if err := n.Links().Set("a", "b", fault.Link{}); err != nil {
			t.Fatal(err)
		}
		a.say(t, b, "fast")
		expect(t, b)
		time.Sleep(5 * time.Millisecond)
		expect(t, b, "slow@11ms", "fast@11ms")
	})
}

func TestCutsAreOneWayAndLoseWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1, "a", "b")
		defer n.Close()
		a, b := join(t, n, "a"), join(t, n, "b")
		if _, err := n.Links().Do("link * * delay=5ms"); err != nil {
			t.Fatal(err)
		}
		a.say(t, b, "under way")
		if err := n.Links().Cut("a", "b"); err != nil {
			t.Fatal(err)
		}
		a.say(t, b, "lost")
		b.say(t, a, "heard")
		time.Sleep(time.Second)
		expect(t, b)
		expect(t, a, "heard@5ms")
		if err := n.Links().Heal("a", "b"); err != nil {
			t.Fatal(err)
		}
		a.say(t, b, "again")
		time.Sleep(time.Second)
		expect(t, b, "again@1.005s")
	})
}

func TestDuplicatesAndLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1, "a", "b")
		defer n.Close()
		a, b := join(t, n, "a"), join(t, n, "b")
		if err := n.Links().Set("a", "b", fault.Link{Duplicate: 1}); err != nil {
			t.Fatal(err)
		}
		a.say(t, b, "x")
		expect(t, b, "x@0s", "x@0s")
		if err := n.Links().Set("a", "b", fault.Link{Drop: 1}); err != nil {
			t.Fatal(err)
		}
		a.say(t, b, "y")
		expect(t, b)
	})
}

// A member that stops and starts again has a new connection on the same address.
func TestConnectionsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1, "a", "b")
		defer n.Close()
		a, b := join(t, n, "a"), join(t, n, "b")
		if _, err := n.Listen("b"); err == nil {
			t.Error("two connections of one member")
		}
		if _, err := n.Listen("c"); err == nil {
			t.Error("a connection of nobody")
		}
		b.Close()
		b.Close()
		a.say(t, b, "nobody hears")
		if n.Lost() != 1 {
			t.Errorf("%d lost, want 1", n.Lost())
		}
		again := join(t, n, "b")
		a.say(t, again, "hello")
		expect(t, again, "hello@0s")
		if again.LocalAddr() != b.LocalAddr() {
			t.Error("another address")
		}
		if _, err := b.Write(nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write after close: %v", err)
		}
		if _, err := b.Read(transport.NewPackets(1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read after close: %v", err)
		}
		if k, err := a.Write([]transport.Packet{{Addr: netip.MustParseAddrPort("10.0.0.9:7400")}, {Addr: again.LocalAddr()}}); k != 1 || err == nil {
			t.Errorf("%d sent, %v", k, err)
		}
	})
}

func TestRoomIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(1, "a", "b")
		defer n.Close()
		a := join(t, n, "a")
		b, err := n.Listen("b")
		if err != nil {
			t.Fatal(err)
		}
		for range depth + 10 {
			a.say(t, &member{Conn: b}, "x")
		}
		if n.Lost() != 10 {
			t.Errorf("%d lost, want 10", n.Lost())
		}
	})
}
