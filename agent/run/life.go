package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/tenure"
)

// A life is one tenure at the runner. It drives one machine of internal/tenure, and decides nothing about the lease.
type life struct {
	r     *runner
	agent Agent
	terms Terms
	tree  *tree.Tree
	party *party.Party
	// forks counts forks that are under way, and hooks that act for the leader: what they fork is not proven gone.
	// forked is closed when there are none; end makes it.
	forks  sync.WaitGroup
	forked chan struct{}
	// acting ends when the tree is killed, and with it the hooks that act for the leader.
	acting    context.Context
	endActing context.CancelFunc
	// entered is closed when upper is set.
	entered chan struct{}
	upper   Upper
	// elected is closed when the program may be started, over when the tenure is over here, forgotten when nothing is left to look
	// for, and released when it is over at the agent as well.
	elected, over, forgotten, released chan struct{}
	once                               struct{ over, forgotten, released, forked sync.Once }
	// decided is closed when it is known whether the program execs.
	decided chan struct{}
	// runs is closed when the program itself runs: signals are for it from then on.
	runs chan struct{}
	// healed has an element when a member has come back since it was last looked at.
	healed chan struct{}
	heals  atomic.Int64 // how many there were
	killer killer
	keeper *keeper // beside this runner; nil: none
	key    string  // names this candidacy to the keeper

	mu sync.Mutex
	// refused is why the agent ended the candidacy.
	refused error
	// agentGone says that the agent died or closed the connection: it renews nothing more.
	agentGone bool
	env       []string
	token     uint64
	// endHook ends the hooks that run, and hookDone is closed when they are dead.
	endHook  context.CancelFunc
	hookDone chan struct{}
	// reported says that the end was reported to the agent.
	reported bool
	startErr error
	// signal is what the program is asked to stop with, and wish why, if this runner wants it to.
	signal os.Signal
	wish   *ending
	how    *ending
	// closed says that the line about the end was logged.
	closed bool
}

// killWithin is how long killing may take before the deadline decides, and reportWithin how long the agent may take to give the
// group up afterwards, at least.
const (
	killWithin   = time.Second
	reportWithin = 5 * time.Second
)

// newLife returns a tenure that waits.
func (r *runner) newLife(t *tree.Tree) *life {
	l := &life{r: r, agent: r.agent, terms: r.terms, tree: t, entered: make(chan struct{}), elected: make(chan struct{}), over: make(chan struct{}),
		forgotten: make(chan struct{}), released: make(chan struct{}), runs: make(chan struct{}), decided: make(chan struct{}), healed: make(chan struct{}, 1),
		hookDone: make(chan struct{}), signal: syscall.SIGTERM}
	close(l.hookDone) // none runs
	l.acting, l.endActing = context.WithCancel(context.Background())
	l.killer = killer{ordinary: r.terms.Ordinary, end: l.end, log: func(left string) { r.Log("%s is not given up before its processes are gone: %s", r.Group, left) },
		found: func(valid func() bool, ev tenure.Event) { l.party.GiveIf(valid, ev) }}
	hooks := r.Hooks.bound()
	l.party = party.New(party.Options{Clock: r.agent.Clock(), Do: l.do, Unread: l.unread, Shown: l.shown, Config: tenure.Config{Self: r.terms.Self, Lower: tenure.Tree,
		Hooks: hooks > 0, Guard: r.Guard, Grace: r.Grace, KillWithin: killWithin, HookWithin: hooks}})
	return l
}

// why says why the agent ended the candidacy.
func (l *life) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// refuse takes note of why this runner ends the candidacy.
func (l *life) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = err
}

// unread says that renewals were received and not taken yet.
func (l *life) unread() bool {
	select {
	case <-l.entered:
		return l.upper != nil && l.upper.Unread()
	default:
		return false
	}
}

// shown returns the deadline on the agent's page, if this runner reads it there.
func (l *life) shown() (protocol.Time, bool) {
	select {
	case <-l.entered:
		if l.upper != nil {
			return l.upper.Shown()
		}
	default:
	}
	return 0, false
}

// enter takes note of the agent's side of the candidacy.
func (l *life) enter(u Upper) {
	l.upper = u
	close(l.entered)
}

// take gives the machine what the agent sends.
func (l *life) take(n Notice) {
	<-l.entered
	if n.Lease != 0 {
		l.r.accept(n.Lease)
		if err := l.r.tooShort(n.Lease); err != nil {
			l.refuse(err)
			l.withdraw()
		}
		return
	}
	if n.Healed {
		l.heals.Add(1)
		select {
		case l.healed <- struct{}{}:
		default:
		}
		return
	}
	l.mu.Lock()
	switch n.Kind {
	case tenure.Elected:
		l.r.noToken.Store(n.NoToken)
	case tenure.Lost:
		l.refused = cmp.Or(l.refused, n.Err)
	case tenure.UpperGone:
		l.agentGone = true
	}
	l.mu.Unlock()
	l.party.Give(n.Event)
	if n.Kind == tenure.Lost || n.Kind == tenure.UpperGone {
		l.once.released.Do(func() { close(l.released) })
	}
}

