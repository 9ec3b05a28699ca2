package regent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/members"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/roster"
)

// changing is what a member needs to follow a council that changes.
type changing struct {
	// source is the configuration whose keys and list of members count now.
	source atomic.Pointer[Config]
	// moved is raised when anything changes that Council shows, and at is when the present number was adopted.
	moved runtime.Signal
	at    atomic.Int64
	// resolve asks for the addresses of a new council.
	resolve chan struct{}
	// removed is the council that has removed this member.
	removed atomic.Pointer[roster.Council]
	// left is why this member leaves, for a caller of Join that still waits for it.
	left    atomic.Pointer[error]
	joining []netip.AddrPort

	// The rest is the loop's own: what was told last.

	shape   *stack.Shape
	shown   shownCouncil
	out     bool
	offered *agreed.Chosen
	// warned is the last configuration for which the log says that this member was given up.
	warned *agreed.Config
}

// shownCouncil is what programs were told of last.
type shownCouncil struct {
	conf    *agreed.Config
	settled bool
	phase   agreed.Progress
	fixed   protocol.Set
	unheard protocol.Set
	// The rest is how far the member has got with giving the council up.
	stopped, asked bool
	refused        *agreed.Refusal
	unanswered     protocol.Set
}

// list reads the list of members of the configuration.
func (m *Member) list() error {
	c := &m.config
	m.changing.resolve = make(chan struct{}, 1)
	if len(c.Join) > 0 {
		return c.checkJoin()
	}
	all, err := c.council()
	if err != nil {
		return err
	}
	if err := c.checkOptions(all); err != nil {
		return err
	}
	m.file, m.fixed = all, c.fixed(all)
	m.present.Store(all)
	return nil
}

// checkJoin says what is wrong with a configuration of a member that joins a council.
func (c *Config) checkJoin() error {
	switch {
	case len(c.Council) > 0:
		return errors.New("config: Join with a Council: leave one out (a member that joins learns who the others are)")
	case c.Dir == "":
		return errors.New("config: Join without a directory: a council that changes keeps records")
	case c.Bind == "":
		return errors.New("config: Join without Bind: set the address to receive on, such as [::]:7400")
	case len(c.PrivateKeys) == 0:
		return errors.New("config: no private key: every member has its own (draw one with 'regent keys exchange')")
	}
	for i := range c.Join {
		p := &c.Join[i]
		if len(p.Addrs) == 0 || len(p.PublicKeys) == 0 {
			return fmt.Errorf("config: join %s: needs an address and a public key", p.Name)
		}
		for _, a := range p.Addrs {
			if err := checkAddr(a); err != nil {
				return fmt.Errorf("config: join %s: %w", p.Name, err)
			}
		}
		if _, err := identityOf(p); err != nil {
			return err
		}
	}
	return nil
}

// recall takes over what the record says of the council.
func (m *Member) recall(saved []byte) error {
	kept, err := part(saved)
	if err != nil || kept == nil {
		return err
	}
	switch {
	case kept.Removed && lostTo(kept.Conf, m.config.Name) != "":
		return fmt.Errorf("config: %w: %s", roster.ErrGivenUp, lostTo(kept.Conf, m.config.Name))
	case kept.Removed:
		return fmt.Errorf("config: %w", removedBy(kept.Conf, m.config.Name))
	case m.fixed != "" && kept.Conf.Number > 0:
		return fmt.Errorf("config: the council has changed since it began (number %d), which this member cannot follow: %s", kept.Conf.Number, m.fixed)
	case m.fixed != "":
		return nil
	}
	all, err := m.config.under(kept.Conf, nil)
	if err != nil {
		return err
	}
	if text := all.differs(&m.config); text != "" {
		m.log.Warn("the configuration has another council than the one that members have agreed on: it is for the first start", "differs", text)
	}
	m.warnOfShorter(all)
	m.present.Store(all)
	return nil
}

// removedBy says that a configuration has removed a member, and how it can come back.
func removedBy(conf *agreed.Config, name string) error {
	if x := conf.Named(name); x != nil {
		return fmt.Errorf("%w (number %d), and a new host has had the name %s since number %d: a host of that name must not have the directory of the one before "+
			"(empty it, and add the host anew)", roster.ErrRemoved, conf.Number, name, x.Since)
	}
	return fmt.Errorf("%w (number %d): to let it join again, empty its directory and add it", roster.ErrRemoved, conf.Number)
}

