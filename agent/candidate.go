package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
)

// A notifier is how a candidate's program is spoken to. Its methods do not wait for the program, and give the candidate no event.
type notifier interface {
	// leads says that the program leads, stop that it must stop, over that its candidacy is over. The cause of an end may be
	// corrected: then over comes again.
	leads(c *candidate)
	stop(c *candidate, cause regent.Cause)
	over(c *candidate, cause regent.Cause, err error)
	// healed says that a member is back that was down or cut off.
	healed(c *candidate, member string)
	// renewed says that the lease ends later than the program was told: it is to ask the candidate, and tell it.
	renewed(c *candidate)
}

// A candidate is one program that wants to lead one group. It ends after one leadership: another turn is another
// candidate, with another token. It drives one machine of internal/tenure, which decides everything about the lease.
type candidate struct {
	agent *Agent
	id    uint64 // unique within the agent
	group string
	// session is its number on its connection.
	session uint64
	// program is what the program calls itself, via how it speaks, pid its process if that is known.
	program, via string
	pid          int
	since        time.Time
	// grace is how long the program may take to stop when it is asked to; heartbeat, if not zero, how long it may be
	// silent.
	grace, heartbeat time.Duration
	// margin is taken off every end that the program is told.
	margin   time.Duration
	notifier notifier
	// readsPage says that the program wants to read its deadline on the page.
	readsPage bool
	// signs are the signs of life of its connection; nil: each is an event, as for a runner, whose keeper gets a line then.
	signs *lifeSigns
	// slot shows the deadline, nil: messages do; placed is the lease that it shows. behind is the horizon that it names, nil: it shows the end
	// fixed. highest is the highest end that it showed, but for the horizon that it names now. fixed and highest are each a protocol.Time of the
	// member's clock. A step of life changes slot; deadlines.mu guards changes of all, and placed.
	slot           atomic.Pointer[page.Tenure]
	placed         *shownLease
	behind         atomic.Pointer[horizon]
	fixed, highest atomic.Int64
	// tree is what a runner starts; nil: it is no runner. keeper is beside the runner, hooks how long its lost hooks may take.
	tree   *watchedTree
	keeper *keeping
	hooks  time.Duration
	// after is the last candidate of the same runner: what this one starts must not be taken for what that one left.
	after *candidate

	life *party.Party
	work queue
	// cancel ends the campaign. ended is closed when all is over, gone when nothing is left to look for as well.
	campaigning context.Context
	cancel      context.CancelFunc
	ended, gone chan struct{}

	mu    sync.Mutex
	lease *regent.Lease // nil while it waits
	// hold is of the lease. lapsed says that the member was asked to let it run out.
	hold   party.Hold
	lapsed bool
	// failure is why the campaign failed.
	failure error
	// order is the operator's, yield the program's own wish to hand over, reports those that wait for the group to be given up.
	order, yield *order
	reports      []*order
	handed       error // what became of the order's transfer
	goneOnce     sync.Once
	end          endReasons
}

// lifeSigns are the signs of life of a connection.
type lifeSigns = party.Signs

// An order is to end a leadership.
type order struct {
	cause regent.Cause
	// to is who shall lead then; empty: whoever is elected.
	to string
	// outcome gets what became of it, once.
	outcome chan error
	// answered says that the council has answered a transfer.
	answered bool
}

func newOrder(cause regent.Cause, to string) *order {
	return &order{cause: cause, to: to, outcome: make(chan error, 1)}
}

// complete says what became of an order.
func (o *order) complete(err error) {
	if o != nil {
		select {
		case o.outcome <- err:
		default:
		}
	}
}

// A transferError is what became of a transfer that a program asked for.
type transferError struct {
	begun bool
	err   error
}

func (e *transferError) Error() string {
	if e.err == nil {
		return "transferred"
	}
	return e.err.Error()
}

func (e *transferError) Unwrap() error { return e.err }

// killWithin is how long killing may take before the deadline that was announced decides, and orderTimeout how long the agent waits
// for the council to carry something out.
const (
	killWithin   = time.Second
	orderTimeout = 10 * time.Second
)

