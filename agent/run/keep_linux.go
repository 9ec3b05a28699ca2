package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
)

// A keeping is one candidacy at the keeper. It drives one machine of internal/tenure.
type keeping struct {
	k         *keeperProcess
	key       string
	task      *keeperTask
	conn      *session.Conn
	candidacy *session.Candidacy
	entered   chan struct{}
	party     *party.Party
	killer    killer
	runner    *runner // for environments
	hooks     Hooks
	// registered gets whether the agent knows this keeper.
	registered chan error
	once       sync.Once

	mu  sync.Mutex
	ref tree.Ref
	// upperOver says that the candidacy is over at the agent.
	upperOver bool
	endHook   context.CancelFunc
	// running counts lost hooks.
	running sync.WaitGroup
}

// A keeperProcess is the keeper itself.
type keeperProcess struct {
	runner net.Conn
	// answers are lines for the runner.
	answers chan keeperAnswer
	reaper  *tree.Reaper
	conn    *session.Conn

	mu   sync.Mutex
	now  *keeping
	dead bool // the runner
	left bool // nothing more comes from the runner
	// busy are hooks and reports that must not be cut short.
	busy sync.WaitGroup
	// idle has an element when there may be nothing left to do.
	idle chan struct{}
}

// keepUntilDone is what a keeper does: it looks after candidacies of its runner, until that is dead and nothing is left to do.
func keepUntilDone() int {
	liveOn()
	conn, err := net.FileConn(os.NewFile(keeperConn, "runner"))
	if err != nil {
		return StatusFailed
	}
	reaper, err := tree.ProcessReaper()
	if err != nil {
		return StatusFailed
	}
	k := &keeperProcess{runner: conn, reaper: reaper, answers: make(chan keeperAnswer, maxAnswers), idle: make(chan struct{}, 1)}
	go k.write()
	// A service manager signals all processes of a service, while the program still has its grace.
	signal.Notify(make(chan os.Signal, 1), Signals()...)
	k.read()
	k.mu.Lock()
	k.left = true
	now := k.now
	k.mu.Unlock()
	if now == nil {
		return 0
	}
	if now.party.State() == tenure.Waiting {
		now.leave()
	}
	if now.party.State() != tenure.Over {
		k.outlive(now)
	}
	k.busy.Wait()
	_ = now.conn.Close()
	return 0
}

// outlive does what is left to do when the runner is dead.
func (k *keeperProcess) outlive(now *keeping) {
	awaitRunner(keeperRunner, unbounded)
	k.mu.Lock()
	k.dead = true
	k.mu.Unlock()
	now.runnerDied()
	for now.party.State() != tenure.Over {
		<-k.idle
	}
}

// leave ends a candidacy that waits, if the runner has not campaigned: it is dead, or has left this keeper. Otherwise the agent decides
// what becomes of it.
func (n *keeping) leave() {
	n.mu.Lock()
	over := n.upperOver // before this keeper knew that its runner has left: nothing more comes from the agent
	n.mu.Unlock()
	if over || n.candidacy.Freeze(why.Cause{}) != nil {
		n.give(tenure.UpperGone)
	}
	for n.party.State() == tenure.Waiting {
		<-n.k.idle
	}
	if n.party.State() == tenure.Over && awaitRunner(keeperRunner, leaveWithin) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.ref.Forget()
	}
}

// leaveWithin is how long a runner may take to die after its connection has ended; unbounded: any time.
const (
	leaveWithin = time.Second
	unbounded   = -time.Millisecond
)

