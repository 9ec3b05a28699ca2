package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
)

// A Notifier is how a candidate's program is spoken to. Its methods do not wait for the program, and give the candidate no event.
type Notifier interface {
	// Leads says that the program leads, stop that it must stop, over that its candidacy is over. The cause of an end may be
	// corrected: then over comes again.
	Leads(c *Candidate)
	Stop(c *Candidate, cause regent.Cause)
	Over(c *Candidate, cause regent.Cause, err error)
	// Agreed says what the members of a consistent group agree on, and with it whether the program has to recover what was lost. It may
	// wait for the program to read.
	Agreed(c *Candidate, v regent.View)
	// Healed says that a member is back that was down or cut off.
	Healed(c *Candidate, member string)
	// Renewed says that the lease ends later than was announced to the program: it is to ask the candidate, and announce that.
	Renewed(c *Candidate)
}

// A Candidacy is what a program asks for when it campaigns, and what the agent knows about that program.
type Candidacy struct {
	session.Candidate
	// Session is its number on its connection.
	Session uint64
	// Via is how the program speaks, pid its process if that is known.
	Via string
	Pid int
	// Margin is taken off every end that the agent announces to the program.
	Margin   time.Duration
	Notifier Notifier
	// Signs are the signs of life of its connection; nil: each is an event, as for a runner, whose keeper gets a line then.
	Signs *LifeSigns
	// Tree is what a runner starts, as the agent has verified its claim; nil: it is no runner. Keeper is beside the runner; nil: there is none.
	Tree   *processes.Tree
	Keeper Keeper
}

// A Keeper is the process beside a runner. Its methods do not wait for it, and give the candidate no event.
type Keeper interface {
	// Attach has the keeper look after a candidate.
	Attach(c *Candidate)
	// Leads sends the first deadline, and renewed has a later one sent.
	Leads(c *Candidate)
	Renewed()
	Over(c *Candidate)
	// OnPage says whether it reads its deadlines on the page.
	OnPage() bool
}

// noKeeper stands for none.
type noKeeper struct{}

func (noKeeper) Attach(*Candidate) {}
func (noKeeper) Leads(*Candidate)  {}
func (noKeeper) Renewed()          {}
func (noKeeper) Over(*Candidate)   {}
func (noKeeper) OnPage() bool      { return true }

// A Candidate is one program that wants to lead one group. It ends after one leadership: another turn is another
// candidate, with another token. It drives one machine of internal/tenure, which decides everything about the lease.
type Candidate struct {
	Candidacy
	agent *Agent
	id    uint64    // unique within the agent
	since time.Time // when it began to wait
	// slot shows the deadline, nil: messages do; placed is the lease that it shows. behind is the horizon that it names, nil: it shows the end
	// fixed. highest is the highest end that it showed, but for the horizon that it names now. fixed and highest are each a protocol.Time of the
	// member's clock. A step of life changes slot; deadlines.mu guards changes of all, and placed.
	slot           atomic.Pointer[page.Tenure]
	placed         *shownLease
	behind         atomic.Pointer[horizon]
	fixed, highest atomic.Int64
	// after is the last candidate of the same runner: what this one starts must not be taken for what that one left.
	after *Candidate

	life *party.Party
	work queue
	// cancel ends the campaign. ended is closed when all is over, gone when nothing is left to look for as well.
	campaigning context.Context
	cancel      context.CancelFunc
	Ended, gone chan struct{}

	mu    sync.Mutex
	lease leadership // nil while it waits
	led   time.Time  // when it began to lead
	// hold is of the lease. lapsed says that the member was asked to let it run out.
	hold   party.Hold
	lapsed bool
	// failure is why the campaign failed.
	failure error
	// order is the operator's, yield the program's own wish to hand over, reports those that wait for the group to be given up.
	order, yield *Order
	reports      []*Order
	handed       error // what became of the order's transfer
	goneOnce     sync.Once
	// duplicates are the hardware addresses of other hosts that have addresses of its tree, by address.
	duplicates map[string]string
	end        endReasons
}

// LifeSigns are the signs of life of a connection.
type LifeSigns = party.Signs

// An Order is to end a leadership.
type Order struct {
	cause regent.Cause
	// to is the member that shall lead then; empty: the next election decides.
	to string
	// Outcome gets what became of it, once.
	Outcome chan error
	// answered says that the council has answered a transfer.
	answered bool
}

