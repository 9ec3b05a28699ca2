package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/why"
)

// A notifier is how a candidate's program is spoken to. Its methods do not wait for the program.
type notifier interface {
	// leads says that the program leads, stop that it must stop, over that its candidacy is over.
	leads(c *candidate)
	stop(c *candidate, cause regent.Cause)
	over(c *candidate, cause regent.Cause, err error)
	// healed says that a member is back that was down or cut off.
	healed(c *candidate, member string)
	// renewed says that the lease ends later than the program was told: it is to ask the candidate, and tell it.
	renewed(c *candidate)
}

// A candidate is one program that wants to lead one group. It ends after one leadership: another turn is another
// candidate, with another token.
type candidate struct {
	agent *Agent
	id    uint64 // unique within the agent
	group string
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
	// readsPage says that the program wants to read its deadline on the page. deadline is until when it leads, as far as it may know.
	readsPage bool
	deadline  *deadline
	// killer looks after what a runner started; nil: it is no runner.
	killer *treeKiller

	// stopped gets word that the program has stopped, asked that it shall.
	stopped chan *order
	asked   chan *order
	// pulse is when the program gave its last sign of life, on the agent's clock.
	pulse atomic.Int64
	// disconnected is closed when the program hung up, dead when it cannot act any more.
	disconnected, dead       chan struct{}
	disconnectOnce, deadOnce sync.Once
	// goodbye says how it is known that it cannot: the program said so. It is set before dead is closed.
	goodbye atomic.Bool
	// ended is closed when all is over, and how says how, if the program led.
	ended chan struct{}
	how   string

	mu       sync.Mutex
	lease    *regent.Lease // nil while it waits
	stopping bool
}

