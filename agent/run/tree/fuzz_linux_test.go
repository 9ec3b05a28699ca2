package tree

import (
	"bytes"
	"testing"
)

// FuzzStat looks for states of processes that make the parser crash. Processes choose their names.
func FuzzStat(f *testing.F) {
	f.Add([]byte("7 (sh) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9"))
	f.Add([]byte("7 (a) Z 1 (b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9"))
	f.Add([]byte("7 () S"))
	f.Add([]byte("7 ) sh ("))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := parseStat(line)
		if err == nil && !bytes.Contains(line, []byte("("+s.name+")")) {
			t.Fatalf("%q was read as %+v", line, s)
		}
	})
}
