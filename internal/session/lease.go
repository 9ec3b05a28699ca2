package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// A Lease is one leadership of this program, granted by the agent. It drives one machine of internal/tenure.
type Lease struct {
	conn  *Conn
	group string
	life  *party.Party
	// entered is closed when candidacy is set, or when there will be none.
	entered   chan struct{}
	candidacy *Candidacy
	token     atomic.Uint64
	// end is the deadline that was announced last; one that the page shows may be later, on the lease clock of this process; it only grows.
	end atomic.Int64
	// ended says that the lease counts no more, whatever comes.
	ended atomic.Bool
	// elected is closed when the program leads, done when it must stop, over when the candidacy is over at the agent.
	elected, done, over chan struct{}
	// overHere is closed when the tenure is over at this side.
	overHere chan struct{}
	// healed has an element when a member has come back since it was last looked at.
	healed      chan struct{}
	campaignErr error // set before over is closed
	// agreements are those of a consistent group.
	agreements agreements

	mu     sync.Mutex
	onDone []func()
	asked  bool
	// lastCause is what the program was asked to stop for, or the cause of the end.
	lastCause *why.Cause
	// released, once it is set, gets the agent's answer to the report that the program has stopped.
	released chan error
}

// ErrStopping says that the agent is about to stop.
var ErrStopping = errors.New("the agent is stopping")

// The bounds of a machine beside those of the agent, which counts the grace itself.
const (
	sessionGrace  = time.Hour
	sessionAnswer = 15 * time.Second
)

// Campaign waits until this program leads.
func (c *Conn) Campaign(ctx context.Context, o Candidate) (*Lease, error) {
	for {
		l, err := c.campaign(ctx, o)
		if l != nil || err != nil {
			return l, err
		}
	}
}

// campaign is one candidacy. It returns neither lease nor error if a lease came too late to be of use, or if the agent ended the candidacy because
// this process was silent: it is not any more.
func (c *Conn) campaign(ctx context.Context, o Candidate) (*Lease, error) {
	l := &Lease{conn: c, group: o.Group, entered: make(chan struct{}), elected: make(chan struct{}), done: make(chan struct{}),
		over: make(chan struct{}), overHere: make(chan struct{}), healed: make(chan struct{}, 1),
		agreements: agreements{changed: make(chan struct{})}}
	l.life = party.New(party.Options{Clock: c.clock, Do: l.do, Unread: c.Unread, Shown: l.shown, Config: tenure.Config{Self: c.Self(), Lower: tenure.Function,
		Guard: c.hello.Guard, Grace: sessionGrace, Answer: sessionAnswer}})
	o.Page = true
	k, err := c.Enter(o, l.take)
	if err != nil {
		close(l.entered)
		l.life.Give(tenure.Event{Kind: tenure.UpperGone})
		return nil, err
	}
	l.candidacy = k
	close(l.entered)
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
		if l.life.Token() != 0 || l.Cause().Why == why.Unhealthy {
			return nil, nil
		}
		return nil, fmt.Errorf("campaign for %s: the agent ended it: %v", o.Group, l.Cause().Why)
	case <-c.gone:
		return nil, c.err
	case <-ctx.Done():
		// The lease may be on its way: then this program has stopped before it began.
		l.life.Give(tenure.Event{Kind: tenure.ProgramStopped})
		_ = k.Stopped(c.CauseOf(protocol.Cause{Code: protocol.Resigned, Peer: c.Self()}))
		return nil, context.Cause(ctx)
	}
}

// Over says, after Campaign failed, or any time later, that the candidacy has ended.
func (l *Lease) Over() <-chan struct{} { return l.over }

// take gives the machine what the agent sends. It is called by one goroutine only.
func (l *Lease) take(e *Event) {
	<-l.entered
	if l.candidacy == nil {
		return
	}
	at, until := l.conn.Instants(e)
	switch e.Event {
	case Leads:
		l.token.Store(e.Token)
		l.agreements.first.Store(e.View)
		l.life.Give(tenure.Event{Kind: tenure.Elected, Token: e.Number(), At: at, Until: until})
	case Until:
		l.life.Give(tenure.Event{Kind: tenure.Extended, Until: until})
	case Stop:
		l.life.Give(tenure.Event{Kind: tenure.Extended, Until: until})
		l.life.Give(tenure.Event{Kind: tenure.Stop, Cause: l.conn.Of(e.Cause)})
	case Agreed:
		if e.View != nil {
			l.agreements.add(*e.View)
		}
	case Healed:
		select {
		case l.healed <- struct{}{}:
		default:
		}
	case Gone:
		l.life.Give(tenure.Event{Kind: tenure.UpperGone})
	case Over, Failed:
		if e.Event == Failed {
			l.campaignErr = failure(e)
		}
		l.candidacy.Leave()
		l.ended.Store(true)
		if l.life.Token() == 0 { // no machine has a cause of its own before an election
			l.record(e.Cause)
		}
		l.life.Give(tenure.Event{Kind: tenure.Lost, Cause: l.conn.Of(e.Cause)})
		l.mustStop()
		close(l.over)
	}
}