// awaitRunner waits until the process of a pidfd is dead, but no longer than a bound. It returns whether it is.
func awaitRunner(fd int32, within time.Duration) bool {
	fds := []unix.PollFd{{Fd: fd, Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(within.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// read takes all that the runner writes, to the end.
func (k *keeperProcess) read() {
	for o := range lines[keeperOrder](k.runner) {
		k.take(&o)
	}
}

// take does what an order is about.
func (k *keeperProcess) take(o *keeperOrder) {
	k.mu.Lock()
	now := k.now
	k.mu.Unlock()
	switch {
	case o.Prepare != nil:
		answer := keeperAnswer{Key: o.Key, Prepared: true}
		if err := k.prepare(o.Key, o.Prepare); err != nil {
			answer.Error = err.Error()
		}
		k.answer(answer)
	case now == nil || now.key != o.Key: // it is about another candidacy
	case o.Tree != nil:
		now.mu.Lock()
		now.ref = *o.Tree
		now.mu.Unlock()
	case o.LostDone:
		now.party.Give(tenure.Event{Kind: tenure.LostDone})
	case o.Ended != nil:
		now.party.Give(tenure.Event{Kind: tenure.ProgramStopped, Cause: *o.Ended})
	}
}

// answer queues a line for the runner. One that does not read loses lines.
func (k *keeperProcess) answer(a keeperAnswer) {
	select {
	case k.answers <- a:
	default:
	}
}

// maxAnswers is how many lines may wait for the runner.
const maxAnswers = 16

// write writes the lines in order. It has no deadline: after half a line the runner would understand nothing more.
func (k *keeperProcess) write() {
	out := json.NewEncoder(k.runner)
	for a := range k.answers {
		_ = out.Encode(a)
	}
}

// prepare connects to the agent and looks after a candidacy.
func (k *keeperProcess) prepare(key string, t *keeperTask) error {
	ctx, cancel := context.WithTimeout(context.Background(), keeperPatience)
	defer cancel()
	if k.conn != nil {
		select {
		case <-k.conn.Gone():
			k.conn = nil
		default:
		}
	}
	if k.conn == nil {
		c, err := session.Dial(ctx, t.Socket)
		if err != nil {
			return err
		}
		k.conn = c
	}
	n := &keeping{k: k, key: key, task: t, conn: k.conn, ref: t.Tree, entered: make(chan struct{}), registered: make(chan error, 1)}
	n.runner = &runner{Options: Options{Group: t.Group, Mode: t.Mode, Env: t.Env}, terms: Terms{Member: t.Member, Socket: t.Socket, Lease: t.Lease, Priority: t.Priority}}
	log := func(format string, args ...any) { fmt.Fprintf(os.Stderr, "regent run: keeper: "+format+"\n", args...) }
	n.hooks = Hooks{Lost: t.Lost, Notify: t.Notify, Fifo: t.Fifo, Timeout: t.Timeout, Reaper: k.reaper, Log: log, out: os.Stderr}
	n.killer = killer{ordinary: t.Ordinary, end: n.end, log: func(left string) { log("processes of %s are left: %s", t.Group, left) },
		found: func(valid func() bool, ev tenure.Event) { n.party.GiveIf(valid, ev) }}
	n.party = party.New(party.Options{Clock: k.conn.Clock(), Do: n.do, Unread: k.conn.Unread, Shown: n.shown, Config: tenure.Config{Self: k.conn.Self(),
		Lower: tenure.Tree, Backup: true, Hooks: t.Within > 0, Guard: t.Guard, KillWithin: killWithin, HookWithin: t.Within}})
	var err error
	n.candidacy, err = k.conn.Keep(key, n.take)
	close(n.entered)
	if err != nil {
		n.give(tenure.UpperGone)
		return err
	}
	k.mu.Lock()
	k.now = n
	k.mu.Unlock()
	select {
	case err = <-n.registered:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return err
}

// take gives the machine what the agent sends.
func (n *keeping) take(e *session.Event) {
	<-n.entered
	at, until := n.conn.Instants(e)
	switch e.Event {
	case session.Waiting:
		n.once.Do(func() { n.registered <- nil })
	case session.Failed:
		n.once.Do(func() { n.registered <- errors.New(e.Error) })
	case session.Leads:
		n.runner.lease.Store(int64(e.Lease))
		n.runner.noToken.Store(e.Token == 0)
		n.party.Give(tenure.Event{Kind: tenure.Elected, Token: e.Number(), At: at, Until: until})
	case session.Until:
		n.party.Give(tenure.Event{Kind: tenure.Extended, Until: until})
	case session.Over:
		// A runner that lives ends its tenure itself, and may have begun the next one.
		n.mu.Lock()
		n.upperOver = true
		n.mu.Unlock()
		n.k.mu.Lock()
		dead, left := n.k.dead, n.k.left
		n.k.mu.Unlock()
		if dead || left && n.party.State() == tenure.Waiting {
			n.give(tenure.UpperGone)
		}
	case session.Gone:
		n.once.Do(func() { n.registered <- io.ErrUnexpectedEOF })
		n.give(tenure.UpperGone)
	}
}

// shown returns the deadline on the agent's page, if this keeper reads it there.
func (n *keeping) shown() (protocol.Time, bool) {
	select {
	case <-n.entered:
		if n.candidacy != nil {
			return n.candidacy.Shown()
		}
	default:
	}
	return 0, false
}

// runnerDied takes note that the runner is dead, after all that it wrote.
func (n *keeping) runnerDied() {
	n.give(tenure.ProgramDied)
	n.mu.Lock()
	over := n.upperOver
	n.mu.Unlock()
	if over {
		n.give(tenure.UpperGone)
	}
}

func (n *keeping) give(k tenure.Kind) { n.party.Give(tenure.Event{Kind: k}) }

// end kills the tree as it is known by now.
func (n *keeping) end(ctx context.Context) tree.Result {
	n.mu.Lock()
	ref := n.ref
	n.mu.Unlock()
	return ref.End(ctx)
}

// do carries out an effect of the machine.
func (n *keeping) do(e tenure.Effect) {
	switch e.Kind {
	case tenure.Announce:
		n.mu.Lock()
		n.ref.See() // what was born into the session of the first process until now belongs to the tree
		n.mu.Unlock()
	case tenure.Ask:
		cause := e.Cause
		n.k.answer(keeperAnswer{Key: n.key, Freeze: &cause})
	case tenure.Kill:
		n.stopHook()
		n.killer.begin()
	case tenure.RunLost:
		n.runLost()
	case tenure.StopHook:
		n.stopHook()
	case tenure.Release:
		cause := n.conn.CauseOf(e.Cause)
		n.k.busy.Go(func() {
			n.running.Wait() // a hook that was killed is dead before that
			_ = n.candidacy.Stopped(cause)
		})
	case tenure.End:
		if n.candidacy != nil { // it was entered
			n.candidacy.Leave()
		}
	case tenure.Forget:
		n.killer.stop()
		n.forget()
	}
	select {
	case n.k.idle <- struct{}{}:
	default:
	}
}

// runLost runs the lost hooks of the dead runner.
func (n *keeping) runLost() {
	ctx, cancel := context.WithCancel(context.Background())
	n.mu.Lock()
	n.endHook = cancel
	n.mu.Unlock()
	env := n.runner.programEnv(n.party.Token())
	n.running.Add(1)
	n.k.busy.Go(func() {
		defer cancel()
		if err := n.hooks.open(os.Stderr); err != nil {
			n.hooks.Log("%v", err)
		}
		defer n.hooks.close()
		n.hooks.Log("the runner died: running its lost hooks for %s", n.task.Group)
		n.hooks.lost(ctx, env, n.task.Group, leaseLost)
		n.hooks.notify(ctx, n.runner.hookEnv(0), n.task.Group, hookStop)
		n.running.Done()
		n.give(tenure.LostDone)
	})
}

func (n *keeping) stopHook() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.endHook != nil {
		n.endHook()
	}
}

// forget removes what a dead runner had prepared.
func (n *keeping) forget() {
	n.k.mu.Lock()
	dead := n.k.dead
	n.k.mu.Unlock()
	if dead {
		n.mu.Lock()
		ref := n.ref
		n.mu.Unlock()
		ref.Forget()
	}
}
