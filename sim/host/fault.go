package host

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/sim"
)

// FaultKind is a kind of fault, or of request.
type FaultKind uint8

// The processes that faults are about, of which a fault stops or kills any selection.
const (
	theProgram = 1 << iota
	theRunner
	theKeeper
	theAgent
	selections = 1 << iota
)

// The faults. Those below KillChild are selections of processes: to be stopped for a while, or killed.
const (
	stopSome  FaultKind = 0
	killSome            = stopSome + selections - 1
	KillChild           = killSome + selections - 1 + iota - 2
	Starve
	Suspend
	CutOff
	Resign
	Transfer
	FreezeLease
	HangUp
	Lie
	Strangers
	Stray
	faultKinds
)

var faultNames = [...]string{"kill child", "starve", "suspend", "cut off", "resign", "transfer", "freeze", "hang up", "lie", "strangers", "stray"}

// selection returns which processes are stopped or killed; none: it is another fault.
func (k FaultKind) selection() (selected int, kill bool) {
	switch {
	case k < killSome:
		return int(k-stopSome) + 1, false
	case k < KillChild:
		return int(k-killSome) + 1, true
	}
	return 0, false
}

func (k FaultKind) String() string {
	selected, kill := k.selection()
	if selected == 0 {
		return faultNames[k-KillChild]
	}
	text := "stop"
	if kill {
		text = "kill"
	}
	for i, name := range [...]string{"program", "runner", "keeper", "agent"} {
		if selected&(1<<i) != 0 {
			text += " " + name
		}
	}
	return text
}

// drawKind draws a fault: often one that stops or kills, and then more often a single process than several.
func drawKind(d *sim.Dice) FaultKind {
	selected := 1 << d.N(4)
	if d.N(2) == 0 {
		selected = 1 + d.N(selections-1)
	}
	switch n := d.N(24); {
	case n < 6:
		return stopSome + FaultKind(selected-1)
	case n < 13:
		return killSome + FaultKind(selected-1)
	}
	return KillChild + FaultKind(d.N(int(faultKinds-KillChild)))
}

// A Fault is one thing that goes wrong on one host, or that somebody asks for there.
type Fault struct {
	At   time.Duration
	Kind FaultKind
	Host int
	For  time.Duration
	Seed uint64
	// In is the state that a party of the host has to enter first, after At; Waiting: none.
	In tenure.State
}

func (f Fault) String() string {
	return fmt.Sprintf("%v (%v) %v on %v for %v (%d)", f.At, f.In, f.Kind, protocol.Rank(f.Host), f.For, f.Seed)
}

// drawFaults draws a plan.
func drawFaults(seed uint64, hosts int, length time.Duration) (plan []Fault) {
	d := sim.NewDice(seed, 0xfa17)
	for range 3 + d.N(14) {
		at, host, in := d.Between(0, length), d.N(hosts), tenure.Waiting
		if d.N(2) == 0 {
			in = []tenure.State{tenure.Leading, tenure.Leading, tenure.Asked, tenure.Stopping, tenure.Stopped, tenure.Over}[d.N(6)]
		}
		for range 1 + d.N(3) { // they come in company
			f := Fault{At: at, In: in, Kind: drawKind(d), Host: host, For: d.Between(ms, 900*ms>>d.N(5)), Seed: d.Uint64() >> 40}
			if d.N(4) == 0 {
				f.Host = d.N(hosts)
			}
			plan = append(plan, f)
			at += d.Between(0, 100*ms>>d.N(6))
		}
	}
	slices.SortStableFunc(plan, func(a, b Fault) int { return int(a.At - b.At) })
	return plan
}

// inject makes a fault happen.
func (w *World) inject(f Fault) {
	if w.calm {
		return
	}
	h, d := w.hosts[f.Host], sim.NewDice(f.Seed, 1)
	if s := h.candidacy; s != nil {
		for _, a := range []*party{s.top, s.runner, s.keeper, s.client} {
			if a != nil {
				w.cover.fault(f.Kind, a.m.State())
			}
		}
	}
	w.note("fault: %v", f)
	selected, kill := f.Kind.selection()
	switch {
	case kill:
		h.slay(d, h.selection(selected)...)
	case selected != 0:
		h.pause(f.For, h.selection(selected)...)
	case f.Kind == KillChild:
		for _, p := range slices.Clone(h.all) {
			if p.life != nil && p != h.first() && !p.hook && d.N(2) == 0 {
				h.slay(d, p)
			}
		}
	default:
		w.ask(h, f, d)
	}
}

// selection returns the processes of a selection. The program is what acts: its first process, the hooks that run, or a client.
func (h *host) selection(selected int) (all []*process) {
	if selected&theProgram != 0 {
		all = append(all, h.first(), h.client)
		if s := h.candidacy; s != nil && s.runner != nil {
			all = append(all, s.runner.hook, s.keeper.hook)
		}
	}
	if selected&theRunner != 0 {
		all = append(all, h.runner)
	}
	if selected&theKeeper != 0 {
		all = append(all, h.keeper)
	}
	if selected&theAgent != 0 {
		all = append(all, h.agent)
	}
	return all
}

