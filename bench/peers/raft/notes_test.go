package main

import (
	"path/filepath"
	"testing"
)

// A member that was killed knows its term and its vote when it starts again: otherwise it could vote twice in one term.
func TestTermAndVoteOutliveTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes")
	n, err := openNotes(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := n.GetUint64([]byte("term")); got != 0 || err != nil {
		t.Errorf("term %d, %v", got, err)
	}
	for term := range uint64(3) {
		if err := n.SetUint64([]byte("term"), term+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Set([]byte("vote"), []byte("b")); err != nil {
		t.Fatal(err)
	}
	again, err := openNotes(file)
	if err != nil {
		t.Fatal(err)
	}
	term, err := again.GetUint64([]byte("term"))
	vote, err2 := again.Get([]byte("vote"))
	if term != 3 || string(vote) != "b" || err != nil || err2 != nil {
		t.Errorf("term %d, vote %q, %v, %v", term, vote, err, err2)
	}
}
