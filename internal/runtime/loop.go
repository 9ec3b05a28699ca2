package runtime

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/internal/stamp"
)

// ErrClosed says that the loop has ended.
var ErrClosed = stamp.ErrClosed

// A Port carries messages between members: sockets, seals, bounds on delays and the packing of messages into packets
// are behind it. The loop alone calls it.
type Port interface {
	// Receive takes one batch of packets, without waiting, and calls deliver for each message in it, with the instant
	// at which it was taken. It says whether there may be more.
	Receive(deliver Deliver) (more bool)
	// Send puts a message into the next packet to the member. It keeps neither the message nor anything in it.
	Send(now protocol.Time, to protocol.Rank, channel Channel, m protocol.Message)
	// Flush sends off what Send was given, and what else is due, such as probes. It returns for how long what comes in may wait for more
	// of it. Wake says when it wants to be called next.
	Flush() (gather time.Duration)
	Wake() protocol.Time
	// Rename says under which incarnation the member speaks from now on.
	Rename(inc protocol.Inc)
	// Restart says that another start of the member begins: nothing more leaves under the one before.
	Restart(now protocol.Time, start protocol.StartBits)
	Close() error
}

// Deliver takes a message for one of the loop's machines.
type Deliver func(now protocol.Time, channel Channel, r *protocol.Receive)

// A Sink gets what a machine publishes, on the loop's goroutine. It must not wait, and not step a machine: it may Post.
type Sink interface {
	View(now protocol.Time, v *protocol.View)
	Horizon(now protocol.Time, h protocol.Horizon)
	Answer(now protocol.Time, a *protocol.Answer)
	// Published is called once all views and horizons of a Step were.
	Published(now protocol.Time)
	// Tick does what is due by itself and returns when it wants to be called next. It is also called soon after anything
	// was published.
	Tick(now protocol.Time) protocol.Time
}

// A Store makes records durable.
type Store interface{ Write(record []byte) error }

// Options is what a loop consists of.
type Options struct {
	Self protocol.Rank
	Name string // for logs and profiles
	Rho  protocol.Rho
	// Clock is the lease clock. Its readings strictly increase.
	Clock  func() protocol.Time
	Port   Port
	Waiter Waiter
	// Store is where records go. Without one they are lost with the process, and count as durable at once.
	Store Store
	// Realtime asks for real-time scheduling, where the process may have it.
	Realtime bool
	// Suspended, if it is set, returns for how long the host was suspended since some instant. When that grows, every lease that is
	// held ends.
	Suspended func() time.Duration
	// Restored, if it is set, says whether this machine goes on from a snapshot since it was called before, and returns the random bits
	// of the start that begins then.
	Restored func(now protocol.Time) (protocol.StartBits, bool)
	// Adopt, if it is set, is called after each Step of the council's machine, before its views are shown and anything leaves that it says: another council may be
	// in force.
	Adopt func(now protocol.Time)
	// Proved, if it is set, is called before a proof leaves that somebody may believe for longer than any before, with the instant until which. It must not wait.
	Proved func(until protocol.Time)
	// Paused, if it is set, is called when the loop woke up too late by so much. It must not wait.
	Paused func(now protocol.Time, by time.Duration)
	// Facts gets what the machines state, if it is set.
	Facts func(now protocol.Time, channel Channel, facts []protocol.Fact)
	Log   *slog.Logger
}

// A Loop is one goroutine that owns all machines of a member. It drives them (package drive), and reads the clock once
// for each event.
type Loop struct {
	Options
	instances map[Channel]*Instance
	// council is what programs see of the machine that serves the council; onDemand are the other groups in use.
	council  *GroupTable
	onDemand map[*OnDemand]struct{}
	// faulty says that the clock cannot be believed, health whether the member may lead, closing that it is leaving.
	faulty, closing bool
	health          protocol.Health
	// slept is what Suspended returned last.
	slept time.Duration
	// proved is the last instant that Proved was given.
	proved protocol.Time
	// renamed is when the machines of an earlier incarnation of this very process last went; zero: never.
	renamed protocol.Time
	// unstarted lists those that came before the loop ran, and wakes those that want to be woken.
	unstarted []*Instance
	wakes     wakeHeap
	// executor carries out what the machines ask for.
	executor drive.Executor
	// gather is what Flush returned last.
	gather time.Duration
	// due and dirty are instances with something to do in this round.
	due, dirty []*Instance
	running    bool
	calls      chan func(now protocol.Time)
	// queue holds what is to be stepped after the present event: posted events and messages to oneself.
	queue []queued
	// held holds messages that wait for a record, and unconfirmed the machines that Persisted has not come back to, once for
	// each of their records.
	held        drive.Held[held]
	unconfirmed drive.Held[*Instance]
	disk        *disk

	stop  atomic.Bool
	leave atomic.Bool
	ended chan struct{}
	named signal
	stats Stats
}

