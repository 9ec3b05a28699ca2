package regent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// A Client takes part through the agent of its host (regent agent), which is the member of the council: twenty replicas
// of a service need not be twenty members. Groups and leases are the same as those of a [Member], with two differences: an
// [Edict] takes a round trip on the host, and so does View.
//
// If the agent goes, what this program leads ends as any lease does that is not renewed. Campaigns and watches go on
// when the agent is back.
type Client struct {
	socket string
	// silence is how long the program may give no sign of life; zero: the default.
	silence time.Duration
	mu      sync.Mutex
	conn    *session.Conn
	// busy is held by whoever connects again.
	busy   chan struct{}
	closed chan struct{}
	once   sync.Once
}

// A DialOption changes how a program takes part through its agent.
type DialOption func(*Client)

// Heartbeat sets how long the agent waits for a sign of life of this program before it treats the program as hung; two leases, at least 6 s,
// unless it is set. Dial gives two signs in that time: a longer one costs the agent less. Where the agent shares no memory with the program, nothing is given, and a program that
// does not read is noticed.
func Heartbeat(silence time.Duration) DialOption { return func(c *Client) { c.silence = silence } }

// Dial connects to the agent that listens on the unix socket, such as /run/regent/regent.sock.
func Dial(ctx context.Context, socket string, options ...DialOption) (*Client, error) {
	conn, err := session.Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	c := &Client{socket: socket, conn: conn, busy: make(chan struct{}, 1), closed: make(chan struct{})}
	for _, set := range options {
		set(c)
	}
	return c, nil
}

// Name returns the name of the member that the agent is.
func (c *Client) Name() string { return c.current().Member() }

// Group returns the group with the name, as [Member.Group] does. It does not ask the agent.
func (c *Client) Group(name string) (*Group, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	e := &agentElection{client: c, group: name, mode: Quorum}
	return &Group{seen: seen{e}, election: e}, nil
}

// LocalGroup returns the local group with the name, which the configuration of the agent must list. Hosts lead it: a program of this host leads
// while its host leads its part of the network, and resigns its turn to the next program of the host. It does not ask the agent.
func (c *Client) LocalGroup(name string) (*LocalGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	e := &agentElection{client: c, group: name, mode: Local}
	return &LocalGroup{seen: seen{e}, election: e}, nil
}

// EventualGroup returns the eventual group with the name, which the configuration of the agent must list. The agent takes part in it: [View.Mine] is
// of this host. It does not ask the agent.
func (c *Client) EventualGroup(name string) (*EventualGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	return &EventualGroup{seen: seen{&agentElection{client: c, group: name, mode: Eventual}}}, nil
}

// ConsistentGroup returns the consistent group with the name, which the configuration of the agent must list. The host is a member while a program
// of it takes part, one program at a time. It does not ask the agent.
func (c *Client) ConsistentGroup(name string) (*ConsistentGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	e := &agentElection{client: c, group: name, mode: Consistent}
	return &ConsistentGroup{seen: seen{e}, election: e}, nil
}

// Close says that everything that this program led through the agent has stopped, and ends the connection.
func (c *Client) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		err = c.current().Close()
	})
	return err
}

func (c *Client) current() *session.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn
}

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// How long to wait before another try to reach an agent that is not there: at first, and at most.
const (
	redialSoon = 20 * time.Millisecond
	redialLate = time.Second
)

