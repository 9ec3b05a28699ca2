package regent

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/founding"
	"github.com/regentproject/regent/internal/protocol/members"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/protocol/record"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/store"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
)

// complete returns the configuration with its defaults.
func (c Config) complete() *Config {
	if c.Timing == (Timing{}) {
		c.Timing = LAN
	}
	if c.Timing.LongestLease == 0 {
		c.Timing.LongestLease = c.Timing.Lease
	}
	if c.StopWithin == 0 {
		c.StopWithin = defaultStopWithin
	}
	if c.Elector == "" {
		c.Elector = elector.Stable
	}
	return &c
}

// prepare checks the configuration and opens the directory.
func prepare(config Config, w world.World) (*Member, error) {
	c := config.complete()
	if err := c.check(); err != nil {
		return nil, err
	}
	m := &Member{config: *c, world: w, closed: make(chan struct{})}
	m.changing.source.Store(&m.config)
	if err := m.list(); err != nil {
		return nil, err
	}
	if c.Dir != "" {
		var err error
		m.dir, err = store.Open(c.Dir, c.Name)
		if err != nil {
			return nil, err
		}
	}
	if err := m.readDrained(); err != nil {
		return nil, errors.Join(err, m.dir.Close())
	}
	to := c.Logger
	if to == nil {
		to = slog.Default()
	}
	m.logQueue, m.log = runtime.NewLog(to)
	m.log = m.log.With("member", c.Name)
	m.logDrained()
	return m, nil
}

// start builds the machine and everything around it, and sets the loop going.
func (m *Member) start(ctx context.Context) error {
	saved, err := m.read()
	if err != nil {
		return err
	}
	m.councilID, m.record, err = m.config.councilID(saved)
	if err != nil {
		return err
	}
	if err := m.recall(saved); err != nil {
		return err
	}
	bind, err := m.bind(ctx)
	if err != nil {
		return err
	}
	socket, waiter, err := m.world.Listen(bind)
	if err != nil {
		return err
	}
	chosen, err := m.learn(ctx, socket, waiter)
	if err == nil {
		err = m.begin(ctx, saved, chosen, socket, waiter)
	}
	if err != nil && m.loop == nil {
		return errors.Join(err, socket.Close(), waiter.Close())
	}
	return err
}

// begin finds out the id of the council, and sets the loop going.
func (m *Member) begin(ctx context.Context, saved []byte, chosen *agreed.Chosen, socket runtime.Socket, waiter runtime.Waiter) error {
	var err error
	m.keys.pairs, err = m.config.pairs(m.council())
	if err != nil {
		return err
	}
	founder, err := m.found(ctx, &saved, &chosen, socket, waiter)
	if err != nil {
		return err
	}
	if err := m.first(); err != nil {
		return err
	}
	if err := m.startGuardian(world.MirrorFrom(ctx) != nil); err != nil {
		return err
	}
	return m.run(ctx, saved, chosen, founder, waiter)
}

// found makes the machine that tells others the id of the council. If this member does not know it, it waits until the members
// have agreed on one, and puts it into the record.
func (m *Member) found(ctx context.Context, saved *[]byte, chosen **agreed.Chosen, socket runtime.Socket, waiter runtime.Waiter) (*runtime.Founder, error) {
	addrs := m.resolve(ctx)
	var random [24]byte
	rand.Read(random[:])
	t, quorums := m.timing(), m.council().quorums()
	machine, err := founding.New(founding.Config{Me: m.council().self, Quorums: quorums, Listing: listing(m.council()), ID: m.councilID,
		Drawn: protocol.CouncilID(random[8:]), Bootstrap: m.config.Bootstrap, Retry: max(leastFoundingRetry, 4*t.RoundTrip)},
		binary.BigEndian.Uint64(random[:]))
	if err != nil {
		return nil, err
	}
	f := &runtime.Founder{Machine: machine, Codec: wire.NewFounding(m.keys.pairs), Socket: socket,
		Names: m.council().names(), Addrs: addrs}
	m.keys.founding = func(to *wire.Pairs) { f.SetKeys(to, waiter) }
	world.Rekey(ctx, m.Rekey)
	if m.councilID != (protocol.CouncilID{}) {
		return f, nil
	}
	if err := m.council().foundable(quorums); err != nil {
		return nil, err
	}
	m.log.Info("the council has no id yet: asking the other members")
	f.Report = func(waiting string) {
		m.log.Info("the member does not take part yet", "waiting", waiting)
		world.Report(ctx, waiting, f.Counts)
	}
	f.Herald, f.Learnt = m.herald(socket), func(c *agreed.Chosen) bool {
		if c.Conf.Number == 0 || m.welcome(c) != "" {
			return false
		}
		*chosen = c
		return true
	}
	m.councilID, err = f.Found(ctx, m.world.Clock.Now, waiter, func(record []byte) error {
		*saved = bytes.Clone(record)
		return m.dir.Write(record)
	})
	if err != nil {
		return nil, fmt.Errorf("join as %s: %w", m.config.Name, err)
	}
	m.log.Info("the council has an id", "council", m.councilID.String())
	if *chosen == nil {
		return f, nil
	}
	m.keys.pairs, err = m.config.pairs(m.council())
	if err != nil {
		return nil, err
	}
	return m.found(ctx, saved, chosen, socket, waiter) // by the council that has answered
}

