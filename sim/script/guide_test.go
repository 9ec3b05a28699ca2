package script_test

import (
	"os"
	"strings"
	"testing"

	"github.com/regentproject/regent/sim/script"
)

func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the code blocks of the guide that are marked with the given word.
func blocks(t *testing.T, mark string) []string {
	t.Helper()
	var all []string
	parts := strings.Split(guide(t), "\n```")
	for i := 1; i < len(parts); i += 2 {
		if body, ok := strings.CutPrefix(parts[i], mark+"\n"); ok {
			all = append(all, body+"\n")
		}
	}
	return all
}

func TestEveryScenarioInTheGuideGoesAsItSays(t *testing.T) {
	scenarios := blocks(t, "scenario")
	if len(scenarios) < 5 {
		t.Fatalf("%d scenarios in the guide, want at least 5", len(scenarios))
	}
	for _, text := range scenarios {
		s, err := script.Parse("guide", []byte(text))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		r, err := script.Play(s, script.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Err("guide"); err != nil || r.Checks == 0 {
			t.Errorf("%d expectations: %v\n%s", r.Checks, err, text)
		}
	}
}

func TestTheGuideShowsEveryFormOfEveryStatement(t *testing.T) {
	text := strings.ReplaceAll(guide(t), `\|`, "|") // as bars are written in tables
	for _, u := range script.Usage() {
		if !strings.Contains(text, "`"+u+"`") {
			t.Errorf("the guide does not show `%s`", u)
		}
	}
}

func TestTheGuideShowsTheCheckerThatIsTested(t *testing.T) {
	source, err := os.ReadFile("calm_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "// begin checker\n\n")
	code, _, found := strings.Cut(rest, "\n// end checker")
	if !found || !strings.Contains(guide(t), "```go\n"+code+"```") {
		t.Error("the checker in the guide is not the one in calm_test.go")
	}
}
