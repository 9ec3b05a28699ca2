package page

import (
	"errors"
	"fmt"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// The ends in these tests tell whose they are: a tenure that is looked at shows ends below foreign, others show higher ones.
const foreign protocol.Time = 500

// observer reads one tenure, and judges each reading.
type observer struct {
	m      *memory
	r      *Reader
	slot   int
	number uint64
	// accepted are the ends that it got.
	accepted []protocol.Time
	// frozen is the end that the tenure was frozen at; late says that the next call begins after that.
	frozen   *protocol.Time
	problems []error
}

func observe(m *memory, t *Tenure) *observer {
	r, err := NewReader(m)
	if err != nil {
		panic(err)
	}
	slot, number := t.Slot()
	return &observer{m: m, r: r, slot: slot, number: number}
}

func (o *observer) fail(format string, args ...any) {
	o.problems = append(o.problems, fmt.Errorf(format, args...))
}

// shown returns what the page shows about the tenure at this instant.
func (o *observer) shown() (protocol.Time, bool) {
	words := o.m.words
	if words[o.r.tenureOf(o.slot)] != o.number {
		return 0, false
	}
	target := words[o.r.targetOf(o.slot)]
	if target&isFixed != 0 {
		return decode(target), true
	}
	return decode(words[o.r.endOf(cellIn(target))]), true
}

// look reads once.
func (o *observer) look() {
	frozen := o.frozen
	if frozen != nil {
		o.m.learn(uint64(*frozen))
	}
	var then protocol.Time
	var open bool
	_, end, ok := o.r.Look(o.slot, o.number, func() protocol.Time {
		o.m.pause()
		then, open = o.shown()
		o.m.learn(uint64(then))
		return 0
	})
	if !ok {
		return
	}
	switch {
	case end >= foreign:
		o.fail("PG-OWN: accepted %d, which another tenure showed", end)
	case !open || then < end:
		o.fail("PG-CLOCK: accepted %d, and at the reading of the clock the page showed %d, %t", end, then, open)
	case frozen != nil && end != *frozen:
		o.fail("PG-FROZEN: accepted %d after the end was fixed at %d", end, *frozen)
	}
	o.accepted = append(o.accepted, end)
}

// freeze freezes the tenure, and returns the announced deadline.
func (o *observer) freeze(t *Tenure) protocol.Time {
	announced := t.Freeze()
	end := t.Until()
	o.frozen = &end
	return announced
}

// judge returns what went wrong, given the announced deadline.
func (o *observer) judge(announced protocol.Time) error {
	for _, end := range o.accepted {
		if end > announced {
			o.fail("PG-ANNOUNCED: accepted %d, and the announced deadline is %d", end, announced)
		}
	}
	return errors.Join(o.problems...)
}

func newWriter(m *memory) *Writer {
	w, err := NewWriter(m, 2, 2, 7)
	if err != nil {
		panic(err)
	}
	return w
}

// horizonAt returns a horizon that ends then.
func horizonAt(w *Writer, until protocol.Time) *Horizon {
	h := w.NewHorizon()
	h.Extend(until)
	return h
}

func TestFrozenWhileItsReaderIsStoppedAndTheHorizonMovesOn(t *testing.T) {
	every(t, func(m *memory) ([]func(), func() error) {
		w := newWriter(m)
		h := horizonAt(w, 100)
		mine, other := w.Open(), w.Open()
		mine.Follow(h)
		other.Follow(h)
		o := observe(m, mine)
		var announced protocol.Time
		renew := func() { h.Extend(110) }
		freeze := func() { announced = o.freeze(mine) }
		read := func() { o.look() }
		return []func(){renew, freeze, read}, func() error {
			err := o.judge(announced)
			if got := other.Until(); got != 110 {
				err = errors.Join(err, fmt.Errorf("PG-OTHER: the other tenure shows %d, want 110", got))
			}
			if announced != 100 && announced != 110 {
				err = errors.Join(err, fmt.Errorf("PG-TIGHT: the announced deadline is %d, which was never shown", announced))
			}
			return err
		}
	})
}

func TestReaderComesBackAfterTheFreeze(t *testing.T) {
	every(t, func(m *memory) ([]func(), func() error) {
		w := newWriter(m)
		h := horizonAt(w, 100)
		mine := w.Open()
		mine.Follow(h)
		o := observe(m, mine)
		var announced protocol.Time
		change := func() {
			announced = o.freeze(mine)
			mine.Follow(horizonAt(w, 130)) // comes too late
			mine.Fix(140)                  // so does this
			h.Extend(150)
		}
		read := func() { o.look(); o.look() }
		return []func(){change, read}, func() error {
			if mine.Announced() != announced {
				o.fail("PG-ANNOUNCED: it moved to %d after the freeze", mine.Announced())
			}
			return o.judge(announced)
		}
	})
}

func TestVoidEndsAFrozenTenure(t *testing.T) {
	every(t, func(m *memory) ([]func(), func() error) {
		w := newWriter(m)
		h := horizonAt(w, 100)
		mine := w.Open()
		mine.Follow(h)
		o := observe(m, mine)
		var announced protocol.Time
		change := func() {
			announced = mine.Freeze()
			mine.Void()
			end := protocol.Time(0)
			o.frozen = &end
			mine.Follow(horizonAt(w, 130)) // comes too late
			mine.Fix(140)                  // so does this
			h.Extend(150)
		}
		return []func(){change, o.look}, func() error {
			if end, open := o.shown(); end != 0 || !open || mine.Until() != 0 {
				o.fail("PG-VOID: shows %d, %t after it was voided", end, open)
			}
			if mine.Announced() != announced || announced != 100 {
				o.fail("PG-ANNOUNCED: %d was announced, and %d is after the end", announced, mine.Announced())
			}
			return o.judge(announced)
		}
	})
}

func TestSlotAndCellAreUsedAgainUnderAStoppedReader(t *testing.T) {
	every(t, func(m *memory) ([]func(), func() error) {
		w := newWriter(m)
		h := horizonAt(w, 100)
		mine := w.Open()
		mine.Follow(h)
		o := observe(m, mine)
		var announced protocol.Time
		change := func() {
			announced = o.freeze(mine)
			mine.Close()
			h.Close()
			next := w.Open()
			if slot, _ := next.Slot(); slot != o.slot {
				o.fail("the slot was not used again")
			}
			next.Fix(900)
			later := horizonAt(w, 910)
			if later.cell != h.cell {
				o.fail("the cell was not used again")
			}
			next.Follow(later)
		}
		return []func(){change, o.look}, func() error { return o.judge(announced) }
	})
}

// The cell goes to another tenure's horizon and then to one of the reader's own again, while the reader is stopped.
func TestCellComesBackUnderAStoppedReader(t *testing.T) {
	every(t, func(m *memory) ([]func(), func() error) {
		w := newWriter(m)
		h := horizonAt(w, 100)
		mine, other := w.Open(), w.Open()
		mine.Follow(h)
		o := observe(m, mine)
		change := func() {
			mine.Fix(100)
			h.Close()
			between := horizonAt(w, 900)
			other.Follow(between)
			other.Close()
			between.Close()
			last := horizonAt(w, 120)
			if last.cell != h.cell || between.cell != h.cell {
				o.fail("the cell was not used again")
			}
			mine.Follow(last)
		}
		return []func(){change, o.look}, func() error { return o.judge(mine.Freeze()) }
	})
}

// A horizon that is closed keeps its cell for the tenures that are still behind it.
func TestCellIsKeptWhileASlotNamesIt(t *testing.T) {
	every(t, func(m *memory) ([]func(), func() error) {
		w := newWriter(m)
		h := horizonAt(w, 100)
		mine, other := w.Open(), w.Open()
		mine.Follow(h)
		o := observe(m, mine)
		change := func() {
			h.Close()
			for range 2 {
				if next := w.NewHorizon(); next != nil {
					next.Extend(900)
					other.Follow(next)
				}
			}
		}
		return []func(){change, o.look}, func() error { return o.judge(mine.Freeze()) }
	})
}

// A lease that ends shows at once that it is over, and what its horizon showed before stays announced.
func TestEndedTenureStaysAnnounced(t *testing.T) {
	every(t, func(m *memory) ([]func(), func() error) {
		w := newWriter(m)
		h := horizonAt(w, 100)
		mine := w.Open()
		mine.Follow(h)
		o := observe(m, mine)
		var announced protocol.Time
		renew := func() { h.Extend(110) }
		end := func() { mine.Fix(0); announced = o.freeze(mine) }
		return []func(){renew, end, o.look}, func() error {
			if mine.Until() != 0 {
				o.fail("PG-ENDED: shows %d after the end", mine.Until())
			}
			return o.judge(announced)
		}
	})
}

// A renewal that comes late moves nothing back.
func TestHorizonNeverMovesBack(t *testing.T) {
	m := &memory{words: make([]uint64, Size(2, 2))}
	w := newWriter(m)
	h, mine := horizonAt(w, 100), w.Open()
	mine.Follow(h)
	h.Extend(90)
	if mine.Until() != 100 || mine.Announced() != 100 {
		t.Errorf("PG-BACK: shows %d, and %d is announced", mine.Until(), mine.Announced())
	}
}

// A tenure that leaves its horizon for an end of its own keeps what the horizon showed until then, and gains nothing from it later.
func TestEndOfItsOwn(t *testing.T) {
	every(t, func(m *memory) ([]func(), func() error) {
		w := newWriter(m)
		h := horizonAt(w, 100)
		mine := w.Open()
		mine.Follow(h)
		o := observe(m, mine)
		loop := func() { h.Extend(110) }
		cap := func() { mine.Fix(105) }
		return []func(){loop, cap, o.look}, func() error {
			h.Extend(200)
			announced := mine.Freeze()
			if announced > 110 || mine.Until() != 105 {
				o.fail("PG-TIGHT: shows %d, and %d is announced", mine.Until(), announced)
			}
			return o.judge(announced)
		}
	})
}

func TestPageIsFull(t *testing.T) {
	m := &memory{words: make([]uint64, Size(2, 2))}
	w := newWriter(m)
	a, b := w.NewHorizon(), w.NewHorizon()
	if w.NewHorizon() != nil {
		t.Error("there are more horizons than cells")
	}
	x, y := w.Open(), w.Open()
	if w.Open() != nil {
		t.Error("there are more tenures than slots")
	}
	x.Follow(a)
	a.Close()
	a.Close()
	if w.NewHorizon() != nil {
		t.Error("a cell is used again while a slot names it")
	}
	x.Close()
	if w.NewHorizon() == nil || w.NewHorizon() != nil {
		t.Error("the cell is not free exactly once")
	}
	if z := w.Open(); z == nil || z.number == x.number || z.number == y.number {
		t.Error("the slot is not free, or the number of its tenure is not new")
	}
	b.Close()
}

// Readers in other languages rely on these numbers, which the package doc states.
func TestLayoutIsAsDocumented(t *testing.T) {
	m := &memory{words: make([]uint64, Size(2, 2))}
	w := newWriter(m)
	h := horizonAt(w, 100)
	mine := w.Open()
	mine.Follow(h)
	want := []uint64{0x526567656E740001, 2, 2, 7, 0, 0, 0, 0, 100, 0, 1, 1 << 12}
	for i, v := range want {
		if m.words[i] != v {
			t.Errorf("word %d is %#x, want %#x", i, m.words[i], v)
		}
	}
	if mine.Fix(90); m.words[11] != 1<<63|90 {
		t.Errorf("a fixed end of 90 is %#x", m.words[11])
	}
}

func TestStrangeMemoryIsNoPage(t *testing.T) {
	good := &memory{words: make([]uint64, Size(2, 2))}
	newWriter(good)
	for name, change := range map[string]func(m *memory){
		"empty":          func(m *memory) { m.words = nil },
		"another format": func(m *memory) { m.words[wordFormat]++ },
		"no cells":       func(m *memory) { m.words[wordCells] = 0 },
		"many cells":     func(m *memory) { m.words[wordCells] = 1 << 40 },
		"many slots":     func(m *memory) { m.words[wordSlots] = 1 << 40 },
		"short":          func(m *memory) { m.words = m.words[:len(m.words)-1] },
	} {
		m := &memory{words: append([]uint64(nil), good.words...)}
		change(m)
		if _, err := NewReader(m); err == nil {
			t.Errorf("%s: it was taken for a page", name)
		}
	}
	if r, err := NewReader(good); err != nil || r.Identity() != 7 {
		t.Errorf("the page is not recognized: %v", err)
	}
	if _, err := NewWriter(good, 3, 2, 7); err == nil {
		t.Error("a page fits memory that is too small for it")
	}
}
