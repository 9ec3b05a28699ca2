package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// Heirs returns the checkers of a council that its survivors may give up. Each council for itself is checked as one that changes, as far as that does not
// depend on others; between a council and those that go on from it hold C-HEIR, C-WAIT, C-STOP and C-TOK.
func Heirs(t Truth, s CouncilSpec) []Checker {
	b := newTimedLedger(t)
	h := &realms{timedLedger: b, at: make([]protocol.CouncilID, t.Members()), stopped: make([]*council.Config, t.Members()), unsure: make([]*council.Config, t.Members()), blank: make([]bool, t.Members()),
		settled: make([]uint64, t.Members()), chosen: make(map[protocol.CouncilID]*heirCouncil), moved: make(map[lastMove]sim.Real)}
	return []Checker{
		&heirOne{realms: h, digests: make(map[heirNumber]uint64)}, &heirAgreed{realms: h}, &heirUnique{realms: h}, &heirTokens{realms: h}, &heirStops{realms: h},
		&Leaves{gone: make([]bool, t.Members())}, &heirLives{realms: h, groups: s.Groups, settle: s.Settle, until: sim.Forever}, &Verified{cursor: cursor{timedLedger: b}},
	}
}

// realms says in which council each host is. The council that was begun has a zero id.
type realms struct {
	*timedLedger
	records int
	at      []protocol.CouncilID
	// stopped is the heir that a host has agreed to, and that is not in force there.
	stopped []*council.Config
	// unsure is what a host that has restarted had agreed to before, perhaps without writing it.
	unsure []*council.Config
	// blank are hosts that have lost their record, and have not adopted anything since. Forgot are all that ever have.
	blank  []bool
	forgot protocol.Set
	// copied are hosts that come back with an older copy of their record.
	copied protocol.Set
	// settled is, of hosts that have settled, one more than the number.
	settled []uint64
	chosen  map[protocol.CouncilID]*heirCouncil
	moved   map[lastMove]sim.Real
	did     *ledger.Change
	cursor  cursor
}

type lastMove struct {
	host  protocol.Rank
	group protocol.Group
}

// A heirCouncil is one that was chosen by survivors.
type heirCouncil struct {
	first, latest *council.Config
	at            sim.Real
	voted         map[string]bool
	adopted       bool
}

// take enters a record; every checker calls it, and the first counts.
func (h *realms) take(r *sim.Record, read *int) {
	*read++
	if *read <= h.records {
		return
	}
	h.records++
	h.cursor.timedLedger = h.timedLedger
	h.did = h.cursor.follow(r)
	for _, x := range h.did.Moved {
		h.moved[lastMove{x.Holder.Rank, x.Group}] = r.T
	}
	if r.Node == protocol.Nobody {
		return
	}
	conf, _ := r.Detail.(*council.Config)
	switch r.Ev {
	case sim.EvStart, sim.EvRestart, sim.EvCrash, sim.EvClose:
		h.settled[r.Node] = 0
		if h.stopped[r.Node] != nil {
			h.unsure[r.Node], h.stopped[r.Node] = h.stopped[r.Node], nil
		}
	case sim.EvHeal:
		if f, ok := r.Detail.(sim.Fault); ok && f.Disk == sim.Known {
			h.copied.Add(r.Node)
		}
	case protocol.EvWait:
		if r.Until == protocol.Never && r.Why != "restarted" && r.Why != "held" {
			h.blank[r.Node], h.stopped[r.Node] = true, nil
			h.forgot.Add(r.Node)
		}
	case protocol.EvVote:
		h.vote(r, conf)
	case protocol.EvChosen:
		if conf != nil && len(conf.Parents) > 0 {
			x := h.of(conf)
			if x.latest == nil || conf.Number >= x.latest.Number {
				x.latest = conf
			}
			if x.at == 0 {
				x.at = r.T
			}
		}
	case protocol.EvAdopt:
		h.settled[r.Node] = 0
		if heir := h.unsure[r.Node]; heir != nil && r.Why == "record" && !h.copied.Has(r.Node) && h.stopped[r.Node] == nil && (conf == nil || conf.Council != heir.Council) {
			delete(h.of(heir).voted, r.Node.String())
		}
		h.unsure[r.Node] = nil
		h.copied.Remove(r.Node)
		if r.Why != "fork" {
			h.at[r.Node] = protocol.CouncilID{}
			if conf != nil {
				h.at[r.Node] = conf.Council
			}
		}
	case protocol.EvSettle:
		h.settled[r.Node] = r.Seq + 1
	}
}

func (h *realms) of(c *council.Config) *heirCouncil {
	x := h.chosen[c.Council]
	if x == nil {
		x = &heirCouncil{first: c, voted: make(map[string]bool)}
		h.chosen[c.Council] = x
	}
	return x
}

func (h *realms) vote(r *sim.Record, conf *council.Config) {
	if conf == nil {
		return
	}
	switch r.Why {
	case "heir":
		h.stopped[r.Node] = conf
		h.of(conf).voted[r.Node.String()] = true
	case "taken back":
		h.stopped[r.Node] = nil
		delete(h.of(conf).voted, r.Node.String())
	}
}

