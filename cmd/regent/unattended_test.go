package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	runner "github.com/regentproject/regent/agent/run"
)

// A command cannot report a recovery: the runner refuses consistent groups before it asks an agent, and says what to use.
func TestRunRefusesConsistentGroups(t *testing.T) {
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{"run", "shards", "--mode", "consistent", "--socket", "/nonexistent", "--", "true"}, strings.NewReader(""), &out, &errOut)
	if text := errOut.String(); status != runner.StatusFailed || !strings.Contains(text, "must report what it has recovered") || !strings.Contains(text, "regent.Dial") {
		t.Errorf("status %d: %s", status, text)
	}
}

// The table of groups has a row for every mode, with a token where there is one.
func TestWhoShowsGroupsOfAllModes(t *testing.T) {
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetOut(&out)
	var all []groupRow
	for _, v := range []regent.View{
		{Mode: regent.Quorum, Group: "jobs", Leader: "a", Token: 7},
		{Mode: regent.Local, Group: "cache", Leader: "a", Support: []string{"a", "b"}},
		{Mode: regent.Eventual, Group: "ops", Leader: "a", Round: 3},
		{Mode: regent.Consistent, Group: "shards", Leader: "a", Token: 9, Agreement: &regent.Agreement{Number: 2, Members: []string{"a", "b"}}},
	} {
		all = append(all, newGroupRow(&api.GroupInfo{Change: api.Change{View: v}}, nil))
	}
	showGroups(c, false, all, time.Now())
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(rows) != 5 {
		t.Fatalf("the table is\n%s", &out)
	}
	for i, want := range [][]string{{"jobs", "a", "7"}, {"cache", "a", "local"}, {"ops", "a", "eventual"}, {"shards", "a", "9", "consistent"}} {
		for _, word := range want {
			if !strings.Contains(rows[i+1], word) {
				t.Errorf("%q has no %q", rows[i+1], word)
			}
		}
	}
}
