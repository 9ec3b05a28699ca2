package regent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/tenant"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/world"
)

// On makes this program a member whose leaders an engine elects, on a system such as PostgreSQL or etcd, in place of a council. Its groups, and all that programs do with
// them, are the same. All processes with the same engine have the same Timing.
//
// Of the configuration it takes Name, Timing (the zero value is that of [engine.DefaultLease] and what follows it; RoundTrip, Renew, Lease, Guard and Drift count), Health, Logger,
// OnChange, StopWithin, NoRealtime and Dir, where it keeps whether it is drained. Council is left empty. On returns an error if the engine cannot be used; later
// failures of the system end leases, and are in [Status.Engine].
//
// The engine limits what groups can do ([engine.Limits]): it has no leases of another length ([Group.WithLease]), no local, eventual and consistent groups, and no
// transfer to a named member; a leadership is proven only at the member that leads. What it cannot do returns an error that wraps [engine.ErrUnsupported].
func On(ctx context.Context, e engine.Engine, c Config) (*Member, error) {
	if err := c.checkOn(); err != nil {
		return nil, err
	}
	if c.Timing == (Timing{}) {
		c.Timing = WAN
		c.Timing.Lease, c.Timing.Renew, c.Timing.Guard, c.Timing.RoundTrip = engine.DefaultLease, engine.DefaultRenew, engine.DefaultGuard, engine.DefaultRoundTrip
	}
	c.Council = []Peer{{Name: c.Name, Addrs: []string{"127.0.0.1:1"}}} // it opens no socket
	w, err := worldOf(ctx)
	if err != nil {
		return nil, err
	}
	m, err := prepare(c, w)
	if err != nil {
		return nil, err
	}
	if err := m.startOn(ctx, e); err != nil {
		m.release()
		return nil, err
	}
	world.Start(ctx, m)
	return m, nil
}

// checkOn refuses what belongs to a council.
func (c *Config) checkOn() error {
	for _, f := range []struct {
		name string
		set  bool
	}{{"Council", len(c.Council) > 0}, {"Join", len(c.Join) > 0}, {"Key", c.Key != nil}, {"CouncilID", c.CouncilID != ""}, {"Bind", c.Bind != ""}, {"Elector", c.Elector != ""}, {"Prefer", c.Prefer != 0},
		{"Balance", c.Balance}, {"Consistent", c.Consistent}, {"QuorumVotes", c.QuorumVotes != 0},
		{"Guardian", c.Guardian}} {
		if f.set {
			return fmt.Errorf("config: %s is of a council: leave it out with an engine: %w", f.name, engine.ErrUnsupported)
		}
	}
	return nil
}

// startOn opens the engine and sets the loop going.
func (m *Member) startOn(ctx context.Context, e engine.Engine) error {
	t := &m.config.Timing
	read := m.world.Clock.Now
	s, err := e.Open(ctx, engine.Host{Name: m.config.Name, Clock: engine.ClockOf(func() time.Duration { return time.Duration(read()) }),
		Lease: t.Lease, Renew: t.Renew, Drift: t.Drift, Log: m.log})
	if err != nil {
		return err
	}
	waiter := runtime.NewChanWaiter()
	m.outside = &outside{engine: e, session: s, log: m.log, push: waiter.Wake, clock: read, tries: make(map[uint64]*attempt)}
	m.outside.ctx, m.outside.quit = context.WithCancel(context.WithoutCancel(ctx))
	m.outside.looking, m.outside.blind = context.WithCancel(m.outside.ctx)
	m.outside.names.self = m.config.Name
	all := *m.council()
	all.outside = &m.outside.names
	m.present.Store(&all)
	m.fixed = "an engine elects, and there is no council"
	m.groupTable = runtime.NewGroupTable(runtime.GroupTableOptions{Guard: t.Guard, Grace: m.config.StopWithin, Late: m.world.Clock.Late, Mirror: world.MirrorFrom(ctx)})
	o := runtime.Options{Self: tenant.Self, Name: m.config.Name, Rho: t.rho(), Clock: read, Port: m.outside, Waiter: waiter, Log: m.log}
	if lease, ok := m.world.Clock.(*clock.Real); ok {
		o.Suspended = lease.Suspended
		o.Restored = m.restored(clock.NewSnapshots())
	}
	m.loop = runtime.NewLoop(o)
	i, err := m.loop.Add(runtime.Council, "the engine", tenant.New(tenant.Config{Length: t.Lease, Retry: t.Renew}), m.groupTable)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	m.groupTable.Bind(i)
	if m.drained.Load() {
		m.loop.Health(protocol.Health{OK: true, Drained: true})
	}
	m.started = read()
	ctx, m.quit = context.WithCancel(context.WithoutCancel(ctx))
	m.background.Go(func() { m.loop.Run(ctx) })
	m.background.Go(m.observe)
	m.background.Go(func() { m.watchClock(ctx) })
	if m.config.Health != nil {
		m.background.Go(func() { m.watchHealth(ctx) })
	}
	return nil
}

