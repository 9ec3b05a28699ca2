package suite

import (
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/fsource"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/protocol/hybrid"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/protocol/ring"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/protocol/timefree"
	"github.com/regentproject/regent/sim"
)

// productionElector is the one that quorum leases stand on unless a council chooses another.
const productionElector = "stable"

// An elector is what quorum leases can stand on.
type elector struct {
	name, about string
	messages    []string
	// least is the smallest number of voters that it works with.
	least int
	// picks says that it trusts only who may lead.
	picks bool
	// spawn makes the elector of a voter. The members in b are the voters only.
	spawn func(b sim.Boot, roles stack.Roles) (protocol.Machine, error)
}

// electors by the second word of the stack's name.
var electors = []elector{
	{"rank", "the member that the plain elector trusts tries first", []string{"rank.OK"}, 1, false,
		func(b sim.Boot, _ stack.Roles) (protocol.Machine, error) {
			return rank.New(rank.Default(b.Self, b.Members, b.Inc))
		}},
	{"ring", "the member that the ring trusts tries first", []string{"ring.Beat"}, 1, false,
		func(b sim.Boot, _ stack.Roles) (protocol.Machine, error) {
			return ring.New(ring.Default(b.Self, b.Members, b.Inc))
		}},
	{"phi", "the member that the ring with φ-accrual trusts tries first", []string{"ring.Beat"}, 1, false,
		func(b sim.Boot, _ stack.Roles) (protocol.Machine, error) {
			c := ring.Default(b.Self, b.Members, b.Inc)
			c.Phi = 8
			return ring.New(c)
		}},
	{"stable", "the member that the stable elector trusts tries first, and no member moves on without a quorum", stableMessages, 1, true,
		func(b sim.Boot, roles stack.Roles) (protocol.Machine, error) {
			return stable.New(ProductionConfig(b, roles))
		}},
	{"timefree", "who answers tries first, whatever time that takes", []string{"timefree.Query", "timefree.Response"}, 3, false,
		func(b sim.Boot, _ stack.Roles) (protocol.Machine, error) {
			c := TimefreeConfig(b)
			c.F = minority(b.Members)
			return timefree.New(c)
		}},
	{"fsource", "who is accused least tries first", []string{"fsource.Alive"}, 3, false,
		func(b sim.Boot, _ stack.Roles) (protocol.Machine, error) {
			c := FsourceConfig(b)
			c.F = minority(b.Members)
			return fsource.New(c)
		}},
	{"hybrid", "who answers, or is accused least, tries first", []string{"timefree.Query", "timefree.Response", "fsource.Alive"}, 3, false,
		func(b sim.Boot, _ stack.Roles) (protocol.Machine, error) {
			c := HybridConfig(b)
			c.F = minority(b.Members)
			return hybrid.New(c)
		}},
	{"hall", "who leads the part that a member is in tries first", []string{"hall.Election", "hall.Reply", "hall.Release"}, 1, false,
		func(b sim.Boot, _ stack.Roles) (protocol.Machine, error) {
			return hall.NewElector(hall.Default(b.Self, b.Members, b.Inc, councilHall))
		}},
}

// councilHall is local leaders on the links of this council, which are good if they take no longer than nerioTimely, by a
// bound of three times that.
var councilHall = hall.Timing{Rho: protocol.DefaultRho, Delta: 3 * nerioTimely, OneWay: nerioTimely,
	MaxAge: datagram.DefaultMaxAge(3*nerioTimely, protocol.DefaultRho), Sched: 10 * time.Millisecond, Renew: nerioRenew, Losses: 1}.Fit(2)

// Electors lists their names.
func Electors() []string {
	var names []string
	for _, e := range electors {
		names = append(names, e.name)
	}
	return names
}

// ProductionConfig returns the stable elector as it runs under quorum leases: skipping the dead, with a gate, with OKs
// often enough to ride out the loss of some. Only who may lead is a candidate. The links of this council are good if they
// take no longer than nerioTimely, by a bound of three times that.
func ProductionConfig(b sim.Boot, roles stack.Roles) stable.Config {
	c := stable.Default(b.Self, b.Members, b.Inc)
	c.Expiry, c.Gate, c.Candidates = 3*nerioTimely, roles.Gate(), roles.Leaders()
	c.Delta = c.Expiry + 6*time.Millisecond
	c.Period = c.Delta / 4
	return c
}

// minority is how many members may be down where a majority must be up.
func minority(members int) int { return members - majority(members) }