// do carries out an effect of the machine.
func (l *Lease) do(e tenure.Effect) {
	switch e.Kind {
	case tenure.Announce:
		l.end.Store(int64(e.Until))
		if e.Token != 0 {
			close(l.elected)
		}
	case tenure.Ask:
		l.recordCause(e.Cause)
		l.mustStop()
	case tenure.Void:
		l.ended.Store(true)
	case tenure.Release:
		l.ended.Store(true)
		l.recordCause(e.Cause)
		l.report()
	case tenure.End:
		l.isOver(e.Cause)
	}
}

// isOver takes note of the end. The agent learns of one that was not released, and of every cause that was corrected later.
func (l *Lease) isOver(cause protocol.Cause) {
	l.ended.Store(true)
	l.recordCause(cause)
	corrected := false
	select {
	case <-l.overHere:
		corrected = true
	default:
		close(l.overHere)
	}
	l.mu.Lock()
	unreported := (l.released == nil || corrected) && l.life.Token() != 0
	l.mu.Unlock()
	if unreported {
		go func() { _ = l.candidacy.Freeze(l.conn.CauseOf(cause)) }()
	}
}

// report tells the agent that the program has stopped.
func (l *Lease) report() {
	answer := make(chan error, 1)
	l.mu.Lock()
	l.released = answer
	cause := l.lastCause
	l.mu.Unlock()
	go func() {
		e, err := l.conn.ask(context.Background(), &Request{Do: Resign, Of: l.candidacy.id, Cause: cause})
		answer <- errors.Join(err, failure(&e))
	}()
}

// recordCause replaces the cause; the machine decides which one counts.
func (l *Lease) recordCause(c protocol.Cause) {
	if c.Code != protocol.Unexplained {
		written := l.conn.CauseOf(c)
		l.record(&written)
	}
}

func (l *Lease) record(c *why.Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != nil {
		l.lastCause = c
	}
}

// mustStop closes Done, once: the program must stop.
func (l *Lease) mustStop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked {
		return
	}
	l.asked = true
	close(l.done)
	for _, f := range l.onDone {
		go f()
	}
}

// Group returns the group that is led.
func (l *Lease) Group() string { return l.group }

// Member returns the name of the member that leads, which is the agent's.
func (l *Lease) Member() string { return l.conn.Member() }

// Token returns the token of the tenure.
func (l *Lease) Token() uint64 { return l.token.Load() }

// shown returns the deadline that the agent shows on its page, and whether it does.
func (l *Lease) shown() (protocol.Time, bool) {
	select {
	case <-l.entered:
	default:
		return 0, false
	}
	if l.candidacy == nil {
		return 0, false
	}
	return l.candidacy.Shown()
}

// look returns a reading of the clock, and the end of the lease then, zero once it was said to be over.
func (l *Lease) look() (now, end protocol.Time) {
	p := l.candidacy.place.Load()
	switch {
	case l.ended.Load():
		return l.conn.clock.Late(), 0
	case p != nil:
		return p.look()
	}
	end = protocol.Time(l.end.Load())
	return l.conn.clock.Late(), end
}

// Until returns the end of the lease as it stands, zero once it was said to be over.
func (l *Lease) Until() protocol.Time {
	_, end := l.look()
	return end
}

// Remaining returns how far that is off; zero if it is past.
func (l *Lease) Remaining() time.Duration {
	now, end := l.look()
	return max(0, end.Sub(now))
}

// Valid says whether the lease ran at an instant during the call.
func (l *Lease) Valid() bool { return l.Remaining() > 0 }

// Guarded says whether the program was not asked to stop, nor should have been by now.
func (l *Lease) Guarded() bool {
	select {
	case <-l.done:
		return false
	default:
		return l.Remaining() > l.conn.hello.Guard
	}
}

// Healed has an element when a member has come back that was down or cut off.
func (l *Lease) Healed() <-chan struct{} { return l.healed }

// Done is closed when the program must stop.
func (l *Lease) Done() <-chan struct{} { return l.done }

// OnDone has f called, on a goroutine of its own, when the program must stop; at once if it must already.
func (l *Lease) OnDone(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked {
		go f()
		return
	}
	l.onDone = append(l.onDone, f)
}

