package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/transport/memory"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
)

// The timing of the councils.
const (
	roundTrip = 20 * time.Millisecond
	renew     = 50 * time.Millisecond
	lease     = 200 * time.Millisecond
	longest   = 400 * time.Millisecond
	guard     = 20 * time.Millisecond
	grace     = 700 * time.Millisecond
	heartbeat = 100 * time.Millisecond
	suspect   = 300 * time.Millisecond
	delay     = 10 * time.Millisecond
	rho       = protocol.DefaultRho
)

const (
	localGroup protocol.Group = "local"
	// besideGroup is a local group that is led only while the first quorum group has no leader.
	besideGroup protocol.Group = "beside"
	// discovery is how long it takes until a member that votes has heard of every leader.
	discovery = 4 * renew
	// pumpDepth is how many packets wait for a loop, and mtu the length of the longest.
	pumpDepth, mtu = 256, 2000
)

var quorumGroups = []protocol.Group{"g", "h"}

// A process is one run of a member, from its start to its end.
type process struct {
	council *council
	rank    protocol.Rank
	number  int // of the process among those of the member
	// restored says that its machine goes on from a snapshot, and lives counts how often it did.
	restored atomic.Bool
	lives    atomic.Int32
	clock    clock.Clock
	started  protocol.Time
	conn     *memory.Conn
	file     *file
	loop     *runtime.Loop
	table    *runtime.GroupTable
	instance *runtime.Instance
	// onDemand are the groups whose machines are opened on demand.
	onDemand []*onDemand
	// rng is drawn from at the start only, and pauses by the loop only.
	rng, pauses *rand.Rand
	// closedAt is when Close was carried out.
	closedAt atomic.Pointer[time.Time]
	done     sync.WaitGroup

	mu      sync.Mutex
	leading map[protocol.Group]*tenancy
	mirror  *mirrored
}

// onDemand is a group whose machine is opened on demand.
type onDemand struct {
	*runtime.OnDemand
	process *process
	name    protocol.Group
	channel runtime.Channel
	// unless is the group that must have no leader; nil: there is none.
	unless *runtime.Group
	// locked is until when the lock of the present machine binds it, which was made for incarnation as; both are the loop's own.
	locked protocol.Time
	as     protocol.Inc
}

func (p *process) String() string { return fmt.Sprintf("%v#%d", p.rank, p.number) }

// lead takes note that a program leads here.
func (p *process) lead(t *tenancy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leading[t.group] = t
}

func (p *process) tenancy(g protocol.Group) *tenancy {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leading[g]
}

// driftingClock runs at a rate that is off by up to rho.
func driftingClock(rng *rand.Rand) clock.Clock {
	base, off := time.Now(), time.Second+time.Duration(rng.Int64N(int64(time.Minute)))
	rate := 1 + (2*rng.Float64()-1)*0.9*float64(rho)/1e9
	return clock.Of(func() protocol.Time { return protocol.Time(off + time.Duration(float64(time.Since(base))*rate)) })
}

