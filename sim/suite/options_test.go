package suite_test

import (
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

func TestOptionsChangeHowMembersAreSetUp(t *testing.T) {
	p, err := suite.Lookup("rank")
	if err != nil {
		t.Fatal(err)
	}
	slow, err := p.With("period=1s", "timeout=3s", "cap=3s")
	if err != nil {
		t.Fatal(err)
	}
	sent := func(p *suite.Protocol) uint64 {
		w, err := sim.New(sim.Config{Members: 2, Spawn: p.Spawn})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(sim.Real(9_490_000_000)); err != nil {
			t.Fatal(err)
		}
		return w.Stats().Sent
	}
	if a, b := sent(p), sent(slow); a != 2*190 || b != 2*10 {
		t.Errorf("two members sent %d messages with a period of 50ms and %d with one of 1s; want 380 and 20", a, b)
	}
}

func TestWrongOptionsSayWhatWouldBeRight(t *testing.T) {
	for _, c := range []struct{ protocol, setting, want string }{
		{"rank", "speed=1s", `"speed=1s": rank has no such option; it has period, timeout, grow, cap`},
		{"rank", "period=often", `"period=often": period takes a length of time, such as period=100ms`},
		{"rank", "period", `"period": period takes a length of time`},
		{"rank", "timeout=1ms", "rank: time-out 1ms: must exceed the period 50ms"},
		{"nerio", "adapt=2", `"adapt=2": adapt takes true or false, such as adapt=true`},
		{"datagram", "x=1", `"x=1": datagram has no options`},
	} {
		p, err := suite.Lookup(c.protocol)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.With(c.setting); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %s", c.protocol, c.setting, err, c.want)
		}
	}
}

func TestEveryOptionTakesItsDefault(t *testing.T) {
	for _, p := range suite.All() {
		for _, o := range p.Options() {
			tuned, err := p.With(o.Name + "=" + o.Default)
			if err != nil || o.About == "" {
				t.Errorf("%s %s=%s (%s): %v", p.Name, o.Name, o.Default, o.About, err)
				continue
			}
			m, err := tuned.Spawn(sim.Boot{Members: p.Members, Inc: 1})
			if err != nil || m == nil {
				t.Errorf("%s %s=%s: %v", p.Name, o.Name, o.Default, err)
				continue
			}
			drivetest.Step(m, 1, protocol.Start{})
		}
	}
}
