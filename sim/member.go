package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Boot is what a machine is made from when its member starts.
type Boot struct {
	Self    protocol.Rank
	Members int
	// Inc numbers the starts of the member, beginning with 1. A machine that is Incarnate decides for itself.
	Inc protocol.Inc
	// Record is what the disk holds; nil if there is nothing. It may be an old one, put back from a backup.
	Record []byte
	// Seed is for the machine's own randomness; every start has another.
	Seed uint64
	// Setting is which of its configurations the member starts with. Members with different ones do not hear each other.
	Setting int
	// Tag computes the tags of the member's lives. In this model a tag is unforgeable: nobody else computes it.
	Tag func(protocol.Inc, protocol.StartBits) protocol.Tag
	// Note says, in the trace, what is special about this start.
	Note func(string)
}

// Spawn makes the machine of a member that starts. An error is a machine that refuses to start: the member stays down.
type Spawn func(Boot) (protocol.Machine, error)

// A member is one process of the world with its clock, its disk and its programs.
type member struct {
	rank      protocol.Rank
	clock     *Clock
	dice      Dice
	machine   protocol.Machine
	incarnate protocol.Incarnate
	closable  protocol.Closable
	closing   bool // it was asked to leave
	port      Port
	up        bool
	// ill is the life in which the member is ill; zero: none. drained counts the orders that keep it from leading.
	ill        uint32
	drained    int
	starts     protocol.Inc
	inc        protocol.Inc
	as         protocol.Inc // that the present Step was taken under
	host       host
	life       uint32 // grows at every start and crash: what belongs to an earlier life is void
	heard      []protocol.Inc
	recognises []uint32 // of each other member the last life that this life will recognise
	setting    int
	keys       Keys
	rekeyed    bool // they are not those of the beginning
	boot       Boot // that the present machine was made from
	forgetful  bool // it was restored from a snapshot, and has not spoken since
	seen       map[uint64]bool
	sending    Real // while the port is asked to send: the instant of the Step that sent

	wake     protocol.Time
	due      Real // what the timer in the queue is for, Forever if there is none
	timer    Real // when it fires: the same or somewhat later
	portWait Real
	ticked   Real // when a timer fired last
	spin     int  // how many have fired in a row without a microsecond between two of them

	frozen int // faults that freeze the process
	still  int // those among them that stop its clock
	deaf   int // those among them that lose what arrives
	rate   int64
	inbox  []event
	taken  Real // when it has taken in what came while it was frozen

	// hosted numbers the hosts that the member has been on: a reboot, or a snapshot, ends all other processes of the one before. mourned is the guardian
	// that has reported last.
	hosted  uint32
	mourned *guardian

	disk     disk
	views    []protocol.View
	programs []*program
	reader   Reader
}

const (
	none Real = -1
	// inboxSize is how much a frozen process's socket holds, unless its links are reliable.
	inboxSize = 512
	// maxSpin is how many timers may fire without a microsecond between them, before it is clear that no time passes.
	maxSpin = 10_000
)

// start brings m up with a new machine.
func (w *World) start(m *member) {
	if m.up {
		return
	}
	m.starts++
	m.life++
	m.inc, m.as = m.starts, m.starts
	var notes []string
	boot := Boot{Self: m.rank, Members: len(w.members), Inc: m.inc, Record: m.disk.stored(), Seed: m.dice.Uint64(), Setting: m.setting, Tag: tags(w.config.Seed, m.rank),
		Note: func(n string) { notes = append(notes, n) }}
	machine, err := w.config.Spawn(boot)
	if err != nil {
		w.record(m, EvRefuse, func(r *Record) { r.Why = err.Error() })
		return
	}
	m.machine, m.up, m.boot = machine, true, boot
	m.incarnate, _ = machine.(protocol.Incarnate)
	m.closable, _ = machine.(protocol.Closable)
	m.closing = false
	m.wake, m.due, m.timer, m.portWait, m.sending = protocol.Never, Forever, Forever, Forever, none
	clear(m.heard)
	clear(m.recognises)
	if w.config.Bound.Dedupe {
		m.seen = make(map[uint64]bool)
	}
	m.views = m.views[:0]
	m.programs = m.programs[:0]
	m.reader = w.config.Program.reader(boot)
	if w.config.Port != nil {
		if m.incarnate != nil {
			boot.Inc = m.incarnate.Incarnation() // none yet: a probe under another would be that of a rival
		}
		m.port = w.config.Port(boot, func(to protocol.Rank, packet []byte) { w.put(m, to, packet) })
		if m.rekeyed {
			m.port.Rekey(&m.keys)
		}
	}
	ev := EvStart
	if m.starts > 1 {
		ev = EvRestart
	}
	w.record(m, ev, func(r *Record) { r.Why = strings.Join(notes, ", ") })
	w.step(m, protocol.Start{})
	if m.port != nil {
		w.armPort(m)
	}
	if m.drained > 0 {
		w.tellHealth(m)
	}
	for _, g := range w.config.Groups {
		w.campaign(m, g, w.now.Add(m.dice.Between(1, w.config.Program.Again.Max)))
	}
}

// crash ends m's life at once.
func (w *World) crash(m *member) {
	if !m.up {
		return
	}
	w.record(m, EvCrash, nil)
	w.mourn(m)
	w.down(m)
}

