package library_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/internal/runtime/world"
)

// A desk is what the agent of a member has: it gives orders, and answers those of others.
type desk struct {
	sync.Mutex
	give  world.SendOrder
	taken []string
	// takes is how long it takes to execute an order.
	takes time.Duration
}

// take sets how long it takes from now on, and returns the orders that came so far.
func (d *desk) take(takes time.Duration) []string {
	d.Lock()
	defer d.Unlock()
	d.takes = takes
	return slices.Clone(d.taken)
}

// open returns a context in which a member joins that has the desk.
func (d *desk) open(ctx context.Context) context.Context {
	execute := func(from string, body []byte, answer func([]byte)) {
		d.Lock()
		defer d.Unlock()
		d.taken = append(d.taken, fmt.Sprintf("%s of %s", body, from))
		n := len(d.taken)
		time.AfterFunc(d.takes, func() { answer(fmt.Appendf(nil, "answer %d", n)) })
	}
	return world.WithOrders(ctx, world.Orders{Execute: execute, Take: func(give world.SendOrder) { d.give = give }})
}

// Agents give one another orders through their members, also such as take long. What comes of an order is never guessed: a member without an
// agent has executed nothing; one that is cut off after it got the order, or crashes, may have, and does not execute it again.
func TestOrdersOfOperatorsTravelBetweenMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, three...)
		a, b := new(desk), new(desk)
		desks := map[string]*desk{"a": a, "b": b}
		join := func(name string, c regent.Config) *regent.Member {
			ctx := t.Context()
			if d := desks[name]; d != nil {
				ctx = d.open(ctx)
			}
			return must(h.Join(ctx, c))
		}
		configs := make(map[string]regent.Config)
		var all sync.WaitGroup
		for _, name := range three {
			c := h.config(name)
			configs[name] = c
			all.Go(func() { join(name, c) })
		}
		all.Wait()
		time.Sleep(5 * time.Second)

		begun := time.Now()
		give := func(name, to, text string, outcome order.Outcome, answer string, within time.Duration) {
			t.Helper()
			begun = time.Now()
			e, err := a.give(t.Context(), to, []byte(text))
			if err != nil || e.Outcome != outcome || string(e.Answer) != answer {
				t.Errorf("%s: outcome %d, %q, %v", name, e.Outcome, e.Answer, err)
			}
			if d := time.Since(begun); d > within {
				t.Errorf("%s: took %v", name, d)
			}
		}
		taken := func(want ...string) {
			t.Helper()
			if got := b.take(time.Minute); !slices.Equal(got, want) {
				t.Errorf("b took %q, want %q", got, want)
			}
		}
		give("at once", "b", "1", order.Answered, "answer 1", time.Second)
		b.take(time.Minute)
		give("takes long", "b", "2", order.Answered, "answer 2", time.Minute+time.Second)
		give("a member without an agent", "c", "x", order.NotTaken, "", 2*order.AskTimeout)
		if _, err := a.give(t.Context(), "z", []byte("x")); err == nil {
			t.Error("an order to a stranger was sent")
		}

		h.must(h.CutOneWay("a", "b"))
		give("b hears nothing", "b", "x", order.NotTaken, "", 2*order.AskTimeout)
		h.must(h.HealLink("a", "b"))
		taken("1 of a", "2 of a")

		time.AfterFunc(time.Second, func() { h.must(h.CutOneWay("b", "a")) })
		give("a hears nothing any more", "b", "3", order.Unknown, "", 2*order.SilenceTimeout)
		h.must(h.HealLink("a", "b"))
		time.Sleep(2 * time.Minute)
		taken("1 of a", "2 of a", "3 of a")

		time.AfterFunc(time.Second, func() { h.must(h.Crash("b")); join("b", configs["b"]) })
		give("b restarts", "b", "4", order.Unknown, "", 2*order.SilenceTimeout)
		time.Sleep(2 * time.Minute)
		b.take(0)
		give("b is back", "b", "5", order.Answered, "answer 5", time.Second)
		taken("1 of a", "2 of a", "3 of a", "4 of a", "5 of a")
	})
}