// foundable refuses to wait for the id of a council if revoked members, which cannot answer, make that vain: the council cannot begin without
// them, and the others are too few to name the id of one that has begun.
func (c *council) foundable(q protocol.Quorums) error {
	answer := protocol.Everyone(len(c.peers))
	answer.Remove(c.self)
	var revoked []string
	for r := range c.peers {
		if c.peers[r].Revoked {
			answer.Remove(protocol.Rank(r))
			revoked = append(revoked, c.peers[r].Name)
		}
	}
	if len(revoked) == 0 || q.MeetsAll(answer, c.self) {
		return nil
	}
	are, it := "is", "it"
	if len(revoked) > 1 {
		are, it = "are", "them"
	}
	return fmt.Errorf("config: no council id, and %s %s revoked and cannot take part in agreeing on one (remove %s from the council, or set council_id)",
		runtime.Enumerate(revoked), are, it)
}

// leastFoundingRetry is the least time between two questions for the id of the council.
const leastFoundingRetry = 200 * time.Millisecond

// longestGather bounds how long the answers to renewals wait for one another: about as long as a round trip on a local network takes.
const longestGather = 500 * time.Microsecond

// run builds the machine of a member that knows its council, and sets the loop going.
func (m *Member) run(ctx context.Context, saved []byte, chosen *agreed.Chosen, founder *runtime.Founder, waiter runtime.Waiter) error {
	m.keys.Lock()
	defer m.keys.Unlock()
	founder.Codec.SetKeys(m.keys.pairs) // they may have changed since the founding looked
	t, all := m.timing(), m.council()
	summary := m.config.summary(all, m.councilID)
	machine, err := m.machine(summary, saved)
	if err != nil {
		return err
	}
	me := protocol.Ident{Rank: all.self}
	packets, rates, err := m.endpoint(all, summary)
	if err != nil {
		return err
	}
	m.groupTable = runtime.NewGroupTable(runtime.GroupTableOptions{Guard: t.Guard, Grace: m.config.StopWithin, Late: m.world.Clock.Late,
		Elector: func(v *protocol.View) { m.noteAccess(modeCouncil, "", v.Leader, v.Cause.Code) }, Mirror: m.guardian.mirror(world.MirrorFrom(ctx), m.world.Clock)})
	port := m.portOptions(all, founder)
	port.Wire, port.Rates, port.Summary = packets, rates, summary
	o := runtime.Options{Self: me.Rank, Name: m.config.Name, Rho: t.rho(),
		Clock: m.world.Clock.Now, Waiter: waiter, Realtime: !m.config.NoRealtime, Facts: m.facts, Log: m.log}
	m.guardian.options(m, &o, &port)
	m.port = runtime.NewPort(port)
	o.Port, o.Paused = m.port, m.port.Paused
	if m.dir != nil {
		o.Store = m.dir
	}
	if lease, ok := m.world.Clock.(*clock.Real); ok {
		o.Suspended = lease.Suspended
		o.Restored = m.restored(clock.NewSnapshots())
	}
	if m.authority != nil {
		o.Adopt = m.adopt
	}
	m.loop = runtime.NewLoop(o)
	council, err := m.loop.Add(runtime.Council, "the council", machine, m.groupTable)
	if err != nil {
		return err
	}
	m.instance = council
	m.groupTable.Bind(council)
	if chosen != nil {
		council.Post(&protocol.Receive{From: me, Message: chosen, Delay: protocol.Unknown})
	}
	if m.drained.Load() {
		m.loop.Health(protocol.Health{OK: true, Drained: true})
	}
	m.started = m.world.Clock.Now()
	m.changing.at.Store(int64(m.started))
	m.alive = runtime.NewOnDemand(m.loop, runtime.OnDemandOptions{Channel: runtime.ChannelOf(modeMembers, ""), Name: "the list of members", Make: m.newDetector})
	ctx, m.quit = context.WithCancel(context.WithoutCancel(ctx))
	m.background.Go(func() { m.loop.Run(ctx) })
	m.keys.running = true
	if err := m.alive.Enter(); err != nil {
		return err
	}
	if err := m.openOrders(ctx); err != nil {
		return err
	}
	m.accompany(ctx)
	return nil
}