// addCandidate enters a program into the agent's books, or says why it cannot be. From then on everybody sees it, so what its
// maker knows about it is there before.
func (a *Agent) addCandidate(c *candidate) error {
	c.agent, c.since = a, time.Now()
	c.ended, c.gone = make(chan struct{}), make(chan struct{})
	c.campaigning, c.cancel = context.WithCancel(context.Background())
	conf := tenure.Config{Self: a.names.Rank(a.name), Lower: tenure.Program, Guard: a.timing.Guard, Margin: c.margin,
		Grace: a.graceFor(c, regent.Cause{}), KillWithin: killWithin, Answer: orderTimeout, Heartbeat: c.heartbeat, Shown: c.readsPage}
	o := party.Options{Clock: agentClock{a}, Do: c.do, Unread: c.unread, Shown: c.shown, Fix: c.fix, Watch: c.watch, Signs: c.signs}
	if c.tree != nil {
		conf.Lower, conf.Notes, conf.Guard, conf.Hooks = tenure.Party, true, c.tree.guard, c.hooks > 0
		conf.Grace += killWithin + min(c.hooks, maxGrace) // the runner counts its own grace
		o.Watch = nil                                     // its guard time is its own
		c.tree.left = func(text string) { c.note(func(e *endReasons) { e.left = text }) }
		c.tree.found = func(valid func() bool, k tenure.Kind) { c.life.GiveIf(valid, tenure.Event{Kind: k}) }
	}
	o.Config = conf
	c.life = party.New(o)
	if err := a.register(c); err != nil {
		c.life.Give(tenure.Event{Kind: tenure.UpperGone})
		return err
	}
	return nil
}

// agentClock is the clock of the agent and its member.
type agentClock struct{ *Agent }

func (c agentClock) Now() protocol.Time  { return protocol.Time(c.now()) }
func (c agentClock) Late() protocol.Time { return c.Now() }

// Suspended returns how long the host has been suspended since the agent was started.
func (c agentClock) Suspended() time.Duration {
	if s, ok := c.clock.(interface{ Suspended() time.Duration }); ok {
		_ = c.clock.Now() // a reading notices it
		return s.Suspended()
	}
	return 0
}

// run waits to lead, leads, and ends. It returns when nothing is left to do: a lease may come in the moment in which the tenure ends.
func (c *candidate) run() {
	c.work.start()
	if c.after != nil {
		select {
		case <-c.after.gone:
		case <-c.ended:
		}
		c.after = nil // it has an after of its own
	}
	c.campaign()
	<-c.ended
	if c.tree != nil {
		<-c.gone
	}
	c.work.wait()
}

// campaign waits until the program leads.
func (c *candidate) campaign() {
	m, err := c.agent.awaitMember(c.campaigning)
	var g *regent.Group
	if err == nil {
		g, err = m.Group(c.group)
	}
	var l *regent.Lease
	if err == nil {
		l, err = g.Campaign(c.hold.Into(c.campaigning))
	}
	if err != nil {
		if c.campaigning.Err() == nil {
			c.mu.Lock()
			c.failure = err // such as that this member never leads: campaigning again would not help
			c.mu.Unlock()
		}
		c.life.Give(tenure.Event{Kind: tenure.UpperGone})
		return
	}
	at := protocol.Time(c.agent.now())
	c.mu.Lock()
	c.lease = l
	c.mu.Unlock()
	c.life.Give(tenure.Event{Kind: tenure.Elected, Token: l.Token(), At: at, Until: protocol.Time(l.Until())})
	select {
	case <-l.Done():
		c.tell(l)
	case <-c.ended:
	}
}

// tell passes on that the member wants the program to stop, or has lost the lease.
func (c *candidate) tell(l *regent.Lease) {
	cause := l.Cause()
	c.mu.Lock()
	if cause.Why != why.Resigned && !c.lapsed { // which this agent did itself
		c.end.ask(leaseReason(cause))
	}
	c.mu.Unlock()
	ev := tenure.Event{Kind: tenure.Tell, Cause: c.agent.causeFor(cause)}
	switch {
	case !l.Valid():
		ev.Kind = tenure.Lost
	case cause.Why == why.Closed:
		ev.Until = protocol.Time(c.agent.now()).Add(c.agent.file.Load().StopGrace)
	}
	c.life.Give(ev)
}

// causeFor returns a cause as machines know it, and causeOf as people do. Members that are not of the council are left out: clients name them.
func (a *Agent) causeFor(c regent.Cause) protocol.Cause {
	return protocol.Cause{Code: protocol.CauseCode(c.Why), Peer: a.names.Rank(c.Member), Bound: c.Bound}
}

func (a *Agent) causeOf(c protocol.Cause) regent.Cause {
	return regent.Cause{Why: why.Kind(c.Code), Member: a.names.Name(c.Peer), Bound: c.Bound}
}

// disconnect says that the program can no longer be spoken to.
func (c *candidate) disconnect() {
	c.note(func(e *endReasons) { e.freeze("the connection to the program was closed") })
	c.life.Give(tenure.Event{Kind: tenure.ConnectionLost})
}

// markDead says that the kernel has reported the death of the program.
func (c *candidate) markDead() {
	c.note(func(e *endReasons) { e.stop("the program died") })
	c.life.Give(tenure.Event{Kind: tenure.ProgramDied})
}

// await waits until the candidacy is over; if it is not known that the program has ended, also until nothing is left to look for.
func (c *candidate) await(programEnded bool) {
	<-c.ended
	if c.tree != nil && !programEnded {
		<-c.gone
	}
}

