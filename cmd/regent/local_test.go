package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	runner "github.com/regentproject/regent/agent/run"
)

// runnable calls f with every command that people run.
func runnable(c *cobra.Command, f func(*cobra.Command)) {
	if !c.Hidden && c.Runnable() && (!c.HasSubCommands() || c.Flags().Lookup("json") != nil) {
		f(c)
	}
	for _, sub := range c.Commands() {
		runnable(sub, f)
	}
}

// Every command takes --agent, or says in one line why it does not and what to run; docs/agent.md lists which. A new command needs agentFlags, or a line in notRemote.
func TestEveryCommandDecidesOnAgentURLs(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	page, err := os.ReadFile("../../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, row := range regexp.MustCompile("(?m)^\\| `regent ([^`]*)` \\| (yes|no: .*) \\|$").FindAllStringSubmatch(string(page), -1) {
		rows[row[1]] = row[2]
	}
	listed := 0
	runnable(rootCommand(), func(c *cobra.Command) {
		name := commandName(c)
		if name == "regent" {
			return
		}
		why, flag := notRemote[name], c.Flags().Lookup("agent")
		want := "yes"
		switch {
		case why != "":
			want = "no: " + why
			listed++
		case flag == nil || flag.Hidden:
			t.Errorf("regent %s takes no --agent, and notRemote does not say why", name)
		}
		if rows[name] != want {
			t.Errorf("docs/agent.md has %q for regent %s, want a row | `regent %s` | %s |", rows[name], name, name, want)
		}
		delete(rows, name)
		if why == "" || c.DisableFlagParsing {
			return
		}
		var out, errOut bytes.Buffer
		status := run(t.Context(), append(strings.Fields(name), "--agent", "https://h:1"), strings.NewReader(""), &out, &errOut)
		wantStatus := 2
		if name == "run" || name == "vip" {
			wantStatus = runner.StatusFailed
		}
		if text := fmt.Sprintf("regent: %s takes no --agent: %s (see 'regent %s --help')\n", name, why, name); status != wantStatus || errOut.String() != text || out.Len() > 0 {
			t.Errorf("regent %s --agent: status %d: %q%q, want %q", name, status, out.String(), errOut.String(), text)
		}
	})
	for name := range rows {
		t.Errorf("docs/agent.md lists regent %s, which is no command", name)
	}
	if listed != len(notRemote) {
		t.Errorf("notRemote names %d commands, and %d of them are there", len(notRemote), listed)
	}
}
