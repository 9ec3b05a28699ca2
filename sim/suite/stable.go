package suite

import (
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// Constants of the simulated council of electors that work in rounds.
const (
	stableTimely = 5 * time.Millisecond
	// Twice that, and the datagram layer's share for drift (2ρ·MaxAge, where MaxAge is Δ/8ρ); the same is enough for the slack
	// that random runs draw.
	stableExpiry = 14 * time.Millisecond
	// Random runs draw timers that are up to 5ms late.
	stableDelta = stableExpiry + 6*time.Millisecond
)

// stableSettle is how long a healed core may take. What is proven of a link outlives it: a link that has become too slow one
// way carries the other way what the last quick datagram proves, and a leader with such a link may lead on until that is
// forgotten. Then a leader is found within one turn of the rounds: for five members, in the slowest variant, five of 12δ.
var stableSettle = datagram.DefaultMaxAge(stableExpiry, protocol.DefaultRho) + 1250*time.Millisecond

// StableConfig returns the configuration of a simulated member, for one of the variants in the suite.
func StableConfig(b sim.Boot, variant string) stable.Config {
	c := stable.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Period: stableDelta, Delta: stableDelta,
		Expiry: stableExpiry, Rho: protocol.DefaultRho}
	switch variant {
	case "fig1":
		c.Variant = stable.Basic
	case "fig2":
		c.Variant = stable.Reliable
	case "fig3":
		c.Variant = stable.Lossy
	case "fig4":
	case "fig5":
		c.Ping = true
	case "gated":
		c.Ping, c.Gate = true, protocol.Majority(b.Members)
		if b.Members > 2 {
			c.Candidates = protocol.Everyone(b.Members).Without(0)
		}
	case "quick":
		c.Ping, c.Period = true, stableDelta/4
	case "sparse":
		c.Ping, c.Period, c.Variant = true, 3*stableDelta, stable.Lossy
	default:
		panic("suite: no variant " + variant + " of stable")
	}
	return c
}

// stableMessages are those of all variants over expiring links.
var stableMessages = []string{"stable.OK", "stable.START", "stable.ALERT", "stable.PING", "stable.PONG"}

// stableAbout says of each variant what it is, in the order in which they are listed.
var stableAbout = []struct{ variant, about string }{
	{"fig1", "rounds over reliable links (Fig. 1), not stable"},
	{"fig2", "rounds over reliable links (Fig. 2), 3-stable"},
	{"fig3", "rounds over expiring links (Fig. 3), (n+4)-stable"},
	{"fig4", "rounds with warnings (Fig. 4), 6-stable"},
	{"fig5", "rounds with warnings that skip the dead (Fig. 5), 6-stable: the elector in production"},
	{"gated", "the same, but nobody moves on without a quorum, and the best-ranked member may not lead; 6-stable"},
	{"quick", "Fig. 5 with OKs four times as often"},
	{"sparse", "Fig. 3 with OKs a third as often, skipping the dead"},
}

// stableProtocols are the variants of the stable elector.
func stableProtocols() []*Protocol {
	var all []*Protocol
	for _, v := range stableAbout {
		all = append(all, stableProtocol(v.variant, v.about))
	}
	return all
}

func stableProtocol(variant, about string) *Protocol {
	p := &Protocol{
		Name:       "stable " + variant,
		Default:    variant == "fig5",
		About:      about,
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return stable.New(StableConfig(b, variant))
		},
		Messages:  stableMessages,
		Port:      pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: stableExpiry}),
		Configure: configureStable,
		Checkers: func(t check.Truth) []check.Checker {
			return stableCheckers(t, variant)
		},
		Faults: []Weight{
			{sim.Crash, 10}, {sim.Pause, 4}, {sim.Suspend, 4}, {sim.Halt, 2}, {sim.Cut, 8}, {sim.Partition, 4}, {sim.Slow, 6},
			{sim.Lose, 4}, {sim.Duplicate, 3}, {sim.Rate, 3}, {sim.Jump, 1},
		},
		Timely: stableTimely,
		Assume: oneAccessible,
		Settle: stableSettle,
		Core:   func(int) int { return 1 },
		Rows:   Rows,
	}
	switch variant {
	case "fig1", "fig2":
		p.Port = nil // the datagram layer does not make reliable links
		p.Messages = []string{"stable.OK", "stable.START", "stable.STOP"}
		p.Configure = func(c *sim.Config) { c.Messages, c.Link.Reliable, c.Stagger = true, true, sim.Delay{} }
		p.Faults = []Weight{{sim.Crash, 10}, {sim.Pause, 4}, {sim.Halt, 2}, {sim.Cut, 8}, {sim.Partition, 4}, {sim.Slow, 8},
			{sim.Rate, 3}, {sim.Jump, 1}}
		p.Rows = []string{LeaderCrashed, LeaderRestarted, LeaderSuspended, LeaderCut, MessageLate, ClockFast, ClockSlow, TwoCandidates,
			LeaderChanged}
	case "gated":
		p.Core = majority
		p.Assume = nil // a quorum must be able to answer every member that asks
	}
	return p
}

// oneAccessible is what the paper assumes of links: those to and from one member of the core are good in the end. In every
// other run all are; otherwise any other link may be too slow for good.
func oneAccessible(seed uint64, members int, core protocol.Set) Relink {
	d := sim.NewDice(seed, 0xacce)
	if d.N(2) == 0 {
		return func(_, _ protocol.Rank, l sim.Link) sim.Link { return l }
	}
	center := shuffled(d, core)[0]
	bad := make([]bool, members*members)
	for i := range bad {
		bad[i] = d.N(2) == 0
	}
	return func(from, to protocol.Rank, l sim.Link) sim.Link {
		if from != center && to != center && bad[int(from)*members+int(to)] {
			l.Delay = sim.Between(5*stableDelta, 20*stableDelta)
		}
		return l
	}
}

// configureStable makes links expire as the paper's do: whatever comes in time is proven to. What is not proven is as good
// as lost, and on a good link nothing is. Runs with ports have unproven messages as well, where real members would.
func configureStable(c *sim.Config) { c.Messages, c.Bound.Unknown = true, 0 }

// stableCheckers are the checkers of a variant.
func stableCheckers(t check.Truth, variant string) []check.Checker {
	cfg := StableConfig(sim.Boot{Members: t.Members()}, variant)
	timing := cfg.Timing()
	links := check.Links{Within: stableExpiry, Reliable: cfg.Variant == stable.Basic || cfg.Variant == stable.Reliable}
	all := []check.Checker{check.NewOmega(t, stableSettle), check.NewNumbered(t, stableSettle), check.NewQuiet(t, stableSettle, false)}
	if timing.Stable > 0 {
		all = append(all, check.NewStays(t, links, timing.Stable))
	}
	if cfg.Ping && cfg.Variant == stable.Alerting {
		all = append(all, check.NewPrompt(t, links, timing.Election, func(up protocol.Set) bool {
			candidates := cfg.Candidates.Intersect(up)
			return (cfg.Gate.Members() == 0 || cfg.Gate.In(up)) && (cfg.Candidates.Empty() || !candidates.Empty())
		}))
	}
	return all
}