// councilOnly refuses what only a council can do.
func (m *Member) councilOnly(what string) error {
	if m.outside == nil {
		return nil
	}
	return fmt.Errorf("engine %s: %s: %w", m.outside.engine.Name(), what, engine.ErrUnsupported)
}

// engineStatus returns the status of the engine; nil: the council elects.
func (m *Member) engineStatus() *engine.Status {
	o := m.outside
	if o == nil {
		return nil
	}
	l := o.engine.Limits()
	s := &engine.Status{Name: o.engine.Name(), Where: o.engine.Where(), Shortest: l.Shortest, Loss: l.Loss, Fences: !l.NoFence}
	if err := o.session.Fault(); err != nil {
		s.Fault = err.Error()
	}
	s.Missing = []string{"local, eventual and consistent groups", "leases of another length", "transfer to a named member", "proof of a leader elsewhere"}
	if l.NoFence {
		s.Missing = append(s.Missing, "tokens for fences")
	}
	return s
}

// An attempt is a campaign of the engine, and then its leadership.
type attempt struct {
	cancel context.CancelFunc
	tenure engine.Tenure // nil: not yet
}

// outside carries the requests of the tenant's machine to the engine, and its reports back. It is the port of a loop that has no network.
type outside struct {
	engine  engine.Engine
	session engine.Session
	log     *slog.Logger
	push    func()
	clock   func() protocol.Time
	ctx     context.Context
	quit    context.CancelFunc
	// looking ends what follows groups.
	looking context.Context
	blind   context.CancelFunc
	tasks   sync.WaitGroup
	names   holders

	mu       sync.Mutex
	in       []protocol.Message
	tries    map[uint64]*attempt
	followed map[protocol.Group]bool
}

// unfenced says that an engine elects, and offers no tokens.
func (o *outside) unfenced() bool { return o != nil && o.engine.Limits().NoFence }

// report queues a message for the machine.
func (o *outside) report(m protocol.Message) {
	o.mu.Lock()
	o.in = append(o.in, m)
	o.mu.Unlock()
	o.push()
}

// Receive delivers what the engine has reported.
func (o *outside) Receive(deliver runtime.Deliver) bool {
	o.mu.Lock()
	in := o.in
	o.in = nil
	o.mu.Unlock()
	for _, m := range in {
		deliver(o.clock(), runtime.Council, &protocol.Receive{From: protocol.Ident{Rank: tenant.Engine, Inc: 1}, Message: m, Delay: protocol.Unknown})
	}
	return false
}

// Send carries a request out. It does not wait.
func (o *outside) Send(_ protocol.Time, _ protocol.Rank, _ runtime.Channel, m protocol.Message) {
	r, ok := m.(*tenant.Request)
	if !ok {
		return
	}
	if r.Action == tenant.Try {
		o.try(*r)
		return
	}
	o.mu.Lock()
	a := o.tries[r.Try]
	var t engine.Tenure
	if a != nil {
		t = a.tenure
	}
	o.mu.Unlock()
	switch {
	case a == nil:
	case r.Action == tenant.Cancel:
		a.cancel()
		if t != nil { // it was won meanwhile, and nothing has acted under it
			o.tasks.Go(t.Release)
		}
	case t == nil:
	case r.Action == tenant.Release:
		o.tasks.Go(t.Release)
	case r.Action == tenant.LetRunOut:
		o.tasks.Go(t.LetRunOut)
	case r.Action == tenant.Announce:
		t.Announce(r.Value)
	}
}

