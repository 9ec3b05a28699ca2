package sim

import "github.com/regentproject/regent/internal/protocol"

// An event is one thing that will happen. Events lie in a slab and are used again; the queue orders their keys.
type event struct {
	kind eventKind
	to   protocol.Rank
	from protocol.Ident
	life uint32 // of the member that it is for, where it ends with that life
	sent Real
	msg  protocol.Message
	data []byte
	do   func()
	cmd  protocol.Event
	id   uint64
	kept bool // it came while the member was frozen
	by   origin
}

type eventKind uint8

const (
	evDeliver  eventKind = iota // a message or packet arrives
	evTimer                     // the machine's wake has come
	evPort                      // the port's wake has come
	evWritten                   // a record is on disk
	evCommand                   // a command for the machine
	evAct                       // a program acts
	evAnnounce                  // a program announces a value
	evQuit                      // a program stops
	evDo                        // a function of the driver of the world
)

// A key orders events by instant, and by age where the instant is the same.
type key struct {
	at   Real
	seq  uint64
	slot uint32
}

func (k key) before(l key) bool { return k.at < l.at || k.at == l.at && k.seq < l.seq }

// A Queue holds what will happen, the first first: a heap of four children per node over a slab.
type Queue[E any] struct {
	heap []key
	slab []E
	free []uint32
	seq  uint64
}

// Push makes room for an event at the given instant and returns it to be filled in. The pointer is valid until the next
// Push.
func (q *Queue[E]) Push(at Real) *E {
	var slot uint32
	if n := len(q.free); n > 0 {
		slot, q.free = q.free[n-1], q.free[:n-1]
	} else {
		slot = uint32(len(q.slab))
		var zero E
		q.slab = append(q.slab, zero)
	}
	q.seq++
	q.heap = append(q.heap, key{at, q.seq, slot})
	q.up(len(q.heap) - 1)
	return &q.slab[slot]
}

// Due reports whether there is an event at the given instant or before.
func (q *Queue[E]) Due(until Real) bool { return len(q.heap) > 0 && q.heap[0].at <= until }

// Next returns the instant of the first event, Forever if there is none.
func (q *Queue[E]) Next() Real {
	if len(q.heap) == 0 {
		return Forever
	}
	return q.heap[0].at
}

// Pop takes the first event out.
func (q *Queue[E]) Pop() (Real, E) {
	top := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	if last > 0 {
		q.down()
	}
	e := q.slab[top.slot]
	var zero E
	q.slab[top.slot] = zero
	q.free = append(q.free, top.slot)
	return top.at, e
}

func (q *Queue[E]) up(i int) {
	k := q.heap[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !k.before(q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = k
}

func (q *Queue[E]) down() {
	h := q.heap
	k := h[0]
	i := 0
	for {
		least := 4*i + 1
		if least >= len(h) {
			break
		}
		for c := least + 1; c < min(4*i+5, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(k) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = k
}
