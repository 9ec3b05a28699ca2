package regent

import (
	"sync"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// accessFaults lists the electors, by mode and group, that have moved from one leader to the next for long because no member has
// good links with all others.
type accessFaults struct {
	mu     sync.Mutex
	groups map[string]protocol.Time // since when there has been a leader all the same; Never: there is none
}

// accessRecovery is how long a leader must last before its elector is thought to have found one for good.
const accessRecovery = 30 * time.Second

// over says whether there is nothing to be said of an elector any more.
func (a *accessFaults) over(key string, now protocol.Time) bool {
	since, listed := a.groups[key]
	return !listed || since != protocol.Never && now.Sub(since) >= accessRecovery
}

// any says whether there is anything to be said.
func (a *accessFaults) any(now protocol.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.groups {
		if !a.over(key, now) {
			return true
		}
	}
	return false
}

func (a *accessFaults) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.groups, key)
}

// modeCouncil stands for the elector of the council, under its quorum groups.
const modeCouncil = "quorum"

func accessKey(mode string, group protocol.Group) string { return mode + "\x00" + string(group) }

// noteAccess takes note of whether an elector finds a leader that all can reach, and warns when it does not. It is called on the
// loop, and does not wait.
func (m *Member) noteAccess(mode string, group protocol.Group, leader protocol.Ident, cause protocol.CauseCode) {
	a, key, now := &m.access, accessKey(mode, group), m.world.Clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	over := a.over(key, now)
	since, listed := a.groups[key]
	switch {
	case cause == protocol.NoAccess:
		if a.groups == nil {
			a.groups = make(map[string]protocol.Time)
		}
		a.groups[key] = protocol.Never
		if over {
			m.log.Warn("no member has good links with all others: leaders keep changing until one has; look at 'regent members' on each of them",
				"mode", mode, "group", plainName(group))
		}
	case listed && leader == protocol.NoIdent && !over:
		a.groups[key] = protocol.Never
	case listed && since == protocol.Never && leader != protocol.NoIdent:
		a.groups[key] = now
	case over:
		delete(a.groups, key)
	}
}