// accompany starts what goes on beside the loop.
func (m *Member) accompany(ctx context.Context) {
	if m.guardian != nil {
		m.background.Go(func() { m.attendGuardian(ctx) })
	}
	m.background.Go(m.observe)
	m.background.Go(func() { m.resolveAgain(ctx) })
	m.background.Go(func() { m.watchClock(ctx) })
	if m.config.OnCouncil != nil {
		m.background.Go(m.observeCouncil)
	}
	if m.config.Health != nil {
		m.background.Go(func() { m.watchHealth(ctx) })
	}
}

// portOptions is what a port needs to know, but for what goes with the keys.
func (m *Member) portOptions(all *council, founder *runtime.Founder) runtime.PortOptions {
	t := m.timing()
	return runtime.PortOptions{Self: all.self, Socket: founder.Socket, Founder: founder, Herald: m.herald(founder.Socket), Names: all.names(), Addrs: founder.Addrs,
		Outdated: func() protocol.Message { return &nerio.Outdated{} }, Died: func(r *obituary.Report) protocol.Message { return &nerio.Died{Report: *r} },
		Recent: t.Renew + t.RoundTrip/2, Nap: t.RoundTrip / 10, Gather: min(t.RoundTrip/10, longestGather), Clock: m.world.Clock.Now, Log: m.log}
}

// endpoint makes what seals, opens and judges packets, and what compares clocks.
func (m *Member) endpoint(all *council, summary *wire.Summary) (*wire.Endpoint, *clock.Rates, error) {
	t, n := m.timing(), len(all.peers)
	judge := datagram.Config{Self: protocol.Ident{Rank: all.self}, Start: datagram.Start(m.startBits), Members: n,
		Council: datagram.Council{Epoch: all.number(), Digest: summary.Digest()}, Rho: t.rho(), Delta: t.Delay}
	packets, err := wire.NewEndpoint(m.world.Clock.Now(), wire.Config{Config: judge, Pairs: m.keys.pairs, ID: m.councilID})
	if err != nil {
		return nil, nil, err
	}
	rates := clock.NewRates(n, t.rho())
	if !all.absent.Empty() {
		everyone := protocol.Everyone(n)
		rates.Adopt(n, n-all.absent.Len(), t.rho(), everyone)
		err = packets.Adopt(m.world.Clock.Now(), &wire.Change{Self: all.self, Council: judge.Council, Rho: t.rho(), Pairs: m.keys.pairs, Stay: everyone, Absent: all.absent, ID: m.councilID})
	}
	return packets, rates, err
}

// read returns the durable record; nil if there is none, or none that can be believed.
func (m *Member) read() ([]byte, error) {
	if m.dir == nil {
		return nil, nil
	}
	saved, err := m.dir.Read()
	if errors.Is(err, store.ErrDamaged) {
		m.log.Error("the durable record is damaged: the member starts as one that has lost it", "err", err)
		return nil, nil
	}
	return saved, err
}

// councilID returns the id of the council, from the configuration or else from the record; zero if neither has one. It also says
// whether the record is of a member that has spoken in the council.
func (c *Config) councilID(encoded []byte) (id protocol.CouncilID, spoken bool, err error) {
	var r record.Record
	if encoded != nil {
		r, err = record.Decode(encoded)
		if err != nil && !errors.Is(err, record.ErrDamaged) { // a damaged one is a lost one
			return id, false, err
		}
	}
	id = r.Council
	if c.CouncilID != "" {
		id, err = protocol.ParseCouncilID(c.CouncilID)
	}
	if kept, wrong := part(encoded); wrong == nil && kept != nil && kept.Conf.Descends(id) {
		id = kept.Conf.Council // the council of the file was given up
	}
	return id, r.Inc != 0, err
}

// facts logs what the council's machine states about earlier lives of this member.
func (m *Member) facts(now protocol.Time, channel runtime.Channel, facts []protocol.Fact) {
	for i := range facts {
		f := &facts[i]
		switch {
		case channel != runtime.Council:
		case f.Ev == protocol.EvWait:
			m.distrust(f.Why)
		case f.Ev == protocol.EvSpeak:
			m.distrusted.Store(nil)
		case f.Ev == protocol.EvAccused:
			m.noteAccused(now, f)
		}
	}
}

// restored returns what notices that this machine goes on from a snapshot, and draws the bits of the next life. The kernel's randomness may
// be that of the snapshot, too: the time tells what was restored from what it did before.
func (m *Member) restored(s *clock.Snapshots) func(now protocol.Time) (protocol.StartBits, bool) {
	return func(now protocol.Time) (b protocol.StartBits, yes bool) {
		if !s.Restored(now) {
			return b, false
		}
		m.guardian.restored()
		m.log.Error("this machine was restored from a snapshot, or its wall clock was set forward: the member asks the others what it may have promised since")
		var random [32]byte
		rand.Read(random[:])
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(random[:], uint64(time.Now().UnixNano())))
		copy(b[:], sum[:])
		return b, true
	}
}

