package library_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/why"
)

func TestWatchShowsEveryChangeWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		var seen []string
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(done)
			for v := range must(h.members["b"].Group("g")).Watch(ctx) {
				seen = append(seen, v.Leader+": "+v.Cause.Why.String())
			}
		}()
		l, err := must(h.members["a"].Group("g")).Campaign(ctx)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		_ = l.Resign(ctx)
		time.Sleep(time.Second)
		l, err = must(h.members["c"].Group("g")).Campaign(ctx)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		h.must(h.Link("cut c *"))
		time.Sleep(time.Second)
		_ = l.Resign(ctx)
		cancel()
		<-done
		want := []string{": started", "a: elected", ": resigned", "c: elected", ": lease expired"}
		if !slices.Equal(seen, want) {
			t.Errorf("got %q, want %q", seen, want)
		}
	})
}

func TestEdictsOfAllLeadersAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		var gate fence.Gate
		for round := range 12 {
			m := h.members[three[round%3]]
			l, err := must(m.Group("g")).Campaign(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				e, err := l.Edict(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := gate.Admit(e); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
			}
			if err := l.Resign(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A member whose clock runs too fast gives its leases up, and leads nothing until it is right.
func TestMemberWithAWrongClockLeadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, three...)
		var rate atomic.Int64 // in percent above the right one
		base := time.Now()
		var mu sync.Mutex
		var at time.Duration
		wrong := clock.Of(func() protocol.Time {
			mu.Lock()
			defer mu.Unlock()
			passed := time.Since(base)
			base = base.Add(passed)
			at += passed + passed*time.Duration(rate.Load())/100
			return protocol.Time(at)
		})
		h.World = func(name string, w *world.World) {
			if name == "a" {
				w.Clock = wrong
			}
		}
		var all sync.WaitGroup
		for _, n := range three {
			all.Go(func() {
				if _, err := h.join(n); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		l, err := must(h.members["a"].Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		if !l.Valid() {
			t.Fatalf("a good clock costs the lease: %v", l.Cause())
		}
		rate.Store(2)
		<-l.Done()
		if l.Valid() || l.Cause().Why != why.ClockFault || !h.members["a"].Status().ClockFault {
			t.Errorf("valid %v, cause %v", l.Valid(), l.Cause())
		}
		if h.members["b"].Status().ClockFault {
			t.Error("b believes that its own clock is wrong")
		}
		_ = l.Resign(t.Context())
	})
}

func TestVerifyProvesWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		ctx := t.Context()
		g := must(h.members["c"].Group("g"))
		if _, err := g.Verify(ctx); !errors.Is(err, regent.ErrNoLeader) {
			t.Errorf("nobody leads: %v", err)
		}
		l, err := must(h.members["b"].Group("g")).Campaign(ctx)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		p, err := g.Verify(ctx)
		if err != nil || p.Leader != "b" || p.Token != l.Token() || !p.Valid() {
			t.Fatalf("got %+v, %v", p, err)
		}
		time.Sleep(time.Second)
		if p.Valid() {
			t.Error("the proof holds for ever")
		}
		h.must(h.Link("cut b *"))
		if _, err := g.Verify(ctx); !errors.Is(err, regent.ErrNoLeader) {
			t.Errorf("a leader that does not answer: %v", err)
		}
		_ = l.Resign(ctx)
	})
}

func TestCloseLeavesInGoodOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		signs := h.leadAll(t.Context(), "g")
		first := <-signs
		begin := time.Now()
		if err := h.members[first.who].Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop, next := <-signs, <-signs
		if stop.leads || stop.who != first.who || !next.leads {
			t.Errorf("got %+v and %+v", stop, next)
		}
		if d := time.Since(begin); d > regent.LAN.LongestLease+time.Second {
			t.Errorf("it took %v", d)
		}
		m := h.members[first.who]
		if err := m.Leave(t.Context()); err != nil {
			t.Errorf("second time: %v", err)
		}
		if _, err := must(m.Group("g")).Campaign(t.Context()); !errors.Is(err, regent.ErrClosed) {
			t.Errorf("a closed member: %v", err)
		}
		if err := must(m.Group("g")).Lead(t.Context(), nil); !errors.Is(err, regent.ErrClosed) {
			t.Errorf("a closed member: %v", err)
		}
		if _, err := must(m.Group("g")).Verify(t.Context()); !errors.Is(err, regent.ErrClosed) {
			t.Errorf("a closed member: %v", err)
		}
		if m.Members() != nil || m.Status().Name != first.who {
			t.Error("a closed member does not say how it was")
		}
		for range must(m.Group("g")).Watch(t.Context()) {
		}
	})
}

func TestCloseDoesNotWaitForEverButReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		m := h.members["a"]
		l, err := must(m.Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		other := make(chan time.Time, 1)
		go func() {
			if _, err := must(h.members["b"].Group("g")).Campaign(t.Context()); err == nil {
				other <- time.Now()
			}
		}()
		err = m.Leave(ctx)
		gone := time.Now()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "have not stopped") {
			t.Errorf("got %v", err)
		}
		end := l.Remaining()
		if at := <-other; at.Sub(gone) < end {
			t.Errorf("another leads after %v, while the lease had %v to run", at.Sub(gone), end)
		}
	})
}

func TestStatusSaysHowTheMemberIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		m := h.members["a"]
		l, err := must(m.Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		s := m.Status()
		if s.Name != "a" || s.Waiting != "" || s.Leading != 1 || s.Incarnation == 0 || s.PacketsIn == 0 || s.PacketsOut == 0 ||
			s.Disk != "" || s.PauseCount == 0 {
			t.Errorf("status is %+v", s)
		}
		for i, p := range m.Members() {
			if p.Name != three[i] || !p.Heard || p.Self != (i == 0) || p.Incarnation == 0 || p.Problem != "" || p.Silence > time.Second {
				t.Errorf("member %d is %+v", i, p)
			}
		}
		found := make(map[string]bool)
		for metric := range m.Metrics() {
			found[metric.String()] = true
			found[metric.Name] = true
		}
		for _, want := range []string{`regent_is_leader{group="g"} 1`, "regent_leading 1", "regent_ready 1", `regent_changes_total{cause="elected"} 1`,
			"regent_pause_seconds", "regent_packets_total", "regent_peer_round_trip_seconds"} {
			if !found[want] {
				t.Errorf("no metric %s", want)
			}
		}
		for range m.Metrics() {
			break
		}
		_ = l.Resign(t.Context())
		time.Sleep(time.Second)
		history := m.History()
		if len(history) < 3 || !history[len(history)-2].Mine && history[len(history)-1].Leader != "" {
			t.Errorf("history is %v", history)
		}
		if !strings.Contains(h.Logs(), `msg="leader changed" member=a group=g leader=a`) {
			t.Error("the log does not say that a leads")
		}
	})
}

func TestJoinSaysWhatItIsWaitingFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, three...)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		_, err := h.Join(ctx, h.config("a"))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not heard yet: b, c") {
			t.Errorf("got %v", err)
		}
		if !strings.Contains(h.Logs(), "does not take part yet") {
			t.Errorf("the log says nothing: %s", h.Logs())
		}
	})
}

func TestAddressesAreResolvedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, three...)
		var known atomic.Bool
		h.World = func(name string, w *world.World) {
			right := w.Lookup
			w.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
				if name == "a" && host == "b" && !known.Load() {
					return nil, errors.New("not yet")
				}
				return right(ctx, host)
			}
		}
		joined := make(chan *regent.Member, 3)
		for _, n := range []string{"b", "c"} {
			go func() { m, _ := h.join(n); joined <- m }()
		}
		go func() { m, _ := h.join("a"); joined <- m }()
		time.Sleep(3 * time.Second)
		if len(joined) > 1 { // c hears both, and may have begun
			t.Error("a and b joined though a cannot speak to b")
		}
		known.Store(true)
		time.Sleep(3 * time.Second)
		for range 3 {
			m := <-joined
			defer m.Leave(t.Context())
		}
	})
}

func TestGroupNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, "a").members["a"]
		for _, name := range []string{"", strings.Repeat("x", 256)} {
			if _, err := m.Group(name); err == nil || !strings.Contains(err.Error(), "1 to 255") {
				t.Errorf("a name of %d bytes: %v", len(name), err)
			}
		}
		// Names are printed, on terminals too, and go into lines that scripts read.
		for _, name := range []string{"a\nb", "\x00a", "\x1b[31mred", "\xff"} {
			if _, err := m.Group(name); err == nil || !strings.Contains(err.Error(), "without control characters") {
				t.Errorf("%q: %v", name, err)
			}
		}
		l, err := must(m.Group(strings.Repeat("x", 255))).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Resign(t.Context())
	})
}

// Whoever is told of the start may also end it.
func TestMemberThatIsClosedBeforeItTakesPartDoesNotJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, three...)
		c := h.config("a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		told := world.WithStart(ctx, func(m *regent.Member) { h.must(m.Leave(context.Background())) })
		if _, err := h.Join(told, c); !errors.Is(err, regent.ErrClosed) {
			t.Errorf("join returned %v", err)
		}
	})
}
