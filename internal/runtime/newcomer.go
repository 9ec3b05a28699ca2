package runtime

import (
	"fmt"
	"net/netip"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
)

// This file says what keeps a host from joining, as far as its packets show it. It is for people: nothing depends on it. Anybody with
// the cluster key can send such packets, so they count only as long as the member is not heard.

// A StrangeOwner is a host that has answered under a key that this member does not trust.
type StrangeOwner struct {
	Key  identity.Public
	From netip.AddrPort
	// Why says why it was not believed.
	Why datagram.Reason
	At  protocol.Time
}

// noteStranger remembers who answered in vain. The key is that which the packet names, which only a packet that is sealed with the cluster key
// shows.
func (h *Herald) noteStranger(now protocol.Time, data []byte, why datagram.Reason, from netip.AddrPort) {
	s := &StrangeOwner{From: from, Why: why, At: now}
	s.Key, _ = wire.PartOwner(data)
	h.stranger.Store(s)
}

// Stranger returns the host that answered last and was not believed; nil if there is none. It may be called from any goroutine.
func (h *Herald) Stranger() *StrangeOwner { return h.stranger.Load() }

// String says what is wrong, and what to do.
func (s *StrangeOwner) String() string {
	switch s.Why {
	case datagram.UnknownKey, datagram.Forged:
		return fmt.Sprintf("%v answers with another cluster key: copy the key file of the council to this host", s.From)
	case datagram.Older:
		return fmt.Sprintf("%v runs another release: install the same one on both", s.From)
	case datagram.MemberKey:
		return fmt.Sprintf("%v answers under the key %s, which this host was not told to believe: compare it with 'regent keys show' there; "+
			"if it is right, let this host join again ('regent init --join' with that key, and an empty directory)", s.From, s.Key.Fingerprint())
	}
	return fmt.Sprintf("%v answers what cannot be read (%v)", s.From, s.Why)
}

// asked compares the key of a host that asks for the configuration with those that the council lists for the member at its address.
func (p *NetPort) asked(f *wire.Fetch, from netip.AddrPort) {
	r, ok := p.owners[from]
	switch {
	case !ok || r == p.Self:
	case f.Council != (protocol.CouncilID{}) && f.Council != p.Herald.Council:
		p.diagnostics.dropped(r, datagram.OtherCouncil, &wire.Packet{})
	case !p.Wire.Pairs().Lists(r, f.Key):
		p.diagnostics.dropped(r, datagram.MemberKey, &wire.Packet{SenderKey: f.Key.ID()})
	}
}
