package runtime

import (
	"context"
	"errors"
	"log/slog"
	"runtime/pprof"
	"sync"
	"sync/atomic"

	"github.com/regentproject/regent/internal/protocol"
)

// ErrClosed says that the loop has ended.
var ErrClosed = errors.New("the member is closed")

// A Port carries messages between members: sockets, seals, bounds on delays and the packing of messages into packets
// are behind it. The loop alone calls it.
type Port interface {
	// Receive takes one batch of packets, without waiting, and calls deliver for each message in it, with the instant
	// at which it was taken. It says whether there may be more.
	Receive(deliver Deliver) (more bool)
	// Send puts a message into the next packet to the member. It keeps neither the message nor anything in it.
	Send(now protocol.Time, to protocol.Rank, machine int, m protocol.Message)
	// Flush sends off what Send was given, and what else is due, such as probes. Wake says when it wants to be called
	// next.
	Flush()
	Wake() protocol.Time
	// Rename says under which incarnation the member speaks from now on.
	Rename(inc protocol.Inc)
	Close() error
}

// Deliver takes a message for one of the loop's machines.
type Deliver func(now protocol.Time, machine int, r *protocol.Receive)

// A Sink gets what the machines publish, on the loop's goroutine. It must not wait, and not step a machine: it may
// Post.
type Sink interface {
	View(now protocol.Time, machine int, v *protocol.View)
	Horizon(now protocol.Time, machine int, h protocol.Horizon)
	Answer(now protocol.Time, machine int, a *protocol.Answer)
	// Published is called once all views and horizons of a Step were.
	Published(now protocol.Time)
	// Tick does what is due by itself and returns when it wants to be called next.
	Tick(now protocol.Time) protocol.Time
}

// A Store makes records durable.
type Store interface{ Write(record []byte) error }

// Options is what a loop consists of.
type Options struct {
	Self     protocol.Rank
	Name     string // for logs and profiles
	Rho      protocol.Rho
	Machines []protocol.Machine
	// Clock is the lease clock. Its readings strictly increase.
	Clock  func() protocol.Time
	Port   Port
	Sink   Sink
	Waiter Waiter
	// Store is where records go. Without one they are lost with the process, and count as durable at once.
	Store Store
	// Realtime asks for real-time scheduling, where the process may have it.
	Realtime bool
	// Facts gets what the machines state, if it is set.
	Facts func(now protocol.Time, machine int, facts []protocol.Fact)
	Log   *slog.Logger
}

// A Loop is one goroutine that owns all machines of a member. It carries out what they ask for in the order of the
// contract, and reads the clock once for each event.
type Loop struct {
	Options
	machines []slot
	calls    chan func(now protocol.Time)
	// queue holds what is to be stepped after the present event: posted events and messages to oneself.
	queue []queued
	// held holds messages that wait for a record, in order.
	held []held
	disk *disk

	sinkWake protocol.Time
	stop     atomic.Bool
	leave    atomic.Bool
	ended    chan struct{}
	named    signal
	stats    Stats
}

type slot struct {
	protocol.Machine
	wake protocol.Time
	// unconfirmed are the numbers of the records for which Persisted has not come back.
	unconfirmed []uint64
}

// queued is an event, or a message from oneself that was sent at an instant.
type queued struct {
	machine int
	event   protocol.Event
	message protocol.Message
	sent    protocol.Time
	from    protocol.Inc
}

type held struct {
	record  uint64
	machine int
	to      protocol.Rank
	message protocol.Message
	sent    protocol.Time
}

// callLimit is how many calls may wait for the loop before their callers wait too.
const callLimit = 1024

// NewLoop returns a loop that has not begun.
func NewLoop(o Options) *Loop {
	l := &Loop{Options: o, calls: make(chan func(protocol.Time), callLimit), ended: make(chan struct{}), sinkWake: protocol.Never}
	for _, m := range o.Machines {
		l.machines = append(l.machines, slot{Machine: m, wake: protocol.Never})
	}
	l.disk = newDisk(o.Store, o.Waiter.Wake, o.Log)
	return l
}