// first makes the first configuration, once the id of the council is known.
func (m *Member) first() error {
	if m.fixed != "" || m.council().conf != nil {
		return nil
	}
	all, err := m.config.under(m.config.first(m.file, m.councilID), nil)
	if err == nil {
		m.present.Store(all)
	}
	return err
}

// changeableMachine builds the machine of a council that may change.
func (m *Member) changeableMachine(leases func(*council) nerio.Config, saved []byte, seed uint64) (protocol.Machine, error) {
	t := m.timing()
	o := agreed.Options{Name: m.config.Name, RoundTrip: t.RoundTrip, Renew: t.Renew, Dead: max(leastDead, 2*t.LongestLease),
		Quiet: max(leastQuiet, 2*t.LongestLease), Patience: changePatience, Answer: max(changeAnswer, 8*t.RoundTrip), Mourn: leastMourn, MournPromises: mournPromises}
	if all := m.council(); !all.changed() {
		o.First = m.council().conf
	}
	var groups *rain.Machine
	var carried func(uint64) bool
	if m.config.Consistent {
		carried = func(number uint64) bool { return groups.Carried(number) }
	}
	authority, err := members.New(members.Config{Council: o, Carried: carried, Leases: func(conf *agreed.Config) nerio.Config {
		all, err := m.changing.source.Load().under(conf, m.council())
		if err != nil {
			return nerio.Config{} // it has no member of this name, and so no leases
		}
		return leases(all)
	}}, saved, seed)
	if err != nil {
		return nil, err
	}
	m.authority = authority
	m.longestLock, m.termsLeft = authority.LongestLock, authority.TermsLeft
	m.changing.shape = authority.Shape()
	both, err := m.stack(authority)
	if err != nil || !m.config.Consistent {
		return both, err
	}
	c := m.consistent()
	c.Council = authority
	groups, err = rain.New(c, both, saved)
	return groups, err
}

const (
	// leastDead and leastQuiet are the least times after which a leaving member counts as dead, and a member that hears no majority asks
	// for a later configuration.
	leastDead  = 10 * time.Second
	leastQuiet = time.Second
	// changePatience is how long a step waits for a leaving member to hand over, and for a new one to learn.
	changePatience = 10 * time.Second
	// changeAnswer is how long a member that is asked for a change waits to hear a majority.
	changeAnswer = 5 * time.Second
)

// adopt follows the council's machine. It is called on the loop after each Step of that, before anything leaves that it says.
func (m *Member) adopt(now protocol.Time) {
	c, machine := &m.changing, m.authority.Council()
	if s := m.authority.Shape(); s != nil && s != c.shape {
		c.shape = s
		m.reform(now, machine.Conf())
	}
	if conf := machine.Conf(); conf != nil && conf != c.warned && (machine.Out() || machine.Forgetful()) {
		c.warned = conf
		if text := lostTo(conf, m.config.Name); text != "" {
			m.log.Error(text)
		}
	}
	if machine.Out() && !c.out {
		c.out = true
		last, why := m.describe(now), removedBy(machine.Conf(), m.config.Name)
		c.left.Store(&why)
		c.removed.Store(&last)
		m.log.Warn("the member leaves", "err", why)
		go func() { _ = m.Leave(context.Background()) }()
	}
	shown := shownCouncil{conf: machine.Conf(), settled: machine.Settled(), fixed: machine.Fixed(), unheard: machine.Unheard(), stopped: machine.Stopped()}
	shown.asked, shown.refused, shown.unanswered = machine.Surrendering()
	if shown.conf != nil && (shown.conf.Goal != nil || !shown.settled || machine.Wants()) {
		shown.phase, _ = machine.Progress(now)
	}
	if shown != c.shown {
		if shown.conf != c.shown.conf {
			c.at.Store(int64(now))
		}
		c.shown = shown
		c.moved.Raise()
	}
}

