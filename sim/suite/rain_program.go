package suite

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/tenure/recovery"
	"github.com/regentproject/regent/sim"
)

// A rainProgram is what a program does about the recoveries of its member. It drives a machine of package recovery for each membership, and passes on
// what counts.
type rainProgram struct {
	// wild has its readers lag and begin anew, and has it report twice, late, and what it was not asked for. It is nil in scenarios.
	wild *sim.Dice
	now  *rainMembership
	acts []rainAct // in the order of time
}

// A rainMembership is one membership of a member.
type rainMembership struct {
	horizon protocol.HorizonID
	machine recovery.Machine
	reader  uint64
	// present is the latest agreement; seen are all of them.
	present rain.Number
	seen    []rain.Number
	// started are those whose recovery the program has begun, and finished those that it has ended.
	started, finished map[rain.Number]bool
}

// A rainAct is something that a program will do.
type rainAct struct {
	at     protocol.Time
	of     *rainMembership
	kind   rainActKind
	number rain.Number
	ends   protocol.Time // the recovery, if this act begins it
}

type rainActKind uint8

const (
	showView   rainActKind = iota // its reader shows the agreement
	openAgain                     // its reader ends, and another one shows the present agreement
	finishWork                    // it has recovered, and reports
	claimWork                     // it reports, whatever it has done
)

// view takes a view, which the program recovers by within a time.
func (p *rainProgram) view(now protocol.Time, v *protocol.View, takes time.Duration) {
	if v.Agreed == nil {
		p.leave()
		return
	}
	if p.now == nil || p.now.horizon != v.Horizon {
		p.leave()
		p.now = &rainMembership{horizon: v.Horizon, reader: 1, started: make(map[rain.Number]bool), finished: make(map[rain.Number]bool)}
	}
	l, n := p.now, rain.Number{Token: v.Term, Vid: v.Agreed.Vid}
	l.machine.Step(recovery.Event{Kind: recovery.Agree, Number: n, Recover: v.Agreed.Recover})
	l.present = n
	show := rainAct{at: now, of: l, kind: showView, number: n, ends: now.Add(takes)}
	if d := p.wild; d != nil {
		if d.N(2) == 0 {
			show.at = now.Add(d.Between(0, 100*time.Millisecond))
		}
		if d.N(3) == 0 {
			p.do(rainAct{at: now.Add(d.Between(0, 400*time.Millisecond)), of: l, kind: openAgain, ends: now.Add(takes)})
		}
		if d.N(2) == 0 { // the present one before it was asked, or an older one
			claimed := n
			if len(l.seen) > 0 && d.N(2) == 0 {
				claimed = l.seen[d.N(len(l.seen))]
			}
			p.do(rainAct{at: now.Add(d.Between(0, 150*time.Millisecond)), of: l, kind: claimWork, number: claimed})
		}
	}
	l.seen = append(l.seen, n)
	p.do(show)
}

// leave ends the membership.
func (p *rainProgram) leave() {
	if p.now != nil {
		p.now.machine.Step(recovery.Event{Kind: recovery.Leave})
		p.now = nil
	}
}

// do has the program do something later.
func (p *rainProgram) do(a rainAct) {
	i, _ := slices.BinarySearchFunc(p.acts, a.at, func(x rainAct, at protocol.Time) int {
		if x.at <= at {
			return -1
		}
		return 1
	})
	p.acts = slices.Insert(p.acts, i, a)
}

// due returns what the program says at an instant; nil: nothing.
func (p *rainProgram) due(now protocol.Time, out *protocol.Effects, g protocol.Group) protocol.Event {
	for len(p.acts) > 0 && now >= p.acts[0].at {
		a := p.acts[0]
		p.acts = append(p.acts[:0], p.acts[1:]...)
		if ev := p.act(now, a, out, g); ev != nil {
			return ev
		}
	}
	return nil
}

func (p *rainProgram) act(now protocol.Time, a rainAct, out *protocol.Effects, g protocol.Group) protocol.Event {
	l := a.of
	fact := func(why string, n rain.Number) {
		out.Facts = append(out.Facts, protocol.Fact{Ev: sim.EvRecover, Dom: protocol.Consistent, Group: g, Term: n.Token, Gen: n.Vid, Why: why})
	}
	switch a.kind {
	case openAgain:
		before := l.machine.State()
		l.machine.Step(recovery.Event{Kind: recovery.Close, Reader: l.reader})
		l.reader++
		a.number = l.present
		if before == recovery.Asked {
			fact("unread", a.number)
		}
		fallthrough
	case showView:
		if l.machine.Step(recovery.Event{Kind: recovery.Show, Number: a.number, Reader: l.reader}) != recovery.Ask {
			return nil
		}
		fact("asked", a.number)
		if !l.started[a.number] {
			l.started[a.number] = true
			p.do(rainAct{at: max(now, a.ends), of: l, kind: finishWork, number: a.number})
		}
		return nil
	case finishWork:
		l.finished[a.number] = true
		fact("finished", a.number)
		if d := p.wild; d != nil && d.N(3) == 0 {
			p.do(rainAct{at: now.Add(d.Between(0, time.Second)), of: l, kind: claimWork, number: a.number})
		}
	case claimWork:
		if l.started[a.number] && !l.finished[a.number] {
			return nil // the program does not lie about what it was asked for
		}
	}
	if l.machine.Step(recovery.Event{Kind: recovery.Report, Number: a.number}) != recovery.Counts {
		return nil
	}
	fact("counts", a.number)
	return protocol.Recover{Group: g, Term: a.number.Token, Vid: a.number.Vid}
}

// stop has the program forget what it was about to report.
func (p *rainProgram) stop() {
	p.acts = slices.DeleteFunc(p.acts, func(a rainAct) bool { return a.kind == finishWork })
}
