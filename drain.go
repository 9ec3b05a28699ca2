package regent

import (
	"context"
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Drain moves all leadership away from this member, and keeps it away, as before the host is repaired: programs that lead are
// asked to stop, with the cause why.Drained, and programs that campaign wait until [Member.Undrain]. The member votes as before. A
// member with [Config.Dir] is drained again after a restart; others forget it. In a [ConsistentGroup] it is no member meanwhile.
//
// It returns when no program here leads any more. If ctx ends before, the member stays drained, and the error says how many
// programs still lead. Drain does not look whether another member can lead: where none campaigns, nobody leads afterwards.
func (m *Member) Drain(ctx context.Context) error {
	if err := m.setDrained(true); err != nil {
		return err
	}
	look := time.NewTicker(m.config.Timing.RoundTrip)
	defer look.Stop()
	for {
		n, err := m.leads()
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-look.C:
		case <-m.loop.Ended():
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("drain %s: %w: programs have not stopped in %d of its groups", m.config.Name, context.Cause(ctx), n)
		}
	}
}

// Undrain lets programs of this member lead again. They do when the groups next have no leader.
func (m *Member) Undrain(context.Context) error { return m.setDrained(false) }

// setDrained notes in the directory whether the member is drained, and then acts on it.
// Invariant: a member acts as a drained one only if its next start will; so an order that was carried out is not forgotten.
func (m *Member) setDrained(yes bool) error {
	m.draining.Lock()
	defer m.draining.Unlock()
	if m.drained.Load() == yes {
		return nil
	}
	if m.gone() {
		return ErrClosed
	}
	if m.dir != nil {
		if err := m.dir.SetDrained(yes); err != nil {
			return err
		}
	}
	m.drained.Store(yes)
	if yes {
		m.log.Info("the member is drained: it leads nothing until it is undrained")
	} else {
		m.log.Info("the member is undrained: it may lead again")
	}
	return m.tellHealth()
}

// readDrained finds out whether the member was drained before it was started.
func (m *Member) readDrained() error {
	if m.dir == nil {
		return nil
	}
	yes, err := m.dir.Drained()
	m.drained.Store(yes)
	return err
}

// logDrained logs that the member starts as a drained one, if it does.
func (m *Member) logDrained() {
	if m.drained.Load() {
		m.log.Warn("the member was drained before this start: it leads nothing until it is undrained")
	}
}

// tellHealth tells the machines whether the member is fit to lead.
func (m *Member) tellHealth() error {
	return m.loop.Do(func(protocol.Time) {
		m.loop.Health(protocol.Health{OK: m.healthProblem.Load() == nil, Drained: m.drained.Load()})
	})
}

// leads returns in how many groups programs here lead, once the machines have acted on all earlier events.
func (m *Member) leads() (int, error) {
	c := make(chan int, 1)
	err := m.loop.Do(func(protocol.Time) { m.loop.Later(func(protocol.Time) { c <- m.loop.Leading() }) })
	if err != nil {
		return 0, err
	}
	select {
	case n := <-c:
		return n, nil
	case <-m.loop.Ended():
		return 0, ErrClosed
	}
}
