package runtime

import "github.com/regentproject/regent/internal/datagram"

// PacketCounts says how many packets a member has sent and received, and how many of them it has dropped, for status and metrics.
type PacketCounts struct {
	PacketsIn, PacketsOut, BytesIn, BytesOut uint64
	// Dropped is by reason.
	Dropped map[string]uint64
}

// PacketCounts returns what went through the port, the founding of the council included. counts is from the loop's own goroutine.
func (p *NetPort) PacketCounts(counts *datagram.Counts) PacketCounts {
	var out PacketCounts
	if p.Founder != nil {
		out = p.Founder.Counts()
	}
	out.traffic(&p.traffic)
	for r, n := range counts.Packets {
		out.drop(datagram.Reason(r), n)
	}
	return out
}

// traffic adds packets and bytes.
func (c *PacketCounts) traffic(t *Traffic) {
	c.PacketsIn += t.PacketsIn.Load()
	c.PacketsOut += t.PacketsOut.Load()
	c.BytesIn += t.BytesIn.Load()
	c.BytesOut += t.BytesOut.Load()
}

// drop adds packets that met with a reason, if it is one to drop them for.
func (c *PacketCounts) drop(r datagram.Reason, n uint64) {
	if !r.Dropped() || n == 0 {
		return
	}
	if c.Dropped == nil {
		c.Dropped = make(map[string]uint64)
	}
	c.Dropped[r.String()] += n
}

// Metrics calls put with each count as a metric of Prometheus; labels are names and values in turn.
func (c *PacketCounts) Metrics(put func(name, help string, value float64, labels ...string)) {
	const packets, bytes = "packets", "bytes of packets"
	put("regent_packets_total", packets, float64(c.PacketsIn), "direction", "in")
	put("regent_packets_total", packets, float64(c.PacketsOut), "direction", "out")
	put("regent_bytes_total", bytes, float64(c.BytesIn), "direction", "in")
	put("regent_bytes_total", bytes, float64(c.BytesOut), "direction", "out")
	for why, n := range c.Dropped {
		put("regent_dropped_total", "packets that were dropped, by reason", float64(n), "reason", why)
	}
}
