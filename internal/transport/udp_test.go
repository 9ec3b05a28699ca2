package transport

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

func listen(t testing.TB, addr string) Conn {
	t.Helper()
	c, err := Listen(netip.MustParseAddrPort(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// patience is how long a test waits for a datagram that should be there.
const patience = 10 * time.Second

// collect reads until it has n datagrams.
func collect(t testing.TB, c Conn, n int) []Packet {
	t.Helper()
	defer time.AfterFunc(patience, func() { c.Close() }).Stop()
	var all []Packet
	ps := NewPackets(16)
	for len(all) < n {
		k, err := c.Read(ps)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range ps[:k] {
			all = append(all, Packet{bytes.Clone(p.Data), p.Addr})
		}
	}
	return all
}

// A person who starts the agent with the file of another host, or twice, learns what to correct.
func TestAddressThatCannotBeUsedIsExplained(t *testing.T) {
	taken := listen(t, "127.0.0.1:0").LocalAddr()
	for addr, want := range map[netip.AddrPort]string{
		netip.MustParseAddrPort("192.0.2.1:7400"): "(no interface of this host has the address: correct the name",
		taken: "(another process has the port: stop it",
	} {
		if c, err := Listen(addr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", addr, err, want)
			if err == nil {
				c.Close()
			}
		}
	}
}

func TestDatagramsGoBothWays(t *testing.T) {
	for _, family := range []string{"127.0.0.1:0", "[::1]:0"} {
		a, b := listen(t, family), listen(t, family)
		for _, pair := range [][2]Conn{{a, b}, {b, a}} {
			from, to := pair[0], pair[1]
			var ps []Packet
			for i := range 3 * 64 { // more than one system call takes
				ps = append(ps, Packet{fmt.Appendf(nil, "datagram %d", i), to.LocalAddr()})
			}
			if n, err := from.Write(ps); n != len(ps) || err != nil {
				t.Fatalf("%s: %d of %d went out, %v", family, n, len(ps), err)
			}
			for i, p := range collect(t, to, len(ps)) {
				if string(p.Data) != fmt.Sprintf("datagram %d", i) || p.Addr != from.LocalAddr() {
					t.Fatalf("%s: datagram %d is %q from %v", family, i, p.Data, p.Addr)
				}
			}
		}
	}
}

func TestLongAndEmptyDatagrams(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	long := bytes.Repeat([]byte("x"), 60_000)
	if _, err := a.Write([]Packet{{long, b.LocalAddr()}, {nil, b.LocalAddr()}, {[]byte("y"), b.LocalAddr()}}); err != nil {
		t.Fatal(err)
	}
	all := collect(t, b, 3)
	if !bytes.Equal(all[0].Data, long) || len(all[1].Data) != 0 || string(all[2].Data) != "y" {
		t.Errorf("%d, %d and %d bytes came", len(all[0].Data), len(all[1].Data), len(all[2].Data))
	}
}

// One socket on :: serves both families, and shows IPv4 peers with their IPv4 addresses.
func TestDualStackSocket(t *testing.T) {
	both, four, six := listen(t, "[::]:0"), listen(t, "127.0.0.1:0"), listen(t, "[::1]:0")
	port := both.LocalAddr().Port()
	if _, err := four.Write([]Packet{{[]byte("4"), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}}); err != nil {
		t.Fatal(err)
	}
	if p := collect(t, both, 1)[0]; string(p.Data) != "4" || p.Addr != four.LocalAddr() {
		t.Errorf("%q from %v, want it from %v", p.Data, p.Addr, four.LocalAddr())
	}
	if _, err := six.Write([]Packet{{[]byte("6"), netip.AddrPortFrom(netip.MustParseAddr("::1"), port)}}); err != nil {
		t.Fatal(err)
	}
	if p := collect(t, both, 1)[0]; string(p.Data) != "6" || p.Addr != six.LocalAddr() {
		t.Errorf("%q from %v, want it from %v", p.Data, p.Addr, six.LocalAddr())
	}
	// And answers either, in one call.
	if n, err := both.Write([]Packet{{[]byte("to 4"), four.LocalAddr()}, {[]byte("to 6"), six.LocalAddr()}}); n != 2 || err != nil {
		t.Fatalf("%d went out, %v", n, err)
	}
	for want, c := range map[string]Conn{"to 4": four, "to 6": six} {
		if got := string(collect(t, c, 1)[0].Data); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A datagram that cannot be sent does not keep the others back.
func TestOneBadDestinationLosesOneDatagram(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	good := Packet{[]byte("good"), b.LocalAddr()}
	for name, bad := range map[string]Packet{
		"another family": {[]byte("x"), netip.MustParseAddrPort("[2001:db8::1]:9")},
		"no address":     {[]byte("x"), netip.AddrPort{}},
		"too long":       {make([]byte, 65_535), b.LocalAddr()},
	} {
		n, err := a.Write([]Packet{good, bad, good, bad, good})
		if n != 3 || err == nil || !strings.Contains(err.Error(), "send to "+bad.Addr.String()) {
			t.Errorf("%s: %d went out, %v", name, n, err)
		}
		collect(t, b, 3)
	}
}

func TestCloseEndsRead(t *testing.T) {
	c := listen(t, "127.0.0.1:0")
	errs := make(chan error)
	go func() {
		_, err := c.Read(NewPackets(1))
		errs <- err
	}()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-errs; !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v, want %v", err, net.ErrClosed)
	}
	if _, err := c.Write([]Packet{{nil, c.LocalAddr()}}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write: error %v, want %v", err, net.ErrClosed)
	}
}

func TestListenSaysWhatIsWrong(t *testing.T) {
	if _, err := Listen(netip.AddrPort{}); err == nil || !strings.Contains(err.Error(), "give an address") {
		t.Errorf("error %v", err)
	}
	c := listen(t, "127.0.0.1:0")
	if _, err := Listen(c.LocalAddr()); err == nil || !strings.Contains(err.Error(), c.LocalAddr().String()) {
		t.Errorf("error %v", err)
	}
}

// A loop that must not wait reads through a pump, is told when to look, and loses what it has no room for.
func TestPumpKeepsWhatFits(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	woken := make(chan struct{}, 1)
	wake := func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	p := NewPump(b, 4, 100, wake)
	ps := NewPackets(8)
	if n, err := p.TryRead(ps); n != 0 || err != nil {
		t.Fatalf("%d, %v, and nothing was sent", n, err)
	}
	out := []Packet{{make([]byte, 101), b.LocalAddr()}}
	for i := range 6 {
		out = append(out, Packet{[]byte{byte(i)}, b.LocalAddr()})
	}
	if _, err := a.Write(out); err != nil {
		t.Fatal(err)
	}
	for p.Lost() < 3 { // one that is too long, and two that find no room
		<-woken
	}
	n, err := p.TryRead(ps)
	if n != 4 || err != nil {
		t.Fatalf("%d datagrams, %v", n, err)
	}
	for i, q := range ps[:n] {
		if !bytes.Equal(q.Data, []byte{byte(i)}) || q.Addr != a.LocalAddr() {
			t.Errorf("datagram %d is %v from %v", i, q.Data, q.Addr)
		}
	}
	if _, err := a.Write(out[1:2]); err != nil {
		t.Fatal(err)
	}
	for n = 0; n == 0; n, err = p.TryRead(ps) {
		<-woken
	}
	if n != 1 || err != nil {
		t.Fatalf("%d datagrams, %v: buffers are not used again", n, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.TryRead(ps); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v after close", err)
	}
}

// One goroutine may read while another writes.
func TestReadAndWriteAtOnce(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	const rounds = 500
	var wg sync.WaitGroup
	echo := func(c Conn, to netip.AddrPort, first bool) {
		ps := NewPackets(4)
		if first {
			if _, err := c.Write([]Packet{{[]byte("ball"), to}}); err != nil {
				t.Error(err)
			}
		}
		for n := 0; n < rounds; n++ {
			if _, err := c.Read(ps[:1]); err != nil {
				t.Error(err)
				return
			}
			if _, err := c.Write([]Packet{{ps[0].Data, to}}); err != nil {
				t.Error(err)
			}
		}
	}
	wg.Go(func() { echo(a, b.LocalAddr(), true) })
	wg.Go(func() { echo(b, a.LocalAddr(), false) })
	wg.Wait()
}