// Run runs the loop until Stop. It starts the machines, and closes port and waiter when it ends.
func (l *Loop) Run(ctx context.Context) {
	pprof.Do(ctx, pprof.Labels("regent", "loop", "member", l.Name), func(context.Context) { l.run() })
}

func (l *Loop) run() {
	defer l.finish()
	l.claim()
	var disk sync.WaitGroup
	defer disk.Wait()
	defer l.disk.stop()
	disk.Go(l.disk.run)
	for i := range l.machines {
		l.step(i, l.Clock(), protocol.Start{})
	}
	for {
		for l.round() {
		}
		if l.stop.Load() || l.leave.Load() && l.left() {
			return
		}
		l.wait()
	}
}

// claim makes the thread the loop's own where that helps.
func (l *Loop) claim() {
	s := Ordinary
	if l.Waiter.Precise() {
		var err error
		if s, err = ClaimThread(l.Realtime); err != nil {
			l.Log.Info("the loop runs without real-time scheduling: its timers may be late when the machine is busy", "reason", err)
		}
	}
	l.stats.scheduling.Store(&s)
}

func (l *Loop) finish() {
	close(l.ended)
	if err := l.Port.Close(); err != nil {
		l.Log.Warn("closing the sockets failed", "err", err)
	}
	_ = l.Waiter.Close()
}

// round does everything that can be done now, once, and says whether it should be called again before waiting.
func (l *Loop) round() (again bool) {
	more := l.Port.Receive(l.deliver)
	l.drain()
	l.takeCalls()
	l.confirm()
	l.tick()
	l.drain()
	l.Port.Flush()
	return more || len(l.calls) > 0
}

// wait waits until something is due or comes in, and notes how late it woke up.
func (l *Loop) wait() {
	due := min(l.sinkWake, l.Port.Wake())
	for i := range l.machines {
		due = min(due, l.machines[i].wake)
	}
	d := forever
	if due != protocol.Never {
		d = min(d, due.Sub(l.Clock()))
	}
	l.Waiter.Wait(d)
	if now := l.Clock(); now >= due {
		l.stats.Late.add(now.Sub(due))
	}
}

func (l *Loop) deliver(now protocol.Time, machine int, r *protocol.Receive) {
	if machine < len(l.machines) {
		l.step(machine, now, r)
	}
}

// drain steps what was queued, in order, and what is queued meanwhile.
func (l *Loop) drain() {
	for i := 0; i < len(l.queue); i++ {
		q := l.queue[i]
		l.queue[i] = queued{}
		now := l.Clock()
		if q.message != nil {
			q.event = &protocol.Receive{From: protocol.Ident{Rank: l.Self, Inc: q.from}, Message: q.message,
				Delay: l.Rho.RealAtMost(now.Sub(q.sent))}
		}
		l.step(q.machine, now, q.event)
	}
	l.queue = l.queue[:0]
}

// takeCalls runs the calls that wait now. Those that come meanwhile wait for the next round, so that callers cannot
// keep the loop from its timers.
func (l *Loop) takeCalls() {
	for range len(l.calls) {
		(<-l.calls)(l.Clock())
		l.drain()
	}
}

// confirm tells the machines of records that are on disk, and sends what waited for them.
func (l *Loop) confirm() {
	done := l.disk.done.Load()
	for i := range l.machines {
		m := &l.machines[i]
		for len(m.unconfirmed) > 0 && m.unconfirmed[0] <= done {
			m.unconfirmed = m.unconfirmed[1:]
			l.step(i, l.Clock(), protocol.Persisted{})
		}
	}
	n := 0
	for n < len(l.held) && l.held[n].record <= done {
		h := l.held[n]
		l.dispatch(h.machine, h.sent, h.to, h.message)
		n++
	}
	l.held = append(l.held[:0], l.held[n:]...)
	clear(l.held[len(l.held):cap(l.held)])
	l.drain()
}