// start starts a process of a member with what its disk has synced.
func (c *council) start(rank protocol.Rank, number int) (*process, error) {
	p := &process{council: c, rank: rank, number: number, file: &file{disk: c.disks[rank]}, rng: rand.New(rand.NewPCG(c.seed, c.rng.Uint64())),
		leading: make(map[protocol.Group]*tenancy), mirror: newMirrored()}
	p.pauses = rand.New(rand.NewPCG(p.rng.Uint64(), p.rng.Uint64()))
	p.clock = driftingClock(p.rng)
	machine, err := p.machine()
	if err != nil {
		return nil, err
	}
	p.conn, err = c.network.Listen(c.names[rank])
	if err != nil {
		return nil, err
	}
	waiter := runtime.NewChanWaiter()
	port, err := p.port(transport.NewPump(p.conn, pumpDepth, mtu, waiter.Wake))
	if err != nil {
		return nil, err
	}
	p.loop = runtime.NewLoop(runtime.Options{Self: rank, Name: c.names[rank], Rho: rho, Clock: p.clock.Now, Port: port, Waiter: waiter, Store: p.file,
		Facts: p.facts, Log: slog.New(slog.DiscardHandler), Restored: func(protocol.Time) (b protocol.StartBits, yes bool) {
			if yes = p.restored.Swap(false); yes {
				b[0], b[1], b[2] = byte(p.number), byte(p.number>>8), byte(p.lives.Add(1))
			}
			return b, yes
		}})
	options := runtime.GroupTableOptions{Guard: guard, Grace: grace, Late: p.clock.Late}
	council := options
	council.Mirror = p.mirror
	p.table = runtime.NewGroupTable(council)
	spied := &incarnateSpy{spy{process: p, inner: machine, channel: runtime.Council}}
	p.instance, err = p.loop.Add(runtime.Council, "the council", spied, &pausingSink{p.table, p})
	if err != nil {
		return nil, err
	}
	p.table.Bind(p.instance)
	p.add(localGroup, nil, &options)
	p.add(besideGroup, p.table.Group(quorumGroups[0]), &options)
	p.started = p.clock.Now()
	p.done.Go(func() { p.loop.Run(context.Background()) })
	for _, g := range quorumGroups {
		p.program(p.table.Group(g), nil)
	}
	for _, o := range p.onDemand {
		p.program(o.Group(o.name), o)
	}
	p.done.Go(p.watch)
	return p, nil
}

// add adds a group whose machine is opened on demand.
func (p *process) add(name protocol.Group, unless *runtime.Group, table *runtime.GroupTableOptions) {
	o := &onDemand{process: p, name: name, channel: runtime.ChannelOf("local", string(name)), unless: unless}
	timing := localTiming()
	o.OnDemand = runtime.NewOnDemand(p.loop, runtime.OnDemandOptions{Channel: o.channel, Name: string(name), Group: name, Make: o.newMachine,
		Linger: 2 * timing.Lock, Table: table, Unless: unless, Discovery: discovery})
	p.onDemand = append(p.onDemand, o)
}

// machine makes the machine of the council.
func (p *process) machine() (*stack.Machine, error) {
	n := len(p.council.names)
	roles := stack.Roles{Members: n}
	authority, err := nerio.New(nerio.Config{Me: p.rank, Quorums: roles.Quorums(), Leaders: roles.Leaders(), RoundTrip: roundTrip, Lease: lease,
		Longest: longest, Renew: renew, Rho: rho, Elector: true, Bootstrap: true, FirstInc: 1, Tag: p.tags()}, p.council.disks[p.rank].read(), p.rng.Uint64())
	if err != nil {
		return nil, err
	}
	return stack.New(stack.Config{Self: p.rank, Roles: roles, Repeat: renew}, authority, func(inc protocol.Inc, _ *stack.Shape) (protocol.Machine, error) {
		return stable.New(stable.Config{Self: p.rank, Members: n, Inc: inc, Ping: true, Gate: protocol.Majority(n), Candidates: roles.Leaders(),
			Period: heartbeat, Delta: suspect - heartbeat, Expiry: suspect - heartbeat - delay, Rho: rho})
	})
}

// tags computes the tags of the member's lives.
func (p *process) tags() func(protocol.Inc, protocol.StartBits) protocol.Tag {
	return wire.LifeTags([32]byte{byte(p.rank)}, protocol.CouncilID{}, "")
}

func localTiming() hall.Timing {
	h := hall.Timing{Rho: rho, Delta: delay, MaxAge: datagram.DefaultMaxAge(delay, rho), Sched: delay, Renew: renew, Losses: 1, Retries: 1}
	h.OneWay = (delay - 2*(rho.WaitAtLeast(h.MaxAge)-h.MaxAge)) / 2
	return h.Fit(2)
}

