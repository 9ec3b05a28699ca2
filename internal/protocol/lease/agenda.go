package lease

import "github.com/regentproject/regent/internal/protocol"

// An Agenda holds what is due when: a heap. An entry is not taken back: a caller that reschedules adds another one, and
// recognises the old one when it comes due.
type Agenda[T any] struct{ items []item[T] }

type item[T any] struct {
	at   protocol.Time
	name protocol.Group // settles the order of what is due at one instant
	what T
}

// Add puts what on the agenda.
func (a *Agenda[T]) Add(at protocol.Time, name protocol.Group, what T) {
	a.items = append(a.items, item[T]{at, name, what})
	for i := len(a.items) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.less(i, up) {
			break
		}
		a.items[i], a.items[up] = a.items[up], a.items[i]
		i = up
	}
}

// Next returns when the first entry is due, or Never.
func (a *Agenda[T]) Next() protocol.Time {
	if len(a.items) == 0 {
		return protocol.Never
	}
	return a.items[0].at
}

// Due takes the first entry off if it is due.
func (a *Agenda[T]) Due(now protocol.Time) (at protocol.Time, what T, ok bool) {
	if len(a.items) == 0 || a.items[0].at > now {
		return 0, what, false
	}
	first := a.items[0]
	last := len(a.items) - 1
	a.items[0] = a.items[last]
	a.items[last] = item[T]{}
	a.items = a.items[:last]
	a.sink()
	return first.at, first.what, true
}

func (a *Agenda[T]) sink() {
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(a.items); c++ {
			if a.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		a.items[i], a.items[least] = a.items[least], a.items[i]
		i = least
	}
}

func (a *Agenda[T]) less(i, j int) bool {
	x, y := &a.items[i], &a.items[j]
	if x.at != y.at {
		return x.at < y.at
	}
	return x.name < y.name
}
