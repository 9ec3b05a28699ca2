// Package coretest makes agents without listeners, for tests of the rooms around the core.
package coretest

import (
	"log/slog"
	"testing"

	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/core/coretest/alone"
)

// Idle returns an agent that is no member yet, alone in its council. more is put into its configuration.
func Idle(t *testing.T, more string) *core.Agent {
	t.Helper()
	file, c := alone.Configured(t, more)
	a, err := core.New(file, &c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Joined returns an agent whose member takes part.
func Joined(t *testing.T, more string) *core.Agent {
	t.Helper()
	a := Idle(t, more)
	c, err := a.Config().Regent()
	if err != nil {
		t.Fatal(err)
	}
	alone.Join(t, a, c)
	return a
}
