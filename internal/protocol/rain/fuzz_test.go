package rain

import (
	"bytes"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// FuzzMemory looks for views in a record that make a member crash, or that it takes and would write down as something else.
func FuzzMemory(f *testing.F) {
	m := &Machine{remembers: true}
	for i, name := range []protocol.Group{"blue", "green"} {
		g := m.group(name)
		g.known = true
		g.view = View{Number: Number{Token: 1 << 40, Vid: uint64(i) + 1}, Members: protocol.NewSet(0, 2, 900), Manager: 2, Failed: protocol.NewSet(1), Parent: Number{Token: 7}}
	}
	whole := m.appendMemory(nil)
	f.Add(whole)
	f.Add(new(Machine).appendMemory(nil))
	f.Add(append(bytes.Clone(whole), whole[2:]...)) // each group twice
	for _, n := range []int{1, 3, len(whole) / 2, len(whole) - 1} {
		f.Add(whole[:n])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, again Machine
		if first.recall(b) != nil {
			return
		}
		text := first.appendMemory(nil)
		if err := again.recall(text); err != nil {
			t.Fatalf("%x is taken, and written down as %x: %v", b, text, err)
		}
		if more := again.appendMemory(nil); !bytes.Equal(text, more) || first.remembers != again.remembers {
			t.Fatalf("%x is taken, and written down as %x and then as %x", b, text, more)
		}
	})
}
