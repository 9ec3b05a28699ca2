package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestArgsFollowTheUseOfACommand(t *testing.T) {
	for _, c := range []struct{ use, args, want string }{
		{"transfer GROUP MEMBER", "", "missing GROUP and MEMBER (usage: regent transfer GROUP MEMBER)"},
		{"transfer GROUP MEMBER", "g", "missing MEMBER (usage: regent transfer GROUP MEMBER)"},
		{"transfer GROUP MEMBER", "g a", ""},
		{"transfer GROUP MEMBER", "g a b", `"b": one argument too many (usage: regent transfer GROUP MEMBER)`},
		{"who [GROUP]", "", ""},
		{"who [GROUP]", "g", ""},
		{"who [GROUP]", "g h", `"h": one argument too many (usage: regent who [GROUP])`},
		{"remove MEMBER ...", "", "missing MEMBER (usage: regent remove MEMBER ...)"},
		{"remove MEMBER ...", "a b c", ""},
	} {
		root, sub := &cobra.Command{Use: "regent"}, &cobra.Command{Use: c.use, Run: func(*cobra.Command, []string) {}}
		root.AddCommand(sub)
		got := ""
		if err := Args(sub, strings.Fields(c.args)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.use, c.args, got, c.want)
		}
	}
}
