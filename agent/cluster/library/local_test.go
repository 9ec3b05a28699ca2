package library_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"

	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/why"
)

// rule does something to the network.
func (h *inMemory) rule(line string) {
	h.t.Helper()
	h.must(h.Link(line))
}

// localOf returns the groups of all members.
func (h *inMemory) localOf(group string) map[string]*regent.LocalGroup {
	groups := make(map[string]*regent.LocalGroup)
	for name, m := range h.members {
		groups[name] = must(m.LocalGroup(group))
	}
	return groups
}

// leadLocally makes members lead whenever they can, until they are told to stop.
func leadLocally(ctx context.Context, groups map[string]*regent.LocalGroup) {
	for _, g := range groups {
		go g.Lead(ctx, func(ctx context.Context, l *regent.LocalLease) error {
			<-ctx.Done()
			return nil
		})
	}
}

// parts shows who leads whom, such as "a: a b c". It fails if somebody is in two parts.
func (h *inMemory) parts(groups map[string]*regent.LocalGroup) []string {
	h.t.Helper()
	var parts []string
	in := make(map[string]string)
	for name, g := range groups {
		v := view(g)
		if v.Leader != name {
			continue
		}
		parts = append(parts, name+": "+strings.Join(v.Support, " "))
		for _, s := range v.Support {
			if in[s] != "" {
				h.t.Errorf("%s supports %s and %s", s, in[s], name)
			}
			in[s] = name
		}
	}
	slices.Sort(parts)
	return parts
}

func TestEveryPartOfACutCouncilHasOneLocalLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b", "c", "d", "e")
		groups := h.localOf("cache")
		leadLocally(t.Context(), groups)
		for _, step := range []struct {
			rule string
			want []string
		}{
			{"heal * *", []string{"a: a b c d e"}},
			{"partition a b / c d e", []string{"a: a b", "c: c d e"}},
			{"partition a / b c / d / e", []string{"a: a", "b: b c", "d: d", "e: e"}},
			{"heal * *", []string{"a: a b c d e"}},
		} {
			h.rule(step.rule)
			for range 100 { // partitions overlap at no time
				time.Sleep(2 * regent.LAN.Kappa() / 100)
				h.parts(groups)
			}
			if got := h.parts(groups); !slices.Equal(got, step.want) {
				t.Errorf("%s: %v, want %v", step.rule, got, step.want)
			}
			for name, g := range groups {
				if v := view(g); !slices.Contains(v.Support, name) || !slices.Contains(step.want, v.Leader+": "+strings.Join(v.Support, " ")) {
					t.Errorf("%s: %s sees %v", step.rule, name, v)
				}
			}
		}
	})
}

func TestMergeEndsTheWorseRankedLeaderWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b")
		h.rule("partition a / b")
		groups := h.localOf("g")
		leadLocally(t.Context(), map[string]*regent.LocalGroup{"a": groups["a"]})
		l, err := groups["b"].Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.Support(t.Context()); err != nil || !slices.Equal(got, []string{"b"}) || !l.Valid() || l.Remaining() <= 0 || l.Group() != "g" {
			t.Errorf("supported by %v, valid %v: %v", got, l.Valid(), err)
		}
		h.rule("heal")
		<-l.Done()
		if c := l.Cause(); c.Why != why.Merged || c.Member != "a" {
			t.Errorf("b was told to stop because of %v", c)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Error(err)
		}
		if l.Valid() {
			t.Error("b still has its lease")
		}
		// b neither waits nor leads any more: it is silent, so a has only itself.
		time.Sleep(2 * regent.LAN.Kappa())
		if got := h.parts(groups); !slices.Equal(got, []string{"a: a"}) {
			t.Errorf("%v", got)
		}
	})
}