func NewOrder(cause regent.Cause, to string) *Order {
	return &Order{cause: cause, to: to, Outcome: make(chan error, 1)}
}

// complete says what became of an order.
func (o *Order) complete(err error) {
	if o != nil {
		select {
		case o.Outcome <- err:
		default:
		}
	}
}

// A TransferError is what became of a transfer that a program asked for.
type TransferError struct {
	Begun bool
	Err   error
}

func (e *TransferError) Error() string {
	if e.Err == nil {
		return "transferred"
	}
	return e.Err.Error()
}

func (e *TransferError) Unwrap() error { return e.Err }

// OrderTimeout is how long the agent waits for the council to carry something out.
const OrderTimeout = 10 * time.Second

// AddCandidate enters a program into the agent's books, or says why it cannot be. From then on everybody sees it, so what its
// maker knows about it is there before.
func (a *Agent) AddCandidate(p Candidacy) (*Candidate, error) {
	c := &Candidate{Candidacy: p, agent: a, since: time.Now()}
	c.fixLease()
	if c.Keeper == nil {
		c.Keeper = noKeeper{}
	}
	c.Ended, c.gone = make(chan struct{}), make(chan struct{})
	c.campaigning, c.cancel = context.WithCancel(context.Background())
	conf := tenure.Config{Self: a.Names.Rank(a.Name), Lower: tenure.Program, Guard: a.Timing.Guard, Margin: c.Margin,
		Grace: a.GraceFor(c, regent.Cause{}), KillWithin: processes.KillWithin, Answer: OrderTimeout, Heartbeat: c.Heartbeat, Shown: c.Page}
	o := party.Options{Clock: a.partyClock(), Do: c.do, Unread: c.unread, Shown: c.shown, Fix: c.fix, Watch: c.watch, Signs: c.Signs}
	if c.Tree != nil {
		conf.Lower, conf.Notes, conf.Guard, conf.Hooks = tenure.Party, true, c.Tree.Guard, c.Hooks > 0
		conf.Grace += processes.KillWithin + min(c.Hooks, maxGrace) // the runner counts its own grace
		o.Watch = nil                                               // its guard time is its own
		c.Tree.Left = func(text string) { c.note(func(e *endReasons) { e.left = text }) }
		c.Tree.Found = func(valid func() bool, k tenure.Kind) { c.life.GiveIf(valid, tenure.Event{Kind: k}) }
	}
	o.Config = conf
	c.life = party.New(o)
	if err := a.register(c); err != nil {
		c.life.Give(tenure.Event{Kind: tenure.UpperGone})
		return nil, err
	}
	c.Keeper.Attach(c)
	a.runners.add(c)
	return c, nil
}

// A sleeper is a clock that knows how long the host has been suspended.
type sleeper interface{ Suspended() time.Duration }

// partyClock returns the clock of the agent for a party. Parties watch for resumes of the host if the clock knows of suspends: that of a test in
// fake time does not.
func (a *Agent) partyClock() clock.Clock {
	if _, ok := a.clock.(sleeper); ok {
		return agentClock{a}
	}
	return a.clock
}

// agentClock is the clock of the agent and its member.
type agentClock struct{ *Agent }

func (c agentClock) Late() protocol.Time { return c.Now() }

// Suspended returns how long the host has been suspended since the agent was started.
func (c agentClock) Suspended() time.Duration {
	if s, ok := c.clock.(sleeper); ok {
		_ = c.clock.Now() // a reading notices it
		return s.Suspended()
	}
	return 0
}

// Run waits to lead, leads, and ends. It returns when nothing is left to do: a lease may come in the moment in which the tenure ends.
func (c *Candidate) Run() {
	c.work.start()
	if c.after != nil {
		select {
		case <-c.after.gone:
		case <-c.Ended:
		}
		c.after = nil // it has an after of its own
	}
	c.campaign()
	<-c.Ended
	if c.Tree != nil {
		<-c.gone
	}
	c.work.wait()
}

// SetValue changes the value that the leadership announces, while the program leads.
func (c *Candidate) SetValue(value string) error {
	l := c.CurrentLease()
	if l == nil || !c.LeadsNow() {
		return regent.ErrNotLeader
	}
	return l.Announce(context.Background(), value)
}

