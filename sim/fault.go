package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Kind is what sort of a fault it is.
type Kind uint8

const (
	Crash     Kind = iota // A goes down, and comes back after For; Disk says what it finds
	Restart               // A comes up, if it is down; Disk says what it finds
	Pause                 // A's process is frozen, its clock runs, what arrives waits
	Suspend               // A's host sleeps: frozen, its clock counts the sleep, what arrives is lost
	Halt                  // A's machine is stopped from outside: frozen, and its clock stands still
	Snapshot              // A's machine goes on, after For, as it was when the fault began, clock and disk included
	Revoke                // B lists no key of A: it drops what A sends, and sends it nothing
	Rotate                // A's key is replaced, at all members, within one and a half times For
	Cut                   // nothing goes from A to B
	Partition             // nothing goes between the members of Side and the others
	Slow                  // from A to B everything takes between half of Amount and Amount nanoseconds longer
	Lose                  // from A to B Amount in a million is lost
	Duplicate             // from A to B Amount in a million arrives twice
	Rate                  // A's clock runs Amount parts per billion faster than real time
	Jump                  // A's clock jumps forward by Amount nanoseconds
	SlowDisk              // A's disk takes Amount nanoseconds longer for each record
	Campaign              // A's program wants to lead Group, with leases of Amount nanoseconds if that is not zero
	Resign                // A's program gives Group up
	Transfer              // A gives Group up in favour of B
	Find                  // A asks who leads Group
	Verify                // A asks whether the leader of Group leads for Amount nanoseconds more
	Leave                 // A is asked to leave; killed if it has not left after Amount; comes back after For
	Ill                   // A's health check fails
	Roll                  // all members restart with the configuration Amount, one after another, For apart
	Change                // A is asked to change the council to the voters in Side, newcomers being silent for For at most; to cancel a change if there are none
	Drain                 // A is drained, also across its restarts
	kinds
)

var kindNames = [kinds]string{"crash", "restart", "pause", "suspend", "halt", "snapshot", "revoke", "rotate", "cut", "partition", "slow", "lose", "duplicate",
	"rate", "jump", "slowdisk", "campaign", "resign", "transfer", "find", "verify", "leave", "ill", "roll", "change", "drain"}

func (k Kind) String() string { return kindNames[k] }

// pairs says whether a fault of this kind is about A and B.
func (k Kind) pairs() bool {
	switch k {
	case Cut, Slow, Lose, Duplicate, Transfer, Revoke:
		return true
	}
	return false
}

// Disk is what a member finds when it comes back.
type Disk uint8

const (
	Kept   Disk = iota // the newest record that was written
	Lost               // nothing
	Backup             // an older record, Amount writes old
	Reboot             // the newest record, and a clock that begins near zero
	Known              // as Backup, if another member can tell so and will be heard; otherwise as Kept
)

var diskNames = [...]string{"kept", "lost", "backup", "reboot", "known"}

func (d Disk) String() string { return diskNames[d] }

// A Fault is one thing that goes wrong, or that somebody asks for, at one time. A schedule is a list of faults.
type Fault struct {
	At Real
	// For is how long it lasts; zero: until it is ended, or for good.
	For  time.Duration
	Kind Kind
	// A is the member; with B the link from A to B. On links, Nobody means every member.
	A, B protocol.Rank
	// Side is one side of a partition.
	Side protocol.Set
	// Amount counts as the kind says.
	Amount int64
	Disk   Disk
	Group  protocol.Group
}