// try begins a campaign.
func (o *outside) try(r tenant.Request) {
	o.follow(r.Group)
	ctx, cancel := context.WithCancel(o.ctx)
	a := &attempt{cancel: cancel}
	o.mu.Lock()
	o.tries[r.Try] = a
	o.mu.Unlock()
	o.tasks.Go(func() {
		defer o.forget(r.Try)
		defer cancel()
		t, err := o.session.Campaign(ctx, string(r.Group), r.Value)
		if err != nil {
			if ctx.Err() == nil {
				o.log.Warn("the engine refuses a campaign: it is asked again", "engine", o.engine.Name(), "group", string(r.Group), "err", err)
			}
			o.report(&tenant.Report{Kind: tenant.Failed, Group: r.Group, Try: r.Try})
			return
		}
		defer t.Release() // of one that is lost it gives nothing back
		o.mu.Lock()
		a.tenure = t
		o.mu.Unlock()
		if ctx.Err() != nil { // the machine has ended the campaign
			return
		}
		o.lead(r, t)
	})
}

func (o *outside) forget(try uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.tries, try)
}

// lead reports a leadership, and how its end moves, until it is lost.
func (o *outside) lead(r tenant.Request, t engine.Tenure) {
	kind := tenant.Won
	for {
		moved := t.Moved()
		o.report(&tenant.Report{Kind: kind, Group: r.Group, Try: r.Try, Token: t.Token(), Until: protocol.Time(t.Until().Sub(engine.Instant{}))})
		kind = tenant.Moved
		select {
		case <-moved:
		case <-t.Lost():
			o.report(&tenant.Report{Kind: tenant.Lost, Group: r.Group, Try: r.Try})
			return
		}
	}
}

// follow has what is known of a group reported, from now on.
func (o *outside) follow(g protocol.Group) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.followed[g] || o.looking.Err() != nil {
		return
	}
	if o.followed == nil {
		o.followed = make(map[protocol.Group]bool)
	}
	o.followed[g] = true
	o.tasks.Go(func() {
		for s := range o.session.Watch(o.looking, string(g)) {
			o.report(&tenant.Sight{Group: g, Leader: o.names.rank(s.Leader), Token: s.Token, Length: s.Lease, Value: s.Value, Free: s.Free})
		}
	})
}

// close ends the session, once the loop has ended.
func (o *outside) close() {
	o.blind()
	if err := o.session.Close(); err != nil {
		o.log.Warn("closing the engine failed", "engine", o.engine.Name(), "err", err)
	}
	o.quit()
	o.tasks.Wait()
}

func (o *outside) Flush() time.Duration                      { return 0 }
func (o *outside) Wake() protocol.Time                       { return protocol.Never }
func (o *outside) Rename(protocol.Inc)                       {}
func (o *outside) Restart(protocol.Time, protocol.StartBits) {}
func (o *outside) Close() error                              { return nil }

// holders gives the names of leaders elsewhere ranks, for causes and views. There are far more ranks than changes that are remembered, so the
// oldest may be given again.
type holders struct {
	self string

	mu    sync.RWMutex
	names []string // of the ranks from 1
	ranks map[string]protocol.Rank
	next  int // whose rank is given again, once all are given
}

// maxHolders is how many names have ranks at once.
const maxHolders = 1 << 14

// rank returns the rank of a name; Nobody for none.
func (h *holders) rank(name string) protocol.Rank {
	switch name {
	case "":
		return protocol.Nobody
	case h.self:
		return tenant.Self
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if r, ok := h.ranks[name]; ok {
		return r
	}
	if h.ranks == nil {
		h.ranks = make(map[string]protocol.Rank)
	}
	i := len(h.names)
	if i < maxHolders {
		h.names = append(h.names, name)
	} else {
		i = h.next
		h.next = (h.next + 1) % maxHolders
		delete(h.ranks, h.names[i])
		h.names[i] = name
	}
	h.ranks[name] = protocol.Rank(i + 1)
	return protocol.Rank(i + 1)
}

// name returns the name with a rank; empty if there is none.
func (h *holders) name(r protocol.Rank) string {
	if r == tenant.Self {
		return h.self
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if i := int(r) - 1; i < len(h.names) {
		return h.names[i]
	}
	return ""
}
