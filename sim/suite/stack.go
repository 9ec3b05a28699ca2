package suite

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// The rows that runs of stacks are counted for besides those of quorum leases.
const (
	LeaderIll       = "leader gave up because it was ill"
	TrustedIll      = "elector trusted a member that was ill"
	TrustedWitness  = "elector trusted a witness"
	LedThroughRoles = "group led in a council with witnesses or observers"
	HandedBack      = "group handed over to a preferred member"
	WitnessRefused  = "transfer to a witness or observer refused"
	LeaderDrained   = "leader gave up because it was drained"
	GroupMoved      = "group moved to a member that had joined"
)

// stackRows leaves out what takes machines that can be copied.
var stackRows = append(slices.DeleteFunc(slices.Clone(nerioRows), func(row string) bool { return row == WentBack }), LeaderIll, TrustedIll, TrustedWitness, LedThroughRoles, HandedBack,
	WitnessRefused, LeaderDrained, GroupMoved)

// stackSettle is how long the elector may take to agree and, after that, quorum leases to follow it.
const stackSettle = 4*time.Second + nerioSettle

// stackPrefer is how long a better-ranked candidate waits where leaders hand over to it.
const stackPrefer = 500 * time.Millisecond

// A stackSetup is how the members of a council are set up: leases, roles, and an elector among those that vote.
type stackSetup struct {
	nerio.Config
	elector   *elector
	witnesses protocol.Set
	observers int
	votes     []int
}

func (s *stackSetup) roles(members int) stack.Roles {
	return stack.Roles{Members: members, Observers: s.observers, Witnesses: s.witnesses, Votes: s.votes}
}

// spawn makes the machine of one member.
func (s *stackSetup) spawn(b sim.Boot) (protocol.Machine, error) {
	roles := s.roles(b.Members)
	if err := roles.Check(); err != nil {
		return nil, err
	}
	c := s.Config
	c.Elector, c.Quorums, c.Leaders = true, roles.Quorums(), roles.Leaders()
	m, err := nerio.New(c, b.Record, b.Seed)
	if err != nil {
		return nil, err
	}
	return stack.New(stack.Config{Self: b.Self, Roles: roles, Repeat: c.Renew}, m, func(inc protocol.Inc, _ *stack.Shape) (protocol.Machine, error) {
		b.Inc, b.Members = inc, roles.Voters()
		return s.elector.spawn(b, roles)
	})
}

// tell tells the world who is who.
func (s *stackSetup) tell(c *sim.Config) {
	roles := s.roles(c.Members)
	c.Voters, c.Leaders = protocol.Everyone(roles.Voters()), roles.Leaders()
}

// stackProtocols are quorum leases over each elector: the trusted member tries first, others after a while.
func stackProtocols() []*Protocol {
	var all []*Protocol
	for i := range electors {
		all = append(all, stackProtocol(&electors[i]))
	}
	return append(all, votesProtocol())
}

func stackProtocol(e *elector) *Protocol {
	p := nerioProtocol()
	p.Name, p.Default = "stack "+e.name, e.name == productionElector
	p.About = "at most one leader anywhere, by leases of a quorum; " + e.about
	p.MinMembers = e.least
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		s := stackSetup{Config: NerioConfig(b), elector: e}
		return s.spawn(b)
	}
	p.Messages = append(append(p.Messages, e.messages...), "stack.Health")
	p.Vary = func(c *sim.Config) { varyStack(c, e) }
	groups := p.Groups
	// The elector's own promise is checked where it runs alone: here a member that cannot recover trusts nobody for good.
	p.Checkers = func(t check.Truth) []check.Checker { return nerioCheckers(t, groups, stackSettle) }
	p.Settle = stackSettle
	p.Faults = append(append([]Weight{}, p.Faults...), Weight{sim.Ill, 6}, Weight{sim.Drain, 4})
	p.Rows, p.Watch = stackRows, watchStack
	if e.picks {
		p.Rows = slices.DeleteFunc(slices.Clone(stackRows), func(row string) bool { return row == TrustedWitness })
	}
	return p
}

// votesProtocol is a council whose members have different votes: one to three, by their ranks.
func votesProtocol() *Protocol {
	e := &electors[slices.IndexFunc(electors, func(e elector) bool { return e.name == productionElector })]
	p := stackProtocol(e)
	p.Name, p.Default = "stack votes", false
	p.About = "the same as stack " + e.name + ", with members that have one to three votes each"
	setup := func(members int) stackSetup {
		s := stackSetup{elector: e, votes: make([]int, members)}
		for i := range s.votes {
			s.votes[i] = 1 + i%3
		}
		return s
	}
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		s := setup(b.Members)
		s.Config = NerioConfig(b)
		return s.spawn(b)
	}
	p.Vary = nil
	groups := p.Groups
	p.Checkers = func(t check.Truth) []check.Checker {
		s := setup(t.Members())
		roles := s.roles(t.Members())
		spec := nerioSpec(t, groups, stackSettle)
		spec.Quorums = roles.Quorums()
		return check.Nerio(t, spec)
	}
	// Of any so many members, those with the fewest votes have a quorum.
	p.Core = func(members int) int {
		s := setup(members)
		roles := s.roles(members)
		votes := slices.Sorted(slices.Values(s.votes))
		n, have := 0, 0
		for have <= roles.Total()/2 {
			have += votes[n]
			n++
		}
		return n
	}
	p.Rows = append(append([]string{}, Rows...), LeaderResigned, HandedOver, LeaseLapsed, AttemptSilent, PromiseBroken, LeaderVerified)
	return p
}

