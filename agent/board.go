package agent

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent"
)

// A Change is a view that replaced another, with the time of day for people.
type Change struct {
	// Serial counts the changes that this agent saw, from 1.
	Serial uint64 `json:"serial"`
	// Time is the time of day at this host.
	Time time.Time `json:"time"`
	// Mode is the guarantee that the group gives: quorum, local or eventual.
	Mode string `json:"mode"`
	regent.View
	// Support lists who supports the leader of a local group; Round numbers the leaderships of an eventual one, and
	// BlockedFor is how long too few members have answered there.
	Support    []string      `json:"support,omitempty"`
	Round      uint64        `json:"round,omitempty"`
	BlockedFor time.Duration `json:"blocked_for,omitempty"`
	// Ended says how the leadership before ended, if it was that of a program here. Its agent knows more than the cause says,
	// which is what all members are told.
	Ended string `json:"ended,omitempty"`
}

// A note is how the leadership with a token ends.
type note struct {
	token uint64
	text  string
}

// board is what is known about all groups.
type board struct {
	mu      sync.RWMutex
	groups  map[string]*Change
	idle    int               // how many of them are quorum groups that nobody leads
	keep    int               // how many of those are kept
	changes map[string]uint64 // of leader, counted by group
	notes   map[string]note   // on leaderships of programs here that are about to end, by group
	recent  []*Change         // the last ones, oldest first
	serial  uint64
	// watchers get every change. They must not block.
	watchers map[*watcher]struct{}
}

const (
	// keepChanges is how many changes are kept.
	keepChanges = 4096
	// keepGroups is how many groups are kept that nobody leads: whoever may campaign may invent names for ever.
	keepGroups = 100_000
)

func newBoard() *board {
	return &board{keep: keepGroups, groups: make(map[string]*Change), changes: make(map[string]uint64), notes: make(map[string]note), watchers: make(map[*watcher]struct{})}
}

// change takes note of a view of a quorum group. The member calls it, in order.
func (b *board) change(v regent.View) { b.add(Change{Mode: modeQuorum, View: v}) }

// add takes note of a change, and gives it its number and time.
func (b *board) add(next Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &next
	old := b.groups[c.Group]
	if old != nil && old.Mode != modeQuorum && c.Mode == modeQuorum {
		return // the configuration says that this host has another group of that name
	}
	b.serial++
	c.Serial, c.Time = b.serial, time.Now()
	if c.Leader != "" && (old == nil || old.Token != c.Token || old.Leader != c.Leader) {
		b.changes[c.Group]++
	}
	b.explain(old, c)
	b.idle += idle(c) - idle(old)
	b.groups[c.Group] = c
	b.forget()
	if len(b.recent) == keepChanges {
		b.recent = slices.Delete(b.recent, 0, keepChanges/4)
	}
	b.recent = append(b.recent, c)
	for w := range b.watchers {
		w.take(c)
	}
}

// note takes down how a leadership ends, for the change that will show its end. It comes before that.
func (b *board) note(group string, token uint64, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes[group] = note{token, text}
}

// explain adds what was noted on the leadership that a change ends.
func (b *board) explain(old, c *Change) {
	n, ok := b.notes[c.Group]
	switch {
	case !ok || c.Token == n.token && c.Leader != "":
		return // nothing is over yet
	case old != nil && old.Leader != "" && old.Token == n.token:
		c.Ended = n.text
	case c.Token < n.token:
		return // the leadership is yet to be seen here
	}
	delete(b.notes, c.Group)
}

// idle is 1 if nobody leads a quorum group.
func idle(c *Change) int {
	if c != nil && c.Mode == modeQuorum && c.Leader == "" {
		return 1
	}
	return 0
}

// forget forgets those groups that nobody has led for longest, a quarter of them, when there are too many.
func (b *board) forget() {
	if b.idle <= b.keep {
		return
	}
	var old []*Change
	for _, c := range b.groups {
		if idle(c) == 1 {
			old = append(old, c)
		}
	}
	slices.SortFunc(old, func(x, y *Change) int { return cmp.Compare(x.Serial, y.Serial) })
	for _, c := range old[:b.keep/4] {
		delete(b.groups, c.Group)
		delete(b.changes, c.Group)
		delete(b.notes, c.Group)
		b.idle--
	}
}

// group returns the last change of a group, and how often its leader changed; nil if it was never heard of.
func (b *board) group(name string) (*Change, uint64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.groups[name], b.changes[name]
}

// list returns the last changes of all groups whose names begin with the prefix and come after another, by name, and
// whether there are more.
func (b *board) list(prefix, after string, limit int) (found []*Change, more bool) {
	b.mu.RLock()
	for name, c := range b.groups {
		if strings.HasPrefix(name, prefix) && (after == "" || name > after) {
			found = append(found, c)
		}
	}
	b.mu.RUnlock()
	slices.SortFunc(found, func(x, y *Change) int { return strings.Compare(x.Group, y.Group) })
	if limit > 0 && len(found) > limit {
		return found[:limit], true
	}
	return found, false
}

// history returns the last changes, of one group or of all, oldest first.
func (b *board) history(group string, limit int) []*Change {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []*Change
	for i := len(b.recent) - 1; i >= 0 && len(out) < limit; i-- {
		if c := b.recent[i]; group == "" || c.Group == group {
			out = append(out, c)
		}
	}
	slices.Reverse(out)
	return out
}

// A watcher gets changes of one group, or of all. One that is slow loses some, and is told how many.
type watcher struct {
	group string
	c     chan *Change
	mu    sync.Mutex
	lost  int
}

// watch begins to watch and returns the present state, from which the watcher's changes go on.
func (b *board) watch(group string, depth int) (w *watcher, present []*Change) {
	w = &watcher{group: group, c: make(chan *Change, depth)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers[w] = struct{}{}
	if group != "" {
		if c := b.groups[group]; c != nil {
			present = append(present, c)
		}
		return w, present
	}
	for _, c := range b.groups {
		present = append(present, c)
	}
	slices.SortFunc(present, func(x, y *Change) int { return strings.Compare(x.Group, y.Group) })
	return w, present
}

func (b *board) unwatch(w *watcher) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.watchers, w)
}

// take is called under the board's lock.
func (w *watcher) take(c *Change) {
	if w.group != "" && w.group != c.Group {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.c <- c:
	default:
		w.lost++
	}
}

// missed returns how many changes were lost since it was last asked.
func (w *watcher) missed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.lost
	w.lost = 0
	return n
}
