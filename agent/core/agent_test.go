package core

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
)

// configured returns the configuration of a member that is alone in its council. more is put into it.
func configured(t *testing.T, more ...string) (*config.File, regent.Config) {
	t.Helper()
	council := cluster.Open(t, cluster.Options{Names: []string{"a"}, Config: strings.Join(more, "") + "timing: {lease: 2s}\nrealtime: false\n"})
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
	return file, c
}

// Joined returns an agent without listeners, whose member takes part alone in its council. more is put into its configuration.
func Joined(t *testing.T, more ...string) *Agent {
	t.Helper()
	file, c := configured(t, more...)
	a, err := New(file, &c, "test", slog.New(slog.DiscardHandler))
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
