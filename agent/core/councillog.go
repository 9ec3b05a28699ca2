package core

import (
	"slices"

	"github.com/regentproject/regent/agent/api"
)

// maxCouncilChanges is how many changes of the council are kept.
const maxCouncilChanges = 256

// AddCouncil takes note of a change of the council that is over, and gives it its number.
func (l *ChangeLog) AddCouncil(c api.CouncilChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	c.Serial = l.serial
	if len(l.council) == maxCouncilChanges {
		l.council = slices.Delete(l.council, 0, maxCouncilChanges/4)
	}
	l.council = append(l.council, &c)
	for w := range l.watchers {
		if w.group != "" {
			continue
		}
		select {
		case w.Council <- &c:
		default: // the next pulse has the council as it is
		}
	}
}

// Recent returns the last changes of groups and of the council, oldest first: as many as limit together.
func (l *ChangeLog) Recent(limit int) (groups []*api.Change, council []*api.CouncilChange) {
	groups = l.History("", limit)
	l.mu.RLock()
	council = slices.Clone(l.council[max(0, len(l.council)-limit):])
	l.mu.RUnlock()
	for len(groups)+len(council) > limit {
		if len(council) == 0 || len(groups) > 0 && groups[0].Serial < council[0].Serial {
			groups = groups[1:]
		} else {
			council = council[1:]
		}
	}
	return groups, council
}

// CouncilChanges returns the last changes of the council, oldest first.
func (a *Agent) CouncilChanges() []api.CouncilChange {
	_, found := a.ChangeLog.Recent(MaxChanges)
	out := make([]api.CouncilChange, len(found))
	for i, c := range found {
		out[i] = *c
	}
	return out
}
