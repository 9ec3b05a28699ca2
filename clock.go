package regent

import (
	"context"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
)

const (
	// clockEvery is how often the clock is looked at.
	clockEvery = time.Second
	// clockJump is by how much wall time and lease time may part within that time.
	clockJump = time.Second
)

// watchClock looks at the clock and at the other members once a second. It ends all leases when the clock cannot be believed: when it provably runs at another rate than those of a
// majority of the others, or when the wall clock jumped, which may be all that is to be seen of a pause of the whole
// machine that no clock counted.
func (m *Member) watchClock(ctx context.Context) {
	var watcher *clock.Watcher
	if lease, ok := m.world.Clock.(*clock.Real); ok {
		watcher = clock.NewWatcher(lease, clockJump)
	}
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	alarmed := false
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		jumped := m.pollWatcher(watcher)
		_ = m.loop.Do(func(now protocol.Time) {
			alarm := false
			if m.port != nil {
				alarm = m.port.Rates.Alarm(now)
				m.port.Listen(now)
			}
			switch {
			case alarm != alarmed:
				alarmed = alarm
				m.clockAlarm(alarm)
				m.loop.Fault(alarm)
			case jumped:
				m.loop.Suspend()
			}
		})
	}
}

// pollWatcher says whether the wall clock jumped.
func (m *Member) pollWatcher(w *clock.Watcher) bool {
	if w == nil {
		return false
	}
	n := w.Poll()
	if n.Suspended > 0 {
		m.log.Warn("the machine was suspended: all leases that it held end", "for", n.Suspended)
	}
	if n.Jumped != 0 {
		m.log.Warn("wall time jumped: the machine may have been paused without its clocks noticing, so all leases end", "by", n.Jumped)
	}
	return n.Jumped != 0
}

func (m *Member) clockAlarm(on bool) {
	m.clockBad.Store(on)
	if on {
		m.log.Error("the clock runs at another rate than those of a majority: this member leads nothing until it is right", "drift", m.timing().Drift)
		return
	}
	m.log.Info("the clock is believed again")
}
