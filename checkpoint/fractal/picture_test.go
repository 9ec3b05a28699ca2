package fractal

import (
	"bytes"
	"testing"
)

// A tile that begins anew, or skips a frame, does not end as it should.
func TestATileCannotBeComputedWithoutItsPast(t *testing.T) {
	run := func(seed uint64, frames ...uint64) []byte {
		state := Begin("tile05", seed)
		for _, f := range frames {
			state = Next("tile05", f, state)
		}
		return state
	}
	want := run(7, 1, 2, 3, 4)
	if !bytes.Equal(want, run(7, 1, 2, 3, 4)) {
		t.Error("the same frames give another tile")
	}
	for name, other := range map[string][]byte{"another seed": run(0, 1, 2, 3, 4), "the last frame alone": run(7, 4), "a frame twice": run(7, 1, 2, 2, 3, 4), "a frame skipped": run(7, 1, 2, 4)} {
		if bytes.Equal(want, other) {
			t.Errorf("%s gives the same tile", name)
		}
	}
	old := bytes.Clone(want)
	Next("tile05", 5, want)
	if !bytes.Equal(old, want) {
		t.Error("a frame changes the state before it")
	}
}
