package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// GuardianSpec is how the guardians of the members behave: processes beside them that outlive them, and report their death to the others. All
// of a spec's zero value is a world without guardians.
type GuardianSpec struct {
	// Message makes what a machine gets for a report; nil: there are no guardians. In a world with ports the ports make it.
	Message func(obituary.Report) protocol.Message
	// Detect is how long after a death the first report leaves. Repeat is how often it is sent, and Every how long apart. Late is how often one of
	// these stays on its way for as long as Tail says, beside what its link does.
	Detect Delay
	Repeat int
	Every  Delay
	Late   Odds
	Tail   Delay
	// Killed is how often a guardian dies with its member, as with the cgroup of both.
	Killed Odds
	// Outlive is how often the program of a group outlives its member: the guardian keeps the group, and the program acts until the end of the lease.
	Outlive Odds
	// Anew is how often the guardian of a start before that which has died reports, too: it was held up until now.
	Anew Odds
}

// A Mourner is a port that makes the report of a guardian about its member.
type Mourner interface {
	// Obituary returns the packet that tells another member that this one is dead; nil if there is none.
	Obituary(to protocol.Rank, r *obituary.Report) []byte
}

// A Prover is a machine that gives proofs.
type Prover interface {
	// Proved returns the instant of the member's clock until which a proof may be believed that it has given.
	Proved() protocol.Time
}

// A guardian is one that has something to report.
type guardian struct {
	m      *member
	host   uint32 // the guardian is gone once the host is another one
	who    protocol.Ident
	by     origin
	proved protocol.Time
	parts  []obituary.Report
	// packets are those of a world with ports, by receiver.
	packets [][][]byte
}

// mourn lets the guardian of a member that is about to go down know what it knows then.
func (w *World) mourn(m *member) {
	s := &w.config.Guardian
	if s.Message == nil || m.inc == 0 || m.as != m.inc || m.dice.Hit(s.Killed) {
		return
	}
	g := &guardian{m: m, host: m.hosted, who: protocol.Ident{Rank: m.rank, Inc: m.inc}, by: m.origin()}
	p, _ := m.machine.(Prover)
	if p == nil {
		w.fail(fmt.Errorf("contract: %v has a guardian, and does not say which proofs it has given", m.rank))
		return
	}
	g.proved = p.Proved()
	g.parts = w.report(m)
	if m.port != nil {
		p, ok := m.port.(Mourner)
		if !ok {
			return
		}
		g.packets = make([][][]byte, len(w.members))
		for r := range w.members {
			for i := range g.parts {
				if packet := p.Obituary(protocol.Rank(r), &g.parts[i]); r != int(m.rank) && packet != nil {
					g.packets[r] = append(g.packets[r], packet)
				}
			}
		}
	}
	if old := m.mourned; old != nil && m.dice.Hit(s.Anew) {
		w.At(w.now.Add(m.dice.Draw(s.Detect)), func() { w.sendReports(old) })
	}
	m.mourned = g
	w.At(w.now.Add(m.dice.Draw(s.Detect)), func() { w.reportDeath(g) })
}

// report returns what a guardian reports: the groups whose programs live on are kept.
func (w *World) report(m *member) []obituary.Report {
	s := &w.config.Guardian
	all := obituary.Report{}
	for i := range m.views {
		v := &m.views[i]
		if v.Domain == protocol.Quorum && v.Leader.Rank == m.rank && m.dice.Hit(s.Outlive) {
			all.Kept = append(all.Kept, v.Group)
			w.record(m, EvOutlive, func(r *Record) { r.Dom, r.Group = v.Domain, v.Group })
		}
	}
	slices.Sort(all.Kept)
	all.Kept = slices.Compact(all.Kept)
	// Packets are short, so that most reports have several parts.
	return obituary.Split(&all, obituary.Overhead+40)
}

// reportDeath sends the reports, once every proof that the dead member has given is over.
func (w *World) reportDeath(g *guardian) {
	if g.m.hosted != g.host {
		return
	}
	if at := g.m.clock.Reach(w.now, g.proved); g.m.clock.At(w.now) < g.proved {
		if at != Forever {
			w.At(max(at, w.now.Add(time.Microsecond)), func() { w.reportDeath(g) })
		}
		return
	}
	s := &w.config.Guardian
	w.record(g.m, EvReport, func(r *Record) { r.Dom, r.Peer = protocol.Quorum, g.who })
	at := w.now
	for range max(1, s.Repeat) {
		w.At(at, func() { w.sendReports(g) })
		at = at.Add(g.m.dice.Draw(s.Every))
		if g.m.dice.Hit(s.Late) {
			w.At(w.now.Add(g.m.dice.Draw(s.Tail)), func() { w.sendReports(g) })
		}
	}
}

// sendReports sends each report once to each other member, and in a world without ports to the member that has come back, too.
func (w *World) sendReports(g *guardian) {
	if g.m.hosted != g.host {
		return
	}
	for r := range w.members {
		to := protocol.Rank(r)
		if g.packets != nil {
			for _, p := range g.packets[r] {
				w.carry(envelope{from: g.who, sent: w.now, data: p, by: g.by}, to)
			}
			continue
		}
		for i := range g.parts {
			w.carry(envelope{from: g.who, sent: w.now, msg: w.config.Guardian.Message(g.parts[i]), by: g.by}, to)
		}
	}
}
