package runtime

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
)

// A confirmation is what a peer has shown of the way from this member to it: packets carry echoes of those that came in.
type confirmation struct {
	// inc is the incarnation of the peer, and since when it was first heard in it.
	inc   protocol.Inc
	since protocol.Time
	// sent is when the last packet left that the peer has confirmed; zero: none.
	sent protocol.Time
}

// confirm takes note of what a packet that passed says of the way to its sender.
func (n *diagnostics) confirm(now protocol.Time, h *datagram.Header) {
	c := &n.confirmed[h.From.Rank]
	if c.since == 0 || c.inc != h.From.Inc {
		*c = confirmation{inc: h.From.Inc, since: now}
	}
	if at := h.Echo.Sent; at <= now && at > c.sent {
		c.sent = at
	}
}

// last returns since when a peer has confirmed nothing.
func (c *confirmation) last() protocol.Time { return max(c.since, c.sent) }

// An Unlisted is a host that has the cluster key and is in the council of its own configuration only.
type Unlisted struct {
	Name string
	From netip.AddrPort
	at   protocol.Time // of its last introduction
}

// unlistedFor is how long such a host is shown after its last introduction: it sends one each second, and one that was recorded must not count for
// ever.
const unlistedFor = time.Minute

// maxUnlisted is how many of those are remembered, and maxUnlistedEach how many with one address: a host with the key decides what its
// name is.
const (
	maxUnlisted     = 16
	maxUnlistedEach = 4
)

// unlistedHost takes note of a host that this member does not list.
func (n *diagnostics) unlistedHost(now protocol.Time, name string, from netip.AddrPort) {
	n.forgetUnlisted(now)
	u := Unlisted{name, from, now}
	i := slices.IndexFunc(n.unlisted, func(x Unlisted) bool { return x.Name == name })
	each := 0
	for _, x := range n.unlisted {
		if x.From.Addr() == from.Addr() {
			each++
		}
	}
	switch {
	case i >= 0:
		n.unlisted[i] = u
	case len(n.unlisted) < maxUnlisted && each < maxUnlistedEach:
		n.unlisted = append(n.unlisted, u)
	}
}

// forgetUnlisted forgets hosts that have not introduced themselves for long.
func (n *diagnostics) forgetUnlisted(now protocol.Time) {
	n.unlisted = slices.DeleteFunc(n.unlisted, func(x Unlisted) bool { return now.Sub(x.at) >= unlistedFor })
}

// membersField is the field of a summary that lists the names of the council.
const membersField = "members"

// omits returns whether a peer's summary lists the council without a member. It is false if that cannot be known, because
// the list was cut.
func omits(theirs *wire.Summary, member string) bool {
	for _, f := range theirs.Fields {
		if f.Name != membersField {
			continue
		}
		for entry := range strings.FieldsSeq(f.Value) {
			if name, _, _ := strings.Cut(entry, ":"); name == member {
				return false
			}
		}
		return !strings.HasSuffix(f.Value, "…") // which ends a value that was cut
	}
	return false
}

// Unlisted returns the hosts that have the cluster key and are in the council of their own configuration only. Like Peer it is for
// the loop's own goroutine.
func (p *NetPort) Unlisted() []Unlisted {
	p.diagnostics.forgetUnlisted(p.Clock())
	return slices.Clone(p.diagnostics.unlisted)
}
