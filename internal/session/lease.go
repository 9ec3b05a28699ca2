package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/why"
)

// A Lease is one leadership of this program, granted by the agent.
type Lease struct {
	conn  *Conn
	id    uint64
	group string
	token atomic.Uint64
	// end is the instant that was told last, on the lease clock of this process; it only grows.
	end atomic.Int64
	// ended says that the lease counts no more, whatever comes.
	ended atomic.Bool
	// elected is closed when the program leads, told when it must stop, over when the candidacy is over.
	elected, told, over chan struct{}
	// healed has an element when a member has come back since it was last looked at.
	healed      chan struct{}
	cause       atomic.Pointer[Cause]
	campaignErr error // set before over is closed

	mu     sync.Mutex
	onTold []func()
	timer  *time.Timer // rings when the guard time begins
}

// Candidate says how a program campaigns.
type Candidate struct {
	Group string
	// Name, Heartbeat and Grace are as in Request.
	Name             string
	Heartbeat, Grace time.Duration
	// Tree and Guard are a runner's, as in Request.
	Tree  *Tree
	Guard time.Duration
}

// ErrStopping says that the agent is about to stop.
var ErrStopping = errors.New("the agent is stopping")

// Campaign waits until this program leads.
func (c *Conn) Campaign(ctx context.Context, o Candidate) (*Lease, error) {
	l := &Lease{conn: c, group: o.Group, elected: make(chan struct{}), told: make(chan struct{}), over: make(chan struct{}), healed: make(chan struct{}, 1)}
	r := &Request{Do: Campaign, Group: o.Group, Name: o.Name, Heartbeat: o.Heartbeat, Grace: o.Grace, Tree: o.Tree, Guard: o.Guard}
	if err := c.begin(r, func(id uint64) { l.id, c.leases[id] = id, l }); err != nil {
		c.forget(l)
		return nil, err
	}
	select {
	case <-l.elected:
		return l, nil
	case <-l.over:
		if l.Cause().Why == why.Closed {
			return nil, ErrStopping
		}
		if l.campaignErr != nil {
			return nil, l.campaignErr
		}
		return nil, fmt.Errorf("campaign for %s: the agent ended it: %v", o.Group, l.Cause().Why)
	case <-c.gone:
		return nil, c.err
	case <-ctx.Done():
		// The lease may be on its way: then this program has stopped before it began.
		_ = c.begin(&Request{Do: Resign, Of: l.id}, func(uint64) {})
		c.forget(l)
		return nil, context.Cause(ctx)
	}
}

// Over says, after Campaign failed, or any time later, that the candidacy has ended.
func (l *Lease) Over() <-chan struct{} { return l.over }

func (c *Conn) forget(l *Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, l.id)
}

// handle takes what the agent says about the lease. It is called by one goroutine only.
func (l *Lease) handle(e *Event) {
	switch e.Event {
	case Leads:
		l.token.Store(e.Token)
		l.extend(e.Until)
		l.mu.Lock()
		l.timer = time.AfterFunc(l.Remaining()-l.conn.hello.Guard, l.checkExpiry)
		l.mu.Unlock()
		close(l.elected)
	case Until:
		l.extend(e.Until)
	case Stop:
		l.extend(e.Until)
		l.tell(e.Cause)
	case Healed:
		select {
		case l.healed <- struct{}{}:
		default:
		}
	case Over, Failed:
		if e.Event == Failed {
			l.campaignErr = failure(e)
		}
		l.ended.Store(true)
		l.tell(e.Cause)
		l.mu.Lock()
		if l.timer != nil {
			l.timer.Stop()
		}
		l.mu.Unlock()
		close(l.over)
	}
}

func (l *Lease) extend(host protocol.Time) {
	if until := int64(l.conn.toLocal(host)); until > l.end.Load() {
		l.end.Store(until)
	}
}

// checkExpiry is called when the guard time begins, as it was then: told if nothing came since, else looks again later.
func (l *Lease) checkExpiry() {
	if left := l.Remaining() - l.conn.hello.Guard; left > 0 {
		l.mu.Lock()
		l.timer.Reset(left)
		l.mu.Unlock()
		return
	}
	l.tell(&Cause{Why: why.LeaseExpired, Member: l.conn.hello.Member})
}

