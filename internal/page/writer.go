package page

import "github.com/regentproject/regent/internal/protocol"

// A Writer is the agent's side of a page. One goroutine at a time calls its methods and those of its tenures and
// horizons. There are two exceptions. The goroutine that moves a horizon calls [Horizon.Extend] at any time, and no longer once
// it has had Close called. [Writer.Open], and [Tenure.Close] of a tenure that follows no horizon, use only the free slots: one goroutine at a
// time may call them beside the rest.
type Writer struct {
	layout
	freeCells, freeSlots []int
	// edition and number are the latest that were used.
	edition, number uint64
}

// NewWriter lays out a page in memory that is zero. Its identity tells it from other pages.
func NewWriter(words Words, cells, slots int, identity uint64) (*Writer, error) {
	w := &Writer{layout: layout{words: words, cells: cells, slots: slots}}
	if err := w.check(); err != nil {
		return nil, err
	}
	for i := range cells {
		w.freeCells = append(w.freeCells, cells-1-i)
	}
	for i := range slots {
		w.freeSlots = append(w.freeSlots, slots-1-i)
	}
	words.Store(wordCells, uint64(cells))
	words.Store(wordSlots, uint64(slots))
	words.Store(wordIdentity, identity)
	words.Store(wordFormat, format)
	return w, nil
}

// pop takes the last number of a list.
func pop(list *[]int) (int, bool) {
	n := len(*list)
	if n == 0 {
		return 0, false
	}
	v := (*list)[n-1]
	*list = (*list)[:n-1]
	return v, true
}

// A Horizon is the shared end of leases.
type Horizon struct {
	w    *Writer
	cell int
	// names is how many slots name the cell. Invariant: the cell is free again only when it is zero and closed is set.
	names  int
	closed bool
}

// NewHorizon returns a horizon that has ended so far; nil if no cell is free.
func (w *Writer) NewHorizon() *Horizon {
	cell, ok := pop(&w.freeCells)
	if !ok {
		return nil
	}
	w.words.Store(w.endOf(cell), 0)
	return &Horizon{w: w, cell: cell}
}

// Extend moves the end of all tenures behind the horizon.
// Invariant: it never moves back, so that the end is the highest that it ever showed.
func (h *Horizon) Extend(until protocol.Time) {
	if end := encode(until); end > h.w.words.Load(h.w.endOf(h.cell)) {
		h.w.words.Store(h.w.endOf(h.cell), end)
	}
}

// Close says that the horizon does not move any more, and that no further tenure comes behind it.
func (h *Horizon) Close() {
	if !h.closed {
		h.closed = true
		h.reclaim()
	}
}

// reclaim frees the cell if nothing uses it.
func (h *Horizon) reclaim() {
	if h.closed && h.names == 0 {
		h.w.freeCells = append(h.w.freeCells, h.cell)
	}
}

// highest returns the highest end that the horizon ever showed.
func (h *Horizon) highest() uint64 { return h.w.words.Load(h.w.endOf(h.cell)) }

// A Tenure is the slot of one leadership.
type Tenure struct {
	w      *Writer
	slot   int
	number uint64
	// horizon is what the slot names; nil: the end is fixed at end.
	horizon *Horizon
	end     uint64
	// highest is the highest end that the slot showed, but for the horizon that it names now.
	highest uint64
	frozen  bool
}

// Open gives a new tenure a slot, which shows an end in the past; nil if no slot is free.
func (w *Writer) Open() *Tenure {
	slot, ok := pop(&w.freeSlots)
	if !ok {
		return nil
	}
	w.number++
	w.words.Store(w.tenureOf(slot), w.number)
	w.words.Store(w.targetOf(slot), isFixed)
	return &Tenure{w: w, slot: slot, number: w.number}
}

// Slot returns which slot the tenure has, and the number that stands in it.
func (t *Tenure) Slot() (slot int, number uint64) { return t.slot, t.number }

// Follow puts the tenure behind a horizon, unless it is frozen.
func (t *Tenure) Follow(h *Horizon) {
	if t.frozen || h == t.horizon {
		return
	}
	if h.closed {
		panic("page: a tenure follows a horizon that is closed")
	}
	t.w.edition++
	h.names++
	t.show(behind(h.cell, t.w.edition), h)
}

// Fix gives the tenure an end of its own, unless it is frozen.
func (t *Tenure) Fix(until protocol.Time) {
	if !t.frozen {
		t.fix(encode(until))
	}
}

func (t *Tenure) fix(end uint64) {
	t.end = end
	t.highest = max(t.highest, end)
	t.show(isFixed|end, nil)
}

// show stores a target. The horizon that the slot named until then may have shown more since anybody looked at it: its
// highest end is loaded after the store, when no reader accepts it any more.
func (t *Tenure) show(target uint64, h *Horizon) {
	old := t.horizon
	t.horizon = h
	t.w.words.Store(t.w.targetOf(t.slot), target)
	if old != nil {
		t.highest = max(t.highest, old.highest())
		old.names--
		old.reclaim()
	}
}

// Freeze fixes the end that the tenure shows now: it shows no later one from now on. It returns the announced deadline: the
// highest end that a reader may have accepted.
func (t *Tenure) Freeze() protocol.Time {
	if !t.frozen {
		t.frozen = true
		t.fix(encode(t.Until()))
	}
	return t.Announced()
}

// Void ends the tenure for its readers, frozen or not, and for good. What it announced stays announced.
func (t *Tenure) Void() {
	t.frozen = true
	t.fix(0)
}

// Frozen says whether the end is fixed for good.
func (t *Tenure) Frozen() bool { return t.frozen }

// Until returns the end that the tenure shows.
func (t *Tenure) Until() protocol.Time {
	if t.horizon != nil {
		return decode(t.w.words.Load(t.w.endOf(t.horizon.cell)))
	}
	return decode(t.end)
}

// Announced returns the highest end that the tenure has shown so far. Unless it is frozen, it may show a higher one at any time.
func (t *Tenure) Announced() protocol.Time {
	if t.horizon != nil {
		return decode(max(t.highest, t.horizon.highest()))
	}
	return decode(t.highest)
}

// Close gives the slot back. Readers find that the tenure is over.
func (t *Tenure) Close() {
	t.w.words.Store(t.w.tenureOf(t.slot), 0) // first: what the target says from now on is not about this tenure
	t.Void()
	t.w.freeSlots = append(t.w.freeSlots, t.slot)
}
