package check

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

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

// Observe follows what programs are told, and judges at the deadline and after it.
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