func TestOnlyMembersThatTakePartSupportALocalLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		groups := h.localOf("g")
		delete(groups, "a")
		leadLocally(t.Context(), groups)
		time.Sleep(2 * regent.LAN.Kappa())
		if got := h.parts(groups); !slices.Equal(got, []string{"b: b c"}) {
			t.Errorf("%v", got)
		}
		if v := view(must(h.members["a"].LocalGroup("g"))); v.Leader != "" {
			t.Errorf("a takes no part, and sees %v", v)
		}
		strays := 0.0
		for x := range h.members["a"].Metrics() {
			if x.Name == "regent_stray_messages_total" {
				strays = x.Value
			}
		}
		if strays == 0 {
			t.Error("messages to a are not counted")
		}
	})
}

func TestProgramsThatStopMakeRoomForLocalLeadersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		groups := h.localOf("g")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		a := groups["a"]
		go func() {
			done <- a.Lead(ctx, func(ctx context.Context, l *regent.LocalLease) error { <-ctx.Done(); return nil })
		}()
		delete(groups, "a")
		leadLocally(t.Context(), groups)
		time.Sleep(2 * regent.LAN.Kappa())
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Lead returned %v", err)
		}
		time.Sleep(regent.LAN.Kappa())
		if got := h.parts(groups); !slices.Equal(got, []string{"b: b c"}) {
			t.Errorf("%v", got)
		}
	})
}

func TestGroupsWhoseNamesCollideAreNotOpenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, second = "g2129599", "g2732382"
		if runtime.ChannelOf("local", first) != runtime.ChannelOf("local", second) {
			t.Fatal("these names do not collide: look for others")
		}
		h := assemble(t, "a")
		m := h.members["a"]
		l, err := must(m.LocalGroup(first)).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = must(m.LocalGroup(second)).Campaign(t.Context())
		if err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
			t.Errorf("got %v", err)
		}
		if err := must(m.LocalGroup(second)).Lead(t.Context(), nil); err == nil {
			t.Error("Lead has not noticed")
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := must(m.LocalGroup(second)).Campaign(t.Context()); err != nil {
			t.Errorf("when the other was closed: %v", err)
		}
	})
}

// Members remember which requests of an incarnation were taken back. A machine of the same incarnation that is opened later
// must not begin again with those.
func TestLocalGroupThatIsOpenedAgainIsSupportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b")
		groups := h.localOf("g")
		leadLocally(t.Context(), map[string]*regent.LocalGroup{"b": groups["b"]})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), regent.LAN.Kappa())
			l, err := groups["a"].Campaign(ctx)
			if cancel(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(regent.LAN.Kappa())
			if got, err := l.Support(t.Context()); err != nil || !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("supported by %v: %v", got, err)
			}
			time.Sleep(10 * regent.LAN.Kappa())
			h.must(l.Resign(t.Context()))
			time.Sleep(time.Second) // the machine goes
		}
	})
}

func TestLocalGroupNeedsAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a")
		if _, err := h.members["a"].LocalGroup(""); err == nil {
			t.Error("no name was accepted")
		}
	})
}

func TestClosedMemberLeavesItsLocalGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		groups := h.localOf("g")
		leadLocally(t.Context(), groups)
		time.Sleep(2 * regent.LAN.Kappa())
		if err := h.members["a"].Leave(context.Background()); err != nil {
			t.Fatal(err)
		}
		delete(groups, "a")
		time.Sleep(regent.LAN.Kappa())
		if got := h.parts(groups); !slices.Equal(got, []string{"b: b c"}) {
			t.Errorf("%v", got)
		}
		if _, err := must(h.members["a"].LocalGroup("g")).Campaign(t.Context()); !errors.Is(err, regent.ErrClosed) {
			t.Errorf("campaigning at a closed member: %v", err)
		}
	})
}

func TestLocalWatchYieldsThePartitionAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b")
		groups := h.localOf("g")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		leadLocally(ctx, groups)
		var seen []string
		for v := range groups["a"].Watch(t.Context()) {
			seen = append(seen, v.String())
			if len(v.Support) == 2 {
				cancel()
			}
			if len(seen) > 1 && v.Leader == "" {
				break
			}
		}
		want := []string{"g: no local leader (started)", "g: a leads a, b locally (resigned a)", "g: no local leader (resigned a)"}
		for _, w := range want {
			if !slices.Contains(seen, w) {
				t.Errorf("%q is not among %q", w, seen)
			}
		}
	})
}

