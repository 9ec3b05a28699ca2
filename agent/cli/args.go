package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Args refuses arguments that do not fit the Use of a command, such as "transfer GROUP MEMBER", "who [GROUP]" or "remove MEMBER ...", and
// shows that form.
func Args(c *cobra.Command, args []string) error {
	var required []string
	most, usage := 0, strings.TrimSuffix(c.UseLine(), " [flags]")
	for _, word := range strings.Fields(c.Use)[1:] {
		switch {
		case word == "...":
			most = len(args)
		case strings.HasPrefix(word, "["):
			most++
		default:
			required = append(required, word)
			most++
		}
	}
	if len(args) < len(required) {
		return &Complete{fmt.Errorf("missing %s (usage: %s)", strings.Join(required[len(args):], " and "), usage)}
	}
	if len(args) > max(most, len(required)) {
		return &Complete{fmt.Errorf("%q: one argument too many (usage: %s)", args[max(most, len(required))], usage)}
	}
	return nil
}
