package regent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/roster"
)

// A workforce is the programs of a consistent group of a council that changes, and what they were told.
type workforce struct {
	*changingCouncil
	mu sync.Mutex
	// lives counts how often each member was taken in, and out how often its program had to stop.
	lives, out map[string]int
	// told has the agreements that each member received, in their order.
	told map[string][]View
	// asked has, by agreement, the member that was asked to recover.
	asked map[string]string
	// idle are members that never report what they have recovered.
	idle map[string]bool
}

func newWorkforce(t *testing.T, first []string, others ...string) *workforce {
	t.Helper()
	c := newChangingWith(t, func(c *Config) { c.Consistent = true }, first, others...)
	w := &workforce{changingCouncil: c, lives: make(map[string]int), out: make(map[string]int), told: make(map[string][]View), asked: make(map[string]string), idle: make(map[string]bool)}
	for _, name := range first {
		w.work(name)
	}
	w.agree(first...)
	return w
}

// work has a member take part.
func (w *workforce) work(name string) {
	w.t.Helper()
	g := must(w.at(name).ConsistentGroup("shards"))
	go func() {
		_ = g.TakePart(w.t.Context(), func(ctx context.Context, l *Membership) error {
			w.note(func() { w.lives[name]++ })
			for v := range l.Views(ctx) {
				w.take(name, v)
				w.mu.Lock()
				report := v.Agreement.Recover && !w.idle[name]
				w.mu.Unlock()
				if report {
					_ = l.Recovered(ctx, v)
				}
			}
			<-ctx.Done()
			w.note(func() { w.out[name]++ })
			return nil
		})
	}()
}

func (w *workforce) note(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// take looks at what a member was told: agreements are ordered, and one member recovers each.
func (w *workforce) take(name string, v View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if told := w.told[name]; len(told) > 0 {
		last := told[len(told)-1]
		if v.Token < last.Token || v.Token == last.Token && v.Agreement.Number < last.Agreement.Number {
			w.t.Errorf("%s was told %d/%d after %d/%d", name, v.Token, v.Agreement.Number, last.Token, last.Agreement.Number)
		}
	}
	for _, member := range append(slices.Clone(v.Agreement.Members), v.Leader) {
		if member == "" {
			w.t.Errorf("%s was told of a member without a name: %+v", name, v.Agreement)
		}
	}
	w.told[name] = append(w.told[name], v)
	if key := fmt.Sprint(v.Token, "/", v.Agreement.Number); v.Agreement.Recover {
		if other := w.asked[key]; other != "" && other != name {
			w.t.Errorf("%s and %s were both asked to recover what %s lost", other, name, key)
		}
		w.asked[key] = name
	}
}

// now returns what a member believes.
func (w *workforce) now(name string) View {
	v, err := must(w.at(name).ConsistentGroup("shards")).View(w.t.Context())
	if err != nil {
		w.t.Fatal(name, err)
	}
	return v
}

// agree waits until the members of the group are those named, at each of them.
func (w *workforce) agree(names ...string) {
	w.t.Helper()
	slices.Sort(names)
	for range 600 {
		all := true
		for _, name := range names {
			v := w.now(name)
			if v.Agreement == nil {
				all = false
				continue
			}
			in := slices.Clone(v.Agreement.Members)
			slices.Sort(in)
			all = all && slices.Equal(in, names) && !v.Agreement.Recover
		}
		if all {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	for _, name := range names {
		w.t.Errorf("%s is in %+v, and the group should be %v", name, w.now(name).Agreement, names)
	}
	w.t.FailNow()
}

// lost returns how often a member was named as failed, by different agreements.
func (w *workforce) lost(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := make(map[string]bool)
	for _, told := range w.told {
		for i := range told {
			a := told[i].Agreement
			if !slices.Contains(a.Failed, name) {
				continue
			}
			if slices.Contains(a.Unfinished, name) {
				w.t.Errorf("%s failed once, and is named twice: %+v", name, a)
			}
			seen[fmt.Sprint(a.Number)] = true // one that is announced once more keeps it
		}
	}
	return len(seen)
}

// undisturbed looks whether members have been in the group all the time.
func (w *workforce) undisturbed(names ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		if w.lives[name] != 1 || w.out[name] != 0 {
			w.t.Errorf("%s was taken in %d times and was out %d times", name, w.lives[name], w.out[name])
		}
	}
}

// All members of a council with a consistent group are replaced, one after the other. Those that stay are in the group all the time; newcomers are taken
// in; and each member that left is named as failed by one agreement.
func TestConsistentGroupOutlivesAllItsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkforce(t, []string{"a", "b", "c"}, "d", "e", "f")
		lead := w.lead("a", "g")
		for i, x := range []struct{ at, comes, goes, stay string }{{"a", "d", "c", "ab"}, {"d", "e", "b", "ad"}, {"d", "f", "a", "de"}} {
			come := make(chan struct{})
			go func() {
				w.join(x.comes, Config{Join: []Peer{w.peers[x.at]}, Bind: x.comes + ":7400"})
				close(come)
			}()
			if i == 2 { // the program of a stops as soon as it is asked to
				w.stillLeads(lead, "until a leaves")
				go func() { <-lead.lease.Done(); _ = lead.lease.Resign(t.Context()) }()
			}
			now := w.change(x.at, roster.Change{Add: []Peer{w.peers[x.comes]}})
			<-come
			w.work(x.comes)
			w.agree(append(strings.Split(x.stay, ""), x.goes, x.comes)...)
			now = w.change(x.at, roster.Change{Remove: []string{x.goes}})
			w.agree(append(strings.Split(x.stay, ""), x.comes)...)
			w.undisturbed(append(strings.Split(x.stay, ""), x.comes)...)
			if n := w.lost(x.goes); n != 1 {
				t.Errorf("%s has left (number %d), and %d agreements name it as failed", x.goes, now.Number, n)
			}
			time.Sleep(5 * time.Second)
		}
	})
}

