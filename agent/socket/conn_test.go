package socket

import (
	"errors"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// A thread that is preempted within a reading of the clock gets an early instant. Another reading corrects it.
func TestHelloHasTheLatestReading(t *testing.T) {
	readings := []protocol.Time{10, 40, 20, 30}
	read := func() (protocol.Time, error) {
		at := readings[0]
		readings = readings[1:]
		return at, nil
	}
	if now, err := latest(read); now != 40 || err != nil {
		t.Errorf("the hello has %d, %v, want 40", now, err)
	}
	broken := errors.New("no clock")
	if _, err := latest(func() (protocol.Time, error) { return 1, broken }); !errors.Is(err, broken) {
		t.Errorf("a clock that cannot be read: %v", err)
	}
}
