package page

import (
	"errors"
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
)

// Words is memory that is shared: words of 64 bits. Loads and stores are atomic, and all threads agree on their order.
type Words interface {
	Len() int
	Load(i int) uint64
	Store(i int, v uint64)
}

// format identifies this layout.
const format uint64 = 'R'<<56 | 'e'<<48 | 'g'<<40 | 'e'<<32 | 'n'<<24 | 't'<<16 | 1

// The words of the header, and how many words header, cells and slots have.
const (
	wordFormat = iota
	wordCells
	wordSlots
	wordIdentity
	headerWords = 8
	cellWords   = 1
	slotWords   = 2
)

// cellBits is how many bits of a target name a cell; the others are its edition, but for the one that marks a fixed end.
const (
	cellBits = 12
	maxCells = 1 << cellBits
	maxSlots = 1 << 20
)

// isFixed marks a target that is a fixed end.
const isFixed uint64 = 1 << 63

// Size returns how many words a page has.
func Size(cells, slots int) int { return headerWords + cells*cellWords + slots*slotWords }

// layout says where things are.
type layout struct {
	words        Words
	cells, slots int
}

func (l *layout) endOf(cell int) int    { return headerWords + cell*cellWords }
func (l *layout) tenureOf(slot int) int { return headerWords + l.cells*cellWords + slot*slotWords }
func (l *layout) targetOf(slot int) int { return l.tenureOf(slot) + 1 }

// check reports why there is no such page.
func (l *layout) check() error {
	if l.cells <= 0 || l.cells > maxCells || l.slots <= 0 || l.slots > maxSlots {
		return fmt.Errorf("page: %d cells and %d slots: must be 1 to %d and 1 to %d", l.cells, l.slots, maxCells, maxSlots)
	}
	if need := Size(l.cells, l.slots); l.words.Len() < need {
		return fmt.Errorf("page: has %d words: %d cells and %d slots need %d", l.words.Len(), l.cells, l.slots, need)
	}
	return nil
}

// errFormat says that memory is no page, or one of another version.
var errFormat = errors.New("page: unknown format")

// encode turns an instant into a word. One before the host's start is as over as the start itself.
func encode(t protocol.Time) uint64 { return uint64(max(0, t)) }

func decode(w uint64) protocol.Time { return protocol.Time(w &^ isFixed) }

// behind returns the target that names a cell.
func behind(cell int, edition uint64) uint64 { return (edition<<cellBits | uint64(cell)) &^ isFixed }

// cellIn returns the cell that a target names.
func cellIn(target uint64) int { return int(target & (maxCells - 1)) }