func (l *Loop) tick() {
	now := l.Clock()
	for i := range l.machines {
		if l.machines[i].wake <= now {
			l.step(i, now, protocol.Tick{})
		}
	}
	l.sinkWake = l.Sink.Tick(now)
}

// step gives a machine one event and carries out what it asks for.
func (l *Loop) step(machine int, now protocol.Time, ev protocol.Event) {
	m := &l.machines[machine]
	out := m.Step(now, ev)
	for i := range out.Views {
		l.Sink.View(now, machine, &out.Views[i])
	}
	for _, h := range out.Horizons {
		l.Sink.Horizon(now, machine, h)
	}
	if len(out.Views)+len(out.Horizons) > 0 {
		l.Sink.Published(now)
	}
	if out.Persist != nil {
		m.unconfirmed = append(m.unconfirmed, l.disk.put(out.Persist))
	}
	if in, ok := m.Machine.(protocol.Incarnate); ok {
		if inc := in.Incarnation(); inc != l.stats.Inc() {
			l.stats.inc.Store(uint32(inc))
			l.Port.Rename(inc)
			l.named.raise()
		}
	}
	for i := range out.Send {
		e := &out.Send[i]
		if e.Durable && l.disk.asked > l.disk.done.Load() {
			l.held = append(l.held, held{record: l.disk.asked, machine: machine, to: e.To, message: e.Message.Copy(), sent: now})
			continue
		}
		l.dispatch(machine, now, e.To, e.Message)
	}
	for i := range out.Answers {
		l.Sink.Answer(now, machine, &out.Answers[i])
	}
	m.wake = out.Wake
	if l.Facts != nil && len(out.Facts) > 0 {
		l.Facts(now, machine, out.Facts)
	}
}

// dispatch sends a message on its way. One to oneself waits for its turn like any other, in a copy.
func (l *Loop) dispatch(machine int, sent protocol.Time, to protocol.Rank, m protocol.Message) {
	if to == l.Self {
		l.queue = append(l.queue, queued{machine: machine, message: m.Copy(), sent: sent, from: l.stats.Inc()})
		return
	}
	l.Port.Send(sent, to, machine, m)
}

// Post gives a machine an event after the present one. Only the loop's own goroutine calls it: a Sink, or a call.
func (l *Loop) Post(machine int, ev protocol.Event) {
	l.queue = append(l.queue, queued{machine: machine, event: ev})
}

// Do runs f on the loop's goroutine, soon. It does not wait for it, unless very many wait already.
func (l *Loop) Do(f func(now protocol.Time)) error {
	select {
	case <-l.ended:
		return ErrClosed
	default:
	}
	select {
	case l.calls <- f:
		l.Waiter.Wake()
		return nil
	case <-l.ended:
		return ErrClosed
	}
}

// Leave makes the loop end once all machines that were told to close are done, and their records are on disk.
func (l *Loop) Leave() {
	l.leave.Store(true)
	l.Waiter.Wake()
}

func (l *Loop) left() bool {
	for i := range l.machines {
		if m, ok := l.machines[i].Machine.(protocol.Closable); ok && !m.Closed() {
			return false
		}
	}
	return l.disk.asked == l.disk.done.Load()
}

// Stop makes the loop end once it has done what it can do at once. Ended tells when.
func (l *Loop) Stop() {
	l.stop.Store(true)
	l.Waiter.Wake()
}

// Ended is closed when the loop has ended. Calls that it did not run by then are not run.
func (l *Loop) Ended() <-chan struct{} { return l.ended }

// Named returns a channel that is closed when the member next learns under which incarnation it speaks.
func (l *Loop) Named() <-chan struct{} { return l.named.wait() }

// Stats returns what the loop measures of itself. It may be read at any time.
func (l *Loop) Stats() *Stats { return &l.stats }

// Fault returns why the durable record cannot be written at present, or nil.
func (l *Loop) Fault() error {
	if p := l.disk.fault.Load(); p != nil {
		return *p
	}
	return nil
}
