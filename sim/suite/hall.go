package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// The rows that runs of local leaders are counted for besides those of every protocol.
const (
	TwoPartitions  = "two leaders of two partitions"
	LeaderMerged   = "leader gave way when partitions merged"
	LeaderSlow     = "leader lost over a slow link"
	SupportChanged = "logical partition changed"
	VoterWaited    = "voter waited after a restart"
	LockLapsed     = "lock lapsed"
	LockReleased   = "lock given back"
	RequestRefused = "request refused"
	RequestSilent  = "request met silence"
	RequestMinor   = "request of a minority"
	HandedRound    = "leader handed over in turn"
	TreeUsed       = "reply passed up a tree"
)

// HallGroup is the group that simulated members elect local leaders in.
const HallGroup protocol.Group = "hall"

// A hallVariant is one way to set the protocol up.
type hallVariant struct {
	name, about string
	set         func(*hall.Config)
	rows        []string
}

var hallVariants = []hallVariant{
	{"hall plain", "one leader in every partition, by locks of all that it hears (HALL)", func(*hall.Config) {}, []string{TwoPartitions, LeaderSlow}},
	{"hall majority", "the same, only where a majority supports it: one leader anywhere", Majority.set, []string{RequestMinor}},
	{"hall tree", "local leaders, with requests and replies that travel along a tree", Tree.set, []string{TwoPartitions}},
	{"hall turns", "local leaders that take turns", Turns.set, []string{TwoPartitions, HandedRound}},
	{"hall calm", "local leaders that a member that comes and goes does not depose", Calm.set, []string{TwoPartitions}},
	{hallOptions, "local leaders with all of these options", allOptions.set, []string{RequestMinor, HandedRound}},
	{hallRolled, "local leaders of members that are restarted with shorter and longer locks", func(*hall.Config) {}, []string{TwoPartitions, Rolled}},
}

// hallOptions is the variant with all options.
const hallOptions = "hall options"

// hallRolled is the variant in which the lock differs from start to start. Its other setting has a longer one.
const (
	hallRolled   = "hall rolled"
	hallSettings = 2
	hallRenew    = 400 * time.Millisecond
)

// hallSettle is how long a healed core may take: κ, a member that starts and campaigns, a program that stops.
const hallSettle = 4 * time.Second

// hallDefault returns the configuration of a simulated member without any option.
func hallDefault(b sim.Boot) hall.Config {
	c := hall.Default(b.Self, b.Members, b.Inc, hall.LAN)
	c.Group, c.StopWithin = HallGroup, 250*time.Millisecond
	return c
}

// HallConfig returns the configuration of a simulated member in one of the variants.
func HallConfig(variant string, b sim.Boot) hall.Config {
	c := hallDefault(b)
	for _, v := range hallVariants {
		if v.name == variant {
			v.set(&c)
		}
	}
	if b.Setting > 0 {
		c.Renew = hallRenew
		c.Timing = c.Timing.Fit(c.Window())
	}
	return c
}

// hallRecords lets a member start as one that knows, from its durable record, the longest lock that it ever ran with.
func hallRecords(c *sim.Config) {
	longest := make([]time.Duration, c.Members)
	c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		h := HallConfig(hallRolled, b)
		h.Longest = longest[b.Self]
		longest[b.Self] = max(h.Longest, h.Lock)
		return hall.New(h)
	}
}

// hallProtocols are local leaders in all variants.
func hallProtocols() []*Protocol {
	var all []*Protocol
	for _, v := range hallVariants {
		all = append(all, hallProtocol(v))
	}
	return append(all, hallElector())
}

// hallElector is local leaders as an elector: a member trusts the leader of its part. The healed core is
// one part, and all links within it are timely.
func hallElector() *Protocol {
	p := rankProtocol()
	p.Name, p.About = "hall elector", "a member trusts the leader of its part of the network (HALL as an elector)"
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		return hall.NewElector(hall.Default(b.Self, b.Members, b.Inc, hall.LAN))
	}
	p.Messages = []string{"hall.Election", "hall.Reply", "hall.Release", "hall.Ack", "hall.Relay"}
	p.Port = pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: hall.LAN.Delta, MaxAge: hall.LAN.MaxAge})
	p.Timely = hall.LAN.OneWay
	// A message of which nothing is proven is as good as lost, and a healed core loses none.
	p.Configure = func(c *sim.Config) { c.Bound.Unknown = 0 }
	return p
}

func hallProtocol(v hallVariant) *Protocol {
	p := hallVariantProtocol(v)
	p.Vary = func(c *sim.Config) { varyHall(c, v.name) }
	if v.name == hallRolled {
		p.Settings, p.Vary = hallSettings, hallRecords
	}
	return p
}

// varyHall takes the bound on a stop from the machines if the driver has one.
func varyHall(c *sim.Config, variant string) {
	if c.Program.Within == 0 {
		return
	}
	c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		h := HallConfig(variant, b)
		h.StopWithin = 0
		return hall.New(h)
	}
}

