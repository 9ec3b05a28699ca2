package web

import (
	"reflect"
	"strconv"
	"sync"
	"time"
)

// An Update is what changed. The first one that a page gets, and one after it was away for too long, replaces all it has.
type Update struct {
	Serial uint64 `json:"serial"`
	// Now is the time of the source.
	Now      time.Duration `json:"now"`
	Reset    bool          `json:"reset,omitempty"`
	About    *About        `json:"about,omitempty"`
	Playback *Playback     `json:"playback,omitempty"`
	Members  []Member      `json:"members,omitempty"`
	Links    []Link        `json:"links,omitempty"`
	Groups   []Group       `json:"groups,omitempty"`
	Tenures  []Tenure      `json:"tenures,omitempty"`
	Log      []Entry       `json:"log,omitempty"`
	// Gone are the keys of things that are no longer there, by kind.
	Gone map[string][]string `json:"gone,omitempty"`
}

// empty says that nothing changed but the time.
func (u *Update) empty() bool {
	return !u.Reset && u.About == nil && u.Playback == nil && len(u.Members)+len(u.Links)+len(u.Groups)+len(u.Tenures)+len(u.Log)+len(u.Gone) == 0
}

// A Source is whatever a page shows.
type Source interface {
	// Since returns what changed after the serial number of an earlier update; zero for everything.
	Since(serial uint64) *Update
	// Changed returns a channel that is closed when there is something new.
	Changed() <-chan struct{}
}

// A Store is a source that others fill. All its methods may be called at any time.
type Store struct {
	// now is the time of the source.
	now func() time.Duration

	mu         sync.Mutex
	serial     uint64
	floor      uint64 // updates from before this serial number need everything
	about      About
	aboutAt    uint64
	playback   *Playback
	playbackAt uint64
	members    *rowSet[Member]
	links      *rowSet[Link]
	groups     *rowSet[Group]
	tenures    *rowSet[Tenure]
	log        *rowSet[Entry]
	changed    chan struct{}
	// paged counts the groups of each mode if they are too many to be sent; nil if they are sent.
	paged map[Mode]int
	// listings are what pages asked for lately.
	listings []*listing
}

// maxGone is how many things that are gone a store remembers for pages that have not heard. A page that was away for
// longer gets everything anew.
const maxGone = 1 << 12

// NewStore returns an empty store. now tells the time of the source.
func NewStore(now func() time.Duration) *Store {
	return &Store{now: now, changed: make(chan struct{}),
		members: newRowSet(func(m *Member) string { return m.Name }),
		links:   newRowSet(func(l *Link) string { return l.From + ">" + l.To }),
		groups:  newRowSet(func(g *Group) string { return string(g.Mode) + ":" + g.Name }),
		tenures: newRowSet(func(t *Tenure) string { return t.ID }),
		log:     newRowSet(func(e *Entry) string { return strconv.FormatUint(e.ID, 10) })}
}

// Replace makes the store hold exactly the state. Pages hear of what differs.
func (s *Store) Replace(st *State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.serial + 1
	changed := s.putAbout(&st.About, next)
	changed = s.putPlayback(st.Playback, next) || changed
	changed = s.members.replace(st.Members, next) || changed
	changed = s.links.replace(st.Links, next) || changed
	changed = s.groups.replace(st.Groups, next) || changed
	changed = s.countGroups(next) || changed
	changed = s.tenures.replace(st.Tenures, next) || changed
	changed = s.log.replace(st.Log, next) || changed
	s.done(changed, next)
}

// Put adds or changes what the state holds, and leaves all else as it is, except for About if it has no kind.
func (s *Store) Put(st *State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.serial + 1
	changed := st.About.Kind != "" && s.putAbout(&st.About, next)
	changed = putAll(s.members, st.Members, next) || changed
	changed = putAll(s.links, st.Links, next) || changed
	changed = putAll(s.groups, st.Groups, next) || changed
	changed = s.countGroups(next) || changed
	changed = putAll(s.tenures, st.Tenures, next) || changed
	changed = putAll(s.log, st.Log, next) || changed
	s.done(changed, next)
}

func putAll[V any](sh *rowSet[V], all []V, serial uint64) (changed bool) {
	for _, v := range all {
		changed = sh.put(v, serial) || changed
	}
	return changed
}

// Trim keeps the last tenures and entries of the log, as many as are given.
func (s *Store) Trim(tenures, log int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.serial + 1
	changed := trim(s.tenures, tenures, next)
	changed = trim(s.log, log, next) || changed
	s.done(changed, next)
}

func trim[V any](sh *rowSet[V], keep int, serial uint64) bool {
	excess := len(sh.rows) - keep
	return excess > 0 && sh.sweep(serial, func(*row[V]) bool { excess--; return excess >= 0 })
}

func (s *Store) putAbout(a *About, serial uint64) bool {
	if reflect.DeepEqual(s.about, *a) {
		return false
	}
	s.about, s.aboutAt = *a, serial
	return true
}

func (s *Store) putPlayback(t *Playback, serial uint64) bool {
	if t == nil || s.playback != nil && *s.playback == *t {
		return false
	}
	s.playback, s.playbackAt = t, serial
	return true
}

// done ends a change.
func (s *Store) done(changed bool, serial uint64) {
	if !changed {
		return
	}
	s.serial = serial
	s.floor = max(s.floor, s.members.forget(maxGone), s.links.forget(maxGone), s.groups.forget(maxGone),
		s.tenures.forget(maxGone), s.log.forget(maxGone))
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed returns a channel that is closed when there is something new.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Since returns what changed after the serial number of an earlier update; zero for everything.
func (s *Store) Since(serial uint64) *Update {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &Update{Serial: s.serial, Now: s.now()}
	if serial == 0 || serial < s.floor || serial > s.serial {
		serial, u.Reset = 0, true
	}
	if u.Reset || s.aboutAt > serial {
		about := s.about
		about.Paged = s.paged
		u.About = &about
	}
	if s.playback != nil && (u.Reset || s.playbackAt > serial) {
		u.Playback = s.playback
	}
	gone := make(map[string][]string)
	u.Members, gone["members"] = s.members.since(serial)
	u.Links, gone["links"] = s.links.since(serial)
	if s.paged == nil {
		u.Groups, gone["groups"] = s.groups.since(serial)
	}
	u.Tenures, gone["tenures"] = s.tenures.since(serial)
	u.Log, gone["log"] = s.log.since(serial)
	for kind, keys := range gone {
		if len(keys) > 0 {
			if u.Gone == nil {
				u.Gone = make(map[string][]string)
			}
			u.Gone[kind] = keys
		}
	}
	return u
}