// String shows the fault as a line of a scenario, such as "cut a b for 1s".
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Kind.String())
	switch {
	case f.Kind == Partition:
		fmt.Fprintf(&b, " %v", f.Side)
	case f.Kind.pairs():
		fmt.Fprintf(&b, " %s %s", who(f.A), who(f.B))
	default:
		fmt.Fprintf(&b, " %s", who(f.A))
	}
	switch f.Kind {
	case Slow, Jump, SlowDisk, Verify, Leave:
		fmt.Fprintf(&b, " by %v", time.Duration(f.Amount))
	case Lose, Duplicate:
		fmt.Fprintf(&b, " %v", Odds(f.Amount))
	case Rate:
		fmt.Fprintf(&b, " %+dppb", f.Amount)
	case Roll:
		fmt.Fprintf(&b, " to %d", f.Amount)
	case Crash, Restart:
		if f.Disk != Kept {
			fmt.Fprintf(&b, " disk %v", f.Disk)
		}
		if f.Disk == Backup || f.Disk == Known {
			fmt.Fprintf(&b, " %d", f.Amount)
		}
	}
	if f.Kind == Campaign && f.Amount > 0 {
		fmt.Fprintf(&b, " by %v", time.Duration(f.Amount))
	}
	if f.Kind == Change {
		fmt.Fprintf(&b, " to %v as %d", f.Side, f.Amount)
	}
	if f.Group != "" {
		fmt.Fprintf(&b, " %s", f.Group)
	}
	if f.For > 0 {
		fmt.Fprintf(&b, " for %v", f.For)
	}
	return b.String()
}

// who names a member as schedules do.
func who(r protocol.Rank) string {
	switch r {
	case protocol.Nobody:
		return "*"
	case TheLeader:
		return "leader"
	}
	return r.String()
}

// MarshalText returns the line that String shows.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// TheLeader stands for the leader when a fault begins: a member that leads a group by its own view, in the domains
// with leases before others. A fault of a leader that does not exist has no effect.
const TheLeader = protocol.Nobody - 1

// leader finds the member that TheLeader stands for now.
func (w *World) leader() protocol.Rank {
	found := protocol.Nobody
	for _, m := range w.members {
		for i := range m.views {
			v := &m.views[i]
			if v.Leader.Rank != m.rank {
				continue
			}
			if v.Domain == protocol.Quorum || v.Domain == protocol.Local {
				return m.rank
			}
			if found == protocol.Nobody {
				found = m.rank
			}
		}
	}
	return found
}

// name replaces TheLeader in a fault by a member; false if there is none.
func (w *World) name(f *Fault) bool {
	if f.A != TheLeader && (f.B != TheLeader || !f.Kind.pairs()) {
		return true
	}
	r := w.leader()
	if f.A == TheLeader {
		f.A = r
	}
	if f.B == TheLeader && f.Kind.pairs() {
		f.B = r
	}
	return r != protocol.Nobody && (f.A != f.B || !f.Kind.pairs())
}

// An active fault is one that has begun and not yet ended.
type active struct {
	Fault
	id   uint64
	life uint32 // of A when it began: what froze a process does not outlive it
	// saved is what A was when it began, if it is a snapshot.
	saved *snapshot
}

// Schedule lets faults happen at their times.
func (w *World) Schedule(faults ...Fault) {
	for _, f := range faults {
		w.At(f.At, func() { w.Begin(f) })
	}
}

// Begin lets a fault happen now, whatever its At says, and end after its For. Its number is for End.
func (w *World) Begin(f Fault) uint64 {
	w.faults++
	id := w.faults
	if !w.name(&f) || w.shielded(&f) {
		return id
	}
	a := active{Fault: f, id: id}
	if int(f.A) < len(w.members) {
		a.life = w.members[f.A].life
	}
	w.lineOf(EvFault, &f)
	switch f.Kind {
	case Cut, Partition, Slow, Lose, Duplicate:
		w.eachLink(&f, func(l *link, _ protocol.Rank) { l.add(mod{id, f.Kind, f.Amount}) })
	case Revoke:
		w.revoke(&f, id)
	case Rotate:
		w.rotate(w.members[f.A], f.For)
		return id
	case Campaign, Resign, Transfer, Find, Verify, Change:
		w.ask(&f, id)
		return id
	case Jump:
		m := w.members[f.A]
		m.clock.jump(w.now, protocol.Time(f.Amount))
		w.rearm(m)
		return id
	case Restart:
		w.comeBack(w.members[f.A], &f)
		return id
	case Roll:
		w.roll(&f)
		return id
	default:
		if !w.beginAtMember(w.members[f.A], &a) {
			return id
		}
		a.life = w.members[f.A].life
	}
	w.active = append(w.active, a)
	if f.For > 0 {
		w.At(w.now.Add(f.For), func() { w.End(id) })
	}
	return id
}

