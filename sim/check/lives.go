package check

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// lives finds out who speaks as an incarnation that it has been before: a member that was started from a backup does, until the
// others tell it. A history of a link is one of two incarnations, and says nothing about such a member.
type lives struct {
	life  []int // how often each member was started
	first map[protocol.Ident]int
	twice map[protocol.Ident]bool
}

func newLives(t Truth) *lives {
	return &lives{make([]int, t.Members()), make(map[protocol.Ident]int), make(map[protocol.Ident]bool)}
}

// follow takes every record, once.
func (l *lives) follow(r *sim.Record) {
	switch r.Ev {
	case sim.EvStart, sim.EvRestart:
		l.life[r.Node]++
	case protocol.EvLink, protocol.EvPost, protocol.EvTake:
		self := protocol.Ident{Rank: r.Node, Inc: r.Inc}
		if life, ok := l.first[self]; !ok {
			l.first[self] = l.life[r.Node]
		} else if life != l.life[r.Node] {
			l.twice[self] = true
		}
	}
}

// judged is a checker that is not shown what such a member does, nor what others do with it if it compares both ends.
type judged struct {
	Checker
	*lives
	leads, both bool // it is the first of those that have the same lives; it compares both ends
}

// judge has checkers look away.
func (l *lives) judge(all ...Checker) []Checker {
	for i, c := range all {
		_, one := c.(*Sequence)
		all[i] = judged{c, l, i == 0, !one}
	}
	return all
}

// Observe passes on what can be judged.
func (j judged) Observe(r *sim.Record) error {
	if j.leads {
		j.lives.follow(r)
	}
	switch r.Ev {
	case protocol.EvLink, protocol.EvPost, protocol.EvTake:
		if j.twice[protocol.Ident{Rank: r.Node, Inc: r.Inc}] || j.both && j.twice[r.Peer] {
			return nil
		}
	}
	return j.Checker.Observe(r)
}
