package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	runner "github.com/regentproject/regent/agent/run"
)

// Whatever the command: what is wrong and the right form are one line on the standard error, and nothing else is printed.
func TestWrongUseIsOneLineWithTheRightForm(t *testing.T) {
	elsewhere := []string{"sim", "lab", "replay"} // programs of their own
	var try func(c *cobra.Command)
	try = func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		for _, wrong := range [][]string{{"--bogus"}, {"1", "2", "3", "4", "5", "6", "7", "8", "9"}} {
			if c.DisableFlagParsing || strings.Contains(c.Use, "...") && wrong[0] == "1" {
				continue
			}
			args := append(append([]string{}, path...), wrong...)
			var out, errOut strings.Builder
			status := run(t.Context(), args, strings.NewReader(""), &out, &errOut)
			text := errOut.String()
			if status != cli.Usage && !((path[0] == "run" || path[0] == "vip") && status == runner.StatusFailed) || strings.Count(text, "\n") != 1 || !strings.Contains(text, "regent") ||
				!strings.Contains(text, "(usage: ") && !strings.Contains(text, "(see ") || out.Len() > 0 {
				t.Errorf("regent %s: status %d: %s%s", strings.Join(args, " "), status, text, &out)
			}
		}
		for _, sub := range c.Commands() {
			try(sub)
		}
	}
	for _, c := range rootCommand().Commands() {
		if !strings.Contains(" "+strings.Join(elsewhere, " ")+" ", " "+c.Name()+" ") && !c.Hidden {
			try(c)
		}
	}
}
