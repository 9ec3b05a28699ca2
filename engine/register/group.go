package register

import (
	"context"
	"sync"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lessee"
)

// A group drives the machine of one group. It decides nothing.
type group struct {
	session *session
	name    string
	users   int // the session's own

	mu       sync.Mutex
	machine  *lessee.Machine
	timer    *time.Timer
	stopped  bool
	campaign *campaign
	tenure   *tenure
	sight    lessee.Sight
	changed  chan struct{}
}

// A campaign waits to lead.
type campaign struct {
	session string
	won     chan *tenure
}

// A tenure is a leadership.
type tenure struct {
	group *group
	token uint64
	lost  chan struct{}
	done  sync.Once

	// until and moved are under the lock of the group.
	until protocol.Time
	moved chan struct{}
}

// instant returns an instant of the machine as one of the engine, and time the other way round.
func instant(t protocol.Time) engine.Instant { return engine.Instant{}.Add(time.Duration(t)) }

func (g *group) now() protocol.Time {
	return protocol.Time(g.session.host.Clock.Now().Sub(engine.Instant{}))
}

// step gives the machine an event, and carries out what it asks for.
func (g *group) step(f func(*lessee.Machine, protocol.Time) lessee.Out) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.carry(f)
}

// carry is step, under the lock.
func (g *group) carry(f func(*lessee.Machine, protocol.Time) lessee.Out) {
	if g.stopped {
		return
	}
	now := g.now()
	out := f(g.machine, now)
	for _, r := range out.Send {
		go g.ask(r)
	}
	g.publish(&out)
	g.arm(out.Wake, now)
}

// publish hands on what has changed.
func (g *group) publish(out *lessee.Out) {
	if out.Over != lessee.NotOver && g.tenure != nil {
		close(g.tenure.lost)
		g.tenure = nil
	}
	if out.Extended && g.tenure != nil {
		g.tenure.until = out.Until
		close(g.tenure.moved)
		g.tenure.moved = make(chan struct{})
	}
	if out.Won {
		g.tenure = &tenure{group: g, token: out.Token, until: out.Until, lost: make(chan struct{}), moved: make(chan struct{})}
		g.campaign.won <- g.tenure
		g.campaign = nil
	}
	if out.Changed {
		g.sight = out.Seen
		close(g.changed)
		g.changed = make(chan struct{})
	}
}

// arm sets the timer for the instant at which the machine wants to be called.
func (g *group) arm(wake, now protocol.Time) {
	if wake == protocol.Never {
		if g.timer != nil {
			g.timer.Stop()
		}
		return
	}
	d := max(0, wake.Sub(now))
	if g.timer == nil {
		g.timer = time.AfterFunc(d, func() { g.step((*lessee.Machine).Tick) })
		return
	}
	g.timer.Reset(d)
}

// ask sends a request and brings the answer. A request that takes longer than a lease is of no use.
func (g *group) ask(r lessee.Request) {
	s := g.session
	ctx, cancel := context.WithTimeout(s.ctx, s.host.Lease)
	defer cancel()
	a := lessee.Answer{ID: r.ID}
	var err error
	if r.Swap {
		a.Entry, a.Swapped, err = s.store.Swap(ctx, g.name, r.Old, r.New)
	} else {
		a.Entry, err = s.store.Read(ctx, g.name)
	}
	if s.ctx.Err() != nil {
		return
	}
	a.Failed = err != nil
	s.setFault(err)
	g.step(func(m *lessee.Machine, now protocol.Time) lessee.Out { return m.Answer(now, a) })
	s.sweep(g)
}

// sweep removes the group if nothing is left of it.
func (s *session) sweep(g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(g)
}

// retire ends the group if nothing is left to do, and says whether it has.
func (g *group) retire() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.machine.Idle() {
		return false
	}
	g.end()
	return true
}

func (g *group) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}

func (g *group) end() {
	g.stopped = true
	if g.timer != nil {
		g.timer.Stop()
	}
	if g.tenure != nil {
		close(g.tenure.lost)
		g.tenure = nil
	}
}

// enter begins a campaign; false: there is one, or a leadership.
func (g *group) enter(c *campaign, value string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.campaign != nil || g.tenure != nil || g.stopped {
		return false
	}
	g.campaign = c
	g.carry(func(m *lessee.Machine, now protocol.Time) lessee.Out { return m.Campaign(now, c.session, value) })
	return true
}

// leave ends a campaign. If it was won meanwhile, nothing has acted under it.
func (g *group) leave(c *campaign) {
	g.mu.Lock()
	if g.campaign == c {
		g.campaign = nil
		g.carry((*lessee.Machine).Withdraw)
	}
	g.mu.Unlock()
	select {
	case t := <-c.won:
		t.Release()
	default:
		g.session.done(g)
	}
}

func (g *group) state() (engine.State, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sight
	return engine.State{Leader: s.Holder, Token: s.Token, Lease: s.TTL, Value: s.Value, Free: s.Free}, g.changed
}

func (t *tenure) Token() uint64         { return t.token }
func (t *tenure) Lost() <-chan struct{} { return t.lost }

func (t *tenure) Until() engine.Instant {
	t.group.mu.Lock()
	defer t.group.mu.Unlock()
	return instant(t.until)
}

func (t *tenure) Moved() <-chan struct{} {
	t.group.mu.Lock()
	defer t.group.mu.Unlock()
	return t.moved
}

func (t *tenure) Release() {
	g := t.group
	g.mu.Lock()
	if g.tenure == t {
		g.carry((*lessee.Machine).Release)
	}
	g.mu.Unlock()
	t.done.Do(func() { g.session.done(g) })
}

// act steps the machine if the tenure is not over.
func (t *tenure) act(f func(*lessee.Machine, protocol.Time) lessee.Out) {
	g := t.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tenure == t {
		g.carry(f)
	}
}

func (t *tenure) LetRunOut() { t.act((*lessee.Machine).LetRunOut) }

func (t *tenure) Announce(value string) {
	t.act(func(m *lessee.Machine, now protocol.Time) lessee.Out { return m.Announce(now, value) })
}
