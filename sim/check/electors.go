package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// opinions follows which member each member trusts, by its weak facts.
type opinions struct {
	truth Truth
	of    []opinion
}

// An opinion is what one member thinks.
type opinion struct {
	trusts  protocol.Ident
	term    uint64
	members protocol.Set // the members that it trusts to be alive, where it says so
	up      bool
	since   sim.Real // of its last start
	counts  bool     // it has been up for long enough since, and trusted somebody at that time or later
}

func newOpinions(t Truth) opinions {
	o := opinions{truth: t, of: make([]opinion, t.Members())}
	for r := range o.of {
		o.of[r].trusts = protocol.NoIdent
	}
	return o
}

// follow takes a record and says whether it may have changed who leads.
func (o *opinions) follow(r *sim.Record) bool {
	switch r.Ev {
	case sim.EvStart, sim.EvRestart:
		o.of[r.Node] = opinion{trusts: protocol.NoIdent, up: true, since: r.T}
	case sim.EvCrash, sim.EvClose:
		o.of[r.Node] = opinion{trusts: protocol.NoIdent}
	case protocol.EvWeak:
		m := &o.of[r.Node]
		m.trusts, m.term, m.members = r.Peer, r.Term, r.Members
	default:
		return false
	}
	return true
}

// leader returns the member that all members trust that are up at t, if it is one of them; else NoIdent. With an age, newcomers do not
// count before they have been up for that long and trust somebody.
func (o *opinions) leader(t sim.Real, age time.Duration) protocol.Ident {
	found := protocol.NoIdent
	for r := range o.of {
		m := &o.of[r]
		m.counts = m.up && (m.counts || age == 0 || t.Sub(m.since) >= age && m.trusts.Rank != protocol.Nobody)
		if !m.counts {
			continue
		}
		if m.trusts.Rank == protocol.Nobody || found.Rank != protocol.Nobody && found != m.trusts {
			return protocol.NoIdent
		}
		found = m.trusts
	}
	if int(found.Rank) >= len(o.of) || !o.of[found.Rank].counts {
		return protocol.NoIdent
	}
	return found
}

// next returns when the next member will have been up for the given time, after t.
func (o *opinions) next(t sim.Real, age time.Duration) sim.Real {
	first := sim.Forever
	for r := range o.of {
		if due := o.of[r].since.Add(age); o.of[r].up && due > t {
			first = min(first, due)
		}
	}
	return first
}

// up returns who is up.
func (o *opinions) up() protocol.Set {
	var s protocol.Set
	for r := range o.of {
		if o.of[r].up {
			s.Add(protocol.Rank(r))
		}
	}
	return s
}

// Numbered is S-OM+: a member that trusts another one under a view number trusts the same member as all others under that number, at
// any time; and in the end the healed core agrees on the number too.
type Numbered struct {
	opinions opinions
	end      end
	holder   map[uint64]protocol.Rank
}

// NewNumbered returns a checker that gives the core the settle time to agree.
func NewNumbered(t Truth, settle time.Duration) *Numbered {
	return &Numbered{opinions: newOpinions(t), end: newEnd(settle), holder: map[uint64]protocol.Rank{}}
}

// Name returns S-OM+.
func (n *Numbered) Name() string { return "S-OM+" }

// Observe compares what members trust under one number.
func (n *Numbered) Observe(r *sim.Record) error {
	if n.end.reached(r) {
		if err := n.agree(r.T); err != nil {
			return err
		}
	}
	n.opinions.follow(r)
	if r.Ev != protocol.EvWeak || r.Peer.Rank == protocol.Nobody {
		return nil
	}
	other, ok := n.holder[r.Term]
	if ok && other != r.Peer.Rank {
		return Violatedf(n.Name(), r.T, "%v trusts %v under the number %d, which was %v's", r.Node, r.Peer, r.Term, other)
	}
	n.holder[r.Term] = r.Peer.Rank
	return nil
}

// agree checks that the core agrees on one number.
func (n *Numbered) agree(t sim.Real) error {
	first := n.end.core.Min()
	for r := range n.end.core.All() {
		if a, b := n.opinions.of[r].term, n.opinions.of[first].term; a != b {
			return Violatedf(n.Name(), t, "%v is at the number %d, but %v at %d", r, a, first, b)
		}
	}
	return nil
}

// Finish looks at the end of a run in which nothing happened after the deadline.
func (n *Numbered) Finish() error {
	if n.end.over(n.opinions.truth.Now()) {
		return n.agree(n.opinions.truth.Now())
	}
	return nil
}

// An end is the last part of a run, in which nothing may change any more.
type end struct {
	settle   time.Duration
	core     protocol.Set
	deadline sim.Real
	seen     bool
}

func newEnd(settle time.Duration) end { return end{settle: settle, deadline: sim.Forever} }

