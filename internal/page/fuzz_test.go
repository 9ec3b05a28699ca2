package page

import (
	"encoding/binary"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// still is memory that nobody writes.
type still []byte

func (s still) Len() int          { return len(s) / 8 }
func (s still) Load(i int) uint64 { return binary.BigEndian.Uint64(s[8*i:]) }
func (s still) Store(int, uint64) {}

// FuzzReader looks for memory that makes a program crash which takes it for a page.
func FuzzReader(f *testing.F) {
	memory := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.BigEndian.AppendUint64(b, w)
		}
		return b
	}
	f.Add(memory(format, 1, 1, 7, 0, 0, 0, 0, 99, 5, 0), 0, uint64(5))
	f.Add(memory(format, 1, 2, 7, 0, 0, 0, 0, 99, 5, isFixed|50, 6, 1), 1, uint64(6))
	f.Add(memory(format, 1<<40, 1), 0, uint64(0))
	f.Add(memory(format-1, 1, 1, 7, 0, 0, 0, 0, 99, 5, 0), 0, uint64(5))
	f.Fuzz(func(t *testing.T, b []byte, slot int, number uint64) {
		r, err := NewReader(still(b))
		if err != nil || !r.Has(slot) {
			return
		}
		if _, end, ok := r.Look(slot, number, func() protocol.Time { return 1 }); !ok && end != 0 || end < 0 {
			t.Fatalf("slot %d: %v, %v", slot, end, ok)
		}
	})
}