// tell says, once, that the program must stop.
func (l *Lease) tell(c *Cause) {
	if c == nil {
		c = &Cause{}
	}
	if !l.cause.CompareAndSwap(nil, c) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.told)
	for _, f := range l.onTold {
		go f()
	}
}

// Group returns the group that is led.
func (l *Lease) Group() string { return l.group }

// Token returns the token of the tenure.
func (l *Lease) Token() uint64 { return l.token.Load() }

// Until returns the end of the lease as it was told last, zero once it was said to be over.
func (l *Lease) Until() protocol.Time {
	if l.ended.Load() {
		return 0
	}
	return protocol.Time(l.end.Load())
}

// Remaining returns how far that is off; zero if it is past.
func (l *Lease) Remaining() time.Duration { return max(0, l.Until().Sub(l.conn.clock.Late())) }

// Valid says whether the lease ran at an instant during the call.
func (l *Lease) Valid() bool { return l.Remaining() > 0 }

// Guarded says whether the program was not told to stop, nor should have been by now.
func (l *Lease) Guarded() bool {
	return l.cause.Load() == nil && l.Remaining() > l.conn.hello.Guard
}

// Healed has an element when a member has come back that was down or cut off.
func (l *Lease) Healed() <-chan struct{} { return l.healed }

// Told is closed when the program must stop.
func (l *Lease) Told() <-chan struct{} { return l.told }

// OnTold has f called, on a goroutine of its own, when the program must stop; at once if it must already.
func (l *Lease) OnTold(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.told:
		go f()
	default:
		l.onTold = append(l.onTold, f)
	}
}

// Cause says why the program must stop; zero before Told is closed.
func (l *Lease) Cause() Cause {
	if c := l.cause.Load(); c != nil {
		return *c
	}
	return Cause{}
}

// Resign says that the program has stopped, and waits until the group is given up.
func (l *Lease) Resign(ctx context.Context) error {
	l.ended.Store(true)
	l.tell(&Cause{Why: why.Resigned, Member: l.conn.hello.Member})
	e, err := l.conn.ask(ctx, &Request{Do: Resign, Of: l.id})
	if errors.Is(err, ErrGone) {
		return nil // the agent is gone, or has hung up: nothing is renewed any more
	}
	return errors.Join(err, failure(&e))
}

// Transfer says that the program has stopped, and hands the group over to a member. It says whether that was begun: if
// not, the program still leads.
func (l *Lease) Transfer(ctx context.Context, to string) (begun bool, err error) {
	e, err := l.conn.ask(ctx, &Request{Do: Transfer, Of: l.id, To: to})
	if err != nil {
		return true, err
	}
	return e.Event != Failed || e.Begun, failure(&e)
}

// CanTransfer says why a Transfer would be refused now, or nil. Nothing changes.
func (l *Lease) CanTransfer(ctx context.Context, to string) error {
	e, err := l.conn.ask(ctx, &Request{Do: Transfer, Of: l.id, To: to, Ask: true})
	if err != nil {
		return err
	}
	return failure(&e)
}

// Alive says that the program is well, and returns for how much longer it leads, counted from the call.
func (l *Lease) Alive(ctx context.Context) (time.Duration, error) {
	e, err := l.conn.ask(ctx, &Request{Do: Alive, Of: l.id})
	return e.Remaining, errors.Join(err, failure(&e))
}

// Edict stamps an order that is made now. It takes a round trip to the agent.
func (l *Lease) Edict(ctx context.Context) (stamp.Edict, error) {
	if !l.Valid() {
		return stamp.Edict{}, stamp.ErrNotLeader
	}
	e, err := l.conn.ask(ctx, &Request{Do: Edict, Of: l.id})
	if err != nil {
		return stamp.Edict{}, err
	}
	if e.Event != Stamped {
		return stamp.Edict{}, stamp.ErrNotLeader
	}
	return stamp.Parse(e.Stamp)
}
