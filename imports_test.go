package regent_test

import (
	"os/exec"
	"strings"
	"testing"
)

// What a program that imports only this package may depend on, beside the standard library.
var allowed = []string{
	"github.com/regentproject/regent",
	"golang.org/x/sys/",
	"golang.org/x/crypto/",
	"github.com/fxamacker/cbor/v2",
	"github.com/x448/float16", // of cbor
}

func TestLibraryPullsInNothingOfTheCommand(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 5 {
		t.Fatalf("only %v: the list cannot be right", deps)
	}
next:
	for _, d := range deps {
		for _, a := range allowed {
			if d == a || strings.HasPrefix(d, a) {
				continue next
			}
		}
		t.Errorf("a program that imports regent also gets %s", d)
	}
	for _, d := range deps {
		for _, not := range []string{"/sim", "/agent/demo", "/agent/cluster", "/internal/transport/relay", "/cmd/"} {
			if strings.Contains(d, not) {
				t.Errorf("a program that imports regent also gets %s", d)
			}
		}
	}
}