// reform puts another configuration in force.
func (m *Member) reform(now protocol.Time, conf *agreed.Config) {
	before, source := m.council(), m.changing.source.Load()
	all, err := source.under(conf, before)
	if err != nil {
		m.log.Error("the council does not list this member", "err", err)
		return
	}
	pairs, err := source.pairsOf(all, m.port.Wire.Pairs())
	if err != nil {
		m.log.Error("the keys of the council cannot be used", "err", err)
		return
	}
	stay, rho := before.stay(all), conf.Terms.Rho
	same := before.shape().Same(all.shape()) && before.timing(&m.config.Timing).rho() == rho
	summary := m.config.summary(all, conf.Council) // of source nothing counts but keys and addresses, and its defaults are not set
	a := runtime.Adoption{Change: wire.Change{Self: all.self, Council: datagram.Council{Epoch: conf.Number, Digest: summary.Digest()}, Rho: rho, ID: conf.Council, Pairs: pairs, Stay: stay,
		Absent: all.absent}, Names: all.names(), Summary: summary}
	unresolved := false
	for r := range all.peers {
		var known []netip.AddrPort
		if r < len(m.port.Addrs) && r < len(before.peers) && stay.Has(protocol.Rank(r)) {
			known = m.port.Addrs[r]
		}
		addrs, all := literal(all.peers[r].Addrs, known)
		a.Addrs = append(a.Addrs, addrs)
		unresolved = unresolved || !all
	}
	if err := m.port.Adopt(now, &a); err != nil {
		m.log.Error("the council cannot be reached with its keys", "err", err)
		return
	}
	if m.port.Herald != nil {
		m.port.Herald.Council = conf.Council
	}
	m.present.Store(all)
	m.warnOfShorter(all)
	m.loop.Reform(now, all.self, rho, !same)
	m.log.Info("the council has changed", "number", conf.Number, "members", all.list())
	if before.conf != nil && before.conf.Terms != conf.Terms {
		m.log.Info("the members have agreed on another timing", "timing", rosterTiming(&conf.Terms), "before", rosterTiming(&before.conf.Terms))
	}
	if p := conf.Parent(); p != nil && !conf.Acknowledged && conf.Number == p.Number+1 {
		m.log.Warn("the council was given up, and this member goes on in another one", "given up", p.Council.String(), "lost", p.Lost, "council", conf.Council.String())
	}
	if unresolved {
		select {
		case m.changing.resolve <- struct{}{}:
		default:
		}
	}
}

// stay returns the ranks that have the same member in another configuration.
func (c *council) stay(next *council) (s protocol.Set) {
	if c.conf == nil || next.conf == nil {
		return s
	}
	for i := range c.conf.Members {
		x := &c.conf.Members[i]
		if y := next.conf.At(x.Seat); y != nil && y.Birth == x.Birth && y.Name == x.Name {
			s.Add(x.Seat)
		}
	}
	return s
}

// literal returns the addresses that need no resolver, and the ones known before. It says whether these are all.
func literal(addrs []string, known []netip.AddrPort) (out []netip.AddrPort, all bool) {
	out, all = slices.Clone(known), true
	for _, a := range addrs {
		p, err := netip.ParseAddrPort(a)
		switch {
		case err != nil:
			all = false
		case !slices.Contains(out, p) && len(out) < maxAddrs:
			out = append(out, p)
		}
	}
	return out, all
}

// observeCouncil tells the hook of changes of the council, apart from the loop.
func (m *Member) observeCouncil() {
	moved := m.changing.moved.Wait()
	for {
		select {
		case <-moved:
			moved = m.changing.moved.Wait() // before it looks: what changes while the hook runs is another call
			m.config.OnCouncil(m.Council())
		case <-m.loop.Ended():
			if c := m.changing.removed.Load(); c != nil {
				m.config.OnCouncil(*c)
			}
			return
		}
	}
}

// herald asks for the configuration of the council outside all configurations, and tells it; nil if the council cannot change.
func (m *Member) herald(socket runtime.Socket) *runtime.Herald {
	if m.fixed != "" {
		return nil
	}
	h := &runtime.Herald{Council: m.id(), Socket: socket, Trusted: m.trusts, Offer: m.offer, Everywhere: m.everywhere}
	h.SetCourier(m.courier())
	return h
}

// courier returns the codec of questions for the configuration.
func (m *Member) courier() *wire.Courier {
	c := m.changing.source.Load()
	ring, err := c.keyring(m.council())
	if err != nil {
		return nil
	}
	var private []identity.Private
	for _, text := range c.PrivateKeys {
		if key, err := identity.ParsePrivate(text); err == nil {
			private = append(private, key)
		}
	}
	return wire.NewCourier(ring, private)
}