// campaign waits until the program leads.
func (c *Candidate) campaign() {
	l, err := c.awaitLeadership()
	if err != nil {
		if c.campaigning.Err() == nil {
			c.mu.Lock()
			c.failure = err // such as that this member never leads: campaigning again would not help
			c.mu.Unlock()
		}
		c.life.Give(tenure.Event{Kind: tenure.UpperGone})
		return
	}
	at := c.agent.Now()
	c.mu.Lock()
	c.lease, c.led = l, time.Now()
	c.mu.Unlock()
	c.life.Give(tenure.Event{Kind: tenure.Elected, Token: c.numberOf(l), At: at, Until: c.LeaseEnd()})
	switch l := l.(type) {
	case *turn:
		go c.renewTurn(l)
	case *membership:
		go c.renewTurn(l)
		go c.passAgreements(l)
	}
	select {
	case <-l.Done():
		c.askToStop(l)
	case <-c.Ended:
	}
}

// askToStop gives the machine that the member wants the program to stop, or has lost the lease.
func (c *Candidate) askToStop(l leadership) {
	cause := l.Cause()
	c.mu.Lock()
	if cause.Why != why.Resigned && !c.lapsed { // which this agent did itself
		c.end.ask(leaseReason(cause))
	}
	c.mu.Unlock()
	ev := tenure.Event{Kind: tenure.Stop, Cause: c.agent.CauseFor(cause)}
	switch {
	case !l.Valid():
		ev.Kind = tenure.Lost
	case cause.Why == why.Closed:
		ev.Until = c.agent.Now().Add(c.agent.Config().StopGrace)
	}
	c.life.Give(ev)
}

// CauseFor returns a cause as machines know it, and causeOf as people do. Members that are not of the council are left out: clients name them.
func (a *Agent) CauseFor(c regent.Cause) protocol.Cause {
	return protocol.Cause{Code: protocol.CauseCode(c.Why), Peer: a.Names.Rank(c.Member), Bound: c.Bound}
}

func (a *Agent) CauseOf(c protocol.Cause) regent.Cause {
	return regent.Cause{Why: why.Kind(c.Code), Member: a.Names.Name(c.Peer), Bound: c.Bound}
}

// Disconnect says that the program can no longer be spoken to.
func (c *Candidate) Disconnect() {
	c.note(func(e *endReasons) { e.freeze("the connection to the program was closed") })
	c.life.Give(tenure.Event{Kind: tenure.ConnectionLost})
}

// MarkDead says that the kernel has reported the death of the program.
func (c *Candidate) MarkDead() {
	c.note(func(e *endReasons) { e.stop("the program died") })
	c.life.Give(tenure.Event{Kind: tenure.ProgramDied})
}

// Await waits until the candidacy is over; if it is not known that the program has ended, also until nothing is left to look for.
func (c *Candidate) Await(programEnded bool) {
	<-c.Ended
	if c.Tree != nil && !programEnded {
		<-c.gone
	}
}

// Goodbye takes the program's word that everything has stopped.
func (c *Candidate) Goodbye() {
	c.note(func(e *endReasons) { e.report("the program said goodbye") })
	c.life.Give(tenure.Event{Kind: tenure.ProgramStopped})
}

// ReportStopped takes the program's word that it has stopped. The order is completed when the group was given up.
func (c *Candidate) ReportStopped(cause protocol.Cause, o *Order) {
	c.mu.Lock()
	select {
	case <-c.Ended:
		o.complete(nil)
	default:
		c.reports = append(c.reports, o)
	}
	c.end.report("the program said that it has stopped")
	c.mu.Unlock()
	c.life.Give(tenure.Event{Kind: tenure.ProgramStopped, Cause: cause})
}

// ReportFreeze takes note of an end at the program's side under which something may still act, or of its corrected cause.
func (c *Candidate) ReportFreeze(cause protocol.Cause) {
	c.note(func(e *endReasons) { e.freeze("the program ended it without having stopped") })
	c.life.Give(tenure.Event{Kind: tenure.Freeze, Cause: cause})
}

