package wire

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// BenchmarkSealOpen seals and opens a packet of 100 bytes of payload that nothing is decoded from.
func BenchmarkSealOpen(b *testing.B) {
	x, y := endpoint(b, 0, 5), endpoint(b, 1, 9)
	d := stamped(x, y, 0)
	payload := appendItem(nil, 9999, 0, make([]byte, 100-4))
	buf := make([]byte, 0, DefaultMTU)
	var p Packet
	b.ReportAllocs()
	for b.Loop() {
		d.Seq++
		packet, err := x.Seal(buf, d, 0, payload)
		if err != nil {
			b.Fatal(err)
		}
		if r := y.Open(0, packet, &p).Reason; r != datagram.Accepted {
			b.Fatal(r)
		}
	}
}

// BenchmarkHotMessage is what a renewal costs: encode, seal, open, decode.
func BenchmarkHotMessage(b *testing.B) {
	x, y := endpoint(b, 0, 5), endpoint(b, 1, 9)
	d, m, batch := stamped(x, y, 0), &hot{Delta: 75e6, Round: 3, Start: 1e15}, x.NewBatch()
	buf := make([]byte, 0, DefaultMTU)
	var p Packet
	b.ReportAllocs()
	for b.Loop() {
		d.Seq++
		m.Seq = d.Seq
		batch.Reset()
		if err := batch.Add(0, m); err != nil {
			b.Fatal(err)
		}
		payload, _ := batch.Next()
		packet, err := x.Seal(buf, d, 0, payload)
		if err != nil {
			b.Fatal(err)
		}
		if r := y.Open(0, packet, &p).Reason; r != datagram.Accepted || p.Messages[0].Message.(*hot).Seq != d.Seq {
			b.Fatal(r)
		}
	}
}

// BenchmarkForged drops packets of strangers. It reports the share of a core that 100,000 of them per second cost,
// sockets aside.
func BenchmarkForged(b *testing.B) {
	x, y := endpoint(b, 0, 5), endpoint(b, 1, 9)
	known := send(b, x, y, 1, &hot{})
	if r := y.Open(0, bytes.Clone(known), new(Packet)).Reason; r != datagram.Accepted {
		b.Fatal(r)
	}
	for _, c := range []struct {
		name  string
		forge func(packet []byte, i int)
		want  datagram.Reason
	}{
		{"noise", func(p []byte, i int) { p[0] = 0 }, datagram.Foreign},
		{"key", func(p []byte, i int) { p[offKey] ^= 1 }, datagram.UnknownKey},
		{"start", func(p []byte, i int) { p[offNonce], p[offNonce+1] = byte(i), byte(i>>8)|0x80; p[offNonce+2]++ }, datagram.Forged},
		{"tag", func(p []byte, i int) { p[len(p)-1]++ }, datagram.Forged},
	} {
		b.Run(c.name, func(b *testing.B) {
			packet, buf := bytes.Clone(known), make([]byte, len(known))
			var p Packet
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				copy(buf, packet)
				c.forge(buf, i)
				i++
				if r := y.Open(0, buf, &p).Reason; r != c.want {
					b.Fatal(r)
				}
			}
			per := float64(b.Elapsed()) / float64(b.N)
			b.ReportMetric(100*per*100_000/float64(time.Second), "%core@100k/s")
		})
	}
}

// Sealing and opening must not allocate when nothing is new, even if messages are decoded.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	x, y := endpoint(t, 0, 5), endpoint(t, 1, 9)
	d, m, batch := stamped(x, y, 0), &hot{Delta: 75e6, Round: 3}, x.NewBatch()
	buf := make([]byte, 0, DefaultMTU)
	var p Packet
	allocs := testing.AllocsPerRun(1000, func() {
		d.Seq++
		batch.Reset()
		if err := batch.Add(0, m); err != nil {
			t.Fatal(err)
		}
		payload, _ := batch.Next()
		packet, err := x.Seal(buf, d, 0, payload)
		if err != nil {
			t.Fatal(err)
		}
		if r := y.Open(0, packet, &p).Reason; r != datagram.Accepted || len(p.Messages) != 1 {
			t.Fatal(r)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for a packet with a message", allocs)
	}
}

// A flood of forged packets must not make a member's memory grow.
func TestForgedPacketsDoNotGrowMemory(t *testing.T) {
	x, y := endpoint(t, 0, 5), endpoint(t, 1, 9)
	packet := send(t, x, y, 1, &hot{})
	packet[len(packet)-1]++
	var p Packet
	flood := func() uint64 {
		for i := range 20_000 {
			packet[offNonce], packet[offNonce+1], packet[offFromInc+3] = byte(i), byte(i>>8), byte(i)
			if r := y.Open(protocol.Time(i), packet, &p).Reason; r != datagram.Forged {
				t.Fatal(r)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := flood()
	if after := flood(); after > before+100_000 {
		t.Errorf("20,000 forged packets left %d bytes behind", after-before)
	}
}