// down takes m away, with all that is not on its disk.
func (w *World) down(m *member) {
	m.up = false
	m.life++
	m.machine, m.incarnate, m.closable, m.port = nil, nil, nil, nil
	m.frozen, m.deaf = 0, 0
	if m.still > 0 {
		m.still = 0
		m.clock.setRate(w.now, m.rate)
	}
	m.inbox = m.inbox[:0]
	m.views = m.views[:0]
	m.programs = m.programs[:0]
	m.disk.crash(&m.dice)
}

// step lets m's machine take an event, now.
func (w *World) step(m *member, ev protocol.Event) { w.stepAt(m, m.clock.Sample(w.now), ev) }

// stepAt lets m's machine take an event for which the clock was read already, and carries out what it asks for.
func (w *World) stepAt(m *member, now protocol.Time, ev protocol.Event) {
	w.stats.Steps++
	w.executor.Step(&m.host, now, ev)
	if m.closing && m.closable != nil && m.closable.Closed() {
		w.record(m, EvClose, nil)
		w.down(m)
	}
}

// arm sees to it that m gets a Tick when it wants one. A timer that is too early is left alone: it looks again.
func (w *World) arm(m *member) {
	if m.wake == protocol.Never || m.frozen > 0 {
		return
	}
	at := m.clock.Reach(w.now, m.wake)
	if at == Forever {
		return
	}
	if at = max(at, w.now+1); at >= m.due {
		return
	}
	m.due, m.timer = at, at
	if w.config.Timer.Max > 0 {
		m.timer = at.Add(m.dice.Draw(w.config.Timer))
	}
	e := w.queue.Push(m.timer)
	e.kind, e.to, e.life = evTimer, m.rank, m.life
}

// onTimer gives m its Tick if the wake has come.
func (w *World) onTimer(m *member) {
	if w.now != m.timer {
		return
	}
	m.due, m.timer = Forever, Forever
	m.spin++
	if w.now.Sub(m.ticked) > time.Microsecond {
		m.spin = 0
	}
	m.ticked = w.now
	if m.spin > maxSpin {
		w.fail(fmt.Errorf("contract: %v wants to be woken at %v over and over; its clock shows %v", m.rank, m.wake, m.clock.At(w.now)))
		return
	}
	if m.frozen > 0 || m.wake == protocol.Never {
		return
	}
	if m.clock.At(w.now) < m.wake {
		w.arm(m)
		return
	}
	w.stats.Ticks++
	w.step(m, protocol.Tick{})
	if m.up && w.config.Spurious > 0 && m.dice.Hit(w.config.Spurious) {
		w.step(m, protocol.Tick{})
	}
}

func (w *World) armPort(m *member) {
	at := m.port.Wake()
	if at == protocol.Never || m.frozen > 0 {
		return
	}
	real := max(m.clock.Reach(w.now, at), w.now+1)
	if real < m.portWait {
		m.portWait = real
		e := w.queue.Push(real)
		e.kind, e.to, e.life = evPort, m.rank, m.life
	}
}

func (w *World) onPort(m *member) {
	if w.now != m.portWait || m.port == nil {
		return
	}
	m.portWait = Forever
	if m.frozen > 0 {
		return
	}
	if m.clock.At(w.now) >= m.port.Wake() {
		m.port.Tick(m.clock.Sample(w.now))
	}
	w.armPort(m)
}

// command gives m's machine a command at the given instant, unless it dies before.
func (w *World) command(m *member, cmd protocol.Event, at Real) {
	e := w.queue.Push(max(at, w.now))
	e.kind, e.to, e.life, e.cmd = evCommand, m.rank, m.life, cmd
}

// freeze stops the process of m, and its clock and ears as asked.
func (w *World) freeze(m *member, still, deaf bool) {
	m.frozen++
	if deaf {
		m.deaf++
	}
	if still {
		if m.still++; m.still == 1 {
			m.clock.setRate(w.now, stopped)
		}
	}
}

// thaw undoes a freeze. When the last one ends, what has come meanwhile is taken in, mixed with a late timer.
func (w *World) thaw(m *member, still, deaf bool) {
	m.frozen--
	if deaf {
		m.deaf--
	}
	if still {
		if m.still--; m.still == 0 {
			m.clock.setRate(w.now, m.rate)
		}
	}
	if m.frozen > 0 {
		return
	}
	at := w.now
	for _, e := range m.inbox {
		at = at.Add(m.dice.Between(100, 20_000))
		e.life = m.life
		*w.queue.Push(at) = e
	}
	m.inbox, m.taken = m.inbox[:0], at
	w.rearm(m)
}

// rearm sets m's timers again, after its clock or its process changed pace.
func (w *World) rearm(m *member) {
	if !m.up {
		return
	}
	m.due, m.timer, m.portWait = Forever, Forever, Forever
	w.arm(m)
	if m.port != nil {
		w.armPort(m)
	}
}

// keep puts an event for a frozen process aside.
func (w *World) keep(m *member, e *event) {
	if e.kind == evDeliver && (m.deaf > 0 || len(m.inbox) >= inboxSize && !w.config.Link.Reliable) {
		w.drop(&envelope{from: e.from, sent: e.sent, msg: e.msg, data: e.data}, e.to, "asleep")
		return
	}
	e.kept = true
	m.inbox = append(m.inbox, *e)
}
