package core

import (
	"strings"
	"testing"

	"github.com/regentproject/regent"
)

func TestLastHostThatMayLeadIsNotDrained(t *testing.T) {
	self := regent.PeerStatus{Name: "a", Self: true, Heard: true, Trusted: true}
	fit := regent.PeerStatus{Name: "b", Heard: true, Trusted: true}
	with := func(change func(*regent.PeerStatus)) regent.PeerStatus {
		m := fit
		change(&m)
		return m
	}
	if err := cannotDrain([]regent.PeerStatus{self, with(func(m *regent.PeerStatus) { m.Drained = true }), fit}); err != nil {
		t.Errorf("another host could lead, and it is refused: %v", err)
	}
	for want, other := range map[string]regent.PeerStatus{
		"b is drained":            with(func(m *regent.PeerStatus) { m.Drained = true }),
		"b is unhealthy":          with(func(m *regent.PeerStatus) { m.Unhealthy = true }),
		"b is a witness":          with(func(m *regent.PeerStatus) { m.Role = "witness" }),
		"b is an observer":        with(func(m *regent.PeerStatus) { m.Role = "observer" }),
		"b is not heard":          with(func(m *regent.PeerStatus) { m.Trusted = false }),
		"b does not count: twins": with(func(m *regent.PeerStatus) { m.Problem = "twins" }),
	} {
		err := cannotDrain([]regent.PeerStatus{self, other})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := cannotDrain([]regent.PeerStatus{self}); err == nil || !strings.Contains(err.Error(), "no other members") {
		t.Errorf("alone: %v", err)
	}
}
