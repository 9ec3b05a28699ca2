package drive

// Held is what waits for records to be on disk, in order. The records of a member are numbered from 1 on.
type Held[T any] struct {
	list []waiting[T]
	head int // how many of them were taken
}

type waiting[T any] struct {
	record uint64
	what   T
}

// Add puts something behind a record. Numbers never fall from one call to the next.
func (h *Held[T]) Add(record uint64, what T) { h.list = append(h.list, waiting[T]{record, what}) }

// Len returns how many wait.
func (h *Held[T]) Len() int { return len(h.list) - h.head }

// Take returns the first of what waits no more, and removes it. done is the number of the last record on disk.
func (h *Held[T]) Take(done uint64) (what T, ok bool) {
	if h.Len() == 0 || h.list[h.head].record > done {
		return what, false
	}
	what = h.list[h.head].what
	h.list[h.head] = waiting[T]{}
	h.head++
	if h.Len() == 0 {
		h.list, h.head = h.list[:0], 0
	}
	return what, true
}

// Clear forgets everything.
func (h *Held[T]) Clear() { h.list, h.head = nil, 0 }
