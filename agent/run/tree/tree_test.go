package tree

import (
	"slices"
	"testing"
)

func TestMarksOfTreesWithinTreesAddUp(t *testing.T) {
	env := environ([]string{"A=1", Mark + "=outer", helper + "=1", "B=2"}, "inner")
	if want := []string{"A=1", "B=2", Mark + "=outer,inner"}; !slices.Equal(env, want) {
		t.Errorf("environment %q, want %q", env, want)
	}
	shown := "A=1\x00" + Mark + "=outer,inner\x00"
	for mark, want := range map[string]bool{"outer": true, "inner": true, "inne": false, "": false} {
		if got := marked(shown, mark); got != want {
			t.Errorf("marked with %q: %v, want %v", mark, got, want)
		}
	}
	if marked("X"+Mark+"=outer\x00", "outer") {
		t.Error("another variable counts as the mark")
	}
}
