package main

import "testing"

func TestLinesOfThePipe(t *testing.T) {
	if state, ok := stateIn(`INSTANCE "peers" MASTER 100`); state != "MASTER" || !ok {
		t.Errorf("%q, %v", state, ok)
	}
	for _, line := range []string{"", `GROUP "x" MASTER 100`, "INSTANCE x"} {
		if _, ok := stateIn(line); ok {
			t.Errorf("%q names a state", line)
		}
	}
}