// descends says whether a council goes on from another.
func (h *realms) descends(id, from protocol.CouncilID) bool {
	x := h.chosen[id]
	return x != nil && x.first.Descends(from)
}

type heirNumber struct {
	council protocol.CouncilID
	number  uint64
}

// heirOne is C-ONE for each council.
type heirOne struct {
	*realms
	read    int
	digests map[heirNumber]uint64
}

func (*heirOne) Name() string { return "C-ONE (heirs)" }

func (c *heirOne) Observe(r *sim.Record) error {
	c.take(r, &c.read)
	if r.Ev != protocol.EvChosen && r.Ev != protocol.EvAdopt {
		return nil
	}
	at := heirNumber{number: r.Seq}
	if conf, ok := r.Detail.(*council.Config); ok {
		at.council = conf.Council
	}
	if d, ok := c.digests[at]; ok && d != r.Gen {
		return Violatedf(c.Name(), r.T, "%v has the configuration %d of %v as %x (%s), and others have %x", r.Node, r.Seq, at.council, r.Gen, r.Why, d)
	}
	c.digests[at] = r.Gen
	return nil
}

func (*heirOne) Finish() error { return nil }

// heirAgreed is C-HEIR: a council that goes on from another is in force nowhere before all its members have agreed to it, and a host leaves its
// council only for one that goes on from that, unless it has forgotten its council. One that starts from an old copy of its record finds that out before it
// promises, votes or wants to lead.
type heirAgreed struct {
	*realms
	read   int
	before []protocol.CouncilID
	old    protocol.Set // by their records
}

func (*heirAgreed) Name() string { return "C-HEIR" }

func (c *heirAgreed) Observe(r *sim.Record) error {
	if c.before == nil {
		c.before = make([]protocol.CouncilID, len(c.at))
	}
	c.take(r, &c.read)
	switch {
	case r.Node == protocol.Nobody:
		return nil
	case r.Ev == sim.EvRestart:
		c.old.Remove(r.Node)
	case c.old.Has(r.Node) && (r.Ev == protocol.EvVote && r.Why != "lost" || r.Ev == protocol.EvPromise || r.Ev == protocol.EvAttempt):
		return Violatedf(c.Name(), r.T, "%v states %s in council %v by an old copy of its record, and was in %v", r.Node, r.Ev, c.at[r.Node], c.before[r.Node])
	}
	if r.Ev != protocol.EvAdopt || r.Why == "fork" {
		return nil
	}
	was, is := c.before[r.Node], c.at[r.Node]
	if r.Why == "record" && c.descends(was, is) {
		c.old.Add(r.Node)
		return nil
	}
	c.before[r.Node] = is
	c.old.Remove(r.Node)
	if was != is && !c.blank[r.Node] && !c.descends(is, was) {
		return Violatedf(c.Name(), r.T, "%v goes from council %v to %v, which does not go on from it", r.Node, was, is)
	}
	if heir := c.stopped[r.Node]; heir != nil && is != heir.Council && !c.descends(is, heir.Council) && r.Why != "record" {
		return Violatedf(c.Name(), r.T, "%v adopts council %v, and has agreed to go on as %v", r.Node, is, heir.Council)
	}
	if r.Why != "record" || c.stopped[r.Node] != nil && is == c.stopped[r.Node].Council {
		c.stopped[r.Node], c.blank[r.Node] = nil, false
	}
	x := c.chosen[is]
	if x == nil || x.adopted {
		return nil
	}
	x.adopted = true
	for i := range x.first.Members {
		if name := x.first.Members[i].Name; !x.voted[name] {
			return Violatedf(c.Name(), r.T, "council %v is in force at %v, and %s has not agreed", is, r.Node, name)
		}
	}
	return nil
}

func (*heirAgreed) Finish() error { return nil }

// heirUnique is C-LU for each council, and C-WAIT: no lease that was given before a council was given up is in force beside one of
// a council that goes on from it.
type heirUnique struct {
	*realms
	read int
}

func (*heirUnique) Name() string { return "C-WAIT" }

