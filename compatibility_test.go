package regent

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol/record"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/wire"
)

// docs/compatibility.md names the version of every interface that has one; this is what they are, and what make test builds.
func TestCompatibilityPageHasTheVersionsOfTheCode(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page := read("docs/compatibility.md")
	row := func(of string) string {
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "| "+of) {
				return line
			}
		}
		t.Errorf("there is no row of %s", of)
		return ""
	}
	for of, want := range map[string]string{
		"session protocol": fmt.Sprintf(" | %d, in `hello` | ", session.Version),
		"wire":             fmt.Sprintf(" | %d to %d, in every packet | ", wire.LowestVersion, wire.HighestVersion),
		"record on disk":   fmt.Sprintf(" | %d | ", (&record.Record{}).Append(nil)[len("RGNT")]),
	} {
		if got := row(of); !strings.Contains(got, want) {
			t.Errorf("the row of %s lacks %q: %s", of, want, got)
		}
	}
	makefile := read("Makefile")
	for system, name := range map[string]string{"macOS": "darwin", "Windows": "windows"} {
		if !strings.Contains(row(system), "`make test` builds it") || !strings.Contains(makefile, "GOOS="+name+" ") {
			t.Errorf("the page and the Makefile differ about %s", system)
		}
	}
}