// HandOver takes the program's word that it has stopped, in favour of another member. The order is completed with a transferError.
func (c *Candidate) HandOver(o *Order) {
	to := c.agent.Names.Rank(o.to)
	c.mu.Lock()
	switch s := c.life.State(); {
	case c.Tree != nil:
		o.complete(errors.New("a runner hands nothing over: ask the agent"))
	case to == protocol.Nobody:
		o.complete(&TransferError{Err: noMember(o.to, nil)})
	case c.yield != nil || s != tenure.Leading && s != tenure.Asked && s != tenure.Stopping:
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
func (c *Candidate) carryOut(o *Order) {
	ev := tenure.Event{Kind: tenure.Resign, Cause: c.agent.CauseFor(o.cause)}
	to := c.agent.Names.Rank(o.to)
	if o.to != "" {
		ev = tenure.Event{Kind: tenure.Transfer, To: to}
	}
	c.mu.Lock()
	switch s := c.life.State(); {
	case s == tenure.Waiting:
		o.complete(fmt.Errorf("group %s: no program here leads it", c.Group))
	case o.to != "" && to == protocol.Nobody:
		o.complete(noMember(o.to, nil))
	case s == tenure.Over:
		o.complete(fmt.Errorf("group %s: no program here leads it any more", c.Group))
	case c.order != nil || o.to != "" && s != tenure.Leading:
		o.complete(fmt.Errorf("group %s: its program is stopping already", c.Group))
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

// KeeperDied takes note that nothing more comes from the keeper.
func (c *Candidate) KeeperDied() { c.life.Give(tenure.Event{Kind: tenure.KeeperDied}) }

// ReportByKeeper takes the keeper's word that the tree is gone and that the lost hooks have run.
func (c *Candidate) ReportByKeeper(cause protocol.Cause) {
	c.note(func(e *endReasons) { e.report("its keeper has ended it") })
	c.life.Give(tenure.Event{Kind: tenure.ProgramStopped, Cause: cause})
}

// Token returns that of the leadership; zero before there is one, and where no tokens are offered.
func (c *Candidate) Token() uint64 {
	if l := c.held(); l != nil {
		return l.Token()
	}
	return 0
}

// Turn returns what tells a leadership without a token from others at this agent: the number of the turn in a group that hosts lead, and that of the lease on an engine that offers no tokens. It is zero
// before there is one, and beside a token.
func (c *Candidate) Turn() uint64 {
	if l := c.held(); l != nil && l.Token() == 0 {
		return c.numberOf(l)
	}
	return 0
}

// Waits says whether the program has not been elected yet.
func (c *Candidate) Waits() bool { return c.life.State() == tenure.Waiting }

// FinalCause returns the cause of the end that counts.
func (c *Candidate) FinalCause() regent.Cause { return c.agent.CauseOf(c.life.Cause()) }

// RecordHeartbeat takes note that the program is well.
func (c *Candidate) RecordHeartbeat() { c.life.Give(tenure.Event{Kind: tenure.Pulse}) }

// note takes down something about how the leadership ends.
func (c *Candidate) note(f func(*endReasons)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.end)
}

// hasLaterEnd says whether there may be a later end to tell in a message.
func (c *Candidate) hasLaterEnd() bool {
	l := c.held()
	if _, number := c.OnPage(); l == nil || number != 0 {
		return false
	}
	s := c.life.State()
	return (s == tenure.Leading || s == tenure.Asked) && c.LeaseEnd().Add(-c.Margin) > c.Announced().Add(c.agent.step(l))
}

// unread says that a renewal waits to be announced, and has it announced: it comes before a look at the deadline.
func (c *Candidate) unread() bool {
	later := c.hasLaterEnd()
	if later {
		c.Notifier.Renewed(c)
	}
	return later
}

// AnnounceEnd returns the end to announce to the program now, and takes it as announced.
func (c *Candidate) AnnounceEnd() protocol.Time {
	_, number := c.OnPage()
	if l := c.held(); l != nil && number == 0 && l.Valid() {
		c.life.Give(tenure.Event{Kind: tenure.Extended, Until: c.LeaseEnd()})
	}
	return c.Announced()
}

// Announced returns the end that was announced to the program last, or that it can read; zero before it leads.
func (c *Candidate) Announced() protocol.Time {
	until, ok := c.life.Announced()
	if !ok {
		return 0
	}
	return max(until, c.readable())
}

// LeadsNow says whether the program leads at an instant during the call: its lease runs and it knows.
func (c *Candidate) LeadsNow() bool {
	l := c.held()
	return l != nil && l.Valid() && c.Announced().Sub(c.agent.Now()) > 0 && c.life.State() != tenure.Over
}
