package plan_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/plan"
)

// What a plan prints can be pasted: the agent reads the timing from it that was planned.
func TestTheConfigurationAcceptsWhatIsPrinted(t *testing.T) {
	draft := config.Draft{Name: "a", Members: []config.Member{{Name: "a", Address: "127.0.0.1:7400"}}, CouncilID: "0123456789abcdef0123456789abcdef", Bootstrap: true}.YAML()
	draft = strings.Replace(draft, "\nprofile: lan\n", "\n", 1)
	rapid.Check(t, func(t *rapid.T) {
		in := plan.Intent{Members: 3, Pause: time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Minute)).Draw(t, "pause")),
			RoundTrip: time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Second)).Draw(t, "round trip"))}
		p, err := plan.Make(in, &plan.Measured{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := config.Parse("regent.yaml", []byte(draft+p.YAML))
		if err != nil {
			t.Fatalf("%v\n%s", err, p.YAML)
		}
		f.Dir = ""
		if err := f.Check(); err != nil {
			t.Fatalf("%v\n%s", err, p.YAML)
		}
		c, err := f.Regent()
		if err != nil || c.Timing != p.Timing || f.LeaseOf("any") != 0 { // the council's
			t.Fatalf("%v\n%s\ngave %+v, want %+v", err, p.YAML, c.Timing, p.Timing)
		}
	})
}
