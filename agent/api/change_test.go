package api

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/view"
)

// The journals are of agents: of one run in which a transfer, a resignation and the kill of an agent followed one another, and of one in which a
// program was killed, an agent was paused for longer than its leases, and a host was drained. Beside each is what people read.
func TestTurnoversOfRealJournals(t *testing.T) {
	files, err := filepath.Glob("testdata/journals/*.json")
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var changes []Change
			if err := json.Unmarshal(b, &changes); err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, x := range Turnovers(changes) {
				fmt.Fprintf(&got, "%s %-8s %s\n", x.At.UTC().Format("15:04:05"), x.Group, &x)
			}
			golden := strings.TrimSuffix(file, ".json") + ".txt"
			want, err := os.ReadFile(golden)
			if err != nil || got.String() != string(want) {
				t.Errorf("%v; got\n%swant\n%s", err, got.String(), want)
			}
		})
	}
}

// A change that is under way has no next leader, and one of a group that nobody led is none.
func TestTurnoversUnderWay(t *testing.T) {
	var changes []Change
	for _, text := range []string{
		`{"group":"g","leader":"","cause":{"why":"started"}}`,
		`{"group":"h","leader":"a","token":4,"cause":{"why":"elected","member":"a"}}`,
		`{"group":"h","leader":"","cause":{"why":"no quorum","bound_ns":1000000000}}`,
	} {
		var c Change
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		changes = append(changes, c)
	}
	got := Turnovers(changes)
	if len(got) != 2 || !got[0].Seen || got[1].String() != "too few members answered; no leader" || got[1].From != "a" {
		t.Errorf("got %v", got)
	}
	var _ view.Turnover = got[0]
}
