package runtime

import (
	"net/netip"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
)

// An Adoption is another configuration of the council, as far as the port knows it. All lists are by rank.
type Adoption struct {
	wire.Change
	Names   []string
	Addrs   [][]netip.AddrPort
	Summary *wire.Summary
}

// Adopt goes on under another configuration. What waits to be sent is of the one before, and leaves under it. It is called between a
// Step and the sending of its messages.
func (p *NetPort) Adopt(now protocol.Time, a *Adoption) error {
	p.Flush()
	if err := p.Wire.Adopt(now, &a.Change); err != nil {
		return err
	}
	n := len(a.Names)
	p.Self, p.Names, p.Addrs, p.Summary = a.Self, a.Names, a.Addrs, a.Summary
	before := p.peers
	p.peers = make([]outbox, n)
	for i := range p.peers {
		if i < len(before) && a.Stay.Has(protocol.Rank(i)) {
			p.peers[i] = before[i]
		} else {
			p.peers[i].batch = p.Wire.NewBatch()
		}
	}
	clear(p.owners)
	for r, addrs := range a.Addrs {
		p.own(protocol.Rank(r), addrs)
	}
	if p.Rates != nil {
		p.Rates.Adopt(n, n-a.Absent.Len(), a.Rho, a.Stay)
	}
	if f := p.Founder; f != nil {
		f.Codec.SetKeys(a.Pairs)
		f.Names, f.Addrs, f.refused = a.Names, a.Addrs, nil
	}
	p.diagnostics.adopt(a.Names, a.Stay)
	p.flood.overtaken = true
	p.rekeyed()
	return nil
}

// adopt keeps what is known of members that stay.
func (n *diagnostics) adopt(names []string, stay protocol.Set) {
	fresh := newDiagnostics(names, n.log)
	for i := range min(len(names), len(n.names)) {
		if !stay.Has(protocol.Rank(i)) {
			continue
		}
		fresh.problems[i], fresh.incs[i], fresh.seen[i], fresh.nameless[i] = n.problems[i], n.incs[i], n.seen[i], n.nameless[i]
		fresh.silent[i], fresh.unproven[i], fresh.drops[i], fresh.confirmed[i] = n.silent[i], n.unproven[i], n.drops[i], n.confirmed[i]
	}
	fresh.strangers, fresh.unlisted, fresh.listened = n.strangers, n.unlisted, n.listened
	*n = fresh
}

// Reform has the loop go on as the member of another rank, under another bound on drift, or in another council: then the machines of groups that are not the council's are
// made anew. What they promised is over for the new ones when they have waited, as after a restart. It is for the loop's own goroutine.
func (l *Loop) Reform(now protocol.Time, self protocol.Rank, rho protocol.Rho, anew bool) {
	l.Self, l.Rho = self, rho
	if !anew {
		return
	}
	l.renamed = now
	l.Later(func(now protocol.Time) {
		for d := range l.onDemand {
			d.abandon(now)
		}
		for d := range l.onDemand {
			d.openAgain(now)
		}
	})
}
