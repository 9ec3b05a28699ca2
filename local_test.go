package regent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/why"
)

// rule does something to the network.
func (h *chamber) rule(line string) {
	h.t.Helper()
	h.must(h.network.Board().Do(line))
}

// localOf returns the groups of all members.
func (h *chamber) localOf(group string) map[string]*LocalGroup {
	groups := make(map[string]*LocalGroup)
	for name, m := range h.members {
		groups[name] = m.LocalGroup(group)
	}
	return groups
}

// leadLocally makes members lead whenever they can, until they are told to stop.
func leadLocally(ctx context.Context, groups map[string]*LocalGroup) {
	for _, g := range groups {
		go g.Lead(ctx, func(ctx context.Context, l *LocalLease) error {
			<-ctx.Done()
			return nil
		})
	}
}

// parts shows who leads whom, such as "a: a b c". It fails if somebody is in two parts.
func (h *chamber) parts(groups map[string]*LocalGroup) []string {
	h.t.Helper()
	var parts []string
	in := make(map[string]string)
	for name, g := range groups {
		v := g.View()
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
				time.Sleep(2 * LAN.Kappa() / 100)
				h.parts(groups)
			}
			if got := h.parts(groups); !slices.Equal(got, step.want) {
				t.Errorf("%s: %v, want %v", step.rule, got, step.want)
			}
			for name, g := range groups {
				if v := g.View(); !slices.Contains(v.Support, name) || !slices.Contains(step.want, v.Leader+": "+strings.Join(v.Support, " ")) {
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
		leadLocally(t.Context(), map[string]*LocalGroup{"a": groups["a"]})
		l, err := groups["b"].Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Support(); !slices.Equal(got, []string{"b"}) || !l.Valid() || l.Remaining() <= 0 || l.Until() <= h.members["b"].Now() || l.Group() != "g" {
			t.Errorf("supported by %v, valid %v", got, l.Valid())
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
		time.Sleep(2 * LAN.Kappa())
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
		time.Sleep(2 * LAN.Kappa())
		if got := h.parts(groups); !slices.Equal(got, []string{"b: b c"}) {
			t.Errorf("%v", got)
		}
		if v := h.members["a"].LocalGroup("g").View(); v.Leader != "" {
			t.Errorf("a takes no part, and sees %v", v)
		}
		if h.members["a"].loop.Stats().Strays.Load() == 0 {
			t.Error("messages to a are not counted")
		}
	})
}

func TestProgramsThatStopMakeRoomForLocalLeadersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		groups := h.localOf("g")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		a := groups["a"]
		go func() {
			done <- a.Lead(ctx, func(ctx context.Context, l *LocalLease) error { <-ctx.Done(); return nil })
		}()
		delete(groups, "a")
		leadLocally(t.Context(), groups)
		time.Sleep(2 * LAN.Kappa())
		cancel(errors.New("enough"))
		if err := <-done; err == nil || err.Error() != "enough" {
			t.Errorf("Lead returned %v", err)
		}
		time.Sleep(LAN.Kappa())
		if got := h.parts(groups); !slices.Equal(got, []string{"b: b c"}) {
			t.Errorf("%v", got)
		}
	})
}

// What nobody uses costs nothing: the machine is gone when what it promised is over, and can come back.
func TestLocalGroupThatNobodyUsesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b")
		open := func() (n int) {
			c := make(chan int)
			_ = h.members["a"].loop.Do(func(protocol.Time) { c <- h.members["a"].loop.Open() })
			return <-c
		}
		before := open()
		for range 3 {
			for _, name := range h.names {
				l, err := h.members[name].LocalGroup("g").Campaign(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if open() != before+1 && name == "a" {
					t.Errorf("%d machines while one leads", open())
				}
				if err := l.Resign(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			if open() != before {
				t.Fatalf("%d machines are left, of %d", open(), before)
			}
			sent := h.members["b"].Status().PacketsOut
			time.Sleep(time.Second)
			if n := h.members["b"].Status().PacketsOut - sent; n > 10 {
				t.Errorf("%d packets in a second in which nothing happens", n)
			}
		}
	})
}