// goodbye takes the program's word that everything has stopped.
func (c *candidate) goodbye() {
	c.note(func(e *endReasons) { e.report("the program said goodbye") })
	c.life.Give(tenure.Event{Kind: tenure.ProgramStopped})
}

// reportStopped takes the program's word that it has stopped. The order is completed when the group was given up.
func (c *candidate) reportStopped(cause protocol.Cause, o *order) {
	c.mu.Lock()
	select {
	case <-c.ended:
		o.complete(nil)
	default:
		c.reports = append(c.reports, o)
	}
	c.end.report("the program said that it has stopped")
	c.mu.Unlock()
	c.life.Give(tenure.Event{Kind: tenure.ProgramStopped, Cause: cause})
}

// reportFreeze takes note of an end at the program's side under which something may still act, or of its corrected cause.
func (c *candidate) reportFreeze(cause protocol.Cause) {
	c.note(func(e *endReasons) { e.freeze("the program ended it without having stopped") })
	c.life.Give(tenure.Event{Kind: tenure.Freeze, Cause: cause})
}

// handOver takes the program's word that it has stopped, in favour of another member. The order is completed with a transferError.
func (c *candidate) handOver(o *order) {
	to := c.agent.names.Rank(o.to)
	c.mu.Lock()
	switch s := c.life.State(); {
	case c.tree != nil:
		o.complete(errors.New("a runner hands nothing over: ask the agent"))
	case to == protocol.Nobody:
		o.complete(&transferError{err: noMember(o.to)})
	case c.yield != nil || s != tenure.Leading && s != tenure.Told && s != tenure.Stopping:
		o.complete(regent.ErrNotLeader)
	default:
		c.yield = o
		c.end.stop("the program hands it over to " + o.to)
	}
	mine := c.yield == o
	c.mu.Unlock()
	if mine {
		c.life.Give(tenure.Event{Kind: tenure.Yield, To: to})
	}
}

// carryOut has the program stop because an operator wants it to. The order is completed when that is done.
func (c *candidate) carryOut(o *order) {
	ev := tenure.Event{Kind: tenure.Resign, Cause: c.agent.causeFor(o.cause)}
	to := c.agent.names.Rank(o.to)
	if o.to != "" {
		ev = tenure.Event{Kind: tenure.Transfer, To: to}
	}
	c.mu.Lock()
	switch s := c.life.State(); {
	case s == tenure.Waiting:
		o.complete(fmt.Errorf("group %s: no program here leads it", c.group))
	case o.to != "" && to == protocol.Nobody:
		o.complete(noMember(o.to))
	case s == tenure.Over:
		o.complete(fmt.Errorf("group %s: no program here leads it any more", c.group))
	case c.order != nil || o.to != "" && s != tenure.Leading:
		o.complete(fmt.Errorf("group %s: its program is stopping already", c.group))
	default:
		c.order = o
		c.end.ask(orderReason(o))
	}
	mine := c.order == o
	c.mu.Unlock()
	if mine {
		c.life.Give(ev)
	}
}

// recordHeartbeat takes note that the program is well.
func (c *candidate) recordHeartbeat() { c.life.Give(tenure.Event{Kind: tenure.Pulse}) }

// note takes down something about how the leadership ends.
func (c *candidate) note(f func(*endReasons)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.end)
}

// hasLaterEnd says whether there may be a later end to tell in a message.
func (c *candidate) hasLaterEnd() bool {
	l := c.currentLease()
	if _, number := c.onPage(); l == nil || number != 0 {
		return false
	}
	s := c.life.State()
	return (s == tenure.Leading || s == tenure.Told) && l.Until()-regent.Instant(c.margin) > c.announced()
}

// unread says that a renewal waits to be told, and has it told: it comes before a look at the deadline.
func (c *candidate) unread() bool {
	later := c.hasLaterEnd()
	if later {
		c.notifier.renewed(c)
	}
	return later
}

// announceEnd returns the end that the program is to be told now, and takes it as told.
func (c *candidate) announceEnd() regent.Instant {
	_, number := c.onPage()
	if l := c.currentLease(); l != nil && number == 0 && l.Valid() {
		c.life.Give(tenure.Event{Kind: tenure.Extended, Until: protocol.Time(l.Until())})
	}
	return c.announced()
}

// announced returns the end that the program was told last, or can read; zero before it leads.
func (c *candidate) announced() regent.Instant {
	until, ok := c.life.Announced()
	if !ok {
		return 0
	}
	return max(regent.Instant(until), c.readable())
}

// leadsNow says whether the program leads at an instant during the call: its lease runs and it knows.
func (c *candidate) leadsNow() bool {
	l := c.currentLease()
	return l != nil && l.Valid() && c.announced().Sub(c.agent.now()) > 0 && c.life.State() != tenure.Over
}

// currentLease returns the lease, nil while the program waits.
func (c *candidate) currentLease() *regent.Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease
}