// alive returns a connection that is not known to be lost, and waits for one.
func (c *Client) alive(ctx context.Context) (*session.Conn, error) {
	select {
	case c.busy <- struct{}{}:
		defer func() { <-c.busy }()
	case <-c.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for wait := redialSoon; ; wait = min(2*wait, redialLate) {
		conn := c.current()
		select {
		case <-c.closed:
			return nil, ErrClosed
		case <-conn.Gone():
		default:
			return conn, nil
		}
		if next, err := session.Dial(ctx, c.socket); err == nil {
			c.mu.Lock()
			c.conn = next
			c.mu.Unlock()
			if c.isClosed() {
				_ = next.Close()
			}
			continue
		}
		select {
		case <-time.After(wait):
		case <-c.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// explain turns an error of the connection into one of this package.
func (c *Client) explain(err error) error {
	if err != nil && c.isClosed() {
		return ErrClosed
	}
	return err
}

// agentElection is a group at the agent's member.
type agentElection struct {
	client *Client
	group  string
	mode   Mode
}

func (e *agentElection) name() string { return e.group }
func (e *agentElection) gone() bool   { return e.client.isClosed() }

func (e *agentElection) view(ctx context.Context) (View, error) {
	conn, err := e.client.alive(ctx)
	if err != nil {
		return e.unknown(), err
	}
	raw, err := conn.View(ctx, e.group)
	if err != nil {
		return e.unknown(), e.client.explain(err)
	}
	return e.read(raw)
}

// unknown is the view without an agent.
func (e *agentElection) unknown() View {
	return View{Group: e.group, Mode: e.mode, Cause: Cause{Why: why.Closed, Member: e.client.Name()}}
}

func (e *agentElection) read(raw json.RawMessage) (View, error) {
	var v View
	if err := json.Unmarshal(raw, &v); err != nil {
		return e.unknown(), fmt.Errorf("group %s: the agent sent a view that cannot be read: %w", e.group, err)
	}
	if v.Mode != e.mode {
		return e.unknown(), fmt.Errorf("group %s: it is %s at the agent, and not %s (list it under groups in the configuration of every agent)", e.group, v.Mode, e.mode)
	}
	return v, nil
}

func (e *agentElection) watch(ctx context.Context) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		lost := 0
		for {
			conn, err := e.client.alive(ctx)
			if err == nil {
				more := true
				err = conn.Watch(ctx, e.group, func(raw json.RawMessage) bool {
					v, err := e.read(raw)
					v.Missed, lost = v.Missed+lost, 0
					more = yield(v, err) && err == nil
					return more
				})
				if !more {
					return
				}
			}
			switch {
			case ctx.Err() != nil:
				return
			case e.client.isClosed():
				yield(e.unknown(), ErrClosed)
				return
			case errors.Is(err, session.ErrSlow):
				lost = 1 // at least
			case !errors.Is(err, session.ErrGone):
				yield(e.unknown(), err)
				return
			case !yield(e.unknown(), nil): // another agent may come
				return
			}
		}
	}
}

func (e *agentElection) campaign(ctx context.Context, value string, lease time.Duration) (tenure, error) {
	t, err := e.await(ctx, session.Candidate{Group: e.group, Lease: lease, Silence: e.client.silence, Value: value})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// enter does nothing: the agent takes part.
func (e *agentElection) enter() (exit func(), err error) { return func() {}, nil }

func (e *agentElection) campaignLocally(ctx context.Context) (localTenure, error) {
	t, err := e.await(ctx, session.Candidate{Group: e.group, Mode: string(e.mode), Silence: e.client.silence})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// await waits until this program leads.
func (e *agentElection) await(ctx context.Context, o session.Candidate) (*agentTenure, error) {
	for {
		conn, err := e.client.alive(ctx)
		if err != nil {
			return nil, err
		}
		l, err := conn.Campaign(ctx, o)
		switch {
		case err == nil:
			return &agentTenure{client: e.client, election: e, conn: conn, Lease: l}, nil
		case e.client.isClosed() || ctx.Err() != nil:
		case errors.Is(err, session.ErrGone):
			continue // another may come
		case errors.Is(err, session.ErrStopping):
			select { // so that one does
			case <-conn.Gone():
			case <-ctx.Done():
			case <-e.client.closed:
			}
			continue
		}
		return nil, e.client.explain(err)
	}
}

func (e *agentElection) verify(ctx context.Context) (*Proof, error) {
	conn, err := e.client.alive(ctx)
	if err != nil {
		return nil, err
	}
	p, err := conn.Verify(ctx, e.group)
	if errors.Is(err, session.ErrNoLeader) {
		return nil, fmt.Errorf("group %s: %w: %w", e.group, ErrNoLeader, err)
	}
	if err != nil {
		return nil, e.client.explain(err)
	}
	return &Proof{Leader: p.Leader, Token: p.Token, Value: p.Value, until: p.Until, now: conn.Late}, nil
}

// agentTenure is a leadership at the agent's member.
type agentTenure struct {
	client   *Client
	election *agentElection
	conn     *session.Conn
	*session.Lease
}

// support asks the agent, as a stamp does.
func (t *agentTenure) support() []string {
	ctx, cancel := context.WithTimeout(context.Background(), t.Remaining())
	defer cancel()
	v, err := t.election.view(ctx)
	if err != nil || v.Leader != t.holder() {
		return nil
	}
	return v.Support
}

func (t *agentTenure) group() string            { return t.Group() }
func (t *agentTenure) valid() bool              { return t.Valid() }
func (t *agentTenure) remaining() time.Duration { return t.Remaining() }
func (t *agentTenure) guarded() bool            { return t.Guarded() }
func (t *agentTenure) done() <-chan struct{}    { return t.Done() }
func (t *agentTenure) onDone(f func())          { t.OnDone(f) }
func (t *agentTenure) holder() string           { return t.conn.Member() }
func (t *agentTenure) token() uint64            { return t.Token() }
func (t *agentTenure) cause() Cause             { return t.Cause() }

func (t *agentTenure) announce(ctx context.Context, value string) error {
	if !t.valid() {
		return ErrNotLeader
	}
	return t.client.explain(t.Announce(ctx, value))
}

func (t *agentTenure) resign(ctx context.Context) error { return t.Resign(ctx) }

func (t *agentTenure) edict() (Edict, error) {
	ctx, cancel := context.WithTimeout(context.Background(), t.Remaining())
	defer cancel()
	e, err := t.Edict(ctx)
	if err != nil {
		// Whatever went wrong, no stamp is an order that must not be given.
		return Edict{}, fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	return fence.Of(e), nil
}

func (t *agentTenure) canTransfer(ctx context.Context, to string) error {
	return t.client.explain(t.CanTransfer(ctx, to))
}

func (t *agentTenure) transfer(ctx context.Context, to string) (begun bool, err error) {
	begun, err = t.Transfer(ctx, to)
	return begun, t.client.explain(err)
}

func (e *agentElection) join(ctx context.Context) (membership, error) {
	t, err := e.await(ctx, session.Candidate{Group: e.group, Mode: string(e.mode), Silence: e.client.silence})
	if err != nil {
		return nil, err
	}
	return &agentMembership{t}, nil
}

// agentMembership is a membership of the agent's member, held for this program.
type agentMembership struct{ *agentTenure }

// first returns a view without an agreement if the agent knows it no more.
func (m *agentMembership) first() View {
	v, err := m.election.read(m.FirstAgreement())
	if err != nil {
		return View{Group: m.election.group, Mode: Consistent, Token: m.Token()}
	}
	return v
}

func (m *agentMembership) views(ctx context.Context) iter.Seq[View] {
	return func(yield func(View) bool) {
		m.Agreements(ctx, func(raw json.RawMessage, lost int) bool {
			v, err := m.election.read(raw)
			v.Missed += lost
			return err == nil && yield(v)
		})
	}
}

func (m *agentMembership) recovered(v View) error {
	ctx, cancel := context.WithTimeout(context.Background(), m.Remaining())
	defer cancel()
	return m.client.explain(m.Recovered(ctx, v.Token, v.Agreement.Number))
}

// next resigns: the agent has the host taken in again for another candidacy.
func (m *agentMembership) next(ctx context.Context) (membership, error) {
	if err := m.resign(ctx); err != nil {
		return nil, m.client.explain(err)
	}
	return m.election.join(ctx)
}
