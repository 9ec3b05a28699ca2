package suite

import (
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
)

// The rows that runs of quorum leases are counted for because members are not always set up alike.
const (
	ManyGroups     = "more than two groups led by one member"
	FlagWithRecord = "bootstrap flag at a member with a record"
	FlagWithout    = "bootstrap flag at a member that has lost its record"
	OtherLengths   = "member restarted with other lengths"
	Rolled         = "council restarted with another configuration"
	DriverLapsed   = "renewals ended by the driver"
	MixedLengths   = "leases of several lengths at one member"
	MovedLength    = "group led again by the same member with another length"
)

var variedRows = []string{MixedLengths, MovedLength, ManyGroups, FlagWithRecord, FlagWithout, OtherLengths, Rolled, BackupFound}

// nerioSettings is how many configurations a council may be restarted with. They differ in what all members must agree on.
const nerioSettings = 2

// remembersNerio says how a backup is recognised: a member introduces itself before it says anything else. It has received
// that its record is old before it would grant anything, after the longest promise of any setting.
var remembersNerio = sim.Remember{
	By: func(m protocol.Message) bool {
		_, ok := m.(*nerio.Recover)
		return ok
	},
	Within: 2 * nerioLongest,
}

// A variation is in what the starts of the members of one council differ. Each kind is there in a good part of the runs.
type variation struct {
	seed     uint64
	perGroup time.Duration
	// flags says that any start may have the bootstrap flag, even of a member that has lost its record. Only the cautious
	// voter has it at its first start only: if all had it and lost their records, or have none, the council would begin anew,
	// and that is for an operator to want.
	flags    bool
	cautious protocol.Rank
	// lengths says that each start draws the lengths that may differ between members.
	lengths bool
	// mixed says that programs want leases of several lengths.
	mixed bool
	// step is by how many terms ceilings are raised; zero: as many as the load asks for.
	step uint64
	// driven says that the driver ends the renewals of programs that do not stop, and not the machine.
	driven bool
}

func newVariation(c *sim.Config) variation {
	d := sim.NewDice(c.Seed, 0x7a41)
	v := variation{seed: c.Seed}
	if d.N(3) == 0 {
		c.Groups = append(slices.Clone(c.Groups), "gold", "green", "grey")
		v.perGroup = d.Between(2*time.Millisecond, 15*time.Millisecond)
	}
	voters := c.Members
	if !c.Voters.Empty() {
		voters = c.Voters.Len() // they come first in rank; a silent observer keeps nobody from beginning
	}
	v.flags, v.cautious = d.N(2) == 0, protocol.Rank(d.N(voters))
	v.lengths = d.N(3) == 0
	v.driven = c.Program.Within > 0
	switch d.N(3) {
	case 0:
		c.Program.Announce = sim.Between(time.Millisecond, 2*time.Second>>d.N(8))
	case 1:
		c.Program.Announce = sim.Between(time.Minute, time.Hour) // one value for each leadership, which must not be lost
	}
	v.mixed = sim.NewDice(c.Seed, 0x7a43).N(3) == 0
	v.step = [...]uint64{0, 1, 2, 8}[sim.NewDice(c.Seed, 0x7a44).N(4)]
	if v.mixed {
		c.Program.Lengths = mixedLengths
	}
	return v
}

// mixedLengths are what programs want where lengths are mixed: that of the council, one between two renewals of which nothing
// else happens, and the longest.
var mixedLengths = []time.Duration{0, 3 * nerioLease, nerioMixed}

// nerioMixed is the longest that may be asked for there, less what many groups add.
const nerioMixed = 4 * nerioLease

