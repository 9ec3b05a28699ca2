// Package alone sets up an agent that is alone in its council, for tests of the core and of the rooms around it. It does not know the core, so that the core's
// own tests can use it.
package alone

import (
	"context"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
)

// Configured returns the configuration of a member that is alone in its council. more is put into it.
func Configured(t *testing.T, more string) (*config.File, regent.Config) {
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
	return file, c
}

// An Agent is that of the core.
type Agent interface {
	Start(ctx context.Context, tasks *sync.WaitGroup)
	Join(ctx context.Context, c regent.Config, rekey func(put func(regent.Config) error)) error
	Leave(finish func(context.Context)) error
}

// Join has the member of an agent take part until the test ends.
func Join(t *testing.T, a Agent, c regent.Config) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	t.Cleanup(func() { cancel(); tasks.Wait() })
	a.Start(ctx, &tasks)
	if err := a.Join(t.Context(), c, func(func(regent.Config) error) {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Leave(func(context.Context) {}) })
}