func (l *life) give(k tenure.Kind) { l.party.Give(tenure.Event{Kind: k}) }

// resign has the program stop because this runner wants it to.
func (l *life) resign(code protocol.CauseCode, sig os.Signal, how ending) {
	l.mu.Lock()
	if l.wish == nil {
		l.signal, l.wish = sig, &how
	}
	l.mu.Unlock()
	l.party.Give(tenure.Event{Kind: tenure.Resign, Cause: protocol.Cause{Code: code, Peer: l.terms.Self}})
}

// freeze takes note that the keeper has seen the deadline come.
func (l *life) freeze(cause protocol.Cause) {
	l.party.Give(tenure.Event{Kind: tenure.Freeze, Cause: cause})
}

// withdraw ends a candidacy that has not led, or whose program is not started yet.
func (l *life) withdraw() {
	l.resign(protocol.Resigned, syscall.SIGTERM, ending{why: stopRequested, cause: "asked to stop"})
	l.give(tenure.ConnectionLost)
	if l.party.Token() == 0 && l.upper != nil {
		l.upper.Stopped(protocol.Cause{Code: protocol.Resigned, Peer: l.terms.Self})
	}
}

// do carries out an effect of the machine.
func (l *life) do(e tenure.Effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case tenure.Announce:
		if e.Token != 0 {
			l.token, l.env = e.Token, l.r.programEnv(e.Token)
			close(l.elected)
		}
	case tenure.RunElected:
		l.forks.Add(1)
		l.runHook(l.acting, tenure.ElectedDone, func(ctx context.Context) {
			defer l.forks.Done()
			l.r.Hooks.within(l.tree, l.party.Tick).elected(ctx, l.env, l.r.Group)
		})
	case tenure.Start:
		l.forks.Add(1)
		go l.fork()
	case tenure.Exec:
		go func() { l.executed(l.tree.Exec()) }()
	case tenure.Abort:
		l.tree.Abort()
		close(l.decided)
	case tenure.Ask:
		l.judge(e.Cause)
		l.ask()
	case tenure.Kill:
		l.judge(l.party.Cause())
		l.stopHook()
		l.endActing()
		l.killer.begin()
	case tenure.RunLost:
		why := l.judge(e.Cause).why
		l.runHook(context.Background(), tenure.LostDone, func(ctx context.Context) {
			l.r.healedHooks.wait() // hooks run in order
			l.r.Hooks.lost(ctx, l.env, l.r.Group, why)
			l.keeper.lostDone(l.key)
		})
	case tenure.StopHook:
		l.stopHook()
	case tenure.Release:
		l.reported = true
		l.release(e.Cause)
	case tenure.End:
		l.ended(e.Cause)
	case tenure.Forget:
		l.keeper.ended(l.key, l.party.Cause()) // before that something may be left for it to kill
		l.killer.stop()
		l.tree.Forget()
		l.once.forgotten.Do(func() { close(l.forgotten) })
	case tenure.Log:
		l.log(e)
	}
}

// release reports that nothing acts any more. A hook that was killed is dead before that.
func (l *life) release(cause protocol.Cause) {
	done := l.hookDone
	select {
	case <-done:
		l.upper.Stopped(cause)
	default:
		go func() {
			<-done
			l.upper.Stopped(cause)
		}()
	}
}

// ended takes note of the end. The agent learns of one that was not released, and of every cause that was corrected later.
func (l *life) ended(cause protocol.Cause) {
	l.judge(cause)
	if (!l.reported || l.isOver()) && l.token != 0 {
		l.upper.Freeze(cause)
	}
	l.once.over.Do(func() { close(l.over) })
}

func (l *life) isOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// log writes what the machine finds worth a line, and remembers it for the line about the end.
func (l *life) log(e tenure.Effect) {
	switch e.Line {
	case tenure.NotInTime:
		l.how.cause += fmt.Sprintf("; killed after %v of grace", l.r.Grace)
	case tenure.Corrected:
		if l.how != nil && l.how.why != programExited && lost(e.Cause) && l.how.why != leaseLost && !l.closed {
			l.how.cause += "; killed because the lease was not renewed in time"
			return
		}
		l.r.Log("%v: %s", e.Line, l.agent.Explain(e.Cause))
	case tenure.HookKilled: // it is logged with its name
	default:
		l.r.Log("%v", e.Line)
	}
}

// close logs the line about the end. Corrections that come later are logged by themselves.
func (l *life) close() ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.r.Log("stopped leading %s: %s", l.r.Group, l.how.cause)
	return *l.how
}

