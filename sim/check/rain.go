package check

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
)

// RainSpec is what the checkers of consistent groups have to know about a run.
type RainSpec struct {
	Group protocol.Group
	// Gated: a quorum and a lease decide. Quorums are those of the council, and Leaders are who may manage.
	Gated   bool
	Quorums protocol.Quorums
	Leaders protocol.Set
	// Live: a healed core comes to agree again, and no wrong suspicion leaves a trace.
	Live bool
	// Settle is how long a healed core may take to agree.
	Settle time.Duration
}

// manageable says whether somebody of a core may manage.
func (s *RainSpec) manageable(core protocol.Set) bool {
	able := core.Intersect(s.Leaders)
	return s.Leaders.Empty() || !able.Empty()
}

// Rain returns the checkers of all that consistent groups promise.
func Rain(t Truth, s RainSpec) []Checker {
	all := []Checker{NewDead(s.Group), NewOneView(t, s), NewTable(t, s)}
	if s.Live {
		all = append(all, NewWeakLive(t, s), NewNoTrace(t, s.Group))
	}
	if s.Gated {
		all = append(all, NewOneChain(s.Group), NewOutside(t, s.Group), NewRecovered(s.Group), NewOneRecovery(t, s.Group))
	}
	return all
}

// agreement is the last view that one program received.
type agreement struct {
	number  rain.Number
	members protocol.Set
	manager protocol.Rank
	horizon protocol.HorizonID
}

// agreements follow the views that the programs of a group receive; one that is of no view has a zero number.
type agreements struct {
	group protocol.Group
	now   []agreement
}

func newAgreements(t Truth, g protocol.Group) agreements {
	return agreements{g, make([]agreement, t.Members())}
}

// follow takes a record, and says whether a program received a view.
func (a *agreements) follow(r *sim.Record) bool {
	switch r.Ev {
	case sim.EvCrash, sim.EvClose, sim.EvStart, sim.EvRestart:
		a.now[r.Node] = agreement{}
	case sim.EvView:
		v, ok := r.Detail.(*protocol.View)
		if !ok || v.Domain != protocol.Consistent || v.Group != a.group {
			return false
		}
		if v.Agreed == nil {
			a.now[r.Node] = agreement{}
			return false
		}
		a.now[r.Node] = agreement{rain.Number{Token: v.Term, Vid: v.Agreed.Vid}, v.Support, v.Leader.Rank, v.Horizon}
		return true
	}
	return false
}

// OneView is R-31/32: when all failures and returns are over there is one manager, and everybody knows the same; and at no time does a program
// receive a view that its member is not of, or that the manager is not of.
type OneView struct {
	agreements
	truth Truth
	spec  RainSpec
	core  protocol.Set
}

// NewOneView returns the checker.
func NewOneView(t Truth, s RainSpec) *OneView {
	return &OneView{agreements: newAgreements(t, s.Group), truth: t, spec: s}
}

// Name returns R-31/32.
func (o *OneView) Name() string { return "R-31/32" }

// Observe follows the views that programs receive.
func (o *OneView) Observe(r *sim.Record) error {
	if r.Ev == sim.EvPhase && r.Why == sim.Liveness {
		o.core = r.Members
	}
	if !o.follow(r) {
		return nil
	}
	a := &o.now[r.Node]
	if !a.members.Has(r.Node) || !a.members.Has(a.manager) {
		return Violatedf(o.Name(), r.T, "the program of %v receives view %v of %v under %v", r.Node, a.number, a.members, a.manager)
	}
	return nil
}

// Finish counts the managers.
func (o *OneView) Finish() error {
	if o.core.Empty() {
		return nil
	}
	var managers, members protocol.Set
	for r := range protocol.Rank(len(o.now)) {
		if a := &o.now[r]; o.truth.Up(r) && a.number.Vid != 0 {
			members.Add(r)
			if a.manager == r {
				managers.Add(r)
			}
		}
	}
	if !members.Empty() && managers.Len() != 1 && (!managers.Empty() || o.spec.manageable(o.core)) {
		return Violatedf(o.Name(), o.truth.Now(), "%v manage; it must be one", managers)
	}
	return nil
}

// WeakLive is R-WL: some time after all members of a core that is large enough are connected with one another and with nobody else, they
// are in one view of exactly them, and stay in it.
type WeakLive struct {
	agreements
	truth    Truth
	spec     RainSpec
	core     protocol.Set
	deadline sim.Real
	judged   bool
	forgot   protocol.Set // who may have forgotten a view
}

// NewWeakLive returns the checker.
func NewWeakLive(t Truth, s RainSpec) *WeakLive {
	return &WeakLive{agreements: newAgreements(t, s.Group), truth: t, spec: s, deadline: sim.Forever}
}

// Name returns R-WL.
func (l *WeakLive) Name() string { return "R-WL" }

// Observe follows the views that programs receive, and judges at the deadline and after it.
func (l *WeakLive) Observe(r *sim.Record) error {
	if r.T > l.deadline && !l.judged {
		if err := l.judge(); err != nil {
			return err
		}
	}
	if r.Ev == sim.EvPhase && r.Why == sim.Liveness {
		l.core, l.deadline, l.judged = r.Members, r.T.Add(l.spec.Settle), false
	}
	switch {
	case r.Ev == protocol.EvSpeak && r.Why == "recovered":
		l.forgot.Add(r.Node)
	case r.Ev == protocol.EvInstall && r.Why != "heard":
		l.forgot.Remove(r.Node)
	}
	l.follow(r)
	if l.judged && r.Ev == sim.EvView && r.Dom == protocol.Consistent && l.core.Has(r.Node) {
		return l.judge()
	}
	return nil
}

