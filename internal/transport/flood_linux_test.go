package transport_test

import (
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
)

// BenchmarkFlood sends a member forged packets over loopback, 100,000 per second, each from a start that it has never
// heard of: the most expensive kind. It reports the share of a core that taking and dropping them costs the member, its
// system calls included, and how many the kernel lost before it.
func BenchmarkFlood(b *testing.B) {
	const rate, burst = 100_000, 100
	conn, err := transport.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		b.Fatal(err)
	}
	end := member(b, 0)
	type result struct {
		dropped uint64
		cpu     time.Duration
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin := threadTime()
		ps := transport.NewPackets(64)
		var p wire.Packet
		for {
			n, err := conn.Read(ps)
			if err != nil {
				c := end.Counts()
				done <- result{c.Dropped(), threadTime() - begin}
				return
			}
			for i := range ps[:n] {
				end.Open(0, ps[i].Data, &p)
			}
		}
	}()
	forged := forge(b, conn.LocalAddr(), burst)
	out, err := transport.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	sent := 0
	b.ResetTimer()
	for start := time.Now(); sent < b.N; {
		// wall clock: this is a benchmark of real sockets
		time.Sleep(time.Until(start.Add(time.Duration(sent) * time.Second / rate)))
		for i := range forged {
			forged[i].Data[40]++ // in the random bits of the start
		}
		n, err := out.Write(forged[:min(burst, b.N-sent)])
		if err != nil {
			b.Fatal(err)
		}
		sent += n
	}
	took := b.Elapsed()
	// wall clock: let the last ones arrive
	time.Sleep(10 * time.Millisecond)
	conn.Close()
	r := <-done
	b.ReportMetric(float64(sent)/took.Seconds(), "packets/s")
	b.ReportMetric(float64(r.cpu)/float64(r.dropped), "ns-cpu/packet")
	b.ReportMetric(100*float64(r.cpu)/float64(took), "%core")
	b.ReportMetric(100*(1-float64(r.dropped)/float64(sent)), "%lost")
}

func member(b *testing.B, rank protocol.Rank) *wire.Endpoint {
	b.Helper()
	ring, err := wire.NewKeyring([]byte("the key of this council"))
	if err != nil {
		b.Fatal(err)
	}
	e, err := wire.NewEndpoint(0, wire.Config{Config: datagram.Config{Self: protocol.Ident{Rank: rank, Inc: 1}, Members: 3, Delta: time.Second}, Pairs: wiretest.PairsOf(rank, 3, ring)})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// forge returns packets that look right but for their start.
func forge(b *testing.B, to netip.AddrPort, n int) []transport.Packet {
	b.Helper()
	from := member(b, 1)
	var ps []transport.Packet
	for range n {
		d := from.Stamp(0, 0, 0)
		packet, err := from.Seal(nil, &d, 0, make([]byte, 100))
		if err != nil {
			b.Fatal(err)
		}
		ps = append(ps, transport.Packet{Data: packet, Addr: to})
	}
	return ps
}

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The gates of councils of any size fit into the room of kernels that allow the least, also while one replaces another.
func TestKernelTakesTheGatesOfLargeCouncils(t *testing.T) {
	runtime.LockOSThread() // in a network of its own, which ends with the thread
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return // other users cannot have a network of their own
	}
	room := transport.SmallestRoom
	if err := os.WriteFile("/proc/sys/net/core/optmem_max", []byte("20480"), 0); err != nil {
		t.Logf("this kernel has one limit for all networks, which is tried as it is: %v", err)
		room = 0
	}
	conn, err := transport.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	socket := conn.(transport.Filterer)
	if got := socket.Room(); room != 0 && got != room {
		t.Fatalf("the room is %d, want %d", got, room)
	}
	for _, c := range []struct{ members, odds int }{{31, 2}, {300, 1}, {1000, 0}} {
		me := council(t, 0, c.members)
		var p wire.Packet
		for r := 1; r < c.members; r++ {
			from := council(t, protocol.Rank(r), c.members)
			d := from.Stamp(0, 0, 0)
			packet, err := from.Seal(nil, &d, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if v := me.Open(0, packet, &p); v.Reason.Dropped() {
				t.Fatalf("member %d of %d is %v", r, c.members, v.Reason)
			}
		}
		for _, known := range []uint32{1, 32, 31} { // one replaces another
			gate := me.Gate(wire.Chances{Known: known, Unknown: 64}, socket.Room())
			if err := socket.SetFilter(gate); err != nil || room != 0 && known > 1 && len(gate.Odds) != c.odds {
				t.Errorf("%d members: %d odds, %v", c.members, len(gate.Odds), err)
			}
		}
	}
}

// council returns a member of a council in which all speak with the first one only.
func council(t *testing.T, rank protocol.Rank, members int) *wire.Endpoint {
	t.Helper()
	c := wire.PairsConfig{Ring: wire.PublicKeyring(), Self: rank, Private: []identity.Private{wiretest.Key(rank, 0)}, Members: make([]wire.Identity, members)}
	for r := range c.Members {
		c.Members[r].Name = wiretest.Name(protocol.Rank(r))
		if rank == 0 || r == 0 {
			c.Members[r].Keys = []identity.Public{wiretest.Key(protocol.Rank(r), 0).Public()}
		}
	}
	pairs, err := wire.NewPairs(c)
	if err != nil {
		t.Fatal(err)
	}
	e, err := wire.NewEndpoint(0, wire.Config{Config: datagram.Config{Self: protocol.Ident{Rank: rank, Inc: 1}, Members: members, Delta: time.Second}, Pairs: pairs})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
