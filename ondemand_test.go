package regent

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// What no program uses is forgotten, and what is in use is found by all.
func TestGroupsThatAreNotInUseAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, nil, "a")["a"]
		known := func() int {
			m.onDemand.mu.Lock()
			defer m.onDemand.mu.Unlock()
			return len(m.onDemand.all)
		}
		for i := range 100 {
			_ = must(must(m.LocalGroup(fmt.Sprint(i))).View(t.Context()))
		}
		if known() != 0 {
			t.Errorf("%d groups that no program uses are known", known())
		}
		first := must(must(m.LocalGroup("g")).Campaign(t.Context()))
		other := must(m.LocalGroup("g"))
		if v := must(other.View(t.Context())); known() != 1 || v.Leader != "a" {
			t.Errorf("%d groups are known; the view of another handle is %v", known(), v)
		}
		watching, stop := context.WithCancel(t.Context())
		go func() {
			for range other.Watch(watching) {
			}
		}()
		if err := first.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if known() != 1 {
			t.Errorf("%d groups are known, of which one is watched", known())
		}
		e := must(m.EventualGroup("e", ""))
		synctest.Wait()
		if known() != 2 {
			t.Errorf("%d groups are known: one is watched, one is open", known())
		}
		e.Close()
		stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if known() != 0 {
			t.Errorf("%d groups are known that no program uses any more", known())
		}
	})
}

// A program that gives up before the loop has run leaves nothing behind, and does not hide the group from the next one.
func TestCampaignThatEndsAtOnceLeavesNoSecondMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, nil, "a")["a"]
		g := must(m.LocalGroup("g"))
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			_, _ = g.Campaign(over)
			l, err := g.Campaign(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Resign(t.Context())
		}
	})
}

func TestNamesOfGroupsFailAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, func(c *Config) { c.Consistent = true }, "a")["a"]
		for _, name := range []string{"", "two\nlines", string(make([]byte, 256))} {
			_, quorum := m.Group(name)
			_, local := m.LocalGroup(name)
			_, eventual := m.EventualGroup(name, "")
			_, consistent := m.ConsistentGroup(name)
			_, dialled := new(Client).Group(name)
			for _, err := range []error{quorum, local, eventual, consistent, dialled} {
				if err == nil || err.Error() != quorum.Error() {
					t.Errorf("%q: %v, %v", name, err, quorum)
				}
			}
		}
	})
}
