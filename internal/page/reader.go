package page

import "github.com/regentproject/regent/internal/protocol"

// A Reader is a program's side of a page. Any number of goroutines may use it.
type Reader struct{ layout }

// NewReader returns a reader of a page, or reports why the memory holds none.
func NewReader(words Words) (*Reader, error) {
	if words.Len() < headerWords || words.Load(wordFormat) != format {
		return nil, errFormat
	}
	cells, slots := words.Load(wordCells), words.Load(wordSlots)
	if cells > maxCells || slots > maxSlots {
		return nil, errFormat
	}
	r := &Reader{layout{words: words, cells: int(cells), slots: int(slots)}}
	return r, r.check()
}

// Identity returns the identity of the page.
func (r *Reader) Identity() uint64 { return r.words.Load(wordIdentity) }

// Has says whether the page has a slot with that number.
func (r *Reader) Has(slot int) bool { return slot >= 0 && slot < r.slots }

// Look returns a reading of the clock, and an end that the tenure showed then. It returns false if the slot is no
// longer the tenure's.
func (r *Reader) Look(slot int, number uint64, clock func() protocol.Time) (now, end protocol.Time, ok bool) {
	for {
		target := r.words.Load(r.targetOf(slot))
		end = decode(target)
		if target&isFixed == 0 {
			cell := cellIn(target)
			if cell >= r.cells {
				return 0, 0, false
			}
			end = decode(r.words.Load(r.endOf(cell)))
		}
		now = clock()
		again := r.words.Load(r.targetOf(slot))
		if r.words.Load(r.tenureOf(slot)) != number {
			return 0, 0, false
		}
		if again == target {
			return now, end, true
		}
	}
}
