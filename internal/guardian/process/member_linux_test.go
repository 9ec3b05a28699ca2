package process

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A member that was started as root may lack the right to kill its guardian, which is of another user.
func TestGuardianThatCannotBeKilledHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := awaitEnd(make(chan struct{}), func() error { return syscall.EPERM }); !errors.Is(err, syscall.EPERM) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took != closeWithin {
			t.Errorf("it took %v, want %v", took, closeWithin)
		}
		ended := make(chan struct{})
		if err := awaitEnd(ended, func() error { close(ended); return nil }); err != nil {
			t.Errorf("killed: %v", err)
		}
	})
}