// reached follows the phases, and says once, before the first record of the last part, that it has begun.
func (e *end) reached(r *sim.Record) bool {
	if r.T > e.deadline && !e.seen {
		e.seen = true
		return true
	}
	if r.Ev == sim.EvPhase && r.Why == sim.Liveness {
		e.core, e.deadline, e.seen = r.Members, r.T.Add(e.settle), false
	}
	return false
}

// within says whether a record belongs to the last part.
func (e *end) within(t sim.Real) bool { return t > e.deadline }

// over says whether a run that ends at t had a last part in which nothing happened.
func (e *end) over(t sim.Real) bool { return !e.seen && t >= e.deadline }

// Quiet is S-COMM: in the end only the links from the leader carry messages of the elector; with Both those to it as well
// (the second half of S-P). What the datagram layer sends on its own is not the elector's.
type Quiet struct {
	opinions opinions
	end      end
	both     bool
	counts   []int // by sender and receiver, in the last part of the run
}

// NewQuiet returns a checker that gives the core the settle time to agree. It needs the records of messages.
func NewQuiet(t Truth, settle time.Duration, both bool) *Quiet {
	return &Quiet{opinions: newOpinions(t), end: newEnd(settle), both: both, counts: make([]int, t.Members()*t.Members())}
}

// Name returns S-COMM.
func (q *Quiet) Name() string { return "S-COMM" }

// Observe counts the messages of the last part on each link, and refuses those on links that should be silent.
func (q *Quiet) Observe(r *sim.Record) error {
	q.end.reached(r)
	q.opinions.follow(r)
	if r.Ev != sim.EvSend || !q.end.within(r.T) || r.Why == "packet" {
		return nil
	}
	n := q.opinions.truth.Members()
	count := &q.counts[int(r.Node)*n+int(r.Peer.Rank)]
	*count++
	leader := q.opinions.of[q.end.core.Min()].trusts.Rank
	if r.Node != leader && !(q.both && r.Peer.Rank == leader) {
		return Violatedf(q.Name(), r.T, "%v sends %s to %v, although %v leads: %d on that link since the end began", r.Node, r.Why, r.Peer.Rank, leader, *count)
	}
	return nil
}

// Used returns on how many links there were messages in the last part.
func (q *Quiet) Used() int {
	used := 0
	for _, n := range q.counts {
		if n > 0 {
			used++
		}
	}
	return used
}

// Finish sees that the leader did speak to all others of the core.
func (q *Quiet) Finish() error {
	leader := q.opinions.of[max(0, min(int(q.end.core.Min()), len(q.opinions.of)-1))].trusts.Rank
	if q.Used() == 0 || leader == protocol.Nobody {
		return nil // a run through ports, or one without an end
	}
	for r := range q.end.core.All() {
		if r != leader && q.counts[int(leader)*q.opinions.truth.Members()+int(r)] == 0 {
			return Violatedf(q.Name(), q.opinions.truth.Now(), "%v leads, but said nothing to %v", leader, r)
		}
	}
	return nil
}

// Trusted is S-P: in the end every member of the healed core trusts exactly the core to be alive. S-COMM, both ways, is its
// second half.
type Trusted struct {
	opinions opinions
	end      end
}

// NewTrusted returns a checker that gives the core the settle time to find out.
func NewTrusted(t Truth, settle time.Duration) *Trusted {
	return &Trusted{opinions: newOpinions(t), end: newEnd(settle)}
}

// Name returns S-P.
func (c *Trusted) Name() string { return "S-P" }

// Observe looks at what is trusted when the end begins, and at every change after that.
func (c *Trusted) Observe(r *sim.Record) error {
	if c.end.reached(r) {
		if err := c.agree(r.T); err != nil {
			return err
		}
	}
	c.opinions.follow(r)
	if r.Ev == protocol.EvWeak && c.end.within(r.T) && c.end.core.Has(r.Node) {
		return c.look(r.T, r.Node)
	}
	return nil
}

// agree looks at all members of the core.
func (c *Trusted) agree(t sim.Real) error {
	for r := range c.end.core.All() {
		if err := c.look(t, r); err != nil {
			return err
		}
	}
	return nil
}

// look compares what a member trusts with what is true.
func (c *Trusted) look(t sim.Real, r protocol.Rank) error {
	if got := c.opinions.of[r].members; got != c.end.core {
		return Violatedf(c.Name(), t, "%v trusts %v to be alive, and that is %v", r, got, c.end.core)
	}
	return nil
}

// Finish looks at the end of a run in which nothing happened after the deadline.
func (c *Trusted) Finish() error {
	if c.end.over(c.opinions.truth.Now()) {
		return c.agree(c.opinions.truth.Now())
	}
	return nil
}
