package regent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/roster"
)

// A hook takes longer than the change that it is called for. It is called again, with what has become of the council meanwhile.
func TestHookLearnsWhatHappenedWhileItRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan roster.Council, 100)
		c := newChangingWith(t, func(c *Config) {
			if c.Name == "a" {
				c.OnCouncil = func(now roster.Council) {
					time.Sleep(20 * time.Second)
					seen <- now
				}
			}
		}, []string{"a", "b", "c"})
		now := c.change("a", roster.Change{Remove: []string{"c"}})
		time.Sleep(5 * time.Minute)
		var last roster.Council
		for len(seen) > 0 {
			last = <-seen
		}
		if last.Number != now.Number || !last.Settled || last.Goal != nil {
			t.Errorf("the hook has seen number %d at last, settled %v, goal %v: the council has number %d", last.Number, last.Settled, last.Goal, now.Number)
		}
	})
}