// lost says whether a cause is that the lease could not be used any more.
func lost(c protocol.Cause) bool {
	switch c.Code {
	case protocol.LeaseExpired, protocol.NoQuorum, protocol.ClockFault:
		return true
	}
	return false
}

// judge says, once, how the leadership ends, for hooks and people.
func (l *life) judge(cause protocol.Cause) *ending {
	switch {
	case l.how != nil:
	case lost(cause) && l.agentGone:
		l.how = &ending{why: leaseLost, cause: "the agent has gone, and the lease cannot be renewed without it"}
	case lost(cause):
		l.how = &ending{why: leaseLost, cause: "the lease was not renewed in time: " + l.agent.Explain(cause)}
	case l.wish != nil:
		l.how = l.wish
	default:
		l.how = &ending{why: stopRequested, cause: l.agent.Explain(cause)}
	}
	return l.how
}

// ask sends the program the signal to stop.
func (l *life) ask() {
	if l.isRunning() {
		l.forward(l.signal)
	}
}

func (l *life) isRunning() bool {
	select {
	case <-l.runs:
		return true
	default:
		return false
	}
}

// forward passes a signal on.
func (l *life) forward(s os.Signal) {
	if err := l.tree.Forward(s); err != nil {
		l.r.Log("forwarding %v: %v", s, err)
	}
}

// signalled passes a signal of the runner on to the program, if it runs.
func (l *life) signalled(s os.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isRunning() {
		l.forward(s)
	}
}

// runHook runs hooks aside, and reports when they have ended.
func (l *life) runHook(within context.Context, done tenure.Kind, run func(context.Context)) {
	ctx, cancel := context.WithCancel(within)
	dead := make(chan struct{})
	l.endHook, l.hookDone = cancel, dead
	go func() {
		defer cancel()
		run(ctx)
		close(dead)
		l.give(done)
	}()
}

// announceAgain tells hooks that this host still leads, unless its program is being killed.
func (l *life) announceAgain() {
	l.mu.Lock()
	if l.acting.Err() != nil {
		l.mu.Unlock()
		return
	}
	l.forks.Add(1)
	l.mu.Unlock()
	defer l.forks.Done()
	l.r.Hooks.within(l.tree, l.party.Tick).notify(l.acting, l.r.hookEnv(l.party.Token()), l.r.Group, hookAgain)
}

func (l *life) stopHook() {
	if l.endHook != nil {
		l.endHook()
	}
}

// end kills the tree, with what is being forked. What is there already does not wait for that. A hook that does not die, such as one in
// an uninterruptible sleep, keeps the result from proving anything.
func (l *life) end(ctx context.Context) tree.Result {
	l.once.forked.Do(func() { // nothing more is forked once the tree is killed
		l.forked = make(chan struct{})
		go func() {
			l.forks.Wait()
			close(l.forked)
		}()
	})
	select {
	case <-l.forked:
	default:
		found := l.tree.End(ctx)
		select {
		case <-l.forked:
		case <-ctx.Done():
			found.Void("a process is being started, or a hook has not ended")
			return found
		}
	}
	return l.tree.End(ctx)
}

// fork starts the first process, which waits for permission to exec.
func (l *life) fork() {
	l.mu.Lock()
	o := tree.Options{Path: l.r.path, Args: l.r.Command, Env: l.env, Files: l.r.Files}
	l.mu.Unlock()
	err := l.start(o)
	l.forks.Done()
	if err != nil {
		l.mu.Lock()
		l.startErr = err
		l.mu.Unlock()
		l.give(tenure.ProgramDied)
		return
	}
	l.keeper.started(l.key, l.tree.Ref())
	l.upper.Started(l.tree.Ref().First.Pid)
	go l.awaitExit()
	l.give(tenure.Forked)
}

// executed takes note of whether the program runs.
func (l *life) executed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(l.decided)
	l.startErr = err
	if err != nil {
		return
	}
	close(l.runs)
	if l.party.State() == tenure.Asked {
		l.forward(l.signal) // it was asked in between
	}
}

// unstarted returns why the program does not run; nil if it does, or if that is not known.
func (l *life) unstarted() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.startErr
}

// awaitExit reports the death of the first process.
func (l *life) awaitExit() {
	<-l.tree.Exited()
	<-l.decided
	late := l.remaining() <= 0
	l.mu.Lock()
	// Nobody is killed with status 0. Otherwise the agent or the keeper may have been quicker to see that the lease is over.
	status := l.tree.Status()
	if l.how == nil && l.startErr == nil && (status == 0 || !late) {
		l.how = &ending{why: programExited, status: status, cause: fmt.Sprintf("%s ended with status %d", l.r.Command[0], status)}
	}
	l.mu.Unlock()
	if late {
		l.give(tenure.Tick)
	}
	l.give(tenure.ProgramDied)
}