// An order is to end a leadership.
type order struct {
	cause regent.Cause
	// to is who shall lead then; empty: whoever is elected.
	to string
	// outcome gets what became of it, once.
	outcome chan error
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

// addCandidate enters a program into the agent's books, or says why it cannot be. From then on everybody sees it, so what its
// maker knows about it is there before.
func (a *Agent) addCandidate(c *candidate) error {
	c.agent, c.since, c.deadline = a, time.Now(), a.deadlines.newDeadline(c.margin)
	c.stopped, c.asked = make(chan *order, 1), make(chan *order, 1)
	c.recordHeartbeat()
	c.disconnected, c.dead, c.ended = make(chan struct{}), make(chan struct{}), make(chan struct{})
	return a.register(c)
}

// disconnect says that the program can no longer be spoken to.
func (c *candidate) disconnect() { c.disconnectOnce.Do(func() { close(c.disconnected) }) }

// markDead says that the program cannot act any more: it is dead, or said that it has stopped.
func (c *candidate) markDead() { c.deadOnce.Do(func() { close(c.dead) }) }

// run waits to lead, leads, and ends.
func (c *candidate) run() {
	cause, err := c.campaignAndLead()
	c.deadline.end()
	c.killer.forgetRecord()
	c.agent.unregister(c)
	close(c.ended)
	c.notifier.over(c, cause, err)
	if l := c.currentLease(); l != nil {
		c.agent.log.Info("a program has stopped leading", "group", c.group, "program", c.program, "pid", c.pid, "token", l.Token(), "how", c.how)
	}
	for { // whoever came too late
		select {
		case o := <-c.stopped:
			o.complete(nil)
		case o := <-c.asked:
			o.complete(fmt.Errorf("group %s: no program here leads it any more", c.group))
		default:
			return
		}
	}
}

// campaignAndLead is the whole course of things, and why it ended.
func (c *candidate) campaignAndLead() (regent.Cause, error) {
	l, o, err := c.campaign()
	if err != nil {
		o.complete(nil)
		if !errors.Is(err, regent.ErrClosed) {
			return regent.Cause{}, err // such as that this member never leads: campaigning again would not help
		}
		return regent.Cause{Why: why.Closed, Member: c.agent.name}, err
	}
	if l == nil { // it withdrew
		o.complete(nil)
		c.killer.discard()
		return regent.Cause{Why: why.Resigned, Member: c.agent.name}, nil
	}
	return c.lead(l), nil
}

// campaign waits until the program leads. It returns nil if the program no longer wants to, and the order by which it
// said so.
func (c *candidate) campaign() (*regent.Lease, *order, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type result struct {
		lease *regent.Lease
		err   error
	}
	got := make(chan result, 1)
	go func() {
		m, err := c.agent.awaitMember(ctx)
		if err != nil {
			got <- result{nil, err}
			return
		}
		l, err := m.Group(c.group).Campaign(ctx)
		got <- result{l, err}
	}()
	pulse := c.heartbeatTimer()
	defer pulse.Stop()
	var o *order
	for {
		select {
		case r := <-got:
			return r.lease, nil, r.err
		case <-pulse.C:
			if c.hasPulse(pulse) {
				continue
			}
			c.freeze()
		case o = <-c.stopped:
		case <-c.disconnected:
		case <-c.dead:
		case other := <-c.asked:
			other.complete(fmt.Errorf("group %s: no program here leads it", c.group))
			continue
		}
		cancel()
		if r := <-got; r.lease != nil { // it came at the same moment: the program never knew
			c.agent.changes.recordEnd(c.group, r.lease.Token(), "the program withdrew at the moment at which it was elected")
			c.release(r.lease)
		}
		return nil, o, nil
	}
}

// heartbeatTimer returns a timer that rings when the program was silent for too long.
func (c *candidate) heartbeatTimer() *time.Timer {
	if c.heartbeat > 0 {
		return time.NewTimer(c.heartbeat)
	}
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// hasPulse says whether the program gave a sign of life within its heartbeat. If it did, the timer is set to when that is over.
func (c *candidate) hasPulse(timer *time.Timer) bool {
	left := regent.Instant(c.pulse.Load()).Sub(c.agent.now()) + c.heartbeat
	if left > 0 {
		timer.Reset(left)
	}
	return left > 0
}

// lead speaks with the leading program until the leadership is over, and returns why it is.
func (c *candidate) lead(l *regent.Lease) regent.Cause {
	c.mu.Lock()
	c.lease = l
	c.mu.Unlock()
	c.deadline.begin(l, c.readsPage)
	c.agent.setLeader(c)
	c.notifier.leads(c)
	c.agent.logElection(c)
	if c.killer != nil {
		over := make(chan struct{})
		defer close(over)
		go c.killer.run(c, over)
	}
	s := &leadState{c: c, lease: l, done: l.Done(), disconnected: c.disconnected, heartbeat: c.heartbeatTimer(),
		expiry: time.NewTimer(c.untilExpiry()), grace: time.NewTimer(time.Hour)}
	s.grace.Stop()
	defer s.heartbeat.Stop()
	defer s.expiry.Stop()
	defer s.grace.Stop()
	for !s.step() {
	}
	s.order.complete(s.outcome)
	c.how = s.how
	return s.cause
}

// A leadState is a leadership under way.
type leadState struct {
	c     *candidate
	lease *regent.Lease
	// done and disconnected are nil once they were seen to be closed.
	done, disconnected <-chan struct{}
	// heartbeat rings when the program is silent, expiry when the end that it was told may have passed, grace when it has
	// taken too long to stop.
	heartbeat, expiry, grace *time.Timer
	// order is the one that the program stops for.
	order   *order
	outcome error
	cause   regent.Cause
	// reason is what the program is to stop for, freezeReason why it is told of no later end, and how how the leadership ended;
	// empty: nothing yet (ending.go).
	reason, freezeReason, how string
}

// step waits for the next thing to happen, and says whether the leadership is over.
func (s *leadState) step() (over bool) {
	c := s.c
	select {
	case <-s.done:
		s.done = nil
		s.setReason(s.leaseReason())
		s.stop(s.lease.Cause(), c.agent.graceFor(c, s.lease.Cause()))
	case o := <-c.asked:
		if s.order != nil {
			o.complete(fmt.Errorf("group %s: its program is stopping already", c.group))
			return false
		}
		s.order = o
		s.setReason(orderReason(o))
		s.stop(o.cause, c.agent.graceFor(c, o.cause))
	case <-s.heartbeat.C:
		if c.hasPulse(s.heartbeat) {
			return false
		}
		s.stop(regent.Cause{Why: why.Unhealthy, Member: c.agent.name, Bound: c.heartbeat}, 0)
		s.freeze(fmt.Sprintf("the program was silent for more than its heartbeat of %v", c.heartbeat))
	case <-s.grace.C:
		s.freeze("the program did not stop within its grace")
	case <-s.disconnected:
		s.disconnected = nil
		s.freeze("the connection to the program was closed")
		c.killer.kill()
	case o := <-c.stopped:
		return s.stopped(o)
	case <-c.dead:
		c.killer.killAndWait()
		s.setCause(regent.Cause{Why: why.Resigned, Member: c.agent.name})
		s.recordEnd(c.deathReason() + c.killedSuffix())
		return s.finish()
	case <-c.deadline.alarm:
		s.expiry.Reset(max(0, c.untilExpiry()))
	case <-s.expiry.C:
		if left := c.untilExpiry(); left > 0 {
			if !c.deadline.renewedByItself() {
				s.expiry.Reset(left)
			}
			return false
		}
		how := s.expiryReason()
		c.killer.killAndWait()
		s.setCause(regent.Cause{Why: why.LeaseExpired, Member: c.agent.name})
		s.recordEnd(how + c.killedSuffix())
		if s.order != nil && s.order.to == "" {
			return s.finish()
		}
		s.outcome = fmt.Errorf("group %s: its program did not stop in time: its lease ran out", c.group)
		s.release()
		return true
	}
	return false
}

// setCause remembers why the leadership ends; the first cause stays.
func (s *leadState) setCause(cause regent.Cause) {
	if s.cause == (regent.Cause{}) {
		s.cause = cause
	}
}

// stop tells the program to stop, once, and begins to count its grace.
func (s *leadState) stop(cause regent.Cause, grace time.Duration) {
	s.setCause(cause)
	c := s.c
	c.mu.Lock()
	first := !c.stopping
	c.stopping = true
	c.mu.Unlock()
	if first {
		c.notifier.stop(c, cause)
		s.grace.Reset(grace)
	}
}

// stopped takes the program's word that it has stopped.
func (s *leadState) stopped(o *order) (over bool) {
	if o.to != "" { // its own wish
		s.recordEnd("the program hands it over to " + o.to)
		begun, err := s.transfer(o.to)
		o.complete(&transferError{begun: begun, err: err})
		if !begun {
			s.clearEnd()
			return false // it may go on
		}
		s.setCause(regent.Cause{Why: why.Transferred, Member: o.to})
		return true
	}
	s.c.killer.disarm()
	s.setCause(regent.Cause{Why: why.Resigned, Member: s.c.agent.name})
	s.recordEnd("the program said that it has stopped")
	over = s.finish()
	o.complete(nil)
	return over
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

// finish gives the group up, to whom an operator wanted if one did. The program has stopped.
func (s *leadState) finish() bool {
	if s.order != nil && s.order.to != "" {
		begun, err := s.transfer(s.order.to)
		if begun || err == nil {
			s.outcome = err
			return true
		}
		s.outcome = fmt.Errorf("%w; its program had stopped for that by then, so %s was given up", err, s.c.group)
	}
	s.release()
	return true
}

func (s *leadState) release() {
	s.c.release(s.lease)
}

// orderTimeout is how long the agent waits for the council to carry something out.
const orderTimeout = 10 * time.Second

// transfer hands the group over, and says whether that was begun.
func (s *leadState) transfer(to string) (begun bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	err = s.lease.Transfer(ctx, to)
	begun = err == nil || !s.lease.Valid()
	if begun {
		s.c.freeze()
	}
	return begun, err
}

// release gives the group up: nobody acts any more.
func (c *candidate) release(l *regent.Lease) {
	c.freeze()
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	if err := l.Resign(ctx); err != nil && !errors.Is(err, regent.ErrClosed) {
		c.agent.log.Warn("giving up a group takes long; its lease runs out instead", "group", c.group, "err", err)
	}
}

// freeze has the program told of no later end.
func (c *candidate) freeze() { c.deadline.freeze() }

// announceEnd returns the end that the program is to be told now, and takes it as told.
func (c *candidate) announceEnd() regent.Instant { return c.deadline.tell() }

// untilExpiry returns how long it is until the program's end has passed on every clock of this host.
func (c *candidate) untilExpiry() time.Duration { return c.deadline.left() + c.margin }

// untilKill returns for how long the program may run on, if it has to be gone so long before its end. When that has passed it is told
// of no later end: what is being killed must not take that for its own.
func (c *candidate) untilKill(before time.Duration) time.Duration {
	return c.deadline.leftOrFreeze(before)
}

// leadsNow says whether the program leads at an instant during the call: its lease runs and it knows.
func (c *candidate) leadsNow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease != nil && c.lease.Valid() && c.deadline.left() > 0
}

// recordHeartbeat takes note that the program is well.
func (c *candidate) recordHeartbeat() { c.pulse.Store(int64(c.agent.now())) }

// currentLease returns the lease, nil while the program waits.
func (c *candidate) currentLease() *regent.Lease {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lease
}