func TestGroupsWhoseNamesCollideAreNotOpenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, second = "g2129599", "g2732382"
		if runtime.ChannelOf(modeLocal, first) != runtime.ChannelOf(modeLocal, second) {
			t.Fatal("these names do not collide: look for others")
		}
		h := assemble(t, "a")
		m := h.members["a"]
		l, err := m.LocalGroup(first).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.LocalGroup(second).Campaign(t.Context())
		if err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
			t.Errorf("got %v", err)
		}
		if err := m.LocalGroup(second).Lead(t.Context(), nil); err == nil {
			t.Error("Lead has not noticed")
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := m.LocalGroup(second).Campaign(t.Context()); err != nil {
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
		leadLocally(t.Context(), map[string]*LocalGroup{"b": groups["b"]})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), LAN.Kappa())
			l, err := groups["a"].Campaign(ctx)
			if cancel(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(LAN.Kappa())
			if got := l.Support(); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("supported by %v", got)
			}
			time.Sleep(10 * LAN.Kappa())
			h.must("", l.Resign(t.Context()))
			time.Sleep(time.Second) // the machine goes
		}
	})
}

func TestLocalGroupNeedsAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a")
		if _, err := h.members["a"].LocalGroup("").Campaign(t.Context()); err == nil {
			t.Error("no name was accepted")
		}
	})
}

func TestClosedMemberLeavesItsLocalGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		groups := h.localOf("g")
		leadLocally(t.Context(), groups)
		time.Sleep(2 * LAN.Kappa())
		if err := h.members["a"].Close(); err != nil {
			t.Fatal(err)
		}
		delete(groups, "a")
		time.Sleep(LAN.Kappa())
		if got := h.parts(groups); !slices.Equal(got, []string{"b: b c"}) {
			t.Errorf("%v", got)
		}
		if _, err := h.members["a"].LocalGroup("g").Campaign(t.Context()); !errors.Is(err, ErrClosed) {
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

// The constants of local groups satisfy what HALL asks for, in every profile.
func TestProfilesSatisfyTheConstraintsOfLocalGroups(t *testing.T) {
	for name, p := range map[string]Timing{"fast": Fast, "lan": LAN, "wan": WAN} {
		h := p.local()
		if err := h.Check(directRound); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p.Kappa() <= h.Expires || p.Kappa() > 6*p.Lease*2 {
			t.Errorf("%s: kappa %v", name, p.Kappa())
		}
		if h.MaxAge != datagram.DefaultMaxAge(p.Delay, p.rho()) {
			t.Errorf("%s: another age than that of the datagram layer", name)
		}
		t.Logf("%s: lock %v, period %v, expires %v, one way %v, kappa %v", name, h.Lock, h.Period, h.Expires, h.OneWay, p.Kappa())
	}
	odd := LAN
	odd.Delay, odd.Renew, odd.Drift = 500*time.Microsecond, 3*time.Millisecond, 0.0001
	h := odd.local()
	if err := h.Check(directRound); err != nil {
		t.Errorf("odd constants: %v", err)
	}
}

func TestConstantsThatLocalGroupsCannotWorkWithAreRefusedWithTheInequality(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newChamber(t, "a")
		c := h.config("a")
		c.Timing = LAN
		c.Timing.Delay = time.Microsecond // less than old echoes are uncertain by
		m, err := join(t.Context(), c, h.world("a"))
		if err != nil {
			t.Fatal(err)
		}
		h.members["a"] = m
		_, err = m.LocalGroup("g").Campaign(t.Context())
		if err == nil || !strings.Contains(err.Error(), "C8") || !strings.Contains(err.Error(), "would do") {
			t.Errorf("got %v", err)
		}
		if _, err := m.Group("g").Campaign(t.Context()); err != nil {
			t.Errorf("the other groups: %v", err)
		}
	})
}

