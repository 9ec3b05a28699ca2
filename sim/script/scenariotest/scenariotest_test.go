package scenariotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const scenario = "# The best-ranked member leads.\nprotocol rank\nmembers 3\n\nrun 1s\n----\n"

func TestAScenarioFailsIfItIsUntoldWrongOrUntitled(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{scenario + "a leads {a b c}\n", ""},
		{scenario + "b leads {a b c}\n", "the output is not as expected"},
		{strings.TrimPrefix(scenario, "# The best-ranked member leads.\n") + "a leads {a b c}\n", "opens with a comment"},
		{strings.Replace(scenario, "leads.", "leads", 1), "with a full stop"},
		{scenario + "\nflee\n", "no such statement"},
	} {
		file := filepath.Join(t.TempDir(), "scenario.txt")
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		switch err := play(file, false); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestRewritingPutsWhatIsPrintedIntoTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.txt")
	if err := os.WriteFile(file, []byte(scenario+"nobody leads\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := play(file, true); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != scenario+"a leads {a b c}\n" {
		t.Errorf("got %q, %v", got, err)
	}
}
