package regent

import (
	"testing"
	"time"
)

// A member counts as silent after a few seconds, and much sooner if it is not trusted, but not at once: one that has just come is not trusted yet.
func TestSilentMembers(t *testing.T) {
	for _, c := range []struct {
		silence time.Duration
		trusted bool
		want    bool
	}{
		{4 * time.Second, true, false}, {5 * time.Second, true, true}, {900 * time.Millisecond, false, false}, {time.Second, false, true},
	} {
		if got := silent(c.silence, c.trusted); got != c.want {
			t.Errorf("not heard for %v, trusted %v: silent is %v", c.silence, c.trusted, got)
		}
	}
}