// newMachine makes the machine of a local group.
func (o *onDemand) newMachine(now, renamed protocol.Time, inc protocol.Inc) (protocol.Machine, error) {
	p := o.process
	if o.as == inc && now < o.locked {
		p.council.ledger.fail("PromisesOutlastMachines", "%v has made another machine %v before the lock of the last is over", p, o.locked.Sub(now))
	}
	o.as, o.locked = inc, 0
	c := hall.Default(p.rank, len(p.council.names), inc, localTiming())
	c.Group = o.name
	c.Clean = now.Sub(max(p.started, renamed)) > c.Lock
	c.After = uint64(now.Sub(p.started) / time.Microsecond)
	m, err := hall.New(c)
	p.council.ledger.count("machines of " + string(o.name))
	return &closableSpy{spy{process: p, inner: m, channel: o.channel, inc: inc}}, err
}

// facts follows the locks of local groups.
func (p *process) facts(_ protocol.Time, channel runtime.Channel, facts []protocol.Fact) {
	for _, o := range p.onDemand {
		if o.channel == channel {
			o.follow(facts)
		}
	}
}

func (o *onDemand) follow(facts []protocol.Fact) {
	for i := range facts {
		switch f := &facts[i]; f.Ev {
		case protocol.EvGrant:
			o.locked = f.Until
		case protocol.EvUngrant:
			o.locked = 0
		}
	}
}

// port makes the member's port.
func (p *process) port(s runtime.Socket) (runtime.Port, error) {
	c, me := p.council, protocol.Ident{Rank: p.rank}
	n := len(c.names)
	summary := wire.NewSummary(c.names[p.rank]).Set("lease", lease.String())
	judge := datagram.Config{Self: me, Members: n, Council: datagram.Council{Digest: summary.Digest()}, Rho: rho, Delta: delay}
	packets, err := wire.NewEndpoint(p.clock.Now(), wire.Config{Config: judge, Pairs: wiretest.Pairs(me.Rank, n)})
	if err != nil {
		return nil, err
	}
	addrs := make([][]netip.AddrPort, n)
	for i := range addrs {
		addrs[i] = []netip.AddrPort{memory.Addr(i)}
	}
	return &spyPort{runtime.NewPort(runtime.PortOptions{Self: p.rank, Socket: s, Wire: packets, Rates: clock.NewRates(n, rho),
		Names: c.names, Addrs: addrs, Summary: summary, Recent: renew + roundTrip/2, Clock: p.clock.Now, Log: slog.New(slog.DiscardHandler),
		Outdated: func() protocol.Message {
			c.ledger.count("outdated")
			return &nerio.Outdated{}
		}}), p}, nil
}

// crash ends the process at once: nothing that it does from now on reaches the network or the disk.
func (p *process) crash() {
	_ = p.conn.Close()
	p.file.crash()
	p.loop.Stop()
	p.council.leaving.Go(p.done.Wait)
}

// leave lets the process leave in good order, and ends it if that takes too long.
func (p *process) leave(within time.Duration) {
	p.closeLoop()
	p.loop.Leave()
	select {
	case <-p.loop.Ended():
	case <-time.After(within):
		p.loop.Stop()
		<-p.loop.Ended()
	}
	p.done.Wait()
}

func (p *process) closeLoop() {
	if p.loop.Close() != nil {
		return
	}
	_ = p.loop.Do(func(protocol.Time) {
		now := time.Now()
		p.closedAt.CompareAndSwap(nil, &now)
	})
}

// watch sees to it that nothing is published once the loop has ended.
func (p *process) watch() {
	<-p.loop.Ended()
	p.council.ledger.ended(p)
	before := p.published()
	pass(time.Second)
	if after := p.published(); after != before {
		p.council.ledger.fail("NothingAfterClose", "%v published %d changes after its loop had ended", p, after-before)
	}
}

// published counts the changes that programs were shown.
func (p *process) published() (n uint64) {
	var groups []*runtime.Group
	for _, o := range p.onDemand {
		groups = append(groups, o.Group(o.name))
	}
	p.table.Groups(func(g *runtime.Group) { groups = append(groups, g) })
	for _, g := range groups {
		if c := g.Latest(); c != nil {
			n += c.Number
		}
	}
	return n
}
