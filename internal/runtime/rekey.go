package runtime

import (
	"net/netip"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
)

// Rename changes the incarnation that is sealed into packets. Messages that wait in batches are of the incarnation before, and leave
// under it.
func (p *NetPort) Rename(inc protocol.Inc) {
	p.Flush()
	p.Wire.SetIncarnation(inc)
	p.rekeyed()
}

func (p *NetPort) rekeyed() {
	if p.Rekeyed != nil {
		p.Rekeyed()
	}
}

// Restart makes the port that of another start of the member. What waits to be sent is of the one before, and is dropped.
func (p *NetPort) Restart(now protocol.Time, start protocol.StartBits) {
	for i := range p.peers {
		p.peers[i].batch.Reset()
	}
	p.Wire.Restart(now, datagram.Start(start))
	p.rekeyed()
	if p.Rates != nil {
		p.Rates.Reset() // the clocks of the others have gone on since the snapshot
	}
}

// SetAddrs says where a peer receives packets from now on.
func (p *NetPort) SetAddrs(peer protocol.Rank, addrs []netip.AddrPort) {
	for _, a := range p.Addrs[peer] {
		delete(p.owners, a)
	}
	p.own(peer, addrs)
	p.Addrs[peer] = addrs
	p.peers[peer].choice.Reset()
	p.rekeyed()
}

// SetKeys puts other keys in force. Packets that are on their way under keys that are gone count as lost.
func (p *NetPort) SetKeys(to *wire.Pairs) error {
	if err := p.Wire.SetKeys(to); err != nil {
		return err
	}
	if p.Founder != nil {
		p.Founder.Codec.SetKeys(to)
	}
	p.diagnostics.newKeys()
	p.rekeyed()
	return nil
}
