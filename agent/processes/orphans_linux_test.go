package processes

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
)

func noted(t *testing.T, l *Notes) int {
	t.Helper()
	old, void := l.Load()
	if len(void) > 0 {
		t.Errorf("files that say nothing: %v", void)
	}
	return len(old)
}

// A draft has no end of its own: what is taken for a note is removed under the name of a note.
func TestDraftOfANoteIsNone(t *testing.T) {
	s := NewNotes(t.TempDir())
	one := tree.Ref{Mark: "one"}
	if err := s.save("g", &one, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.path(&one), s.path(&one)+draftSuffix); err != nil {
		t.Fatal(err)
	}
	if notes, void := s.Load(); len(notes) != 0 || len(void) != 1 {
		t.Errorf("%d notes, void %v", len(notes), void)
	}
}

// What cannot be killed must not keep the agent from what can.
func TestOneTreeThatCannotBeKilledKeepsNoOther(t *testing.T) {
	var logged strings.Builder
	own, err := clock.System()
	if err != nil {
		t.Fatal(err)
	}
	a := &Trees{Clock: own, Log: slog.New(slog.NewTextHandler(&logged, nil)), Guard: regent.LAN.Guard, Longest: regent.LAN.LongestLease, Notes: NewNotes(t.TempDir())}
	odd := filepath.Join(t.TempDir(), "no-cgroup") // a cgroup whose cgroup.kill is a directory, which nobody can write
	if err := os.MkdirAll(filepath.Join(odd, "cgroup.kill"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(odd, "cgroup.events"), []byte("populated 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []tree.Ref{{Mark: "0000000000000001", Cgroup: odd}, {Mark: "0000000000000002"}} {
		if err := a.Notes.save("g", &r, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	old, _ := a.Notes.Load()
	if len(old) != 2 {
		t.Fatalf("%d trees are noted", len(old))
	}
	for i := range old {
		if old[i].Tree.Cgroup != "" {
			old[0], old[i] = old[i], old[0]
		}
	}
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { a.KillOrphans(ctx, old); close(done) }()
	defer func() { stop(); <-done }() // before the directories that it writes go
	cluster.Eventually(t, "the other tree is forgotten", func() bool { return noted(t, &a.Notes) == 1 })
	select {
	case <-done:
		t.Error("it has given up")
	default:
	}
}