// The manager of a consistent group leaves the council. It has recovered what was lost, and holds no lease that the change would wait for.
func TestManagerLeavesWithoutDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkforce(t, []string{"a", "b", "c", "d"})
		w.crash("d")
		w.agree("a", "b", "c")
		w.change("b", roster.Change{Remove: []string{"d"}})
		time.Sleep(30 * time.Second)
		manager := w.now("a").Leader
		rest := slices.DeleteFunc([]string{"a", "b", "c"}, func(n string) bool { return n == manager })
		began := time.Now()
		w.change(rest[0], roster.Change{Remove: []string{manager}})
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the manager, %s, left in %v", manager, took)
		}
		w.agree(rest...)
		w.undisturbed(rest...)
		if n := w.lost(manager); n != 1 {
			t.Errorf("%d agreements name %s as failed", n, manager)
		}
	})
}

// A member fails, and the manager has not recovered it when it fails as well. By then the first one was removed from the council, and a newcomer has its
// seat. The next manager is asked to recover the one that failed, not the newcomer.
func TestNewcomerInTheSeatOfAMemberIsNotTakenForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkforce(t, []string{"a", "b", "c"}, "d")
		w.note(func() { w.idle["a"] = true })
		w.crash("c")
		time.Sleep(15 * time.Second)
		w.change("b", roster.Change{Remove: []string{"c"}})
		go w.welcome("d")
		now := w.change("b", roster.Change{Add: []Peer{w.peers["d"]}})
		if i := slices.IndexFunc(now.Members, func(m roster.Member) bool { return m.Name == "d" }); now.Members[i].Rank != 2 {
			t.Fatalf("d has another seat than c had: %+v", now.Members[i])
		}
		time.Sleep(5 * time.Second)
		w.work("d")
		time.Sleep(5 * time.Second)
		w.crash("a")
		w.agree("b", "d")
		w.undisturbed("b", "d")
		for _, name := range []string{"c", "a"} {
			if n := w.lost(name); n != 1 {
				t.Errorf("%d agreements name %s as failed", n, name)
			}
		}
		if n := w.lost("d"); n != 0 {
			t.Errorf("d never failed, and %d agreements say so", n)
		}
		finished := false
		for _, v := range w.told["b"] {
			finished = finished || v.Agreement.Recover && slices.Contains(v.Agreement.Failed, "a") && slices.Equal(v.Agreement.Unfinished, []string{"c"})
		}
		if !finished {
			t.Errorf("b was not asked to recover a and c: %+v", w.told["b"])
		}
	})
}

// A member fails while the council changes, and a manager too. What they had is recovered, and the group goes on with those that are left.
func TestMembersFailWhileTheCouncilChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkforce(t, []string{"a", "b", "c", "d", "e"}, "f", "g")
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.change("b", roster.Change{Add: []Peer{w.peers["f"], w.peers["g"]}, Remove: []string{"e"}})
		}()
		time.Sleep(2 * time.Second) // it waits for the newcomers
		w.crash("a")                // the manager
		for _, name := range []string{"f", "g"} {
			go func() { w.welcome(name); w.work(name) }()
		}
		time.Sleep(300 * time.Millisecond)
		w.crash("c")
		<-done
		w.restart("a")
		w.work("a")
		w.agree("a", "b", "d", "f", "g")
		w.undisturbed("b", "d", "f", "g")
		for name, want := range map[string]int{"a": 1, "c": 1, "e": 1, "b": 0, "d": 0, "f": 0, "g": 0} {
			if n := w.lost(name); n != want {
				t.Errorf("%d agreements name %s as failed: want %d", n, name, want)
			}
		}
		w.restart("c")
		w.work("c")
		w.agree("a", "b", "c", "d", "f", "g")
	})
}

// Two of three are lost, and the third goes on alone. It is asked to recover what all three had, by an agreement above all before; another host joins it.
func TestConsistentGroupGoesOnWithSurvivors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkforce(t, []string{"a", "b", "c"}, "d")
		before := w.now("a")
		w.crash("b")
		w.crash("c")
		time.Sleep(6 * time.Minute)
		if v := w.now("a"); v.Agreement != nil {
			t.Fatalf("a is in %+v", v.Agreement)
		}
		if look, err := w.give("a", false, "b", "c"); err != nil || look.Heir == "" {
			t.Fatalf("%+v, %v", look, err)
		}
		w.agree("a")
		v := w.now("a")
		failed := slices.Clone(v.Agreement.Failed)
		slices.Sort(failed)
		if v.Token < before.Token+1<<40 || !slices.Equal(failed, []string{"a", "b", "c"}) || v.Agreement.Number != before.Agreement.Number+1 {
			t.Errorf("token %d after %d, agreement %+v after %+v", v.Token, before.Token, v.Agreement, before.Agreement)
		}
		go w.welcome("d")
		w.change("a", roster.Change{Add: []Peer{w.peers["d"]}})
		w.work("d")
		w.agree("a", "d")
		w.crash("a")
		w.restart("a")
		w.work("a")
		w.agree("a", "d")
	})
}
