package library_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"

	"github.com/regentproject/regent/why"
)

// ward is what the members of a consistent group do, and what they were told.
type ward struct {
	mu sync.Mutex
	// lives counts how often each member was taken in, and recovered lists what managers have recovered.
	lives     map[string]int
	recovered []string
}

func (w *ward) note(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *ward) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.recovered)
}

// takePart makes all members take part; managers recover at once.
func (h *inMemory) takePart(ctx context.Context, group string) *ward {
	w := &ward{lives: make(map[string]int)}
	for name, m := range h.members {
		g, err := m.ConsistentGroup(group)
		if err != nil {
			h.t.Fatal(err)
		}
		go g.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error {
			w.note(func() { w.lives[name]++ })
			for v := range l.Views(ctx) {
				if !l.Valid() || l.Remaining() <= 0 {
					h.t.Errorf("%s is in %v and its lease is over", name, v)
				}
				if !v.Agreement.Recover {
					continue
				}
				w.note(func() {
					w.recovered = append(w.recovered, fmt.Sprint(name, " ", append(v.Agreement.Failed, v.Agreement.Unfinished...)))
				})
				if err := l.Recovered(ctx, v); err != nil {
					h.t.Error(err)
				}
			}
			<-ctx.Done()
			return nil
		})
	}
	return w
}

// members returns who is in the group, as members see it.
func (h *inMemory) in(group string) map[string][]string {
	in := make(map[string][]string)
	for name, m := range h.members {
		g, err := m.ConsistentGroup(group)
		h.must(err)
		if v := view(g); v.Agreement != nil {
			in[name] = v.Agreement.Members
		}
	}
	return in
}

func consistently(c *regent.Config) { c.Consistent = true }

func TestMembersAgreeOnWhoFailedAndComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, "a", "b", "c", "d", "e")
		w := h.takePart(t.Context(), "shards")
		check := func(what string, want ...string) {
			t.Helper()
			time.Sleep(10 * time.Second)
			in := h.in("shards")
			if len(in) != len(want) {
				t.Errorf("%s: %v are in", what, in)
			}
			for _, n := range want {
				if !slices.Equal(in[n], want) {
					t.Errorf("%s: %s is with %v", what, n, in[n])
				}
			}
		}
		check("all are there", "a", "b", "c", "d", "e")
		h.rule("partition b c d / a e")
		check("two are cut off", "b", "c", "d")
		lost := slices.DeleteFunc(w.said(), func(s string) bool {
			return !strings.Contains(s, "a") || !strings.Contains(s, "e") || strings.HasSuffix(s, "[]")
		})
		if len(lost) == 0 {
			t.Errorf("nobody was told that a and e have failed: %q", w.said())
		}
		h.rule("heal")
		check("all are back", "a", "b", "c", "d", "e")
		w.note(func() {
			if w.lives["a"] != 2 || w.lives["b"] != 1 {
				t.Errorf("taken in: %v", w.lives)
			}
		})
	})
}

func TestMemberThatIsOutIsAskedBeforeOthersRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, three...)
		var mu sync.Mutex
		var out, recovered time.Time
		var cause error
		for name, m := range h.members {
			g, err := m.ConsistentGroup("g")
			h.must(err)
			go g.TakePart(t.Context(), func(ctx context.Context, l *regent.Membership) error {
				go func() {
					<-ctx.Done()
					mu.Lock()
					defer mu.Unlock()
					if name == "a" && out.IsZero() {
						out, cause = time.Now(), context.Cause(ctx)
					}
				}()
				for v := range l.Views(ctx) {
					mu.Lock()
					if slices.Contains(v.Agreement.Failed, "a") && v.Agreement.Recover {
						recovered = time.Now()
					}
					mu.Unlock()
					if v.Agreement.Recover {
						_ = l.Recovered(ctx, v)
					}
				}
				<-ctx.Done()
				return nil
			})
		}
		time.Sleep(5 * time.Second)
		h.rule("partition a / b c")
		time.Sleep(5 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if out.IsZero() || recovered.IsZero() || !out.Before(recovered) {
			t.Errorf("out at %v, recovered at %v", out, recovered)
		}
		var done regent.Cause
		if !errors.As(cause, &done) || !strings.Contains(cause.Error(), "must stop leading g") {
			t.Errorf("told to stop by %v", cause)
		}
	})
}

func TestMemberThatHasHadEnoughLeavesTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, three...)
		ctx, cancel := context.WithCancel(t.Context())
		g, err := h.members["c"].ConsistentGroup("g")
		h.must(err)
		done := make(chan error, 1)
		go func() {
			done <- g.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error { <-ctx.Done(); return nil })
		}()
		other := h.members["c"]
		delete(h.members, "c")
		h.takePart(t.Context(), "g")
		h.members["c"] = other
		time.Sleep(5 * time.Second)
		if in := h.in("g"); len(in) != 3 {
			t.Fatalf("%v", in)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("TakePart returned %v", err)
		}
		time.Sleep(10 * time.Second)
		if in := h.in("g"); len(in) != 2 || !slices.Equal(in["a"], []string{"a", "b"}) {
			t.Errorf("%v", in)
		}
		// And comes back.
		go g.TakePart(t.Context(), func(ctx context.Context, l *regent.Membership) error { <-ctx.Done(); return nil })
		time.Sleep(10 * time.Second)
		if in := h.in("g"); len(in) != 3 {
			t.Errorf("%v", in)
		}
	})
}

func TestConsistentGroupsAreApartFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, three...)
		h.takePart(t.Context(), "g")
		time.Sleep(5 * time.Second)
		m := h.members["b"]
		l, err := must(m.Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !l.Valid() || m.Status().Leading != 1 {
			t.Errorf("valid %v; %d are led", l.Valid(), m.Status().Leading)
		}
		for _, v := range m.History() {
			if v.Group != "g" || v.Cause.Why == why.AllAgree {
				t.Errorf("the history of quorum groups has %v", v)
			}
		}
		if _, err := m.Group("\x00consistent\x00g"); err == nil {
			t.Error("a program can lead what is the council's own")
		}
		plain := assemble(t, "x")
		if _, err := plain.members["x"].ConsistentGroup("g"); err == nil || !strings.Contains(err.Error(), "set Consistent") {
			t.Errorf("without consistent groups: %v", err)
		}
		if _, err := m.ConsistentGroup(""); err == nil {
			t.Error("no name was accepted")
		}
	})
}

// A member that leaves in good order is in the group until its program has stopped, however long that takes.
func TestNobodyTakesOverFromAProgramThatIsStillStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, three...)
		c := h.members["c"]
		g, err := c.ConsistentGroup("g")
		h.must(err)
		const slow = 10 * time.Second
		stopped := make(chan time.Time, 1)
		go g.TakePart(t.Context(), func(ctx context.Context, l *regent.Membership) error {
			<-ctx.Done()
			if l.Cause().Why != why.Closed {
				t.Errorf("told to stop because of %v", l.Cause())
			}
			time.Sleep(slow)
			if !l.Valid() {
				t.Error("the member was out before its program had stopped")
			}
			stopped <- time.Now()
			return nil
		})
		delete(h.members, "c")
		w := h.takePart(t.Context(), "g")
		time.Sleep(5 * time.Second)
		go c.Leave(context.Background())
		time.Sleep(slow - time.Second)
		if in := h.in("g"); !slices.Equal(in["a"], three) {
			t.Errorf("a is with %v", in["a"])
		}
		<-stopped
		if err := c.Leave(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if in := h.in("g"); len(in["a"]) != 2 || !slices.Contains(w.said(), "a [c]") {
			t.Errorf("a is with %v; recovered were %q", in["a"], w.said())
		}
	})
}

// The member that goes first would manage, and may not while it is not well.
func TestMemberThatIsNotWellIsInNoConsistentGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, three...)
		w := h.takePart(t.Context(), "g")
		time.Sleep(5 * time.Second)
		h.members["a"].SetHealth(errors.New("the disk is full"))
		time.Sleep(5 * time.Second)
		in := h.in("g")
		if len(in) != 2 || !slices.Equal(in["b"], []string{"b", "c"}) || !slices.Contains(w.said(), "b [a]") {
			t.Errorf("in are %v; recovered were %q", in, w.said())
		}
		h.members["a"].SetHealth(nil)
		time.Sleep(5 * time.Second)
		if in := h.in("g"); !slices.Equal(in["a"], three) {
			t.Errorf("well again, and in are %v", in)
		}
		w.note(func() {
			if w.lives["a"] != 2 || w.lives["b"] != 1 {
				t.Errorf("taken in: %v", w.lives)
			}
		})
	})
}

