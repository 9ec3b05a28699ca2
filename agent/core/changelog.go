package core

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/why"
)

// A endReason is how the leadership with a token ends.
type endReason struct {
	token uint64
	text  string
	at    time.Time // when it was noted
}

// ChangeLog keeps the latest change of every group, the recent history, and who watches.
type ChangeLog struct {
	mu            sync.RWMutex
	groups        map[string]*api.Change
	idle          int                  // how many of them are quorum groups that nobody leads
	maxIdle       int                  // how many of those are kept
	leaderChanges map[string]uint64    // of leader, counted by group
	endReasons    map[string]endReason // on leaderships of programs here that are about to end, by group
	recent        []*api.Change        // the last ones, oldest first
	council       []*api.CouncilChange // the last changes of the council, oldest first
	serial        uint64
	// inUse says of a group whether this host takes part in it. swept is when groups were last forgotten.
	inUse func(*api.Change) bool
	swept time.Time
	// watchers get every change. They must not block.
	watchers map[*Watcher]struct{}
}

const (
	// MaxChanges is how many changes are kept.
	MaxChanges = 4096
	// maxIdleGroups bounds how many groups without a leader the log keeps: programs that may campaign can invent any number of names.
	maxIdleGroups = 100_000
	// idleFor is how long a group is kept that nobody leads and no program here uses: long enough to see what became of it, and for a scrape to
	// see its last count. sweepInterval is how often to look for such groups, at most.
	idleFor       = 15 * time.Minute
	sweepInterval = time.Minute
)

// NewChangeLog returns an empty log. inUse says of a group whether this host takes part in it.
func NewChangeLog(inUse func(*api.Change) bool) *ChangeLog {
	return &ChangeLog{inUse: inUse, maxIdle: maxIdleGroups, groups: make(map[string]*api.Change), leaderChanges: make(map[string]uint64), endReasons: make(map[string]endReason), watchers: make(map[*Watcher]struct{})}
}

// AddView takes note of a view of a quorum group. The member calls it, in order.
func (l *ChangeLog) AddView(v regent.View) { l.add(api.Change{View: v}) }

// sweep is called when somebody looks at all groups. It forgets those that nobody leads and no program here uses, once they are old
// enough. It is called with mu held.
func (l *ChangeLog) sweep(now time.Time) {
	if now.Sub(l.swept) < sweepInterval {
		return
	}
	l.swept = now
	for _, c := range l.groups {
		if idleCount(c) == 1 && now.Sub(c.At) > idleFor && !l.inUse(c) {
			l.forget(c)
		}
	}
	for group, n := range l.endReasons { // a group that is not known was forgotten, or is about to be heard of
		if l.groups[group] == nil && now.Sub(n.at) > idleFor {
			delete(l.endReasons, group)
		}
	}
}

// forget forgets an idle group. What changed stays in the history.
func (l *ChangeLog) forget(c *api.Change) {
	delete(l.groups, c.Group)
	delete(l.leaderChanges, c.Group)
	delete(l.endReasons, c.Group)
	l.idle--
}

// add takes note of a change, and gives it its number.
func (l *ChangeLog) add(next api.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &next
	old := l.groups[c.Group]
	if old != nil && old.Mode != regent.Quorum && c.Mode == regent.Quorum {
		return // the configuration says that this host has another group of that name
	}
	l.serial++
	if old != nil && c.Cause.Why == why.Announced && old.Leader == c.Leader && old.Token == c.Token && old.Stopping == c.Stopping {
		l.announce(old, c.Value)
		return
	}
	c.Serial = l.serial
	if c.At.IsZero() { // nothing has changed yet
		c.At = time.Now()
	}
	if c.Leader != "" && (old == nil || old.Token != c.Token || old.Leader != c.Leader) {
		l.leaderChanges[c.Group]++
	}
	l.attachEndReason(old, c)
	l.idle += idleCount(c) - idleCount(old)
	l.groups[c.Group] = c
	l.evictIdle()
	if len(l.recent) == MaxChanges {
		l.recent = slices.Delete(l.recent, 0, MaxChanges/4)
	}
	l.recent = append(l.recent, c)
	for w := range l.watchers {
		w.deliver(c)
	}
}

// announce shows another value of a leadership. The leadership began when it began, for the cause that it had, and the history does not grow.
func (l *ChangeLog) announce(old *api.Change, value string) {
	c := *old // others read the old one
	c.Serial, c.Value = l.serial, value
	l.groups[c.Group] = &c
	for w := range l.watchers {
		w.deliver(&c)
	}
}

// recordEnd takes down how a leadership ends, for the change that shows its end. If that change was shown already, as when the lease ran
// out before its program was known to be gone, or when the cause was corrected, the entry of the history is replaced.
func (l *ChangeLog) recordEnd(group string, token uint64, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.replaceEnd(group, token, text) {
		return
	}
	if l.endReasons[group].token <= token { // a late correction says nothing about a later leadership
		l.endReasons[group] = endReason{token, text, time.Now()}
	}
}

