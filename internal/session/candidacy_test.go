package session

import (
	"testing"
	"time"
)

func TestLongHeartbeatSparesSignsOfLifeOfProgramsOnly(t *testing.T) {
	for _, c := range []struct {
		what            string
		of              Candidate
		heartbeat, want time.Duration
	}{
		{"a program", Candidate{}, 8 * time.Second, 8 * time.Second},
		{"a program with a short one", Candidate{}, time.Second, time.Second},
		{"a runner", Candidate{Tree: new(Tree)}, 8 * time.Second, keeperHeartbeat},
		{"a runner with a short one", Candidate{Tree: new(Tree)}, time.Second, time.Second},
	} {
		if got := c.of.beatWithin(c.heartbeat); got != c.want {
			t.Errorf("%s: two signs of life within %v, want %v", c.what, got, c.want)
		}
	}
}
