package web

import (
	"reflect"
	"slices"
)

// A rowSet holds things of one kind, by key, in the order in which they came, each with the serial number of its last
// change.
type rowSet[V any] struct {
	key  func(*V) string
	rows []*row[V]
	find map[string]*row[V]
	// gone are keys that are no longer there, oldest first.
	gone []deletion
}

type row[V any] struct {
	value  V
	key    string
	serial uint64
	kept   bool // seen in the replacement under way
}

type deletion struct {
	key    string
	serial uint64
}

func newRowSet[V any](key func(*V) string) *rowSet[V] {
	return &rowSet[V]{key: key, find: make(map[string]*row[V])}
}

// put adds or replaces one, and says whether that changed anything.
func (s *rowSet[V]) put(v V, serial uint64) bool {
	k := s.key(&v)
	r := s.find[k]
	switch {
	case r == nil:
		r = &row[V]{key: k}
		s.rows = append(s.rows, r)
		s.find[k] = r
	case reflect.DeepEqual(r.value, v):
		r.kept = true
		return false
	}
	r.value, r.serial, r.kept = v, serial, true
	return true
}

// replace makes the set hold exactly all, and says whether that changed anything.
func (s *rowSet[V]) replace(all []V, serial uint64) bool {
	for _, r := range s.rows {
		r.kept = false
	}
	changed := false
	for _, v := range all {
		changed = s.put(v, serial) || changed
	}
	return s.sweep(serial, func(r *row[V]) bool { return !r.kept }) || changed
}

// sweep removes what is unwanted.
func (s *rowSet[V]) sweep(serial uint64, unwanted func(*row[V]) bool) bool {
	before := len(s.rows)
	s.rows = slices.DeleteFunc(s.rows, func(r *row[V]) bool {
		if !unwanted(r) {
			return false
		}
		delete(s.find, r.key)
		s.gone = append(s.gone, deletion{r.key, serial})
		return true
	})
	return len(s.rows) < before
}

// since returns what changed after the serial number, and the keys that went.
func (s *rowSet[V]) since(after uint64) (changed []V, gone []string) {
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
func (s *rowSet[V]) forget(keep int) (floor uint64) {
	if n := len(s.gone) - keep; n > 0 {
		floor = s.gone[n-1].serial
		s.gone = slices.Delete(s.gone, 0, n)
	}
	return floor
}
