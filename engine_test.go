package regent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/enginetest"
	"github.com/regentproject/regent/engine/register"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/why"
)

// on joins a member on a store, in virtual time.
func on(t *testing.T, s *enginetest.Memory, name string, change ...func(*regent.Config)) *regent.Member {
	t.Helper()
	c := regent.Config{Name: name}
	for _, f := range change {
		f(&c)
	}
	own := clock.Package()
	m, err := regent.On(world.Into(t.Context(), world.World{Clock: own}), register.New(s), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Leave(context.WithoutCancel(t.Context())) })
	return m
}

func groupOf(t *testing.T, m *regent.Member) *regent.Group {
	t.Helper()
	g, err := m.Group("jobs")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOnAnEngineOneLeadsAndTheNextFollowsARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(enginetest.Memory)
		a, b := on(t, s, "a"), on(t, s, "b")
		l, err := groupOf(t, a).Announcing("http://a/").Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !l.Valid() || l.Token() == 0 || l.Remaining() > 5*time.Second {
			t.Errorf("valid %v, token %d, remaining %v", l.Valid(), l.Token(), l.Remaining())
		}
		next := make(chan *regent.Lease, 1)
		go func() {
			l, err := groupOf(t, b).Campaign(t.Context())
			if err != nil {
				t.Error(err)
			}
			next <- l
		}()
		time.Sleep(20 * time.Second) // virtual
		if !l.Valid() || len(next) > 0 {
			t.Fatalf("a leads: %v, b leads: %v", l.Valid(), len(next) > 0)
		}
		v, err := groupOf(t, b).View(t.Context())
		if err != nil || v.Leader != "a" || v.Token != l.Token() || v.Value != "http://a/" || v.Mine {
			t.Errorf("b sees %+v (%v)", v, err)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		n := <-next
		if took := time.Since(begun); took > 5*time.Second/2 {
			t.Errorf("b leads %v after the release", took)
		}
		if n.Token() <= l.Token() {
			t.Errorf("token %d after %d", n.Token(), l.Token())
		}
		p, err := groupOf(t, b).Verify(t.Context())
		if err != nil || p.Leader != "b" || !p.Valid() {
			t.Errorf("proof %+v (%v)", p, err)
		}
	})
}

func TestOnAnEngineALeaderWithoutItsStoreStopsBeforeAnotherLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(enginetest.Memory)
		a := on(t, s, "a")
		l, err := groupOf(t, a).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Break(errors.New("the store is down"))
		begun := time.Now()
		<-l.Done()
		if left := l.Remaining(); left < 500*time.Millisecond-50*time.Millisecond {
			t.Errorf("asked to stop %v before the end", left)
		}
		if c := l.Cause(); c.Why != why.LeaseExpired {
			t.Errorf("stopped for %v", c)
		}
		if took := time.Since(begun); took > 5*time.Second-500*time.Millisecond {
			t.Errorf("asked to stop %v after the store went", took)
		}
		if w := a.Status().Waiting; !strings.Contains(w, "the store is down") {
			t.Errorf("waiting: %q", w)
		}
		s.Break(nil)
		next, err := groupOf(t, on(t, s, "b")).Campaign(t.Context())
		if err != nil || next.Token() <= l.Token() || l.Valid() {
			t.Errorf("b leads with token %d after %d (%v), a: %v", next.Token(), l.Token(), err, l.Valid())
		}
	})
}

func TestOnAnEngineWhatItCannotDoIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := on(t, new(enginetest.Memory), "a")
		g := groupOf(t, m)
		l, err := g.Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, local := m.LocalGroup("x")
		_, eventual := m.EventualGroup("x", "")
		_, consistent := m.ConsistentGroup("x")
		_, beside := g.Local()
		_, length := g.WithLease(10 * time.Second).Campaign(t.Context())
		for what, err := range map[string]error{"local": local, "eventual": eventual, "consistent": consistent, "beside": beside, "length": length,
			"transfer": l.Transfer(t.Context(), "b"), "rekey": m.Rekey(regent.Config{})} {
			if !errors.Is(err, engine.ErrUnsupported) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if !l.Valid() {
			t.Error("a refusal has cost the lease")
		}
		if e := m.Status().Engine; e == nil || e.Name != "memory" || len(e.Missing) == 0 || !e.Fences {
			t.Errorf("status %+v", e)
		}
		_, err = regent.On(t.Context(), register.New(new(enginetest.Memory)), regent.Config{Name: "a", Council: []regent.Peer{{Name: "a"}}})
		if !errors.Is(err, engine.ErrUnsupported) {
			t.Errorf("a council with an engine: %v", err)
		}
	})
}

// An unfenced store has tokens that cannot be compared.
type unfenced struct{ *enginetest.Memory }

func (unfenced) Limits() engine.Limits { return engine.Limits{NoFence: true} }

func TestOnAnEngineWithoutTokensNothingIsStamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := regent.On(world.Into(t.Context(), world.World{Clock: clock.Package()}), register.New(unfenced{new(enginetest.Memory)}), regent.Config{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = m.Leave(context.WithoutCancel(t.Context())) }()
		l, err := groupOf(t, m).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e, err := l.Edict(t.Context()); !errors.Is(err, engine.ErrUnsupported) || l.Token() != 0 {
			t.Errorf("stamp %v (%v), token %d", e, err, l.Token())
		}
		if e := m.Status().Engine; e.Fences || !slices.Contains(e.Missing, "tokens for fences") || !l.Valid() {
			t.Errorf("status %+v, valid %v", e, l.Valid())
		}
	})
}

func TestOnAnEngineThatDoesNotAnswerNothingBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(enginetest.Memory)
		s.Break(errors.New("no route"))
		_, err := regent.On(world.Into(t.Context(), world.World{Clock: clock.Package()}), register.New(s), regent.Config{Name: "a"})
		if err == nil || !strings.Contains(err.Error(), "engine memory") || !strings.Contains(err.Error(), "no route") {
			t.Errorf("%v", err)
		}
	})
}

func TestOnAnEngineADrainedMemberLeadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(enginetest.Memory)
		a, b := on(t, s, "a"), on(t, s, "b")
		led := make(chan string, 10)
		lead := func(m *regent.Member) {
			_ = groupOf(t, m).Lead(t.Context(), func(ctx context.Context, l *regent.Lease) error {
				led <- m.Name()
				<-ctx.Done()
				return nil
			})
		}
		go lead(a)
		if first := <-led; first != "a" {
			t.Fatal(first)
		}
		go lead(b)
		synctest.Wait()
		if err := a.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if next := <-led; next != "b" {
			t.Errorf("%s leads", next)
		}
		if err := b.Leave(t.Context()); err != nil {
			t.Error(err)
		}
		if err := a.Undrain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if next := <-led; next != "a" {
			t.Errorf("%s leads", next)
		}
	})
}

func TestOnAnEngineThereAreNoMetricsOfACouncil(t *testing.T) {
	m := on(t, new(enginetest.Memory), "a")
	for x := range m.Metrics() {
		if strings.HasPrefix(x.Name, "regent_council_") {
			t.Errorf("%v", x)
		}
	}
}