// varyStack lets random runs differ in what a council may be set up as, and in every other run gives members roles: any
// voter may be a witness, as long as somebody may lead, whatever its rank.
func varyStack(c *sim.Config, e *elector) {
	d := sim.NewDice(c.Seed, 0x57ac)
	diskless, adapt := d.N(6) == 0, d.N(3) == 0
	prefer := time.Duration(0)
	if d.N(3) == 0 {
		prefer = d.Between(100*time.Millisecond, 2*stackPrefer)
	}
	setup := stackSetup{elector: e}
	order := varyBalance(c, &prefer)
	if d.N(2) == 0 {
		setup.observers = d.N(max(0, c.Members-max(2, e.least)) + 1)
		voters := c.Members - setup.observers
		for range d.N(voters) {
			setup.witnesses.Add(protocol.Rank(d.N(voters)))
		}
	}
	setup.tell(c)
	v := newVariation(c)
	guard(c)
	c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		s := setup
		s.Config = NerioConfig(b)
		s.Diskless, s.Adapt, s.Prefer, s.Balance, s.Moves = diskless, adapt, prefer, order, stackMoves
		v.set(&s.Config, &b)
		return s.spawn(b)
	}
}

// stackMoves is how many groups a leader of a balanced council hands over at once.
const stackMoves = 1

// varyBalance has some councils balanced that prefer nobody, with members of different weights and classes.
func varyBalance(c *sim.Config, prefer *time.Duration) balance.Order {
	d := sim.NewDice(c.Seed, 0xba1a)
	if d.N(2) == 0 {
		return nil
	}
	*prefer = 0
	order := make(balance.Order, c.Members)
	for r := range order {
		order[r] = balance.Share{Seed: balance.Seed(protocol.Rank(r).String()), Weight: 1 + d.N(3)}
		if d.N(4) == 0 {
			order[r].Class = 1
		}
	}
	return order
}

// stackWatch counts the rows of stacks besides those of quorum leases.
type stackWatch struct {
	sim.Observer
	hit             func(string)
	voters, leaders protocol.Set
	members         int
	ill             protocol.Set
	stopped         map[protocol.Group]protocol.View // why each group's leader was last asked to stop
	asked           map[protocol.Group]bool          // whether somebody asked for a transfer
}

func watchStack(t check.Truth, hit func(string)) sim.Observer {
	voters, leaders := rolesIn(t)
	return &stackWatch{Observer: watchNerio(t, hit), hit: hit, voters: voters, leaders: leaders, members: t.Members(),
		stopped: make(map[protocol.Group]protocol.View), asked: make(map[protocol.Group]bool)}
}

// rolesIn returns who votes and who may lead in a world.
func rolesIn(t check.Truth) (voters, leaders protocol.Set) {
	if w, ok := t.(interface {
		Voters() protocol.Set
		Leaders() protocol.Set
	}); ok {
		voters, leaders = w.Voters(), w.Leaders()
	}
	everyone := protocol.Everyone(t.Members())
	if voters.Empty() {
		voters = everyone
	}
	if leaders.Empty() {
		leaders = voters
	}
	return voters, leaders
}

// Observe looks for the rows.
func (w *stackWatch) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvHealth:
		if w.ill.Remove(r.Node); r.Why != "well" {
			w.ill.Add(r.Node)
		}
	case sim.EvCrash, sim.EvClose:
		w.ill.Remove(r.Node)
	case protocol.EvWeak:
		who := r.Peer.Rank
		w.when(w.ill.Has(who), TrustedIll)
		w.when(who != protocol.Nobody && !w.leaders.Has(who), TrustedWitness)
	case protocol.EvLease:
		w.when(w.leaders.Len() < w.members, LedThroughRoles)
	case sim.EvFault:
		if f := r.Detail.(sim.Fault); f.Kind == sim.Transfer {
			w.asked[f.Group] = true
		}
	case sim.EvView:
		w.view(r)
	case sim.EvAnswer:
		w.when(r.Why == "no: "+protocol.MayNotLead.String(), WitnessRefused)
	}
	return w.Observer.Observe(r)
}

// view looks at why leaders stop, and who follows them.
func (w *stackWatch) view(r *sim.Record) {
	v := r.Detail.(*protocol.View)
	switch {
	case v.Domain != protocol.Quorum || v.Leader.Rank != r.Node:
	case v.Stop:
		w.stopped[v.Group] = *v
	default:
		before := w.stopped[v.Group]
		w.when(before.Cause.Code == protocol.Transferred && before.Cause.Peer == r.Node && before.Leader.Rank > r.Node &&
			!w.asked[v.Group], HandedBack)
		w.when(before.Cause.Code == protocol.Unhealthy, LeaderIll)
		w.when(before.Cause.Code == protocol.Drained, LeaderDrained)
		w.when(before.Cause.Code == protocol.Balanced && before.Cause.Peer == r.Node, GroupMoved)
		delete(w.stopped, v.Group)
		delete(w.asked, v.Group)
	}
}

func (w *stackWatch) when(yes bool, row string) {
	if yes {
		w.hit(row)
	}
}
