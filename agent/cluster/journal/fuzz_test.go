package journal

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// FuzzDecode looks for damaged entries that make a reader of journals crash.
func FuzzDecode(f *testing.F) {
	entry := func(texts ...string) []byte {
		b := make([]byte, textAt, entrySize)
		for _, text := range texts {
			b = append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
		}
		return b
	}
	f.Add(entry("g", "a b", "lost"))
	f.Add(entry("g", "a b"))
	f.Add(append(entry("g"), 0xff, 0xff))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = append(bytes.Clone(b), make([]byte, entrySize)...)[:entrySize]
		if s, err := decode(b); err == nil && len(s.Group)+len(s.Cause) > entrySize {
			t.Fatalf("%+v", s)
		}
	})
}