// set sets up one start of a member.
func (v *variation) set(c *nerio.Config, b *sim.Boot) {
	d := sim.NewDice(v.seed, 0x7a42<<32|uint64(b.Self)<<16|uint64(b.Inc))
	c.PerGroup, c.TermStep = v.perGroup, v.step
	if v.driven {
		c.StopWithin = 0
	}
	if v.flags && b.Self != v.cautious && (b.Record == nil || d.N(2) == 0) {
		c.Bootstrap = true
		if b.Record != nil {
			note(b, FlagWithRecord)
		} else if b.Inc > 1 && !c.Diskless {
			note(b, FlagWithout)
		}
	}
	if v.lengths {
		c.Lease = d.Between(3*c.Longest/5, c.Longest)
		c.Renew = d.Between(nerioRenew/2, nerioRenew)
		c.RoundTrip = d.Between(nerioTrip, 3*nerioTrip/2)
		c.PerGroup = d.Between(0, 15*time.Millisecond)
		if b.Inc > 1 {
			note(b, OtherLengths)
		}
	}
	if v.mixed {
		c.Longest += nerioMixed
	}
}

// note puts what is special about a start into the trace.
func note(b *sim.Boot, what string) {
	if b.Note != nil {
		b.Note(what)
	}
}

// variedWatch counts the rows of variations.
type variedWatch struct {
	hit func(string)
	led map[protocol.Rank]map[protocol.Group]bool
	// lengths are those of the leases that a member has had in each group since its start.
	lengths map[lengthKey]time.Duration
	lapsedWatch
}

// Driven returns the protocol with a driver that ends the renewals of programs that do not stop, by Lapse, as the runtime does. Half of
// the programs never stop, and the machines have no bound of their own.
func Driven(p *Protocol) *Protocol {
	d, configure := *p, p.Configure
	d.Rows = append(slices.Clone(p.Rows), DriverLapsed)
	d.Configure = func(c *sim.Config) {
		if configure != nil {
			configure(c)
		}
		c.Program.Within, c.Program.Stubborn = drivenStop, sim.Percent(50)
	}
	return &d
}

// drivenStop is how long a program may take to stop then.
const drivenStop = 250 * time.Millisecond

// lapsedWatch notices leases that get a fixed end because the driver asks for it.
type lapsedWatch struct{ last sim.Record }

// lapsed says that the record is of the step that the driver's command led to.
func (w *lapsedWatch) lapsed(r *sim.Record) bool {
	switch r.Ev {
	case sim.EvCommand:
		w.last = *r
	case protocol.EvLease:
		l := &w.last
		return r.Why == "frozen" && l.Why == "lapse" && l.T == r.T && l.Node == r.Node && l.Group == r.Group && l.Tenure == r.Tenure
	}
	return false
}

// observe looks for the rows.
func (w *variedWatch) observe(r *sim.Record) {
	if w.lapsed(r) {
		w.hit(DriverLapsed)
	}
	switch r.Ev {
	case sim.EvRestart:
		for _, row := range strings.Split(r.Why, ", ") {
			if slices.Contains(variedRows, row) {
				w.hit(row)
			}
		}
	case sim.EvFault:
		if f := r.Detail.(sim.Fault); f.Kind == sim.Roll {
			w.hit(Rolled)
		}
	case protocol.EvLease:
		if w.led[r.Node] == nil {
			w.led[r.Node] = make(map[protocol.Group]bool)
		}
		w.led[r.Node][r.Group] = true
		if len(w.led[r.Node]) > 2 {
			w.hit(ManyGroups)
		}
		w.length(r)
	case protocol.EvStepdown:
		delete(w.led[r.Node], r.Group)
	case sim.EvCrash, sim.EvClose:
		delete(w.led, r.Node)
		for k := range w.lengths {
			if k.who == r.Node {
				delete(w.lengths, k)
			}
		}
	}
}

// A lengthKey is a member in a group.
type lengthKey struct {
	who   protocol.Rank
	group protocol.Group
}

// length looks at the length of a lease beside those of the others that its member has, and has had.
func (w *variedWatch) length(r *sim.Record) {
	if w.lengths == nil {
		w.lengths = make(map[lengthKey]time.Duration)
	}
	me := lengthKey{r.Node, r.Group}
	if was, ok := w.lengths[me]; ok && was != r.Length {
		w.hit(MovedLength)
	}
	w.lengths[me] = r.Length
	for g := range w.led[r.Node] {
		if l, ok := w.lengths[lengthKey{r.Node, g}]; ok && l != r.Length {
			w.hit(MixedLengths)
		}
	}
}