func (c *heirUnique) Observe(r *sim.Record) error {
	c.take(r, &c.read)
	for _, x := range c.did.Moved {
		if x.Domain != protocol.Quorum || !c.leads(x, r.T) {
			continue
		}
		err := c.leases(func(y *ledger.Leadership) error {
			if y.Group != x.Group || y.Holder == x.Holder || !c.leads(y, r.T) {
				return nil
			}
			a, b := c.at[x.Holder.Rank], c.at[y.Holder.Rank]
			switch {
			case a == b:
				return Violatedf("N-LU", r.T, "%v and %v lead %q in council %v", x.Holder, y.Holder, x.Group, a)
			case c.descends(a, b) && c.moved[lastMove{y.Holder.Rank, y.Group}] <= c.chosen[a].at:
				return Violatedf(c.Name(), r.T, "%v leads %q in council %v, which goes on from the one in which %v leads since before", x.Holder, x.Group, a, y.Holder)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (*heirUnique) Finish() error { return nil }

// heirTokens is C-TOK: tokens grow in each council, and those of a council that goes on from another are above all of that, whenever they were given.
type heirTokens struct {
	*realms
	read  int
	given map[heirGroup]*heirRange
}

type heirGroup struct {
	council protocol.CouncilID
	group   protocol.Group
}

type heirRange struct{ low, high uint64 }

func (*heirTokens) Name() string { return "C-TOK (heirs)" }

func (c *heirTokens) Observe(r *sim.Record) error {
	c.take(r, &c.read)
	x := c.did.Begun
	if x == nil || x.Domain != protocol.Quorum {
		return nil
	}
	if c.given == nil {
		c.given = make(map[heirGroup]*heirRange)
	}
	at := heirGroup{c.at[x.Holder.Rank], x.Group}
	// order does not matter: any of them is a violation.
	for other, g := range c.given {
		switch {
		case other.group != x.Group:
		case other.council == at.council && x.Token <= g.high, c.descends(at.council, other.council) && x.Token <= g.high,
			c.descends(other.council, at.council) && x.Token >= g.low:
			return Violatedf(c.Name(), r.T, "%v leads %q in council %v with token %d, and tokens %d to %d were given in %v", x.Holder, x.Group, at.council, x.Token,
				g.low, g.high, other.council)
		}
	}
	g := c.given[at]
	if g == nil {
		g = &heirRange{low: x.Token}
		c.given[at] = g
	}
	g.low, g.high = min(g.low, x.Token), max(g.high, x.Token)
	return nil
}

func (*heirTokens) Finish() error { return nil }

// heirStops is C-STOP: a survivor that has agreed to go on with another council promises nothing, votes for nothing and begins to lead nothing, until it does.
type heirStops struct {
	*realms
	read int
}

func (*heirStops) Name() string { return "C-STOP" }

func (c *heirStops) Observe(r *sim.Record) error {
	c.take(r, &c.read)
	if r.Node == protocol.Nobody || c.stopped[r.Node] == nil {
		return nil
	}
	if x := c.did.Begun; x != nil && x.Domain == protocol.Quorum {
		return Violatedf(c.Name(), r.T, "%v has agreed to go on as %v, and leads %q", r.Node, c.stopped[r.Node].Council, x.Group)
	}
	switch {
	case r.Ev == protocol.EvPromise, r.Ev == protocol.EvAssign, r.Ev == protocol.EvVote && r.Why != "heir" && r.Why != "taken back":
		return Violatedf(c.Name(), r.T, "%v has agreed to go on as %v, and states %s (%s)", r.Node, c.stopped[r.Node].Council, r.Ev, r.Why)
	}
	return nil
}

func (*heirStops) Finish() error { return nil }

// heirLives is C-LIVE for councils that go on from others: one whose voters have all kept their records is settled and led in the end.
type heirLives struct {
	*realms
	read   int
	groups []protocol.Group
	settle time.Duration
	until  sim.Real
	last   sim.Real
}

func (*heirLives) Name() string { return "C-LIVE (heirs)" }

func (c *heirLives) Observe(r *sim.Record) error {
	c.take(r, &c.read)
	c.last = r.T
	if r.Ev == sim.EvPhase && r.Why == sim.Liveness {
		c.until = r.T.Add(c.settle)
	}
	return nil
}

func (c *heirLives) Finish() error {
	c.last = max(c.last, c.truth.Now())
	if c.last < c.until {
		return nil
	}
	// order does not matter: any of them is a violation.
	for id, x := range c.chosen {
		if err := c.lives(id, x); err != nil {
			return err
		}
	}
	return nil
}

// judged says whether a council must live: none of its voters has forgotten anything, or goes on elsewhere. Otherwise a person has to decide.
func (c *heirLives) judged(id protocol.CouncilID, x *heirCouncil) bool {
	if x.latest == nil {
		return false
	}
	for r := range x.latest.Voters().All() {
		if heir := c.stopped[r]; c.forgot.Has(r) || c.at[r] != id && c.descends(c.at[r], id) || heir != nil && heir.Council != id {
			return false
		}
	}
	return true
}

func (c *heirLives) lives(id protocol.CouncilID, x *heirCouncil) error {
	if !c.judged(id, x) {
		return nil
	}
	hosts := x.latest.Voters()
	for r := range hosts.All() {
		if c.at[r] != id || c.settled[r] != x.latest.Number+1 {
			return Violatedf(c.Name(), c.last, "%v is in council %v, settled at %d, and %v has number %d", r, c.at[r], c.settled[r], id, x.latest.Number)
		}
	}
	for _, g := range c.groups {
		led := false
		for r := range hosts.All() {
			l := c.ledger.Lease(r, protocol.Quorum, g)
			led = led || l != nil && c.leads(l, c.last)
		}
		if !led {
			return Violatedf(c.Name(), c.last, "%q has no leader in council %v of %v", g, id, hosts)
		}
	}
	return nil
}