// judge looks whether all of the core are in one view of it.
func (l *WeakLive) judge() error {
	l.judged = true
	if l.blocked() {
		return nil
	}
	core := l.speaking()
	first := l.now[core.Min()]
	for r := range core.All() {
		switch a := l.now[r]; {
		case a.number.Vid == 0:
			return Violatedf(l.Name(), l.truth.Now(), "%v is of no view, %v after the core %v was healed", r, l.spec.Settle, core)
		case a.members != core:
			return Violatedf(l.Name(), l.truth.Now(), "%v is in view %v of %v, %v after the core %v was healed", r, a.number, a.members, l.spec.Settle, core)
		case a != first && (a.number != first.number || a.manager != first.manager):
			return Violatedf(l.Name(), l.truth.Now(), "%v is in view %v under %v, but %v in %v under %v", r, a.number, a.manager, core.Min(), first.number, first.manager)
		}
	}
	return nil
}

// speaking returns the members of the core that know who they are: too many records may be lost for that.
func (l *WeakLive) speaking() protocol.Set {
	core := l.core
	for r := range l.core.All() {
		if l.truth.Ident(r).Inc == 0 {
			core.Remove(r)
		}
	}
	return core
}

// blocked says that only an operator can help: with a gate too many have forgotten what they installed, or nobody is there who may manage;
// without one all are dead and not all are there.
func (l *WeakLive) blocked() bool {
	everyone := protocol.Everyone(len(l.now))
	if l.spec.Gated {
		core := l.speaking()
		know := core.Minus(l.forgot)
		q := l.spec.Quorums
		return !q.In(core) || !l.spec.manageable(core) || core != everyone && q.In(everyone.Minus(know))
	}
	if l.core == everyone {
		return false
	}
	for r := range l.core.All() {
		if l.now[r].number.Vid != 0 {
			return false
		}
	}
	return true
}

// Finish judges a run in which nothing happened after the deadline.
func (l *WeakLive) Finish() error {
	switch {
	case l.judged || l.deadline == sim.Forever:
		return nil
	case l.truth.Now() < l.deadline:
		return fmt.Errorf("%s cannot be judged: the run ended at %v, before %v", l.Name(), l.truth.Now(), l.deadline)
	}
	return l.judge()
}

// NoTrace is R-33w: a suspicion that was wrong leaves no trace. In the end nobody remembers having asked or confirmed anything: whatever was
// said was taken back, led to a view, or was said over a link that went down since.
type NoTrace struct {
	truth Truth
	group protocol.Group
	core  protocol.Set
	said  map[statement]bool
}

// statement is something that a member has said to a peer and not taken back.
type statement struct {
	node, peer, about protocol.Rank
	kind              string
	ev                protocol.Ev
}

// NewNoTrace returns the checker of one group.
func NewNoTrace(t Truth, g protocol.Group) *NoTrace {
	return &NoTrace{truth: t, group: g, said: make(map[statement]bool)}
}

// Name returns R-33w.
func (n *NoTrace) Name() string { return "R-33w" }

// Observe follows what is said and taken back.
func (n *NoTrace) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			n.core = r.Members
		}
	case sim.EvCrash, sim.EvClose:
		n.drop(func(s statement) bool { return s.node == r.Node })
	case protocol.EvLink:
		n.drop(func(s statement) bool { return s.node == r.Node && s.peer == r.Peer.Rank })
	}
	if r.Group != n.group || r.Dom != protocol.Consistent {
		return nil
	}
	switch r.Ev {
	case protocol.EvInstall:
		n.drop(func(s statement) bool { return s.node == r.Node })
	case protocol.EvNode:
		if r.Why == "dead" {
			n.drop(func(s statement) bool { return s.node == r.Node })
		}
	case protocol.EvCand, protocol.EvAccept:
		if r.Members.Has(r.Node) {
			return nil // a dead member confirms that it is back, and does not remember it
		}
		n.said[statement{r.Node, r.Peer.Rank, r.Members.Min(), r.Why, r.Ev}] = true
	case protocol.EvCancel:
		n.drop(func(s statement) bool {
			return s.node == r.Node && s.peer == r.Peer.Rank && s.about == r.Members.Min() && s.kind == r.Why
		})
	}
	return nil
}

func (n *NoTrace) drop(which func(statement) bool) {
	for s := range n.said {
		if which(s) {
			delete(n.said, s)
		}
	}
}

// Finish looks for what is left.
func (n *NoTrace) Finish() error {
	for a := range n.core.All() {
		for s := range n.said {
			if s.node == a && n.core.Has(s.peer) {
				return Violatedf(n.Name(), n.truth.Now(), "%v still remembers its %s to %v about %v (%s)", s.node, s.ev, s.peer, s.about, s.kind)
			}
		}
	}
	return nil
}

// Dead is R-DEAD: who is dead is no candidate.
type Dead struct {
	group protocol.Group
	alive map[protocol.Rank]bool
}

// NewDead returns the checker of one group.
func NewDead(g protocol.Group) *Dead { return &Dead{g, make(map[protocol.Rank]bool)} }

// Name returns R-DEAD.
func (d *Dead) Name() string { return "R-DEAD" }

// Observe follows who is dead.
func (d *Dead) Observe(r *sim.Record) error {
	switch {
	case r.Ev == sim.EvCrash || r.Ev == sim.EvClose:
		d.alive[r.Node] = false
	case r.Dom != protocol.Consistent || r.Group != d.group:
	case r.Ev == protocol.EvNode:
		d.alive[r.Node] = r.Why != "dead"
	case r.Ev == protocol.EvCand && !d.alive[r.Node]:
		return Violatedf(d.Name(), r.T, "%v is dead and asks %v about %v", r.Node, r.Peer, r.Members)
	}
	return nil
}

// Finish has nothing to add.
func (d *Dead) Finish() error { return nil }
