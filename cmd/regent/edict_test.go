package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/fence/httpfence"
)

// Who copies the example of the help sends the header that receivers look for.
func TestTheHelpOfEdictNamesTheHeaderOfReceivers(t *testing.T) {
	var out, errOut bytes.Buffer
	if got := run(t.Context(), []string{"edict", "--help"}, strings.NewReader(""), &out, &errOut); got != cli.OK {
		t.Fatalf("status %d: %s", got, errOut.String())
	}
	headers := regexp.MustCompile(`-H "([^:"]*):`).FindAllStringSubmatch(out.String(), -1)
	if len(headers) == 0 {
		t.Errorf("the help shows no header:\n%s", out.String())
	}
	for _, h := range headers {
		if h[1] != httpfence.Header {
			t.Errorf("the help sends header %q, receivers look for %q", h[1], httpfence.Header)
		}
	}
}

// Commands that show tokens explain why these skip numbers.
func TestHelpExplainsTokensWhereTheyAreShown(t *testing.T) {
	for _, command := range []string{"who", "history", "watch", "explain"} {
		var out, errOut bytes.Buffer
		if got := run(t.Context(), []string{command, "--help"}, strings.NewReader(""), &out, &errOut); got != cli.OK {
			t.Fatalf("%s: status %d: %s", command, got, errOut.String())
		}
		if text := strings.ToLower(out.String()); !strings.Contains(text, "token") || !strings.Contains(text, "skip") && !strings.Contains(text, "far above") {
			t.Errorf("the help of %s does not explain tokens:\n%s", command, out.String())
		}
	}
}
