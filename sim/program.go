package sim

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// ProgramSpec says how the programs behave that lead groups of the domains Quorum and Local. One runs at each member
// for each group that the member leads, from the view that says so until it has stopped.
type ProgramSpec struct {
	// Act is how long a program waits between two acts. Before each it reads its lease, and acts only if it still leads.
	// Without it programs do not act.
	Act Delay
	// Announce is how long a program waits between two values that it announces, of which the first follows its start. Without it programs
	// have no value.
	Announce Delay
	// Stop is how long it takes to stop after it was asked to, or after its lease was lost.
	Stop Delay
	// Stubborn is how often a program that is asked to stop never does. It still acts only under its lease.
	Stubborn Odds
	// Within is how long after a program was asked to stop the driver ends its renewals, with Lapse, if it has not stopped; zero: never.
	Within time.Duration
	// Again is how long a member waits before it campaigns: after its start, and once more after its program stopped or it
	// resigned without one. The member does not campaign again if Again.Max is zero.
	Again Delay
	// Lengths are those of leases that programs want. Each campaign draws one; without any it asks for the council's.
	Lengths []time.Duration
	// Reader makes what a member's programs read their leases by; nil for one that reads views and horizons plainly.
	Reader func(Boot) Reader
}

func (s *ProgramSpec) reader(b Boot) Reader {
	if s.Reader != nil {
		return s.Reader(b)
	}
	return &plainReader{self: b.Self}
}

// A Reader is what one incarnation of a member publishes its leases to, and what its programs read them by.
type Reader interface {
	// Publish takes a view, Move a horizon, in the order in which the machine gave them.
	Publish(v *protocol.View)
	Move(h protocol.Horizon)
	// Act is a program's action at an instant of its own choice: read the lease of the group in the given domain by the
	// clock, and if it still runs do something under it. It returns the fact that says what was done (an edict), and false
	// if the lease is over. clock may be read several times; each reading is greater than the one before.
	Act(clock func() protocol.Time, d protocol.Domain, g protocol.Group) (protocol.Fact, bool)
}

// A program leads one group.
type program struct {
	domain   protocol.Domain
	group    protocol.Group
	tenure   uint64
	stopping bool
	stubborn bool
	values   int  // that it has announced
	next     bool // the group was won again before this program stopped
	gone     bool
}

// publish makes a view of m known, and starts or stops the program that it is about.
func (w *World) publish(m *member, now protocol.Time, v *protocol.View) {
	m.reader.Publish(v)
	old := m.view(v.Domain, v.Group)
	if old == nil {
		m.views = append(m.views, *v)
	} else {
		*old = *v
	}
	w.line = Record{T: w.now, Node: m.rank, Inc: m.inc}
	r := &w.line
	r.Ev, r.Dom, r.Group, r.Peer, r.Term, r.Tenure = EvView, v.Domain, v.Group, v.Leader, v.Term, v.Tenure
	r.At, r.Until, r.Members, r.Why = now, v.Until, v.Support, w.cause(v)
	r.Detail = v
	w.emit()
	if v.Domain == protocol.Quorum || v.Domain == protocol.Local {
		w.manage(m, v)
	}
}

// cause words the cause of a view, unless nobody reads it.
func (w *World) cause(v *protocol.View) string {
	if !w.config.Words {
		return v.Cause.Code.String()
	}
	return v.Cause.String()
}

// view returns m's view of a group.
func (m *member) view(d protocol.Domain, g protocol.Group) *protocol.View {
	for i := range m.views {
		if v := &m.views[i]; v.Domain == d && v.Group == g {
			return v
		}
	}
	return nil
}

// program returns m's program of a group.
func (m *member) program(d protocol.Domain, g protocol.Group) *program {
	for _, p := range m.programs {
		if p.domain == d && p.group == g && !p.gone {
			return p
		}
	}
	return nil
}

// runs says whether m runs a program of the group, in any domain.
func (m *member) runs(g protocol.Group) bool {
	for _, p := range m.programs {
		if p.group == g && !p.gone {
			return true
		}
	}
	return false
}

// manage starts a program when its member begins to lead, and makes it stop when it is asked to or the lease is lost.
func (w *World) manage(m *member, v *protocol.View) {
	p := m.program(v.Domain, v.Group)
	leads := v.Leader.Rank == m.rank && v.Tenure != 0 // without a tenure it was an earlier incarnation
	switch {
	case leads && p == nil && !v.Stop:
		p = &program{domain: v.Domain, group: v.Group, tenure: v.Tenure}
		m.programs = append(m.programs, p)
		w.programLine(m, p, "start")
		w.actLater(m, p)
		w.announceLater(m, p)
	case leads && p == nil && v.Stop:
		w.command(m, protocol.Stopped{Group: v.Group}, w.now.Add(m.dice.Between(1, 1000)))
	case p == nil:
	case leads && v.Tenure != p.tenure && !v.Stop:
		p.next = true
		w.quit(m, p)
	case !leads || v.Stop:
		p.next = false
		w.quit(m, p)
	}
}

// quit asks a program to stop. One that lost its lease stops even if it is stubborn: nothing waits for it.
func (w *World) quit(m *member, p *program) {
	v := m.view(p.domain, p.group)
	lost := v.Leader.Rank != m.rank || v.Tenure != p.tenure
	if p.stopping && !(p.stubborn && lost) {
		return
	}
	if !p.stopping {
		p.stubborn = m.dice.Hit(w.config.Program.Stubborn)
		w.programLine(m, p, "stopping")
		w.lapseLater(m, p)
	}
	p.stopping = true
	if p.stubborn && !lost {
		return
	}
	p.stubborn = false
	e := w.queue.Push(w.now.Add(max(1, m.dice.Draw(w.config.Program.Stop))))
	e.kind, e.to, e.life = evQuit, m.rank, m.life
	e.cmd = programEvent{program: p}
}

