package core

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
)

// A queue is what a candidate has to do that takes long, in order. It begins with start, and has no end: a machine asks for more after
// the end of its tenure.
type queue struct {
	mu            sync.Mutex
	idle          sync.Cond // of mu
	tasks         []func()
	started, busy bool
}

func (q *queue) put(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(q.tasks, f)
	q.proceed()
}

// start has tasks done from now on.
func (q *queue) start() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.idle.L = &q.mu
	q.started = true
	q.proceed()
}

// proceed has the tasks done by one goroutine. It is called with mu held.
func (q *queue) proceed() {
	if q.started && !q.busy && len(q.tasks) > 0 {
		q.busy = true
		go q.drain()
	}
}

// drain does tasks until there are none.
func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.tasks) > 0 {
		tasks := q.tasks
		q.tasks = nil
		q.mu.Unlock()
		for _, f := range tasks {
			f()
		}
		q.mu.Lock()
	}
	q.busy = false
	q.idle.Broadcast()
}

// wait waits until there is nothing to do. It comes after start.
func (q *queue) wait() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.busy {
		q.idle.Wait()
	}
}

// do carries out an effect of the machine.
func (c *Candidate) do(e tenure.Effect) {
	switch e.Kind {
	case tenure.Announce:
		c.announce(e)
	case tenure.Void:
		c.void()
	case tenure.Ask:
		c.Notifier.Stop(c, c.agent.CauseOf(e.Cause))
	case tenure.Kill:
		c.note(func(r *endReasons) { r.killed = true })
		c.Tree.Begin()
	case tenure.Release:
		c.recordEnd(true)
		c.work.put(c.release)
	case tenure.HandOver:
		c.recordEnd(true)
		c.work.put(func() { c.transfer(c.agent.Names.Name(e.To)) })
	case tenure.GoOn:
		c.clearEnd()
	case tenure.End:
		c.over(e.Cause)
	case tenure.Note:
		c.Tree.Save(c.Group, c.longestLease())
	case tenure.Lapse:
		c.lapse(e.Cause)
	case tenure.Forget:
		c.Tree.Stop()
		c.work.put(func() {
			c.Tree.Forget()
			c.agent.runners.remove(c)
			c.goneOnce.Do(func() { close(c.gone) })
		})
	case tenure.Log:
		c.log(e)
	}
}

// announce takes note of a deadline. The program and the keeper learn of the first one at once, of later ones when they read.
func (c *Candidate) announce(e tenure.Effect) {
	if e.Token == 0 {
		if c.Tree != nil {
			c.Tree.Change((*tree.Ref).See) // what was born into the session of the first process until now belongs to the tree
		}
		c.Keeper.Renewed()
		return
	}
	c.show()
	if c.CurrentLease() != nil { // in other modes no program is the leader
		c.agent.setLeader(c)
	}
	c.Notifier.Leads(c)
	c.Keeper.Leads(c)
	c.work.put(func() { c.agent.logElection(c); c.entrust() })
}

// entrust has the guardian look for the program if this process dies. The program may run by now: until the guardian has it, the group is kept. Lost hooks
// act for nobody, but the next leader may rely on them: a group with hooks stays kept.
func (c *Candidate) entrust() {
	if c.Tree == nil || c.Hooks > 0 || c.hold.Entrust == nil {
		return
	}
	ref := c.Tree.Ref()
	runner, cgroup, err := ref.Witnesses()
	if err == nil && runner != nil {
		err = errors.Join(c.hold.Entrust(runner, cgroup), runner.Close(), cgroup.Close())
	}
	if err != nil {
		c.agent.Log.Debug("the guardian does not look for a program", "group", c.Group, "pid", c.Pid, "err", err)
	}
}

// log writes what the machine finds worth a line.
func (c *Candidate) log(e tenure.Effect) {
	switch e.Line {
	case tenure.Silent:
		c.note(func(r *endReasons) {
			r.freeze(fmt.Sprintf("the program was silent for more than its heartbeat of %v", c.Heartbeat))
		})
	case tenure.NotInTime:
		c.note(func(r *endReasons) { r.freeze("the program did not stop within its grace") })
	}
	cause := c.agent.CauseOf(e.Cause)
	c.work.put(func() {
		c.agent.Log.Warn(e.Line.String(), "group", c.Group, "program", c.Name, "pid", c.Pid, "token", c.Token(), "cause", cause.String())
	})
}