func TestCalmKeepsAMemberThatComesAndGoesFromDeposingOthers(t *testing.T) {
	for calm, most := range map[time.Duration]int{0: 10, 3 * time.Second: 0} {
		synctest.Test(t, func(t *testing.T) {
			h := assembleWith(t, func(c *Config) { c.Calm = calm }, three...)
			groups := h.localOf("g")
			deposed := 0
			go groups["b"].Lead(t.Context(), func(ctx context.Context, l *LocalLease) error {
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
			if k := h.members["c"].Status().Kappa; (k > LAN.Kappa()) != (calm > 0) {
				t.Errorf("kappa is %v with a calm of %v", k, calm)
			}
		})
	}
}

// A member that has to speak as another incarnation has lost its machine, and with it what it knew of its promises.
func TestLocalGroupPromisesNothingWhilePromisesOfBeforeMayStand(t *testing.T) {
	m, err := prepare(Config{Name: "a", Council: []Peer{{Name: "a", Addrs: []string{"127.0.0.1:7"}}}}, world{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.release()
	m.started = 1
	lock := m.localConfig(1).Lock
	for _, c := range []struct {
		now, renamed protocol.Time
		longest      time.Duration
		waits        time.Duration
	}{
		{m.started.Add(lock), 0, lock, lock},
		{m.started.Add(2 * lock), 0, lock, 0},
		{m.started.Add(4 * lock), m.started.Add(3 * lock), lock, lock},
		{m.started.Add(5 * lock), m.started.Add(3 * lock), lock, 0},
		{m.started.Add(2 * lock), 0, 8 * lock, 8 * lock},
		{m.started.Add(9 * lock), 0, 8 * lock, 0},
	} {
		m.longestLock = func() time.Duration { return c.longest }
		machine, err := m.newLocal(c.now, c.renamed, 2, "g")
		if err != nil {
			t.Fatal(err)
		}
		waits := time.Duration(0)
		for _, f := range machine.Step(c.now, protocol.Start{}).Facts {
			if f.Ev == protocol.EvWait {
				waits = f.Until.Sub(c.now)
			}
		}
		if waits != c.waits {
			t.Errorf("at %v, renamed at %v, longest lock %v: waits %v, want %v", c.now, c.renamed, c.longest, waits, c.waits)
		}
	}
}

// Two of three members are restarted with a shorter lock while the third still leads by longer ones that they gave.
func TestPartitionsStayApartWhenARestartShortensTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newChamber(t, three...)
		configs := make(map[string]Config)
		var all sync.WaitGroup
		for _, n := range three {
			c := h.config(n)
			c.Timing, configs[n] = WAN, c
			all.Go(func() {
				if _, err := h.joinAs(c); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		leadLocally(t.Context(), h.localOf("g"))
		time.Sleep(2 * WAN.Kappa())
		if got := h.parts(h.localOf("g")); !slices.Equal(got, []string{"a: a b c"}) {
			t.Fatalf("parts: %v", got)
		}
		h.rule("partition a / b c")
		for _, n := range []string{"b", "c"} {
			h.members[n].closing.Do(h.members[n].end)
			c := configs[n]
			c.Timing = LAN
			m, err := h.joinAs(c)
			if err != nil {
				t.Fatal(err)
			}
			leadLocally(t.Context(), map[string]*LocalGroup{n: m.LocalGroup("g")})
		}
		groups := h.localOf("g")
		for range 200 {
			time.Sleep(WAN.Kappa() / 100)
			h.parts(groups) // nobody is in two
		}
		if got := h.parts(groups); !slices.Equal(got, []string{"a: a", "b: b c"}) {
			t.Errorf("parts: %v", got)
		}
	})
}