// replaceEnd adds the text to the change that ended a leadership, if that was shown already.
func (l *ChangeLog) replaceEnd(group string, token uint64, text string) bool {
	leads := func(c *api.Change) bool { return c.Leader != "" && c.Token == token }
	if c := l.groups[group]; c != nil && leads(c) {
		return false
	}
	end := -1
	for i := len(l.recent) - 1; i >= 0; i-- {
		if l.recent[i].Group != group {
			continue
		}
		if !leads(l.recent[i]) {
			end = i
			continue
		}
		if end < 0 {
			return false
		}
		shown := l.recent[end]
		c := *shown // others read the old one
		c.Ended = text
		l.recent[end] = &c
		if l.groups[group] == shown {
			l.groups[group] = &c
		}
		return true
	}
	return false
}

// attachEndReason adds what was noted on the leadership that a change ends.
func (l *ChangeLog) attachEndReason(old, c *api.Change) {
	n, ok := l.endReasons[c.Group]
	switch {
	case !ok || c.Token == n.token && c.Leader != "":
		return // nothing is over yet
	case old != nil && old.Leader != "" && old.Token == n.token:
		c.Ended = n.text
	case c.Token < n.token:
		return // the leadership is yet to be seen here
	}
	delete(l.endReasons, c.Group)
}

// idleCount is 1 if nobody leads a quorum group.
func idleCount(c *api.Change) int {
	if c != nil && c.Mode == regent.Quorum && c.Leader == "" {
		return 1
	}
	return 0
}

// evictIdle forgets those groups that nobody has led for longest, a quarter of them, when there are too many.
func (l *ChangeLog) evictIdle() {
	if l.idle <= l.maxIdle {
		return
	}
	var old []*api.Change
	for _, c := range l.groups {
		if idleCount(c) == 1 {
			old = append(old, c)
		}
	}
	slices.SortFunc(old, func(x, y *api.Change) int { return cmp.Compare(x.Serial, y.Serial) })
	for _, c := range old[:l.maxIdle/4] {
		l.forget(c)
	}
}

// Group returns the last change of a group, and how often its leader changed; nil if it was never heard of.
func (l *ChangeLog) Group(name string) (*api.Change, uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.groups[name], l.leaderChanges[name]
}

// List returns the last changes of all groups whose names begin with the prefix and come after another, by name, and
// whether there are more.
func (l *ChangeLog) List(prefix, after string, limit int) (found []*api.Change, more bool) {
	l.mu.Lock()
	l.sweep(time.Now())
	for name, c := range l.groups {
		if strings.HasPrefix(name, prefix) && (after == "" || name > after) {
			found = append(found, c)
		}
	}
	l.mu.Unlock()
	slices.SortFunc(found, func(x, y *api.Change) int { return strings.Compare(x.Group, y.Group) })
	if limit > 0 && len(found) > limit {
		return found[:limit], true
	}
	return found, false
}

// History returns the last changes, of one group or of all, oldest first.
func (l *ChangeLog) History(group string, limit int) []*api.Change {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []*api.Change
	for i := len(l.recent) - 1; i >= 0 && len(out) < limit; i-- {
		if c := l.recent[i]; group == "" || c.Group == group {
			out = append(out, c)
		}
	}
	slices.Reverse(out)
	return out
}

// A Watcher gets changes of one group, or of all. One that is slow loses some, and learns how many.
type Watcher struct {
	group string
	C     chan *api.Change
	// Council gets changes of the council, if the watcher is one of all groups.
	Council chan *api.CouncilChange
	mu      sync.Mutex
	lost    int
}

// Watch begins to watch and returns the present state, from which the watcher's changes go on.
func (l *ChangeLog) Watch(group string, depth int) (w *Watcher, present []*api.Change) {
	w = &Watcher{group: group, C: make(chan *api.Change, depth), Council: make(chan *api.CouncilChange, councilDepth)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(time.Now())
	l.watchers[w] = struct{}{}
	if group != "" {
		if c := l.groups[group]; c != nil {
			present = append(present, c)
		}
		return w, present
	}
	for _, c := range l.groups {
		present = append(present, c)
	}
	slices.SortFunc(present, func(x, y *api.Change) int { return strings.Compare(x.Group, y.Group) })
	return w, present
}

// Watching returns how many watch.
func (l *ChangeLog) Watching() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.watchers)
}

func (l *ChangeLog) Unwatch(w *Watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.watchers, w)
}

// deliver is called under the lock of the change log.
func (w *Watcher) deliver(c *api.Change) {
	if w.group != "" && w.group != c.Group {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.C <- c:
	default:
		w.lost++
	}
}

// TakeLost returns how many changes were lost since it was last asked.
func (w *Watcher) TakeLost() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.lost
	w.lost = 0
	return n
}

// Groups returns what is known about all groups, by name.
func (a *Agent) Groups() []api.GroupInfo {
	found, _ := a.ChangeLog.List("", "", 0)
	out := make([]api.GroupInfo, len(found))
	for i, c := range found {
		out[i] = a.Info(c)
	}
	return out
}

// Changes returns what changed lately in all groups, oldest first, as far as it is kept.
func (a *Agent) Changes() []api.Change {
	found := a.ChangeLog.History("", MaxChanges)
	out := make([]api.Change, len(found))
	for i, c := range found {
		out[i] = *c
	}
	return out
}

// councilDepth is how many changes of the council may wait for a slow watcher.
const councilDepth = 16

// WatchDepth is how many changes may wait for a slow watcher.
const WatchDepth = 256
