package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A runner that is refused tries again and again, each time with another tree.
func TestNothingIsNotedOfARunnerThatWasRefused(t *testing.T) {
	a := open(t, 1, "groups: [{name: cache, mode: local}]\n").agents[0]
	for n := range 3 {
		line := fmt.Sprintf(`{"do":"campaign","id":1,"group":"cache","tree":{"mark":"%016x","runner":%d}}`, n+1, os.Getpid())
		if got := a.talk(t, line); !strings.Contains(got, "hosts lead it") {
			t.Fatalf("answered %q", got)
		}
	}
	if old, void := a.agent.core.Trees.Notes.Load(); len(old)+len(void) > 0 {
		t.Errorf("there are notes of %d trees, and %d files that say nothing", len(old), len(void))
	}
}
