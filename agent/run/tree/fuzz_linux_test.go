package tree

import (
	"bytes"
	"fmt"
	"strings"
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

// FuzzStatus looks for states of processes that make the parser of their users crash, or that it reads as users that they do not have.
func FuzzStatus(f *testing.F) {
	f.Add([]byte("Name:\tsh\nUmask:\t0022\nUid:\t1000\t0\t1000\t1000\nGid:\t1\t2\t3\t4\n"))
	f.Add([]byte("Name:\tUid:\\n0\nUid:\t7\t8\t4294967294\t9"))
	f.Add([]byte("Uid:\t-1\t0\t0\t0\n"))
	f.Add([]byte("Uid:\t1\t2\n"))
	f.Fuzz(func(t *testing.T, status []byte) {
		u, err := parseUIDs(status)
		if err != nil {
			return
		}
		if min(u.real, u.effective, u.saved) < 0 {
			t.Fatalf("%q was read as %+v", status, u)
		}
		again, err := parseUIDs(fmt.Appendf(nil, "Name:\tx\nUid:\t%d\t%d\t%d\t0\n", u.real, u.effective, u.saved))
		if err != nil || again != u || !strings.Contains(string(status), "Uid:") {
			t.Fatalf("%q was read as %+v, and that as %+v, %v", status, u, again, err)
		}
	})
}
