// Package coretest makes agents without listeners, for tests of the rooms around the core.
package coretest

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
)

// Idle returns an agent that is no member yet, alone in its council. more is put into its configuration.
func Idle(t *testing.T, more string) *core.Agent {
	t.Helper()
	council := cluster.Open(t, cluster.Options{Names: []string{"a"}, Config: more + "timing: {lease: 2s}\nrealtime: false\n"})
	if err := council.WriteConfig("a"); err != nil {
		t.Fatal(err)
	}
	file, err := config.Load(council.ConfigFile("a"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := file.Regent()
	if err != nil {
		t.Fatal(err)
	}
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
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	t.Cleanup(func() { cancel(); tasks.Wait() })
	a.Start(ctx, &tasks)
	if err := a.Join(t.Context(), c, func(func(regent.Config) error) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Leave(func(context.Context) {}) })
	return a
}