func hallVariantProtocol(v hallVariant) *Protocol {
	return &Protocol{
		Name:       v.name,
		Default:    v.name == "hall plain",
		About:      v.about,
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return hall.New(HallConfig(v.name, b))
		},
		Messages:  []string{"hall.Election", "hall.Reply", "hall.Release", "hall.Ack", "hall.Relay"},
		Groups:    []protocol.Group{HallGroup},
		Configure: func(c *sim.Config) { c.Messages = true },
		Port:      pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: hall.LAN.Delta, MaxAge: hall.LAN.MaxAge}),
		Checkers:  func(t check.Truth) []check.Checker { return check.Hall(t, HallSpec(v.name, t.Members())) },
		Faults: []Weight{
			{sim.Crash, 10}, {sim.Pause, 5}, {sim.Suspend, 4}, {sim.Cut, 8}, {sim.Partition, 8}, {sim.Slow, 10}, {sim.Lose, 4},
			{sim.Duplicate, 4}, {sim.Rate, 3}, {sim.Resign, 4}, {sim.Leave, 3}, {sim.Campaign, 2},
		},
		Timely: hall.LAN.OneWay,
		Settle: hallSettle,
		Core: func(n int) int {
			if v.name == "hall majority" || v.name == hallOptions {
				return majority(n)
			}
			return 1
		},
		Rows: append(append([]string{}, Rows...), append([]string{LeaderMerged, SupportChanged, VoterWaited, LockLapsed, LockReleased,
			RequestRefused, RequestSilent}, v.rows...)...),
		Watch: watchHall,
	}
}

// HallSpec returns what the runs of a variant are judged by.
func HallSpec(variant string, members int) check.HallSpec {
	spec := hallSpecOf(HallConfig(variant, sim.Boot{Members: members}))
	if variant == hallRolled {
		// A member that has just got the shorter lock waits for the longer one.
		longer := HallConfig(variant, sim.Boot{Members: members, Setting: hallSettings - 1})
		spec.Kappa = longer.Kappa() + longer.Rho.RealAtMost(longer.Lock)
	}
	return spec
}

// hallSpecOf returns what the runs of members with a configuration are judged by.
func hallSpecOf(c hall.Config) check.HallSpec {
	spec := check.HallSpec{Group: HallGroup, Delta: c.Delta, OneWay: c.OneWay, Kappa: c.Kappa(), Supporters: c.Supporters, Rotates: c.Rotate > 0}
	if c.Calm > 0 {
		spec.Touch = c.Rho.RealAtLeast(c.Expires)
	}
	return spec
}

// hallWatch counts the rows of local leaders.
type hallWatch struct {
	lapsedWatch
	hit     func(string)
	truth   check.Truth
	leads   []protocol.Time
	support []protocol.Set
}

func watchHall(t check.Truth, hit func(string)) sim.Observer {
	return &hallWatch{hit: hit, truth: t, leads: make([]protocol.Time, t.Members()), support: make([]protocol.Set, t.Members())}
}

// Observe looks for the rows in the facts and views.
func (w *hallWatch) Observe(r *sim.Record) error {
	w.when(w.lapsed(r), DriverLapsed)
	switch r.Ev {
	case protocol.EvLease:
		w.lease(r)
	case protocol.EvStepdown, sim.EvCrash, sim.EvClose:
		w.leads[r.Node] = 0
	case protocol.EvWait:
		w.hit(VoterWaited)
	case protocol.EvUngrant:
		w.when(r.Why == "lapsed", LockLapsed)
		w.when(r.Why == "released", LockReleased)
	case protocol.EvFail:
		w.when(r.Why == "refused", RequestRefused)
		w.when(r.Why == "silence", RequestSilent)
		w.when(r.Why == "minority", RequestMinor)
	case protocol.EvAttempt:
		for q := range w.leads {
			w.when(protocol.Rank(q) != r.Node && w.alive(protocol.Rank(q), r.T), TwoCandidates)
		}
	case sim.EvView:
		w.view(r)
	case sim.EvFault:
		w.when(r.Detail.(sim.Fault).Kind == sim.Roll, Rolled)
	}
	return nil
}

func (w *hallWatch) alive(q protocol.Rank, t sim.Real) bool {
	return w.truth.Clock(q).At(t) < w.leads[q]
}

func (w *hallWatch) lease(r *sim.Record) {
	w.when(w.leads[r.Node] != 0 && w.support[r.Node] != r.Members, SupportChanged)
	w.leads[r.Node], w.support[r.Node] = r.Until, r.Members
	for q := range protocol.Rank(len(w.leads)) {
		w.when(q != r.Node && w.alive(q, r.T), TwoPartitions)
	}
}

func (w *hallWatch) view(r *sim.Record) {
	v, ok := r.Detail.(*protocol.View)
	if !ok || v.Leader != protocol.NoIdent {
		return
	}
	switch v.Cause.Code {
	case protocol.Merged:
		w.hit(LeaderMerged)
	case protocol.SlowLink:
		w.hit(LeaderSlow)
	case protocol.Transferred:
		w.hit(HandedRound)
	}
}

func (w *hallWatch) when(yes bool, row string) {
	if yes {
		w.hit(row)
	}
}
