package agent

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/tenure"
)

func noted(t *testing.T, l *orphanStore) int {
	t.Helper()
	old, void := l.load()
	if len(void) > 0 {
		t.Errorf("files that say nothing: %v", void)
	}
	return len(old)
}

// A runner that is refused tries again and again, each time with another tree.
func TestNothingIsNotedOfARunnerThatWasRefused(t *testing.T) {
	a := open(t, 1, "groups: [{name: cache, mode: local}]\n").agents[0]
	for n := range 3 {
		line := fmt.Sprintf(`{"do":"campaign","id":1,"group":"cache","tree":{"mark":"%016x","runner":%d}}`, n+1, os.Getpid())
		if got := a.talk(t, line); !strings.Contains(got, "hosts lead it") {
			t.Fatalf("answered %q", got)
		}
	}
	if n := noted(t, &a.agent.orphans); a.agent.orphans.dir == "" || n > 0 {
		t.Errorf("in %q there are notes of %d trees", a.agent.orphans.dir, n)
	}
}

// A draft has no end of its own: what is taken for a note is removed under the name of a note.
func TestDraftOfANoteIsNone(t *testing.T) {
	s := newOrphanStore(t.TempDir())
	one := tree.Ref{Mark: "one"}
	if err := s.save("g", &one); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.path(&one), s.path(&one)+draftSuffix); err != nil {
		t.Fatal(err)
	}
	if notes, void := s.load(); len(notes) != 0 || len(void) != 1 {
		t.Errorf("%d notes, void %v", len(notes), void)
	}
}

// A runner that was cut off comes back on another connection: its next candidate waits for what the last one left.
func TestRunnerThatComesBackWaitsForItsLastCandidate(t *testing.T) {
	r := runners{last: make(map[tenure.Identity]*candidate)}
	of := func(pid int) *candidate {
		c := &candidate{tree: &watchedTree{tree: tree.Ref{Ref: tenure.Ref{Runner: tenure.Identity{Pid: pid}}}}}
		r.add(c)
		return c
	}
	first, other, second := of(1), of(2), of(1)
	if first.after != nil || other.after != nil || second.after != first {
		t.Errorf("after %v, %v, %v", first.after, other.after, second.after)
	}
	r.remove(first)
	r.remove(second)
	r.remove(other)
	if len(r.last) != 0 || of(1).after != nil {
		t.Error("candidates are kept under which nothing is left")
	}
}

// What cannot be killed must not keep the agent from what can.
func TestOneTreeThatCannotBeKilledKeepsNoOther(t *testing.T) {
	var logged strings.Builder
	own, err := clock.System()
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{clock: own, log: slog.New(slog.NewTextHandler(&logged, nil)), timing: regent.LAN, orphans: newOrphanStore(t.TempDir())}
	odd := filepath.Join(t.TempDir(), "no-cgroup") // a cgroup whose cgroup.kill is a directory, which nobody can write
	if err := os.MkdirAll(filepath.Join(odd, "cgroup.kill"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(odd, "cgroup.events"), []byte("populated 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []tree.Ref{{Mark: "0000000000000001", Cgroup: odd}, {Mark: "0000000000000002"}} {
		if err := a.orphans.save("g", &r); err != nil {
			t.Fatal(err)
		}
	}
	old, _ := a.orphans.load()
	if len(old) != 2 {
		t.Fatalf("%d trees are noted", len(old))
	}
	for i := range old {
		if old[i].Tree.Cgroup != "" {
			old[0], old[i] = old[i], old[0]
		}
	}
	done := make(chan struct{})
	ctx := t.Context()
	go func() { a.killOrphans(ctx, old); close(done) }()
	cluster.Eventually(t, "the other tree is forgotten", func() bool { return noted(t, &a.orphans) == 1 })
	select {
	case <-done:
		t.Error("it has given up")
	default:
	}
}
