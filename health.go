package regent

import (
	"context"
	"errors"
	"time"
)

// SetHealth says what is wrong with this member, or with the program around it; nil if nothing is. A member with which
// something is wrong leads nothing: what it leads it gives up, with the cause why.Unhealthy, when the programs have stopped,
// and programs that campaign wait until it is well again. It is in no [ConsistentGroup] meanwhile, once its programs have
// stopped. It votes as before, and nobody waits for it to go first.
//
// A member is well when it joins. One with [Config.Health] finds out by itself.
func (m *Member) SetHealth(wrong error) {
	var text *string
	if wrong != nil {
		s := wrong.Error()
		text = &s
	}
	old := m.healthProblem.Swap(text)
	switch {
	case old == nil && text != nil:
		m.log.Warn("the member is not fit to lead", "reason", *text)
	case old != nil && text == nil:
		m.log.Info("the member is fit to lead again")
	default:
		return
	}
	_ = m.tellHealth()
}

// errSlowHealth is what is wrong with a member that cannot say what is.
var errSlowHealth = errors.New("its health check does not return in time")

// watchHealth asks what is wrong, again and again.
func (m *Member) watchHealth(ctx context.Context) {
	ticker := time.NewTicker(m.config.Timing.Heartbeat)
	defer ticker.Stop()
	for {
		wrong := m.checkHealth(ctx)
		if ctx.Err() != nil {
			return
		}
		m.SetHealth(wrong)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// checkHealth asks once. If there is no answer in time that is what is wrong, until there is one.
func (m *Member) checkHealth(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, m.config.Timing.Heartbeat)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- m.config.Health(within) }()
	select {
	case err := <-answer:
		return err
	case <-within.Done():
	}
	if ctx.Err() != nil {
		return nil // nobody wants to know any more
	}
	m.SetHealth(errSlowHealth)
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return nil
	}
}