// beginAtMember begins a fault of one member. It returns false if it has no effect, because the member is down.
func (w *World) beginAtMember(m *member, a *active) bool {
	switch a.Kind {
	case Rate:
		m.rate = a.Amount
		if m.still == 0 {
			m.clock.setRate(w.now, m.rate)
		}
		w.rearm(m)
		return true
	case SlowDisk:
		m.disk.slow = append(m.disk.slow, diskFault{a.id, time.Duration(a.Amount)})
		return true
	case Drain:
		m.drained++
		w.tellHealth(m)
		return true
	}
	if !m.up {
		return false
	}
	switch a.Kind {
	case Crash:
		w.crash(m)
	case Leave:
		w.leave(m, time.Duration(a.Amount))
	case Pause:
		w.freeze(m, false, false)
	case Suspend:
		w.freeze(m, false, true)
	case Halt:
		w.freeze(m, true, false)
	case Snapshot:
		a.saved = w.takeSnapshot(m)
		return a.saved != nil
	case Ill:
		m.ill = m.life
		w.tellHealth(m)
	}
	return true
}

// End ends a fault that has begun; one that has ended already is no matter.
func (w *World) End(id uint64) {
	i := slices.IndexFunc(w.active, func(a active) bool { return a.id == id })
	if i < 0 {
		return
	}
	a := w.active[i]
	w.active = slices.Delete(w.active, i, i+1)
	w.lineOf(EvHeal, &a.Fault)
	switch a.Kind {
	case Cut, Partition, Slow, Lose, Duplicate:
		w.eachLink(&a.Fault, func(l *link, to protocol.Rank) {
			l.remove(id)
			w.flush(l, to)
		})
		return
	case Revoke:
		w.admit(&a.Fault, id)
		return
	}
	m := w.members[a.A]
	switch a.Kind {
	case Rate:
		m.rate = w.clockSpec(a.A).Rate
		for _, b := range w.active {
			if b.Kind == Rate && b.A == a.A {
				m.rate = b.Amount
			}
		}
		if m.still == 0 {
			m.clock.setRate(w.now, m.rate)
		}
		w.rearm(m)
	case SlowDisk:
		m.disk.slow = slices.DeleteFunc(m.disk.slow, func(f diskFault) bool { return f.fault == id })
	case Crash:
		if m.life == a.life {
			w.comeBack(m, &a.Fault)
		}
	case Leave:
		if m.life == a.life {
			w.crash(m)
		}
		if m.life == a.life+1 {
			w.comeBack(m, &a.Fault)
		}
	case Pause, Suspend, Halt:
		if m.life == a.life {
			w.thaw(m, a.Kind == Halt, a.Kind == Suspend)
		}
	case Snapshot:
		w.restoreSnapshot(m, a.saved)
	case Ill:
		w.recover(m, &a)
	case Drain:
		m.drained--
		w.tellHealth(m)
	}
}

// tellHealth tells a member whether it is fit to lead. That it is drained is in its directory; that it is ill, it finds out itself.
func (w *World) tellHealth(m *member) {
	if m.up {
		w.command(m, protocol.Health{OK: m.ill != m.life, Drained: m.drained > 0}, w.now)
	}
}

// recover makes a member well again, unless it has died meanwhile or something else is wrong with it.
func (w *World) recover(m *member, a *active) {
	if m.life == a.life && !slices.ContainsFunc(w.active, func(b active) bool { return b.Kind == Ill && b.A == a.A && b.life == a.life }) {
		m.ill = 0
		w.tellHealth(m)
	}
}