// entered makes the faults happen that wait for a party to enter its state.
func (w *World) entered(a *party, before tenure.State) {
	state := a.m.State()
	if state == before {
		return
	}
	w.armed = slices.DeleteFunc(w.armed, func(f Fault) bool {
		fits := f.In == state && w.hosts[f.Host] == a.h
		if fits {
			w.after(w.Between(0, 20*ms), func() { w.inject(f) })
		}
		return fits
	})
}

// ask makes the faults that are not about single processes.
func (w *World) ask(h *host, f Fault, d *sim.Dice) {
	var top *party
	if s := h.candidacy; s != nil && !s.top.p.dead {
		top = s.top
	}
	switch f.Kind {
	case Starve:
		h.starved = true
		w.after(f.For, h.fed)
	case Suspend:
		h.suspend(f.For)
	case CutOff:
		h.cut = true
		w.after(f.For, func() { h.cut = false })
	case Lie:
		h.lie()
	case Strangers:
		for range 3 + d.N(12) {
			h.stranger(d)
		}
	case HangUp:
		h.hangUp()
	}
	if top == nil {
		return
	}
	why := protocol.Cause{Code: protocol.Resigned, Peer: h.rank}
	switch f.Kind {
	case Resign:
		top.side(tenure.Event{Kind: []tenure.Kind{tenure.Resign, tenure.Stop}[d.N(2)], Cause: why}, 0)
	case Transfer:
		top.side(tenure.Event{Kind: tenure.Transfer, To: protocol.Rank(d.N(len(w.hosts)))}, 0)
	case FreezeLease:
		why.Code = protocol.Unhealthy
		top.side(tenure.Event{Kind: tenure.Freeze, Cause: why}, 0)
	case Stray:
		for _, a := range []*party{h.candidacy.top, h.candidacy.runner, h.candidacy.keeper, h.candidacy.client} {
			for k := range tenure.Kind(tenure.Kinds) {
				if a != nil && h.runs(a.p) && tenure.Ignores(a.m.State(), k) && d.N(4) == 0 {
					a.strays = true
					a.step(tenure.Event{Kind: k, Until: w.now.Add(leaseTime), Cause: why})
					a.strays = false
				}
			}
		}
	}
}

// first returns the first process of the program that runs, or nil.
func (h *host) first() *process {
	if h.candidacy == nil || h.candidacy.life == nil {
		return nil
	}
	return h.find(h.candidacy.life.first)
}

// pause sends SIGSTOP, and SIGCONT after a while.
func (h *host) pause(d time.Duration, all ...*process) {
	for _, p := range all {
		if p != nil && !p.dead {
			p.paused = true
			h.w.after(d, func() { p.paused = false; h.rouse(p) })
		}
	}
}

// slay kills processes. The notes of an agent are kept, lost or half written.
func (h *host) slay(d *sim.Dice, all ...*process) {
	for _, p := range all {
		if p == nil || p.dead {
			continue
		}
		if p == h.agent {
			switch d.N(4) {
			case 0:
				h.notes = nil
			case 1:
				for _, n := range h.notes {
					n.half = true
				}
			}
		}
		h.kill(p, nil)
		if d.N(4) == 0 {
			h.wanted = p.Pid
			h.stranger(d)
		}
	}
}

// rouse lets the parties of a process go on that is scheduled again.
func (h *host) rouse(p *process) {
	if p.dead || !h.runs(p) {
		return
	}
	p.awake = h.w.now
	for _, a := range p.party {
		a.poke()
	}
}

func (h *host) rouseAll() {
	for _, p := range slices.Clone(h.all) {
		h.rouse(p)
	}
}

func (h *host) fed() {
	h.starved = false
	h.rouseAll()
}

// suspend suspends the host. Its timers stand still, its clock does not.
func (h *host) suspend(d time.Duration) {
	if h.suspended {
		return
	}
	h.suspended = true
	h.w.after(d, func() {
		h.suspended = false
		h.suspends++
		h.sleptFor += d
		h.woke = h.w.now
		h.rouseAll()
	})
}

// hangUp closes the connection between the agent and who is below.
func (h *host) hangUp() {
	s := h.candidacy
	if s == nil || s.hungUp || s.runner == nil && s.client == nil {
		return
	}
	s.hungUp = true
	below := s.runner
	if below == nil {
		below = s.client
	}
	s.top.side(tenure.Event{Kind: tenure.ConnectionLost}, 0)
	below.above(tenure.Event{Kind: tenure.UpperGone}, 0)
}

// lie has the agent kill for a runner of another user that claims what it has seen of the tree here.
func (h *host) lie() {
	if s := h.candidacy; s != nil && s.runner != nil && h.runs(h.agent) {
		r := &reference{mark: s.top.ref.mark, life: &life{}}
		r.Runner, r.UID = tenure.Identity{Pid: 0, Started: 1}, mallory
		k := h.newWalk(h.agent, r)
		k.readAll()
		k.finish()
	}
}

// stranger starts a process that has nothing to do with anything, with children.
func (h *host) stranger(d *sim.Dice) {
	if len(h.all) > pids/2 {
		return
	}
	p := h.fork(nil, []int{root, alice, carol}[d.N(3)])
	p.session = p.Pid
	life := d.Between(20*ms, 1200*ms)
	h.w.after(life/4, func() {
		if !p.dead && len(h.all) < pids/2 {
			c := h.fork(p, p.uid)
			h.w.after(life, func() { h.kill(c, nil) })
		}
	})
	h.w.after(life, func() { h.kill(p, nil) })
}
