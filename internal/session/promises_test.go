package session

import (
	"testing"
	"testing/synctest"
	"time"
)

// Virtual time begins at midnight: there an interval is whole.
func TestGoProgramsGiveASignOfLifeEvery1500Milliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := untilBeat(DefaultHeartbeat); got != 1500*time.Millisecond {
			t.Errorf("the next one comes after %v", got)
		}
	})
}