func TestConstantsThatLocalGroupsCannotWorkWithAreRefusedWithTheInequality(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, "a")
		c := h.config("a")
		c.Timing = regent.LAN
		c.Timing.Delay = time.Microsecond // less than old echoes are uncertain by
		m, err := h.Join(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		h.members["a"] = m
		_, err = must(m.LocalGroup("g")).Campaign(t.Context())
		if err == nil || !strings.Contains(err.Error(), "C8") || !strings.Contains(err.Error(), "would do") {
			t.Errorf("got %v", err)
		}
		if _, err := must(m.Group("g")).Campaign(t.Context()); err != nil {
			t.Errorf("the other groups: %v", err)
		}
	})
}

func TestCalmKeepsAMemberThatComesAndGoesFromDeposingOthers(t *testing.T) {
	for calm, most := range map[time.Duration]int{0: 10, 3 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			h := assembleWith(t, func(c *regent.Config) { c.Calm = calm }, three...)
			groups := h.localOf("g")
			deposed := 0
			go groups["b"].Lead(t.Context(), func(ctx context.Context, l *regent.LocalLease) error {
				<-ctx.Done()
				if l.Cause().Member == "a" {
					deposed++
				}
				return nil
			})
			delete(groups, "b")
			leadLocally(t.Context(), groups)
			time.Sleep(5 * time.Second)
			for range 10 {
				h.rule("cut a * both")
				time.Sleep(2 * time.Second)
				h.rule("heal")
				time.Sleep(500 * time.Millisecond)
			}
			synctest.Wait()
			if deposed > most || deposed < most-2 {
				t.Errorf("with a calm of %v it deposed another %d times", calm, deposed)
			}
			if k := h.members["c"].Status().Kappa; (k > regent.LAN.Kappa()) != (calm > 0) {
				t.Errorf("kappa is %v with a calm of %v", k, calm)
			}
		})
	}
}

func TestLogTellsOfLocalAndEventualLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b")
		leadLocally(t.Context(), h.localOf("cache"))
		h.eventual("compaction", "", "a", "b")
		time.Sleep(2 * time.Second)
		for _, want := range []string{
			`level=INFO msg="leader changed" member=a mode=local group=cache leader=a stopping=false cause="elected a" support="[a`,
			`level=DEBUG msg="leader changed" member=b mode=local group=cache leader=a`,
			`mode=eventual group=compaction leader=`,
		} {
			if !strings.Contains(h.Logs(), want) {
				t.Errorf("the log does not say %s", want)
			}
		}
	})
}

// Two of three members are restarted with a shorter lock while the third still leads by longer ones that they gave.
func TestPartitionsStayApartWhenARestartShortensTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, func(c *regent.Config) { c.Timing = regent.WAN }, three...)
		leadLocally(t.Context(), h.localOf("g"))
		time.Sleep(2 * regent.WAN.Kappa())
		if got := h.parts(h.localOf("g")); !slices.Equal(got, []string{"a: a b c"}) {
			t.Fatalf("parts: %v", got)
		}
		h.rule("partition a / b c")
		for _, n := range []string{"b", "c"} {
			h.must(h.Crash(n))
			c := h.last[n]
			c.Timing = regent.LAN
			m, err := h.joinAs(c)
			if err != nil {
				t.Fatal(err)
			}
			leadLocally(t.Context(), map[string]*regent.LocalGroup{n: must(m.LocalGroup("g"))})
		}
		groups := h.localOf("g")
		for range 200 {
			time.Sleep(regent.WAN.Kappa() / 100)
			h.parts(groups) // nobody is in two
		}
		if got := h.parts(groups); !slices.Equal(got, []string{"a: a", "b: b c"}) {
			t.Errorf("parts: %v", got)
		}
	})
}
