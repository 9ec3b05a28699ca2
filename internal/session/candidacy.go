package session

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// Candidate says how a program campaigns.
type Candidate struct {
	Group string
	// Mode is as in Request.
	Mode view.Mode
	// Lease is as in Request.
	Lease time.Duration
	// Name, Heartbeat and Grace are as in Request.
	Name string
	// Value is what its leadership announces.
	Value            string
	Heartbeat, Grace time.Duration
	// Page asks for a place on the agent's page. The candidacy then looks at it with Shown, and Conn gives signs of life for it. Silence is how
	// long it may give none; zero: two leases, at least DefaultHeartbeat. A candidacy with a Heartbeat gives its own, and gets no place.
	Page    bool
	Silence time.Duration
	// Claim, Guard, Hooks and Secret are a runner's: Tree, Guard, Hooks and Keeper in Request.
	Claim  *Tree
	Guard  time.Duration
	Hooks  time.Duration
	Secret string
}

// request returns the line that asks the agent for it.
func (o *Candidate) request() *Request {
	return &Request{Do: Campaign, Group: o.Group, Mode: o.Mode, Lease: o.Lease, Name: o.Name, Value: o.Value, Heartbeat: o.Heartbeat, Grace: o.Grace, Page: o.Page,
		Tree: o.Claim, Guard: o.Guard, Hooks: o.Hooks, Keeper: o.Secret}
}

// Candidate returns what a campaign asks for.
func (r *Request) Candidate() Candidate {
	return Candidate{Group: r.Group, Mode: r.Mode, Lease: r.Lease, Name: r.Name, Value: r.Value, Heartbeat: r.Heartbeat, Grace: r.Grace, Page: r.Page,
		Claim: r.Tree, Guard: r.Guard, Hooks: r.Hooks, Secret: r.Keeper}
}

// A Candidacy is one candidacy of this program, or one that it keeps for a runner.
type Candidacy struct {
	conn *Conn
	id   uint64
	take func(*Event)
	// place is where the agent shows the deadline; nil: lines bring it.
	place atomic.Pointer[place]
}

// Enter begins a candidacy. take is called with all that the agent sends about it, in order, and with [Gone] when the connection is
// lost. It must not wait.
func (c *Conn) Enter(o Candidate, take func(*Event)) (*Candidacy, error) {
	o.Page = o.Page && c.page != nil && o.Heartbeat == 0
	if o.Page {
		o.Heartbeat = cmp.Or(o.Silence, max(DefaultHeartbeat, 2*cmp.Or(o.Lease, c.hello.Lease)))
		c.beat(o.beatWithin(o.Heartbeat))
	}
	return c.enter(o.request(), take)
}

// keeperHeartbeat is within what time a runner gives two signs of life, at least.
const keeperHeartbeat = 3 * time.Second

// beatWithin returns within what time signs of life are due, for a candidacy that may be silent for a heartbeat. The keeper of a runner gets a
// line at each of them, so that a long heartbeat must not delay those.
func (o *Candidate) beatWithin(heartbeat time.Duration) time.Duration {
	if o.Claim != nil {
		return min(heartbeat, keeperHeartbeat)
	}
	return heartbeat
}

// Keep has this process look after the candidacy of a runner that names the same secret. It gets its deadlines, and may report its end.
func (c *Conn) Keep(secret string, take func(*Event)) (*Candidacy, error) {
	return c.enter(&Request{Do: Keep, Keeper: secret, Page: c.page != nil}, take)
}

// A Holding says which addresses the agent is to hold while this host leads a group. The fields are as in Request.
type Holding struct {
	Group       string
	Addresses   []string
	Lease, Wait time.Duration
	Once, Quiet bool
}

func (h *Holding) request() *Request {
	return &Request{Do: Hold, Group: h.Group, Addresses: h.Addresses, Lease: h.Lease, Wait: h.Wait, Once: h.Once, Quiet: h.Quiet}
}

