package regent_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever opens the README sees at once how soon a leader is replaced that dies, and how soon a host.
func TestReadmeBeginsWithBothTimes(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Join(strings.SplitN(string(text), "\n", 25)[:24], "\n") // a screen of a terminal
	for _, want := range []string{"within 50 ms", "after the lease: 5 s"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first lines of the README do not say %q:\n%s", want, first)
		}
	}
}

// The program in the README is built where a user would have it: in a package of its own.
func TestReadmeProgramCompiles(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```go\n")
	program, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 || !strings.Contains(program, "regent.Join") {
		t.Fatal("the README has no program")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	place, err := filepath.Abs(filepath.Join("examples", "readme", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{place: file}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "build", "-overlay", list, "-o", filepath.Join(dir, "program"), "./examples/readme").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
