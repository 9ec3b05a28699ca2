// Package scenariotest holds scenarios by test: every protocol's tests play the scripts in their testdata with it.
// `go test -rewrite` puts what they print in the place of what they expected; read the difference before you commit it.
package scenariotest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/sim/script"
)

func init() {
	if flag.Lookup("rewrite") == nil { // other packages of such tests have the same flag
		flag.Bool("rewrite", false, "put what scenarios print in the place of what they expect")
	}
}

// Run plays every script that the pattern matches, as a test of its own.
func Run(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("scenarios %s: %d files, error %v: name at least one", pattern, len(files), err)
	}
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := play(file, rewrite); err != nil {
				t.Error(err)
			}
		})
	}
}

// play plays one script and returns what is wrong with it.
func play(file string, rewrite bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s, err := script.Parse(file, text)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(s.Title, ".") {
		return fmt.Errorf("%s:1:1: a scenario opens with a comment: the sentence that it proves, with a full stop", file)
	}
	r, err := script.Play(s, script.Options{})
	if err != nil {
		return err
	}
	if rewrite && r.Violation == nil {
		if err := os.WriteFile(file, s.Rewrite(r), 0o644); err != nil {
			return err
		}
		if s, err = script.Parse(file, s.Rewrite(r)); err != nil {
			return err
		}
		if r, err = script.Play(s, script.Options{}); err != nil {
			return err
		}
	}
	return r.Err(file)
}
