package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// directory finds the packages that a command names.
var directory = regexp.MustCompile(`(^|\s)\./([\w./-]*)`)

// Every mutant of the tree fits the code, and its command names packages that exist. Whether a mutant is caught, only a run of
// it shows; this notices at once that what it quotes has moved or changed.
func TestMutantsOfTheTreeFit(t *testing.T) {
	const root = "../.."
	all, err := ReadAll(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Fatalf("only %d mutants were found", len(all))
	}
	for _, m := range all {
		if _, err := m.Apply(root); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		for _, match := range directory.FindAllStringSubmatch(m.Test, -1) {
			dir := strings.TrimSuffix(strings.TrimSuffix(match[2], "..."), "/")
			if info, err := os.Stat(filepath.Join(root, dir)); err != nil || !info.IsDir() {
				t.Errorf("%v: the command names ./%s, which is no directory: %s", m, dir, m.Test)
			}
		}
	}
}