// Cause says why the program must stop; zero before Done is closed.
func (l *Lease) Cause() why.Cause {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastCause != nil {
		return *l.lastCause
	}
	return why.Cause{}
}

// Resign says that the program has stopped, and waits until the group is given up.
func (l *Lease) Resign(ctx context.Context) error {
	l.ended.Store(true)
	l.life.Give(tenure.Event{Kind: tenure.ProgramStopped})
	l.mustStop()
	l.mu.Lock()
	released := l.released
	l.mu.Unlock()
	var err error
	if released == nil { // it ended otherwise: the agent answers when it has given the group up
		var e Event
		e, err = l.conn.ask(ctx, &Request{Do: Resign, Of: l.candidacy.id})
		err = errors.Join(err, failure(&e))
	} else {
		select {
		case err = <-released:
			released <- err // for the next one who asks
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if errors.Is(err, ErrGone) {
		return nil // the agent is gone, or has hung up: nothing is renewed any more
	}
	return err
}

// Transfer says that the program has stopped, and hands the group over to a member. It says whether that was begun: if
// not, the program still leads.
func (l *Lease) Transfer(ctx context.Context, to string) (begun bool, err error) {
	rank := l.conn.names.Enter(to)
	if rank == protocol.Nobody {
		return false, fmt.Errorf("transfer of %s: no member %.40q in the council", l.group, to)
	}
	l.life.Give(tenure.Event{Kind: tenure.Yield, To: rank})
	e, err := l.conn.ask(ctx, &Request{Do: Transfer, Of: l.candidacy.id, To: to})
	begun = err != nil || e.Event != Failed || e.Begun
	if begun {
		l.life.Give(tenure.Event{Kind: tenure.Lost, Cause: protocol.Cause{Code: protocol.Transferred, Peer: rank}})
	} else {
		l.life.Give(tenure.Event{Kind: tenure.Refused})
	}
	if err != nil {
		return true, err
	}
	return begun, failure(&e)
}

// CanTransfer says why a Transfer would be refused now, or nil. Nothing changes.
func (l *Lease) CanTransfer(ctx context.Context, to string) error {
	e, err := l.conn.ask(ctx, &Request{Do: Transfer, Of: l.candidacy.id, To: to, Ask: true})
	if err != nil {
		return err
	}
	return failure(&e)
}

// Alive says that the program is well, and returns for how much longer it leads, counted from the call.
func (l *Lease) Alive(ctx context.Context) (time.Duration, error) {
	e, err := l.conn.ask(ctx, &Request{Do: Alive, Of: l.candidacy.id})
	return e.Remaining, errors.Join(err, failure(&e))
}

// Announce changes the value that this leadership bears.
func (l *Lease) Announce(ctx context.Context, value string) error {
	if !l.Valid() {
		return stamp.ErrNotLeader
	}
	e, err := l.conn.ask(ctx, &Request{Do: Announce, Of: l.candidacy.id, Value: value})
	return errors.Join(err, failure(&e))
}

// Edict stamps an order that is made now. It asks the agent. The error wraps [stamp.ErrNotLeader] once the lease is over, and if the agent is gone: without a stamp the
// program must not give the order.
func (l *Lease) Edict(ctx context.Context) (stamp.Edict, error) {
	if !l.Valid() {
		return stamp.Edict{}, stamp.ErrNotLeader
	}
	e, err := l.askInTime(ctx, &Request{Do: Edict, Of: l.candidacy.id})
	if errors.Is(err, ErrGone) {
		return stamp.Edict{}, fmt.Errorf("%w: %w", stamp.ErrNotLeader, err)
	}
	if err != nil {
		return stamp.Edict{}, err
	}
	return stamp.Parse(e.Stamp)
}

// Support returns the members that support the host in a local group. It asks the agent. The error is [stamp.ErrNotLeader] once the host leads no more.
func (l *Lease) Support(ctx context.Context) ([]string, error) {
	if !l.Valid() {
		return nil, stamp.ErrNotLeader
	}
	e, err := l.askInTime(ctx, &Request{Do: View, Group: l.group})
	if err != nil {
		return nil, err
	}
	if v := e.View; v == nil || v.Mode != view.Local || v.Leader != l.Member() {
		return nil, stamp.ErrNotLeader
	}
	return e.View.Support, nil
}

// askInTime asks the agent, and waits for the answer until ctx ends or the lease does. The error is [stamp.ErrNotLeader] if the lease ended first.
func (l *Lease) askInTime(ctx context.Context, r *Request) (Event, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Remaining(), stamp.ErrNotLeader)
	defer cancel()
	e, err := l.conn.ask(ctx, r)
	return e, errors.Join(err, failure(&e))
}