// Witnesses and observers are in consistent groups like others, but never manage them; observers are in no majority.
func TestWitnessesAndObserversAreInConsistentGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, func(c *regent.Config) {
			c.Consistent = true
			peer(c, "a", func(p *regent.Peer) { p.Witness = true })
			peer(c, "d", func(p *regent.Peer) { p.Observer = true })
			peer(c, "e", func(p *regent.Peer) { p.Observer = true })
		}, "a", "b", "c", "d", "e")
		w := h.takePart(t.Context(), "g")
		check := func(rule string, want ...string) {
			t.Helper()
			h.rule(rule)
			time.Sleep(10 * time.Second)
			in := h.in("g")
			if len(in) != len(want) {
				t.Errorf("%s: in are %v", rule, in)
			}
			for _, n := range want {
				if !slices.Equal(in[n], want) {
					t.Errorf("%s: %s is with %v", rule, n, in[n])
				}
			}
		}
		check("heal", "a", "b", "c", "d", "e")
		check("partition b d e / a c", "a", "c")
		check("heal", "a", "b", "c", "d", "e")
		check("partition b / a c d e", "a", "c", "d", "e")
		for _, s := range w.said() {
			if s[0] != 'b' && s[0] != 'c' {
				t.Errorf("who may not lead has recovered: %q", s)
			}
		}
	})
}

// A report is about a view: one that is over is reported in vain, and when the present one is, the view says so.
func TestARecoveryIsReportedByItsView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, three...)
		views := make(chan regent.View, 100)
		var lease *regent.Membership
		g, err := h.members["a"].ConsistentGroup("g")
		h.must(err)
		go g.TakePart(t.Context(), func(ctx context.Context, l *regent.Membership) error {
			lease = l
			for v := range l.Views(ctx) {
				views <- v
			}
			<-ctx.Done()
			return nil
		})
		a := h.members["a"]
		delete(h.members, "a")
		h.takePart(t.Context(), "g")
		h.members["a"] = a
		time.Sleep(5 * time.Second)
		begun := <-views
		if !begun.Agreement.Recover || lease.First().Agreement.Number != begun.Agreement.Number || lease.Token() != begun.Token {
			t.Fatalf("begun with %v; the first is %v with token %d", begun, lease.First(), lease.Token())
		}
		h.must(lease.Recovered(t.Context(), begun))
		time.Sleep(5 * time.Second) // whoever was late is taken in now
		last := view(g)
		for last.Agreement.Recover {
			h.must(lease.Recovered(t.Context(), last))
			time.Sleep(5 * time.Second)
			last = view(g)
		}
		h.rule("partition c / a b")
		time.Sleep(10 * time.Second)
		lost := view(g)
		if err := lease.Recovered(t.Context(), begun); err == nil || !strings.Contains(err.Error(), "later agreement") {
			t.Errorf("a report of an agreement that was replaced: %v", err)
		}
		time.Sleep(5 * time.Second)
		if v := view(g); !lost.Agreement.Recover || !slices.Equal(lost.Agreement.Failed, []string{"c"}) || !v.Agreement.Recover {
			t.Errorf("c was lost: %v; an older report came: %v, recover %v", lost, v, v.Agreement.Recover)
		}
		h.must(lease.Recovered(t.Context(), lost))
		h.must(lease.Recovered(t.Context(), lost)) // again: it has counted
		time.Sleep(time.Second)
		done := view(g)
		if done.Agreement.Recover || done.Agreement.Number != lost.Agreement.Number || done.Token != lost.Token {
			t.Errorf("recovered: %v, recover %v", done, done.Agreement.Recover)
		}
		if err := lease.Recovered(t.Context(), done); err == nil || !strings.Contains(err.Error(), "nothing") {
			t.Errorf("nothing was to be recovered: %v", err)
		}
	})
}

func TestAConsistentGroupTooManyIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, consistently, "a")
		in := make(chan string, 64)
		for i := range 64 {
			g, err := h.members["a"].ConsistentGroup(fmt.Sprint("g", i))
			h.must(err)
			go g.TakePart(t.Context(), func(ctx context.Context, l *regent.Membership) error {
				in <- g.Name()
				<-ctx.Done()
				return nil
			})
		}
		for range 64 {
			<-in
		}
		g, err := h.members["a"].ConsistentGroup("one more")
		h.must(err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = g.TakePart(ctx, func(context.Context, *regent.Membership) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "one more") || !strings.Contains(err.Error(), "64") {
			t.Errorf("TakePart returned %v", err)
		}
		if v := view(g); v.Cause.Why != why.TooMany {
			t.Errorf("the group has %v", v)
		}
	})
}
