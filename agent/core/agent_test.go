package core

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/core/coretest/alone"
)

// Joined returns an agent without listeners, whose member takes part alone in its council. more is put into its configuration.
func Joined(t *testing.T, more ...string) *Agent {
	t.Helper()
	file, c := alone.Configured(t, strings.Join(more, ""))
	a, err := New(file, &c, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	alone.Join(t, a, c)
	return a
}