// Heal ends all faults, and brings the given members up if they are down.
func (w *World) Heal(up protocol.Set) {
	for len(w.active) > 0 {
		a := w.active[0]
		if (a.Kind == Crash || a.Kind == Leave) && !up.Has(a.A) {
			w.active = w.active[1:]
			continue
		}
		w.End(a.id)
	}
	for r := range up.All() {
		w.start(w.members[r])
	}
}

// comeBack starts a member that is down, with the disk that the fault leaves it.
func (w *World) comeBack(m *member, f *Fault) {
	if m.up {
		return
	}
	switch f.Disk {
	case Lost:
		m.disk.lose()
	case Backup:
		m.disk.restore(int(f.Amount))
	case Known:
		w.restoreKnown(m, int(f.Amount))
	case Reboot:
		m.hosted++
		m.clock.reset(w.now, protocol.Time(m.dice.Between(0, time.Second)))
	}
	w.start(m)
}

// ask gives a member the command that the fault stands for. The number of the fault is the number of the question.
func (w *World) ask(f *Fault, id uint64) {
	m := w.members[f.A]
	if !m.up {
		return
	}
	switch f.Kind {
	case Campaign:
		if f.Amount > 0 {
			w.command(m, protocol.Campaign{Group: f.Group, Length: time.Duration(f.Amount)}, w.now)
			break
		}
		w.campaign(m, f.Group, w.now)
	case Resign:
		w.command(m, protocol.Resign{Group: f.Group}, w.now)
		// A candidate that did not lead has no program whose end would make it try again.
		if again := w.config.Program.Again; again.Max > 0 && !m.runs(f.Group) {
			w.campaign(m, f.Group, w.now.Add(max(1, m.dice.Draw(again))))
		}
	case Transfer:
		w.command(m, protocol.Transfer{Group: f.Group, To: f.B, ID: id}, w.now)
	case Find:
		w.command(m, protocol.Find{Group: f.Group, ID: id}, w.now)
	case Verify:
		w.command(m, protocol.Verify{Group: f.Group, ID: id, Length: time.Duration(f.Amount)}, w.now)
	case Change:
		if w.config.Change != nil {
			w.command(m, w.config.Change(f), w.now)
		}
	}
}

// leave tells a member to go, and kills it if it does not.
func (w *World) leave(m *member, patience time.Duration) {
	m.closing = true
	w.command(m, protocol.Close{}, w.now)
	life := m.life
	w.At(w.now.Add(patience), func() {
		if m.life == life {
			w.crash(m)
		}
	})
}

// eachLink visits the links that a fault is about.
func (w *World) eachLink(f *Fault, visit func(l *link, to protocol.Rank)) {
	for a := range w.members {
		for b := range w.members {
			ra, rb := protocol.Rank(a), protocol.Rank(b)
			if a == b || !f.covers(ra, rb) {
				continue
			}
			visit(w.link(ra, rb), rb)
		}
	}
}

// covers says whether the fault is about the link from a to b.
func (f *Fault) covers(a, b protocol.Rank) bool {
	if f.Kind == Partition {
		return f.Side.Has(a) != f.Side.Has(b)
	}
	return (f.A == a || f.A == protocol.Nobody) && (f.B == b || f.B == protocol.Nobody)
}

// lineOf records the beginning or the end of a fault.
func (w *World) lineOf(ev protocol.Ev, f *Fault) {
	var m *member
	if int(f.A) < len(w.members) && f.Kind != Partition {
		m = w.members[f.A]
	}
	w.record(m, ev, func(r *Record) {
		r.Why, r.Detail = f.Kind.String(), *f
		r.Peer = protocol.NoIdent
		if f.Kind.pairs() && int(f.B) < len(w.members) {
			r.Peer.Rank = f.B
		}
	})
}