// release gives the group up: nobody acts any more.
func (c *Candidate) release() {
	l := c.held()
	ctx, cancel := context.WithTimeout(context.Background(), OrderTimeout)
	defer cancel()
	if err := l.Resign(ctx); err != nil && !errors.Is(err, regent.ErrClosed) {
		c.agent.Log.Warn("giving up a group takes long; its lease runs out instead", "group", c.Group, "err", err)
	}
	// The member may have lost the lease before it learnt of the release: then its cause counts here as well.
	c.life.Give(tenure.Event{Kind: tenure.Lost, Cause: c.agent.CauseFor(l.Cause())})
}

// transfer asks the council to hand the group over, and reports the answer.
func (c *Candidate) transfer(to string) {
	l := c.CurrentLease()
	ctx, cancel := context.WithTimeout(context.Background(), OrderTimeout)
	defer cancel()
	err := l.Transfer(ctx, to)
	begun := err == nil || !l.Valid()
	c.mu.Lock()
	yield := c.yield
	if yield == nil && !begun {
		c.handed = fmt.Errorf("%w; its program had stopped for that by then, so %s was given up", err, c.Group)
	} else if yield == nil {
		c.handed = err
	}
	c.order.handedOver()
	c.mu.Unlock()
	ev := tenure.Event{Kind: tenure.Refused}
	if begun {
		ev = tenure.Event{Kind: tenure.Lost, Cause: protocol.Cause{Code: protocol.Transferred, Peer: c.agent.Names.Rank(to)}}
	}
	c.life.Give(ev)
	if yield != nil {
		c.mu.Lock()
		c.yield = nil
		c.mu.Unlock()
		yield.complete(&TransferError{Begun: c.life.State() != tenure.Leading, Err: err})
	}
}

// handedOver remembers that the council has answered.
func (o *Order) handedOver() {
	if o != nil {
		o.answered = true
	}
}

// over ends the candidacy, once what takes long is done. A cause that is corrected later is passed on.
func (c *Candidate) over(cause protocol.Cause) {
	c.cancel()
	c.hide()
	c.Keeper.Over(c)
	why := c.agent.CauseOf(cause)
	_, led := c.life.Announced()
	if led {
		c.recordEnd(false)
	}
	select {
	case <-c.Ended:
		c.work.put(func() { c.Notifier.Over(c, why, nil) })
		return
	default:
	}
	c.work.put(func() { c.finish(led) })
}

// Withdraw ends a candidacy that was not begun: a tenure that nobody ends is kept.
func (c *Candidate) Withdraw() {
	c.life.Give(tenure.Event{Kind: tenure.UpperGone})
	c.agent.unregister(c)
}

// finish takes the candidate out of the books. A release that came before may have corrected the cause.
func (c *Candidate) finish(led bool) {
	cause := c.agent.CauseOf(c.life.Cause())
	c.mu.Lock()
	select {
	case <-c.Ended:
		c.mu.Unlock()
		return
	default:
	}
	failure, lease := c.failure, c.lease
	reports, order, outcome, how := c.reports, c.order, c.handed, c.end.how
	c.reports = nil
	if order != nil && order.to != "" && !order.answered {
		outcome = fmt.Errorf("group %s: its program did not stop in time: its lease ran out", c.Group)
	}
	// Those that wait learn what became of their orders before they can see that it is over.
	c.agent.unregister(c)
	order.complete(outcome)
	switch l := lease.(type) { // whatever was released before
	case *turn:
		_ = l.Resign(context.Background())
	case *membership:
		l.end()
	}
	for _, o := range reports {
		o.complete(nil)
	}
	close(c.Ended)
	c.mu.Unlock()
	switch {
	case led:
	case failure == nil && cause.Why == why.Unhealthy: // it was silent
	case failure == nil:
		cause = regent.Cause{Why: why.Resigned, Member: c.agent.Name}
	case errors.Is(failure, regent.ErrClosed):
		cause = regent.Cause{Why: why.Closed, Member: c.agent.Name}
	default:
		cause = regent.Cause{}
	}
	c.Notifier.Over(c, cause, failure)
	if led {
		c.agent.Log.Info("a program has stopped leading", "group", c.Group, "program", c.Name, "pid", c.Pid, "token", lease.Token(), "how", how)
	}
}

// lapse has the member let the lease run out: something may still act under it.
func (c *Candidate) lapse(cause protocol.Cause) {
	c.mu.Lock()
	if c.lease.Valid() {
		c.end.freeze(notRead)
	}
	c.lapsed = true
	_, led := c.lease.(*regent.Lease)
	c.mu.Unlock()
	if !led {
		return // the host leads on, or stays in the group; the turn or membership ends with the tenure
	}
	c.work.put(func() { c.hold.Lapse(cause.Code, c.agent.Names.Name(cause.Peer)) })
}
