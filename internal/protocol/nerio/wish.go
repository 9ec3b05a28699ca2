package nerio

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// A wish is a length of leases that programs of this member want, and how many do.
type wish struct {
	length time.Duration
	groups int
}

// wish notes the length that the program of a group wants. It refuses one that cannot be had, and then nothing changes.
func (m *Machine) wish(s *groupState, ev protocol.Campaign) bool {
	length := ev.Length
	if length == m.cfg.Lease {
		length = 0
	}
	why := m.unfulfillable(s, length)
	if ev.ID != 0 {
		a := protocol.Answer{ID: ev.ID, Group: s.group, OK: why == protocol.NotRefused, Why: why, Leader: protocol.NoIdent}
		if why == protocol.TooManyLeases {
			a.Lengths = append(a.Lengths, m.nominal(0))
			for _, w := range m.wishes {
				if w.length != 0 {
					a.Lengths = append(a.Lengths, w.length)
				}
			}
		}
		m.out.Answers = append(m.out.Answers, a)
	}
	if why != protocol.NotRefused {
		return false
	}
	if s.candidate {
		m.unwish(s.length)
	}
	s.length = length
	i := slices.IndexFunc(m.wishes, func(w wish) bool { return w.length == length })
	if i < 0 {
		i, m.wishes = len(m.wishes), append(m.wishes, wish{length: length})
	}
	m.wishes[i].groups++
	m.reach.Wish = m.longestWish()
	return true
}

// longestWish returns the longest lease that a program wants; zero if it is not beyond that of the council.
func (m *Machine) longestWish() time.Duration {
	d := time.Duration(0)
	for _, w := range m.wishes {
		if w.length > m.cfg.Lease {
			d = max(d, w.length)
		}
	}
	return d
}

// unwish notes that a program wants no leases of the length any more.
func (m *Machine) unwish(length time.Duration) {
	i := slices.IndexFunc(m.wishes, func(w wish) bool { return w.length == length })
	m.wishes[i].groups--
	if m.wishes[i].groups == 0 {
		m.wishes = slices.Delete(m.wishes, i, i+1)
		m.reach.Wish = m.longestWish()
	}
}

// unfulfillable says why leases of the length cannot be had for a group. Those of the council's own length can always be had:
// a program that names no length learns of no refusal.
func (m *Machine) unfulfillable(s *groupState, length time.Duration) protocol.Refusal {
	others := 0
	for _, w := range m.wishes {
		switch {
		case w.length == length:
			return protocol.NotRefused
		case w.length == 0: // has a place of its own
		case !s.candidate || w.length != s.length || w.groups > 1:
			others++
		}
	}
	switch {
	case length == 0:
		return protocol.NotRefused
	case length > m.cfg.Longest:
		return protocol.LeaseTooLong
	case m.lcfg.CheckLength(length) != nil:
		return protocol.LeaseTooShort
	case others >= lease.MaxLengths-1:
		return protocol.TooManyLeases
	}
	return protocol.NotRefused
}

// nominal returns the length of leases by its name.
func (m *Machine) nominal(length time.Duration) time.Duration {
	if length == 0 {
		return m.cfg.Lease
	}
	return length
}

// try begins an attempt, as soon as there is room for its length: tenures with other lengths that are no longer wanted may
// not have ended yet.
func (m *Machine) try(now protocol.Time, s *groupState) {
	if !m.holder.Room(s.length) {
		m.schedule(s, now.Add(m.pause(s)))
		return
	}
	m.holder.Try(now, s.group, s.length)
}
