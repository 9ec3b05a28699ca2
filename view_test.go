package regent

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/regentproject/regent/why"
)

// A watch that its caller ends ends without a word. One that the member ends reports it, with a view that names no leader.
func TestWatchReportsWhyItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, func(c *Config) { c.Consistent = true }, "a")["a"]
		l := must(must(m.Group("g")).Campaign(t.Context()))
		go func() { <-l.Done(); _ = l.Resign(t.Context()) }()
		type watched interface {
			Name() string
			View(context.Context) (View, error)
			Watch(context.Context) iter.Seq2[View, error]
		}
		groups := map[Mode]watched{Quorum: must(m.Group("g")), Local: must(m.LocalGroup("g")), Eventual: must(m.EventualGroup("g", "")), Consistent: must(m.ConsistentGroup("g"))}
		type end struct {
			mode Mode
			last View
			err  error
		}
		ends := make(chan end, 2*len(groups))
		over, cancel := context.WithCancel(t.Context())
		for mode, g := range groups {
			for _, ctx := range []context.Context{t.Context(), over} {
				go func() {
					e := end{mode: mode}
					for e.last, e.err = range g.Watch(ctx) {
						if e.last.Mode != mode || e.last.Group != "g" {
							t.Errorf("a watch of a %s group yields %+v", mode, e.last)
						}
					}
					ends <- e
				}()
			}
		}
		synctest.Wait()
		cancel()
		for range groups {
			if e := <-ends; e.err != nil {
				t.Errorf("%s: its caller ended the watch: %v", e.mode, e.err)
			}
		}
		if err := m.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range groups {
			if e := <-ends; !errors.Is(e.err, ErrClosed) || e.last.Leader != "" || e.last.Cause.Why != why.Closed {
				t.Errorf("%s: the member was closed: %v, %v", e.mode, e.last, e.err)
			}
		}
	})
}
