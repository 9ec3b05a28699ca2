package store

import (
	"bytes"
	"testing"
)

// FuzzDecode looks for files that make reading a record crash, and for records that do not survive being written again.
func FuzzDecode(f *testing.F) {
	f.Add(encode("a", "1.000000002", []byte("record")))
	f.Add(encode("", "", nil))
	f.Add([]byte("regent"))
	f.Fuzz(func(t *testing.T, b []byte) {
		member, birth, record, err := decode(b)
		if err != nil {
			return
		}
		again, _, same, err := decode(encode(member, birth, record))
		if err != nil || again != member || !bytes.Equal(same, record) {
			t.Errorf("%q: %q %q, then %q %q, %v", b, member, record, again, same, err)
		}
	})
}
