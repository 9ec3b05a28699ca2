package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/engine"
)

func TestAFileWithAnEngineHasNoCouncil(t *testing.T) {
	f, err := parse("name: a\nengine: {kind: postgres, address: \"postgres://db/app\"}\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Regent()
	if err != nil || len(c.Council) != 0 || c.Timing.Lease != engine.DefaultLease || f.ProgramLease() != 0 {
		t.Errorf("%+v (%v)", c, err)
	}
	for _, key := range []string{"profile: lan", "elector: rank", "lease: 10s", "consistent: true", "key_file: /k", "guardian: true", "council: [{name: a, address: \"127.0.0.1:7401\"}]",
		"groups: [{name: g, mode: local}]"} {
		name, _, _ := strings.Cut(key, ":")
		if _, err := parse("name: a\nengine: {kind: postgres, address: x}\n" + key + "\n"); err == nil || !strings.Contains(err.Error(), name+" is of a council") {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, text := range []string{"engine: {address: x}", "engine: {kind: postgres}", "engine: {kind: postgres, address: x, address_file: y}", "engine: {kind: postgres, address_file: /nothing}"} {
		if _, err := parse("name: a\n" + text + "\n"); err == nil || !strings.Contains(err.Error(), "engine") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTheAddressOfAnEngineMayBeInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(path, []byte("postgres://a:secret@db/app\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := parse("name: a\nengine: {kind: postgres, address_file: " + path + "}\n")
	if err != nil {
		t.Fatal(err)
	}
	if kind, address, err := f.EngineAddress(); err != nil || kind != "postgres" || address != "postgres://a:secret@db/app" {
		t.Errorf("%q %q %v", kind, address, err)
	}
}
