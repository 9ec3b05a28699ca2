package agent

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/identity"
)

// idle returns an agent that does not run, and its configuration.
func idle(t *testing.T) (*Agent, *config.File) {
	t.Helper()
	r := alone(t, "{}")
	file, err := config.Load(r.config)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newAgent(file, Options{Config: r.config, Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return a, file
}

// A reload that is refused for any reason leaves the keys of the member alone.
func TestRefusedReloadPutsNoKeysInForce(t *testing.T) {
	a, file := idle(t)
	puts := 0
	a.putKeys = func(regent.Config) error { puts++; return nil }
	next := *file
	next.Log = "loud"
	if err := a.applyConfig(&next, nil); err == nil || puts != 0 {
		t.Errorf("%v: keys were put in force %d times", err, puts)
	}
	fault := errors.New("no such key")
	a.putKeys = func(regent.Config) error { return fault }
	next = *file
	next.DefaultGroup = "other"
	if err := a.applyConfig(&next, nil); !errors.Is(err, fault) || a.core.File.Load().DefaultGroup == "other" {
		t.Errorf("%v: the file is in force without its keys", err)
	}
}

// A member that comes to be beside a reload gets the keys of the file that is in force, and no reload comes between.
func TestKeysOfAReloadAreInForceWhenTheMemberStarts(t *testing.T) {
	a, file := idle(t)
	next := *file
	next.DefaultGroup = "other"
	if err := a.applyConfig(&next, nil); err != nil {
		t.Fatal(err)
	}
	puts := 0
	put := func(regent.Config) error {
		puts++
		if a.reloading.TryLock() {
			t.Error("another reload may come between")
		}
		return nil
	}
	a.takeRekey(put)
	if puts != 1 {
		t.Fatalf("keys were put in force %d times at the start", puts)
	}
	if err := a.applyConfig(file, nil); err != nil || puts != 2 {
		t.Errorf("%v: keys were put in force %d times after a reload", err, puts)
	}
}

// The audit log names the keys of files that a reload changes, and no secret.
func TestReloadNamesTheKeysOfFiles(t *testing.T) {
	first, second := identity.Draw(), identity.Draw()
	before := digestKeys(&regent.Config{Key: []byte("k1"), OwnKeys: regent.OwnKeys{PrivateKeys: []string{first.Text()}}})
	rotated := digestKeys(&regent.Config{Key: []byte("k1"), OwnKeys: regent.OwnKeys{PrivateKeys: []string{first.Text(), second.Text()}}})
	want := "private keys: now " + first.Public().Fingerprint() + " and " + second.Public().Fingerprint() + ", before " + first.Public().Fingerprint()
	if got := rotated.changes(before); !slices.Equal(got, []string{want}) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := digestKeys(&regent.Config{Key: []byte("k2"), OwnKeys: regent.OwnKeys{PrivateKeys: []string{first.Text()}}}).changes(before); !slices.Equal(got, []string{"cluster keys"}) {
		t.Errorf("another cluster key: %q", got)
	}
	if got := append(before.changes(before), before.changes(nil)...); len(got) > 0 {
		t.Errorf("no change: %q", got)
	}
}