// queued is an event, or a message from oneself that was sent at an instant, or a call.
type queued struct {
	to      *Instance
	event   protocol.Event
	message protocol.Message
	sent    protocol.Time
	from    protocol.Inc
	call    func(now protocol.Time)
}

type held struct {
	from    *Instance
	to      protocol.Rank
	message protocol.Message
	sent    protocol.Time
}

// callLimit is how many calls may wait for the loop before their callers wait too.
const callLimit = 1024

// NewLoop returns a loop that has not begun.
func NewLoop(o Options) *Loop {
	l := &Loop{Options: o, health: protocol.Health{OK: true}, instances: make(map[Channel]*Instance), onDemand: make(map[*OnDemand]struct{}), calls: make(chan func(protocol.Time), callLimit), ended: make(chan struct{})}
	if o.Suspended != nil {
		l.slept = o.Suspended()
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
	l.running = true
	for _, i := range l.unstarted {
		l.step(i, l.Clock(), protocol.Start{})
	}
	l.unstarted = nil
	for {
		for l.round() {
		}
		if l.stop.Load() || l.leave.Load() && l.drained() {
			l.close() // asks the programs to stop that were not asked by now
			return
		}
		l.wait()
	}
}

// claim makes the thread the loop's own where that helps.
func (l *Loop) claim() {
	s := thread.Ordinary
	if l.Waiter.Precise() {
		var err error
		s, err = thread.Claim(l.Realtime)
		if err != nil {
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
	l.noticeRestore()
	l.noticeSuspend()
	more := l.Port.Receive(l.deliver)
	l.drain()
	l.takeCalls()
	l.confirm()
	l.tick()
	l.drain()
	l.tickSinks()
	if l.noticeRestore() { // what is to be sent was said by the life before the snapshot, if one was restored meanwhile
		l.tickSinks()
	}
	l.gather = l.Port.Flush()
	return more && !l.stop.Load() || len(l.calls) > 0 || len(l.queue) > 0
}

// deliver hands a message to the machine on its channel. If there is none the member is silent there, as if it had
// crashed.
func (l *Loop) deliver(now protocol.Time, channel Channel, r *protocol.Receive) {
	i := l.instances[channel]
	if i == nil {
		l.stats.Strays.Add(1)
		return
	}
	l.step(i, now, r)
}

// drainLimit is how many queued events are stepped before packets and timers have their turn. When the leases of ten
// thousand groups end at once there are as many events to step, and whatever else is due must not wait for all of them.
const drainLimit = 256

// drain steps what was queued, in order, and what is queued meanwhile; but not too much at a time.
func (l *Loop) drain() {
	n := 0
	for n < len(l.queue) && n < drainLimit {
		q := l.queue[n]
		l.queue[n] = queued{}
		n++
		now := l.Clock()
		if q.call != nil {
			q.call(now)
			continue
		}
		if q.to.gone {
			continue
		}
		if q.message != nil {
			q.event = &protocol.Receive{From: protocol.Ident{Rank: l.Self, Inc: q.from}, Message: q.message,
				Delay: l.Rho.RealAtMost(now.Sub(q.sent))}
		}
		l.step(q.to, now, q.event)
	}
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
}

// takeCalls runs the calls that wait now. Those that come meanwhile wait for the next round, so that callers cannot
// keep the loop from its timers.
func (l *Loop) takeCalls() {
	for range min(len(l.calls), drainLimit) {
		(<-l.calls)(l.Clock())
	}
	l.drain()
}

// confirm tells the machines of records that are on disk, and sends what waited for them.
func (l *Loop) confirm() {
	done := l.disk.done.Load()
	for of, ok := l.unconfirmed.Take(done); ok; of, ok = l.unconfirmed.Take(done) {
		if !of.gone {
			l.step(of, l.Clock(), protocol.Persisted{})
		}
	}
	for h, ok := l.held.Take(done); ok; h, ok = l.held.Take(done) {
		l.dispatch(h.from, h.sent, h.to, h.message)
	}
	l.drain()
}

// tick wakes, once, everybody who is due.
func (l *Loop) tick() {
	now := l.Clock()
	l.due = l.due[:0]
	for l.wakes.next() <= now {
		i := l.wakes[0]
		l.wakes.remove(i)
		l.due = append(l.due, i)
	}
	for n, i := range l.due {
		l.due[n] = nil
		if i.wake <= now && !i.gone {
			l.step(i, now, protocol.Tick{})
		}
		if i.sinkWake <= now && !i.gone {
			i.sinkWake = i.sink.Tick(now)
		}
		l.wakes.set(i)
	}
}

// tickSinks asks the sinks that got something when they want to be called.
func (l *Loop) tickSinks() {
	if len(l.dirty) == 0 {
		return
	}
	now := l.Clock()
	for n, i := range l.dirty {
		l.dirty[n] = nil
		i.dirty = false
		if !i.gone {
			i.sinkWake = i.sink.Tick(now)
			l.wakes.set(i)
		}
	}
	l.dirty = l.dirty[:0]
}

// step gives a machine one event and carries out what it asks for.
func (l *Loop) step(i *Instance, now protocol.Time, ev protocol.Event) {
	l.executor.Step((*host)(i), now, ev)
}

// rename makes the member speak as an incarnation from now on. Machines of the incarnation before are gone at once: what they
// send would bear the new one. Others take their place after the present event, for that steps them.
func (l *Loop) rename(now protocol.Time, inc protocol.Inc) {
	old := l.stats.Inc()
	if inc == old {
		return
	}
	l.stats.inc.Store(uint64(inc))
	l.Port.Rename(inc)
	if old != 0 {
		l.renamed = now
	}
	for d := range l.onDemand {
		d.abandon(now)
	}
	l.named.raise()
	l.queue = append(l.queue, queued{call: func(now protocol.Time) {
		for d := range l.onDemand {
			d.openAgain(now)
		}
	}})
}

// dispatch sends a message on its way. One to oneself waits for its turn like any other, in a copy.
func (l *Loop) dispatch(from *Instance, sent protocol.Time, to protocol.Rank, m protocol.Message) {
	switch {
	case from.gone:
	case to == l.Self:
		l.queue = append(l.queue, queued{to: from, message: m.Copy(), sent: sent, from: l.stats.Inc()})
	default:
		l.Port.Send(sent, to, from.channel, m)
	}
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

// Later calls f once the machines have taken the events that they were given so far. It is for the loop's own goroutine.
func (l *Loop) Later(f func(now protocol.Time)) { l.queue = append(l.queue, queued{call: f}) }

// tables calls f for everything that programs take part in.
func (l *Loop) tables(f func(*GroupTable)) {
	if l.council != nil {
		f(l.council)
	}
	for s := range l.onDemand {
		if s.table != nil {
			f(s.table)
		}
	}
}

// Fault says whether the lease clock can be believed. If it cannot, nothing is led. It is for the loop's own goroutine.
func (l *Loop) Fault(faulty bool) {
	l.faulty = faulty
	l.tables(func(t *GroupTable) { t.fault(faulty) })
}

// Suspend ends all leases that are held, and all attempts: the host was suspended, or may have been. Others may begin at once. It is for the
// loop's own goroutine.
func (l *Loop) Suspend() {
	before := l.faulty
	l.Fault(true)
	l.Fault(before)
	for len(l.queue) > 0 {
		l.drain()
	}
}

// Health says whether the member is fit to lead. If it is not, nothing is led: the council's machine sees to that for its
// groups, and the tables of the others for theirs. It is for the loop's own goroutine.
func (l *Loop) Health(h protocol.Health) {
	l.health = h
	l.council.post(h)
	for s := range l.onDemand {
		s.health()
	}
}

// Leading returns how many groups programs here lead, of whatever mode. It is for the loop's own goroutine.
func (l *Loop) Leading() int {
	n := 0
	l.tables(func(t *GroupTable) { n += t.Leading() })
	return n
}

// Close asks all programs that lead to stop, and lets none begin. The machines leave when the last program has stopped.
func (l *Loop) Close() error {
	return l.Do(func(protocol.Time) { l.close() })
}

func (l *Loop) close() {
	l.closing = true
	l.tables((*GroupTable).close)
}

// Open returns how many machines there are. It is for the loop's own goroutine.
func (l *Loop) Open() int { return len(l.instances) }

// Leave makes the loop end once all machines that were asked to close are done, and their records are on disk.
func (l *Loop) Leave() {
	l.leave.Store(true)
	l.Waiter.Wake()
}

func (l *Loop) drained() bool {
	for _, i := range l.instances {
		if m, ok := i.machine.(protocol.Closable); ok && !m.Closed() {
			return false
		}
	}
	return l.disk.asked == l.disk.done.Load()
}

// Stop makes the loop end once it has done what it can do at once. Programs that lead are asked to stop. Ended tells when.
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

// SlowestWrite returns the longest of the last writes of the record; zero if there was none. It may be called from any goroutine.
func (l *Loop) SlowestWrite() time.Duration { return l.disk.slowest() }

// DiskFault returns why the durable record cannot be written at present, or nil.
func (l *Loop) DiskFault() error {
	if p := l.disk.fault.Load(); p != nil {
		return *p
	}
	return nil
}