// Hold has the agent hold addresses while this host leads a group, until [Candidacy.Stopped] is called or the connection ends. take gets printed, over or error,
// and [Gone].
func (c *Conn) Hold(h Holding, take func(*Event)) (*Candidacy, error) {
	return c.enter(h.request(), take)
}

// MayHold says why the agent would not hold addresses.
func (c *Conn) MayHold(ctx context.Context, h Holding) error {
	r := h.request()
	r.Ask = true
	e, err := c.ask(ctx, r)
	return errors.Join(err, failure(&e))
}

func (c *Conn) enter(r *Request, take func(*Event)) (*Candidacy, error) {
	k := &Candidacy{conn: c, take: take}
	err := c.begin(r, func(id uint64) { k.id, c.candidacies[id] = id, k })
	if err != nil {
		k.Leave()
		return nil, err
	}
	return k, nil
}

// give passes on what the agent sends. When the connection is lost, no agent vouches for what the page shows from then on.
func (k *Candidacy) give(e *Event) {
	if e.Event == Leads {
		k.place.Store(k.conn.placeOf(e))
	}
	k.take(e)
	if e.Event == Gone {
		k.place.Store(nil)
	}
}

// Shown returns the deadline that the agent shows on its page, and whether it does: [party.Options] has Shown from it.
func (k *Candidacy) Shown() (protocol.Time, bool) {
	p := k.place.Load()
	if p == nil {
		return 0, false
	}
	_, end := p.look()
	return end, true
}

// Leave has nothing more taken.
func (k *Candidacy) Leave() {
	k.conn.mu.Lock()
	defer k.conn.mu.Unlock()
	delete(k.conn.candidacies, k.id)
}

// Stopped reports that the program has stopped, or never began, and why. It does not wait for the answer.
func (k *Candidacy) Stopped(cause why.Cause) error {
	return k.conn.begin(&Request{Do: Resign, Of: k.id, Cause: &cause}, func(uint64) {})
}

// Freeze reports an end under which something may still act, or a cause that was corrected later.
func (k *Candidacy) Freeze(cause why.Cause) error {
	return k.conn.begin(&Request{Do: Freeze, Of: k.id, Cause: &cause}, func(uint64) {})
}

// Duplicates reports the hardware addresses of other hosts that have addresses of the candidacy as well, by address.
func (k *Candidacy) Duplicates(all map[string]string) error {
	return k.conn.begin(&Request{Do: Duplicates, Of: k.id, Duplicates: all}, func(uint64) {})
}

// Started reports the first process of a runner's program, before it execs.
func (k *Candidacy) Started(first int) error {
	return k.conn.begin(&Request{Do: Started, Of: k.id, First: first}, func(uint64) {})
}

// Instants returns what an event of the agent says, as instants of this process's clock: when the lease was granted, and its end.
func (c *Conn) Instants(e *Event) (at, until protocol.Time) {
	return c.toLocal(e.At), c.toLocal(e.Until)
}

// Of returns a cause as machines know it.
func (c *Conn) Of(cause *why.Cause) protocol.Cause {
	if cause == nil {
		return protocol.Cause{Peer: protocol.Nobody}
	}
	return protocol.Cause{Code: protocol.CauseCode(cause.Why), Peer: c.names.Enter(cause.Member), Bound: cause.Bound}
}

// CauseOf returns a cause of a machine as it is written.
func (c *Conn) CauseOf(cause protocol.Cause) why.Cause {
	return why.Cause{Why: why.Kind(cause.Code), Member: c.names.Name(cause.Peer), Bound: cause.Bound}
}

// Self is the rank of the agent's member in causes.
func (c *Conn) Self() protocol.Rank { return c.names.Enter(c.hello.Member) }

// Unread says that the agent has sent something that was not taken yet.
func (c *Conn) Unread() bool { return c.in.Unread() }