// machine builds the protocols: leases of a quorum, and an elector that says who goes first.
func (m *Member) machine(summary *wire.Summary, saved []byte) (protocol.Machine, error) {
	all := m.council()
	var origin record.Origin
	if m.dir != nil {
		origin = m.dir.Origin()
		if key, err := identity.ParseTagKey(m.config.TagKey); err == nil { // a council of one has none
			origin.Identity = key.Digest()
		}
	}
	var seed [8]byte
	rand.Read(seed[:])
	rand.Read(m.startBits[:])
	digest := summary.Digest()
	leases := func(all *council) nerio.Config {
		t := all.timing(&m.config.Timing)
		c := nerio.Config{Me: all.self, Quorums: all.quorums(), Leaders: all.leaders(), Prefer: m.config.Prefer, Council: m.councilID,
			RoundTrip: t.RoundTrip, Lease: t.Lease, Longest: t.LongestLease, PerGroup: t.PerGroup, Renew: t.Renew, Rho: t.rho(), Elector: true,
			Lock: m.config.local(all, 1).Lock, Diskless: m.dir == nil, Bootstrap: m.config.Bootstrap, FirstInc: firstIncarnation(time.Now()),
			Origin: origin, Copied: m.dir != nil && m.dir.Copied(), Start: m.startBits, Tag: m.lifeTags()}
		if m.config.Balance {
			c.Balance = all.order()
		}
		if !all.changed() {
			c.Digest, c.Listing = binary.BigEndian.Uint64(digest[:]), listing(all)
		}
		return c
	}
	if m.fixed == "" {
		return m.changeableMachine(leases, saved, binary.BigEndian.Uint64(seed[:]))
	}
	authority, err := nerio.New(leases(all), saved, binary.BigEndian.Uint64(seed[:]))
	if err != nil {
		return nil, err
	}
	m.longestLock, m.termsLeft = authority.LongestLock, authority.TermsLeft
	both, err := m.stack(members.Fixed{Machine: authority})
	if err != nil || !m.config.Consistent {
		return both, err
	}
	roles := all.roles()
	c := m.consistent()
	c.Self, c.Members, c.Quorums, c.Leaders = all.self, roles.Members, roles.Quorums(), roles.Leaders()
	return rain.New(c, both, saved)
}

// consistent returns what a member has to know of consistent groups, but for who the others are.
func (m *Member) consistent() rain.Config {
	c := m.timing().consistent()
	c.Owns, c.Diskless = isConsistent, m.dir == nil
	return c
}

// stack puts an elector under an authority.
func (m *Member) stack(authority stack.Authority) (*stack.Machine, error) {
	s := m.council().shape()
	if s.Voters.Has(s.Self) {
		if _, err := m.newCouncilElector(1, s); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
	}
	both, err := stack.New(stack.Config{Shape: s, Repeat: m.config.Timing.Renew}, authority, m.newCouncilElector)
	if err == nil {
		m.unfit = both.Unfit
	}
	return both, err
}

// firstIncarnation is that of a member without a record: milliseconds since the beginning of 2024, so that none repeats even
// if all members have forgotten it. No process starts twice within a millisecond: a member that lost its disk and its key
// right after its first start begins above that start, which it cannot prove to be its own.
func firstIncarnation(now time.Time) protocol.Inc {
	since := now.Sub(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	return protocol.Inc(max(1, since/time.Millisecond))
}

// worldOf returns the world that a context brings, as that of a test does, or the real one.
func worldOf(ctx context.Context) (world.World, error) {
	w, ok := world.From(ctx)
	if !ok {
		var err error
		if w, err = realWorld(); err != nil {
			return w, err
		}
	}
	if c := world.ClockFrom(ctx); c != nil {
		w.Clock = c
	}
	return w, nil
}

func realWorld() (world.World, error) {
	c, err := clock.System()
	return world.World{Clock: c, Listen: listen, Lookup: lookup}, err
}

// pumpDepth is how many packets wait for the loop where it cannot poll the socket.
const pumpDepth = 256

// listen opens a UDP socket. The loop polls it itself where it can.
func listen(bind netip.AddrPort) (runtime.Socket, runtime.Waiter, error) {
	conn, err := transport.Listen(bind)
	if err != nil {
		return nil, nil, err
	}
	if p, ok := conn.(transport.Pollable); ok {
		if w, err := runtime.NewPollWaiter(p.Descriptor()); err == nil {
			return p, w, nil
		}
	}
	w := runtime.NewChanWaiter()
	return transport.NewPump(conn, pumpDepth, wire.DefaultMTU, w.Wake), w, nil
}
