package regent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// A Client takes part through the agent of its host (regent agent), which is the member of the council: twenty replicas
// of a service need not be twenty members. Groups and leases are the same as those of a [Member], but what takes a context asks the agent.
//
// If the agent goes, what this program leads ends as any lease does that is not renewed. Campaigns and watches go on
// when the agent is back.
type Client struct {
	socket string
	// silence is how long the program may give no sign of life; zero: the default.
	silence time.Duration
	mu      sync.Mutex
	conn    *session.Conn
	// busy is held by the call that connects again.
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
	g := &agentGroup{c, name, Quorum}
	return &Group{seen: seen{g}, verifier: g}, nil
}

// LocalGroup returns the local group with the name, which the configuration of the agent must list. Hosts lead it: a program of this host leads
// while its host leads its part of the network, and resigns its turn to the next program of the host. It does not ask the agent.
func (c *Client) LocalGroup(name string) (*LocalGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	return &LocalGroup{seen{&agentGroup{c, name, Local}}}, nil
}

// EventualGroup returns the eventual group with the name, which the configuration of the agent must list. The agent takes part in it: [View.Mine] is
// of this host. It does not ask the agent.
func (c *Client) EventualGroup(name string) (*EventualGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	return &EventualGroup{seen: seen{&agentGroup{c, name, Eventual}}}, nil
}

// ConsistentGroup returns the consistent group with the name, which the configuration of the agent must list. The host is a member while a program
// of it takes part, one program at a time. It does not ask the agent.
func (c *Client) ConsistentGroup(name string) (*ConsistentGroup, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	return &ConsistentGroup{seen{&agentGroup{c, name, Consistent}}}, nil
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

// agentGroup is a group at the agent's member.
type agentGroup struct {
	client *Client
	group  string
	mode   Mode
}

func (g *agentGroup) name() string { return g.group }
func (g *agentGroup) gone() bool   { return g.client.isClosed() }

func (g *agentGroup) view(ctx context.Context) (View, error) {
	conn, err := g.client.alive(ctx)
	if err != nil {
		return g.unknown(), err
	}
	v, err := conn.View(ctx, g.group)
	if err != nil {
		return g.unknown(), err
	}
	return g.check(v)
}

// unknown is the view without an agent.
func (g *agentGroup) unknown() View {
	return View{Group: g.group, Mode: g.mode, Cause: Cause{Why: why.Closed, Member: g.client.Name()}}
}

// check returns the view, or says that the group has another mode at the agent.
func (g *agentGroup) check(v View) (View, error) {
	if v.Mode != g.mode {
		return g.unknown(), fmt.Errorf("group %s: it is %s at the agent, and not %s (list it under groups in the configuration of every agent)", g.group, v.Mode, g.mode)
	}
	return v, nil
}

func (g *agentGroup) watch(ctx context.Context) iter.Seq2[View, error] {
	return func(yield func(View, error) bool) {
		lost := 0
		for {
			conn, err := g.client.alive(ctx)
			if err == nil {
				more := true
				err = conn.Watch(ctx, g.group, func(v View) bool {
					v, err := g.check(v)
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
			case g.client.isClosed():
				yield(g.unknown(), ErrClosed)
				return
			case errors.Is(err, session.ErrSlow):
				lost = 1 // at least
			case !errors.Is(err, session.ErrGone):
				yield(g.unknown(), err)
				return
			case !yield(g.unknown(), nil): // another agent may come
				return
			}
		}
	}
}

func (g *agentGroup) campaign(ctx context.Context, c session.Candidate, after handle) (handle, error) {
	if after != nil { // the agent has the host taken in again for another candidacy
		if err := after.Resign(ctx); err != nil {
			return nil, err
		}
	}
	c.Group, c.Silence = g.group, g.client.silence
	if g.mode != Quorum {
		c.Mode = g.mode
	}
	for {
		conn, err := g.client.alive(ctx)
		if err != nil {
			return nil, err
		}
		l, err := conn.Campaign(ctx, c)
		switch {
		case err == nil:
			return l, nil
		case g.client.isClosed() || ctx.Err() != nil:
		case errors.Is(err, session.ErrGone):
			continue // another may come
		case errors.Is(err, session.ErrStopping):
			select { // so that one does
			case <-conn.Gone():
			case <-ctx.Done():
			case <-g.client.closed:
			}
			continue
		}
		return nil, err
	}
}

func (g *agentGroup) verify(ctx context.Context) (*Proof, error) {
	conn, err := g.client.alive(ctx)
	if err != nil {
		return nil, err
	}
	p, err := conn.Verify(ctx, g.group)
	if errors.Is(err, session.ErrNoLeader) {
		return nil, fmt.Errorf("group %s: %w: %w", g.group, ErrNoLeader, err)
	}
	if err != nil {
		return nil, err
	}
	return &Proof{Leader: p.Leader, Token: p.Token, Value: p.Value, until: p.Until, now: conn.Late}, nil
}
