package transport_test

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/datagram"
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
