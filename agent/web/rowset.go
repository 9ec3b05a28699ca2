package web

import (
	"reflect"
	"slices"
)

// A shelf holds things of one kind, by key, in the order in which they came, each with the serial number of its last
// change.
type shelf[V any] struct {
	key  func(*V) string
	rows []*slot[V]
	find map[string]*slot[V]
	// gone are keys that are no longer there, oldest first.
	gone []lost
}

type slot[V any] struct {
	value  V
	key    string
	serial uint64
	kept   bool // seen in the replacement under way
}

type lost struct {
	key    string
	serial uint64
}

func newShelf[V any](key func(*V) string) *shelf[V] {
	return &shelf[V]{key: key, find: make(map[string]*slot[V])}
}

// put adds or replaces one, and says whether that changed anything.
func (s *shelf[V]) put(v V, serial uint64) bool {
	k := s.key(&v)
	r := s.find[k]
	switch {
	case r == nil:
		r = &slot[V]{key: k}
		s.rows = append(s.rows, r)
		s.find[k] = r
	case reflect.DeepEqual(r.value, v):
		r.kept = true
		return false
	}
	r.value, r.serial, r.kept = v, serial, true
	return true
}

// replace makes the shelf hold exactly all, and says whether that changed anything.
func (s *shelf[V]) replace(all []V, serial uint64) bool {
	for _, r := range s.rows {
		r.kept = false
	}
	changed := false
	for _, v := range all {
		changed = s.put(v, serial) || changed
	}
	return s.sweep(serial, func(r *slot[V]) bool { return !r.kept }) || changed
}

// sweep removes what is unwanted.
func (s *shelf[V]) sweep(serial uint64, unwanted func(*slot[V]) bool) bool {
	before := len(s.rows)
	s.rows = slices.DeleteFunc(s.rows, func(r *slot[V]) bool {
		if !unwanted(r) {
			return false
		}
		delete(s.find, r.key)
		s.gone = append(s.gone, lost{r.key, serial})
		return true
	})
	return len(s.rows) < before
}

// since returns what changed after the serial number, and the keys that went.
func (s *shelf[V]) since(after uint64) (changed []V, gone []string) {
	for _, r := range s.rows {
		if r.serial > after {
			changed = append(changed, r.value)
		}
	}
	// What was there before serial number one was never there.
	for _, l := range s.gone {
		if l.serial > after && after > 0 && s.find[l.key] == nil {
			gone = append(gone, l.key)
		}
	}
	return changed, gone
}

// forget drops the oldest notes of what is gone, and returns the serial number before which nobody can ask any more.
func (s *shelf[V]) forget(keep int) (floor uint64) {
	if n := len(s.gone) - keep; n > 0 {
		floor = s.gone[n-1].serial
		s.gone = slices.Delete(s.gone, 0, n)
	}
	return floor
}
