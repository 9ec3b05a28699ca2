package session

import (
	"testing"
	"testing/synctest"
	"time"
)

// Virtual time begins at midnight: there an interval is whole.
func TestGoProgramsGiveASignOfLifeEveryThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := untilBeat(DefaultHeartbeat); got != 3*time.Second {
			t.Errorf("the next one comes after %v", got)
		}
	})
}
