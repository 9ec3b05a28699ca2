package clock

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestRestoredSnapshotsAreNoticed(t *testing.T) {
	var wall time.Duration
	var mark uint64
	now := protocol.Time(5e9)
	s := &Snapshots{wall: func() time.Duration { return wall }, marker: func() (uint64, bool) { return mark, true }}
	pass := func(d time.Duration) { wall, now = wall+d, now.Add(d) }
	for _, c := range []struct {
		name   string
		happen func()
		want   bool
	}{
		{"the first look", func() {}, false},
		{"time passes, or the host was suspended", func() { pass(8 * time.Hour) }, false},
		{"a leap second", func() { wall += time.Second }, false},
		{"a time service slews", func() { pass(time.Second); wall += 83 * time.Millisecond }, false},
		{"the wall clock is set back", func() { wall -= time.Hour }, false},
		{"the wall clock is set forward", func() { wall += time.Hour }, true},
		{"nothing", func() {}, false},
		{"it is set forward again soon after", func() { pass(time.Minute); wall += 3 * time.Second }, true},
		{"a snapshot of that hour is restored days later", func() { pass(10 * time.Minute); wall += 72 * time.Hour }, true},
		{"nothing more", func() { pass(10 * time.Minute) }, false},
		{"the marker changes", func() { mark++ }, true},
		{"the marker changes again", func() { pass(time.Second); mark++ }, true},
	} {
		c.happen()
		if got := s.Restored(now); got != c.want {
			t.Errorf("%s: restored %v", c.name, got)
		}
	}
}

func TestThisMachineWasNotRestored(t *testing.T) {
	s := NewSnapshots()
	c, err := System()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if s.Restored(c.Now()) {
			t.Fatal("restored, or the wall clock was set forward during the test")
		}
	}
}
