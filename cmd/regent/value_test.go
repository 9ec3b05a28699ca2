package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
)

// hostile is a value that would clear a terminal, name its window and turn the direction of writing.
const hostile = "http://a/\x1b[2J\x1b]0;x\a\u009b31m\u202e\r\nroot"

const harmless = `http://a/\x1b[2J\x1b]0;x\a\u009b31m\u202e\r\nroot`

// What a leader announces is shown wherever its group is, and nothing in it reaches the terminal as a command.
func TestValuesAreShownEscaped(t *testing.T) {
	g := api.GroupInfo{Change: api.Change{View: regent.View{Mode: "quorum", Group: "g", Leader: "a", Token: 7, Value: hostile}}}
	data, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&table)
	showGroups(c, false, []groupRow{newGroupRow(&g, nil), newGroupRow(&api.GroupInfo{Change: api.Change{View: regent.View{Mode: "quorum", Group: "h" + hostile}}}, nil)}, time.Now()) // a peer may send what is no name
	outputs := map[string]string{"who": table.String()}
	for _, how := range []string{"--lines", "--json"} {
		socket := serveStreams(t, "group "+string(data)+"\n")
		var out, errOut bytes.Buffer
		if got := run(t.Context(), []string{"watch", "g", how, "--count", "1", "--socket", socket}, strings.NewReader(""), &out, &errOut); got != cli.OK {
			t.Fatalf("status %d: %s", got, errOut.String())
		}
		outputs["watch "+how] = out.String()
	}
	for what, out := range outputs {
		if strings.ContainsAny(out, "\x1b\a\r\u009b\u202e") {
			t.Errorf("%s: control characters reach the terminal: %q", what, out)
		}
		if what != "watch --json" && !strings.Contains(out, harmless) {
			t.Errorf("%s: the value is not shown: %q", what, out)
		}
	}
	if !strings.Contains(outputs["who"], "VALUE") || !strings.Contains(outputs["watch --lines"], "a leads (token 7) at "+harmless) {
		t.Errorf("%v", outputs)
	}
	var got watchedChange
	if err := json.Unmarshal([]byte(outputs["watch --json"]), &got); err != nil || got.Value != hostile {
		t.Errorf("JSON has the value %q, %v", got.Value, err)
	}
}