// trusts says whether a configuration is believed under a key: that of a member of the council, or one that the member was told to
// believe.
func (m *Member) trusts(k identity.Public) bool {
	text := k.String()
	has := func(p Peer) bool { return !p.Revoked && slices.Contains(p.PublicKeys, text) }
	if all := m.council(); all != nil && slices.ContainsFunc(all.peers, has) {
		return true
	}
	return slices.ContainsFunc(m.changing.source.Load().Join, has)
}

// offer is what others are told that ask for the configuration.
func (m *Member) offer() *agreed.Chosen {
	if m.authority == nil {
		return nil
	}
	conf := m.authority.Offer()
	if conf == nil {
		return nil
	}
	bound := m.authority.Council().Bound()
	if c := m.changing.offered; c == nil || c.Conf != conf || c.Bound != bound {
		m.changing.offered = &agreed.Chosen{Conf: conf, Bound: bound}
	}
	return m.changing.offered
}

// everywhere are addresses besides those of members.
func (m *Member) everywhere() []netip.AddrPort { return m.changing.joining }

// learn waits until a council lists this member, if it joins one. It returns that council.
func (m *Member) learn(ctx context.Context, socket runtime.Socket, waiter runtime.Waiter) (*agreed.Chosen, error) {
	for i := range m.config.Join {
		m.changing.joining = append(m.changing.joining, m.resolvePeer(ctx, &m.config.Join[i])...)
	}
	if m.council() != nil {
		return nil, nil
	}
	h := m.herald(socket)
	h.Council = protocol.CouncilID{} // whichever answers: welcome says if it is another one
	defer context.AfterFunc(ctx, waiter.Wake)()
	in := transport.NewPackets(32)
	waiting := m.unanswered()
	m.log.Info("the member does not take part yet", "waiting", waiting)
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("join as %s: %w: %s", m.config.Name, context.Cause(ctx), waiting)
		}
		now := m.world.Clock.Now()
		h.Ask(now, 0, nil)
		n, err := socket.TryRead(in)
		if err != nil {
			return nil, err
		}
		for i := range in[:n] {
			if !wire.IsFetch(in[i].Data) {
				continue
			}
			chosen, reason := h.Take(now, in[i].Data, in[i].Addr)
			var text string
			switch {
			case chosen != nil:
				text = m.welcome(chosen)
				if text == "" {
					return chosen, nil
				}
			case reason.Dropped():
				text = h.Stranger().String()
			}
			if text != "" && text != waiting {
				waiting = text
				m.log.Info("the member does not take part yet", "waiting", waiting)
				world.Report(ctx, waiting, func() world.PacketCounts { return world.PacketCounts{} })
			}
		}
		if n == 0 {
			waiter.Wait(learnEvery, 0)
		}
	}
}

// unanswered says what a member waits for that joins, before any council has answered.
func (m *Member) unanswered() string {
	var at []string
	for i := range m.config.Join {
		at = append(at, strings.Join(m.config.Join[i].Addrs, " "))
	}
	return fmt.Sprintf("no council has answered yet at %s: start the agent there, and let UDP to there and back pass", strings.Join(at, " "))
}

// learnEvery is how often a member that joins looks whether it is to ask again.
const learnEvery = 100 * time.Millisecond

// welcome takes a council over that lists this member. Otherwise it says what is missing.
func (m *Member) welcome(c *agreed.Chosen) string {
	conf := c.Conf
	x := conf.Named(m.config.Name)
	switch {
	case m.councilID != (protocol.CouncilID{}) && m.councilID != conf.Council && !conf.Descends(m.councilID):
		return fmt.Sprintf("the council %v answers, and council_id is %v: name the hosts of the right council, or correct council_id", conf.Council, m.councilID)
	case x == nil && lostTo(conf, m.config.Name) != "":
		return lostTo(conf, m.config.Name)
	case x == nil:
		return fmt.Sprintf("council %v (number %d) does not list %s yet: add it there ('regent members add')", conf.Council, conf.Number, m.config.Name)
	case !slices.ContainsFunc(strings.Fields(m.config.ownKeyText()), func(k string) bool { return slices.Contains(strings.Fields(x.Key), k) }):
		return fmt.Sprintf("council %v (number %d) lists another key for %s: compare fingerprints with 'regent keys show'", conf.Council, conf.Number, m.config.Name)
	}
	all, err := m.config.under(conf, nil)
	if err != nil {
		return err.Error()
	}
	if err := m.config.checkOptions(all); err != nil {
		return err.Error()
	}
	m.councilID = conf.Council
	m.present.Store(all)
	return ""
}