// lapseLater has the renewals of a program ended that does not stop in time. Whether it has by then, the machine must know itself.
func (w *World) lapseLater(m *member, p *program) {
	if within := w.config.Program.Within; within > 0 {
		w.command(m, protocol.Lapse{Group: p.group, Tenure: p.tenure, Why: protocol.Resigned}, w.now.Add(within))
	}
}

// onQuit is the end of a program.
func (w *World) onQuit(m *member, p *program) {
	p.gone = true
	for i, q := range m.programs {
		if q == p {
			m.programs = append(m.programs[:i], m.programs[i+1:]...)
			break
		}
	}
	w.programLine(m, p, "stopped")
	w.step(m, protocol.Stopped{Group: p.group})
	if v := m.view(p.domain, p.group); p.next && v != nil && m.program(p.domain, p.group) == nil {
		w.manage(m, v)
	}
	if again := w.config.Program.Again; again.Max > 0 {
		w.campaign(m, p.group, w.now.Add(m.dice.Draw(again)))
	}
}

// campaign has a member's program want to lead the group.
func (w *World) campaign(m *member, g protocol.Group, at Real) {
	c := protocol.Campaign{Group: g}
	if all := w.config.Program.Lengths; len(all) > 0 {
		c.Length = all[m.dice.N(len(all))]
	}
	if w.config.Program.Announce.Max > 0 && m.dice.N(2) == 0 {
		c.Value = fmt.Sprintf("%v from %v on", m.rank, at)
	}
	w.command(m, c, at)
}

func (w *World) actLater(m *member, p *program) {
	act := w.config.Program.Act
	if act.Max <= 0 {
		return
	}
	e := w.queue.Push(w.now.Add(max(1, m.dice.Draw(act))))
	e.kind, e.to, e.life = evAct, m.rank, m.life
	e.cmd = programEvent{program: p}
}

// onAct lets a program act once.
func (w *World) onAct(m *member, p *program) {
	if p.gone {
		return
	}
	fact, ok := m.reader.Act(func() protocol.Time { return m.clock.Sample(w.now) }, p.domain, p.group)
	if ok {
		w.fact(m, m.inc, &fact)
	}
	w.actLater(m, p)
}

func (w *World) announceLater(m *member, p *program) {
	if every := w.config.Program.Announce; every.Max > 0 {
		wait := m.dice.Draw(every)
		if p.values == 0 {
			wait = m.dice.Between(1, time.Millisecond)
		}
		e := w.queue.Push(w.now.Add(max(1, wait)))
		e.kind, e.to, e.life = evAnnounce, m.rank, m.life
		e.cmd = programEvent{program: p}
	}
}

// onAnnounce lets a program announce another value, which no other program has ever announced.
func (w *World) onAnnounce(m *member, p *program) {
	if p.gone {
		return
	}
	p.values++
	cmd := protocol.Announce{Group: p.group, Tenure: p.tenure, Value: fmt.Sprintf("%v/%d %d.%d", m.rank, m.inc, p.tenure, p.values)}
	w.commandLine(m, cmd)
	w.step(m, cmd)
	w.announceLater(m, p)
}

// programLine records the beginning or the end of a program.
func (w *World) programLine(m *member, p *program, why string) {
	w.record(m, EvProgram, func(r *Record) {
		r.Dom, r.Group, r.Tenure, r.Why = p.domain, p.group, p.tenure, why
	})
}

// programEvent carries a program through the queue.
type programEvent struct {
	protocol.Tick
	program *program
}

// A plainReader reads a lease from the newest view and the newest horizon.
type plainReader struct {
	self     protocol.Rank
	views    []protocol.View
	horizons []protocol.Horizon
}

func (p *plainReader) Publish(v *protocol.View) {
	for i := range p.views {
		if old := &p.views[i]; old.Domain == v.Domain && old.Group == v.Group {
			*old = *v
			return
		}
	}
	p.views = append(p.views, *v)
}

func (p *plainReader) Move(h protocol.Horizon) {
	for i := range p.horizons {
		if p.horizons[i].ID == h.ID {
			p.horizons[i] = h
			return
		}
	}
	p.horizons = append(p.horizons, h)
}

// Until returns the end of the lease in v: its own, or its horizon's if that comes first. A horizon that was never
// published has ended.
func (p *plainReader) Until(v *protocol.View) protocol.Time {
	for _, h := range p.horizons {
		if h.ID == v.Horizon {
			return min(v.Until, h.Until)
		}
	}
	return 0
}

func (p *plainReader) Act(clock func() protocol.Time, d protocol.Domain, g protocol.Group) (protocol.Fact, bool) {
	for i := range p.views {
		v := &p.views[i]
		if v.Domain != d || v.Group != g {
			continue
		}
		now := clock()
		if v.Leader.Rank != p.self || now >= p.Until(v) {
			return protocol.Fact{}, false
		}
		return protocol.Fact{Ev: EvAct, Dom: d, Group: g, Tenure: v.Tenure, Term: v.Term, At: now}, true
	}
	return protocol.Fact{}, false
}
