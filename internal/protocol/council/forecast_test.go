package council

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestForecast(t *testing.T) {
	const ms = time.Millisecond
	pace := Pace{RoundTrip: 20 * ms, Renew: 50 * ms, Disk: 5 * ms, Leases: []time.Duration{200 * ms, 28 * ms}}
	for _, x := range []struct {
		name, from, to string
		dead           protocol.Set
		sites          map[string]string
		steps          int
		waits          bool
		says           []string
	}{
		{"a newcomer", "abc", "abcd", protocol.Set{}, nil, 3, false,
			[]string{"step 1: d joins as an observer; 3 votes", "step 2: d gets a vote and may lead; 4 votes, survives the loss of 1",
				"leases of 28ms will be lost once per step: shorter than 50ms + 3 x 20ms + 2 x 5ms = 120ms", "leases of 200ms last", "warning: 4 votes survive the loss of 1, like 3"}},
		{"a living one is replaced", "abc", "abd", protocol.Set{}, nil, 4, false, []string{"step 3: c loses its vote", "step 4: c leaves"}},
		{"a dead one is replaced", "abc", "abd", protocol.NewSet(2), nil, 4, false,
			[]string{"step 2: c loses its vote; 2 votes", "warning: on the way the council survives the loss of 0 voters only"}},
		{"the newcomer is dead", "abc", "abcd", protocol.NewSet(3), nil, 1, true, []string{"then the change waits for members that are not up"}},
		{"two centres and a witness", "abcde", "abfde", protocol.Set{}, map[string]string{"a": "x", "b": "x", "c": "y", "d": "y", "f": "x"}, 4, false,
			[]string{"the loss of site x stops the council from then on"}},
		{"a host of a centre is replaced", "abcde", "afcde", protocol.Set{}, map[string]string{"a": "x", "b": "x", "c": "y", "d": "y", "f": "x"}, 4, false,
			[]string{"for up to 400ms the loss of site x stops the council until the site is back"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := conf(4, x.from)
			p := pace
			p.Sites = x.sites
			f := c.Forecast(goal(x.to), x.dead, p)
			lines := f.Lines()
			if len(f.Steps) != x.steps || f.Waits != x.waits {
				t.Errorf("%d steps, waits %v", len(f.Steps), f.Waits)
			}
			if f.Takes != time.Duration(len(f.Steps))*f.Step || f.Step <= c.Terms.Wait() || !slices.Equal(f.Short, []time.Duration{28 * ms}) {
				t.Errorf("takes %v, a step %v, short %v", f.Takes, f.Step, f.Short)
			}
			for _, says := range x.says {
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, says) }) {
					t.Errorf("nothing says %q:\n%s", says, strings.Join(lines, "\n"))
				}
			}
			at := c
			for _, s := range f.Steps {
				if err := at.CheckStep(s); err != nil {
					t.Error(err)
				}
				at = s
			}
		})
	}
}
