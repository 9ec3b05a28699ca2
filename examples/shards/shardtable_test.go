package main

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/fence"
)

func openTable(t *testing.T, file string) *shardTable {
	t.Helper()
	w, err := open(t.Context(), file, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close() })
	return w
}

func (t *shardTable) must(tt *testing.T, err error) {
	tt.Helper()
	if err != nil {
		tt.Fatal(err)
	}
}

// owns fails the test if a member does not own exactly these keys.
func (t *shardTable) owns(tt *testing.T, name string, since uint64, want ...string) {
	tt.Helper()
	got, err := t.owned(tt.Context(), since, name)
	t.must(tt, err)
	if !slices.Equal(got, want) {
		tt.Errorf("%s owns %v, want %v", name, got, want)
	}
}

func TestSharesGoToMembersThatHaveFewest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	w := openTable(t, file)
	w.must(t, w.reassign(t.Context(), regent.View{Token: 1, Agreement: &regent.Agreement{Members: []string{"a", "b"}}}))
	w.owns(t, "a", 1, "key00", "key02")
	w.owns(t, "b", 1, "key01", "key03")
	w = openTable(t, file) // it is there already
	w.must(t, w.reassign(t.Context(), regent.View{Token: 1, Agreement: &regent.Agreement{Members: []string{"a", "b", "c"}, Joined: []string{"c"}}}))
	w.owns(t, "c", 1)
	w.must(t, w.reassign(t.Context(), regent.View{Token: 1, Agreement: &regent.Agreement{Members: []string{"b", "c"}, Failed: []string{"a"}}}))
	w.owns(t, "a", 1)
	w.owns(t, "b", 1, "key01", "key03")
	w.owns(t, "c", 1, "key00", "key02")
}

// When all have failed and are back, they may be at work before the manager looks.
func TestWhoFailedAndIsBackKeepsWhatNobodyHasTaken(t *testing.T) {
	w := openTable(t, filepath.Join(t.TempDir(), "db"))
	all := []string{"a", "b"}
	w.must(t, w.reassign(t.Context(), regent.View{Token: 1, Agreement: &regent.Agreement{Members: all}}))
	w.must(t, w.reassign(t.Context(), regent.View{Token: 2, Agreement: &regent.Agreement{Members: []string{"b", "a"}, Failed: all, Joined: all, Unfinished: all}}))
	w.owns(t, "a", 2, "key00", "key02")
	w.owns(t, "b", 2, "key01", "key03")
}

func TestManagerThatWasReplacedGivesNothingAway(t *testing.T) {
	w := openTable(t, filepath.Join(t.TempDir(), "db"))
	w.must(t, w.reassign(t.Context(), regent.View{Token: 1, Agreement: &regent.Agreement{Members: []string{"a", "b", "c"}}}))
	w.must(t, w.reassign(t.Context(), regent.View{Token: 3, Agreement: &regent.Agreement{Members: []string{"a", "b", "c"}}}))
	var stale *fence.StaleError
	if err := w.reassign(t.Context(), regent.View{Token: 2, Agreement: &regent.Agreement{Members: []string{"a", "b"}}}); !errors.As(err, &stale) {
		t.Errorf("got %v", err)
	}
	w.owns(t, "c", 3, "key02")
}

func TestMemberThatWasTakenInWaitsForItsManager(t *testing.T) {
	w := openTable(t, filepath.Join(t.TempDir(), "db"))
	w.must(t, w.reassign(t.Context(), regent.View{Token: 1, Agreement: &regent.Agreement{Members: []string{"a", "b", "c"}}}))
	w.owns(t, "c", 2)
	w.must(t, w.reassign(t.Context(), regent.View{Token: 2, Agreement: &regent.Agreement{Members: []string{"a", "b", "c"}}}))
	w.owns(t, "c", 2, "key02")
}
