package library_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/why"
)

// peer changes one entry of the council.
func peer(c *regent.Config, name string, change func(*regent.Peer)) {
	for i := range c.Council {
		if c.Council[i].Name == name {
			change(&c.Council[i])
		}
	}
}

func TestEveryElectorServesAQuorum(t *testing.T) {
	for _, kind := range elector.All() {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := assembleWith(t, func(c *regent.Config) { c.Elector = kind }, three...)
				signs := h.leadAll(t.Context(), "g")
				s := <-signs
				h.rule("cut " + s.who + " * both")
				begun := time.Now()
				for stop := range signs {
					if stop.leads {
						s = stop
						break
					}
				}
				if took := time.Since(begun); took > regent.LAN.Lease+4*regent.LAN.RoundTrip {
					t.Errorf("%s led after %v", s.who, took)
				}
			})
		})
	}
}

func TestMembersWithAnotherElectorAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, "a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		errs := make(chan error, 2)
		for _, n := range h.Names {
			c := h.config(n)
			if n == "b" {
				c.Elector = elector.Rank
			}
			go func() { _, err := h.Join(ctx, c); errs <- err }()
		}
		for range h.Names {
			if err := <-errs; err == nil || !strings.Contains(err.Error(), "elector") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestWitnessVotesAndNeverLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, func(c *regent.Config) { peer(c, "a", func(p *regent.Peer) { p.Witness = true }) }, three...)
		if _, err := must(h.members["a"].Group("g")).Campaign(t.Context()); err == nil || !strings.Contains(err.Error(), "a is a witness") {
			t.Errorf("the witness campaigns: %v", err)
		}
		// Two of three are there, and one of them is the witness.
		h.rule("partition a c")
		l, err := must(h.members["c"].Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Transfer(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "a is a witness") {
			t.Errorf("handed over to the witness: %v", err)
		}
		if !l.Valid() {
			t.Error("no lease")
		}
		i := slices.IndexFunc(h.members["c"].Members(), func(p regent.PeerStatus) bool { return p.Name == "a" })
		if got := h.members["c"].Members()[i].Role; got != "witness" {
			t.Errorf("the role of a is %q", got)
		}
	})
}

func TestObserverWatchesAndIsWaitedForByNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, func(c *regent.Config) {
			peer(c, "a", func(p *regent.Peer) { p.Observer, p.Priority = true, 9 })
			peer(c, "b", func(p *regent.Peer) { p.Observer = true })
		}, "a", "b", "c", "d", "e")
		l, err := must(h.members["c"].Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, o := range []string{"a", "b"} {
			if v := view(must(h.members[o].Group("g"))); v.Leader != "c" {
				t.Errorf("%s sees %v", o, v)
			}
		}
		// Three of five are gone, but only one of those that vote.
		h.rule("partition c d")
		time.Sleep(5 * time.Second)
		if !l.Valid() {
			t.Errorf("lost: %v", l.Cause())
		}
		// With the observers there are three of five, but only one that votes.
		h.rule("partition c a b / d e")
		<-l.Done()
		if l.Cause().Why != why.LeaseExpired {
			t.Errorf("lost because of %v", l.Cause())
		}
	})
}

func TestRolesThatCannotWorkAreRefused(t *testing.T) {
	for want, change := range map[string]func(*regent.Config){
		"witness and an observer": func(c *regent.Config) { c.Council[0].Witness, c.Council[0].Observer = true, true },
		"at least one must be able to lead": func(c *regent.Config) {
			for i := range c.Council {
				c.Council[i].Witness = true
			}
		},
		"at least one member must vote": func(c *regent.Config) {
			for i := range c.Council {
				c.Council[i].Observer = true
			}
		},
		"calm -1s":                   func(c *regent.Config) { c.Calm = -time.Second },
		"prefer -1s":                 func(c *regent.Config) { c.Prefer = -time.Second },
		"elector \"bully\": must be": func(c *regent.Config) { c.Elector = "bully" },
		"elector hybrid: 2 members: must be at least 3": func(c *regent.Config) {
			c.Elector, c.Council = elector.Hybrid, c.Council[:2]
		},
	} {
		c := regent.Config{Name: "a", CouncilID: "c0ffee00c0ffee00c0ffee00c0ffee00", Council: []regent.Peer{{Name: "a", Addrs: []string{"127.0.0.1:7401"}}, {Name: "b", Addrs: []string{"127.0.0.1:7402"}},
			{Name: "c", Addrs: []string{"127.0.0.1:7403"}}}}
		c.OwnKeys = regent.DrawKeys(c.Council)["a"]
		change(&c)
		if _, err := regent.Join(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestMemberThatIsNotWellGivesUpAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		h.leadAll(t.Context(), "g")
		local := h.localOf("l")
		leadLocally(t.Context(), local)
		time.Sleep(2 * regent.LAN.Kappa())
		leader := leader(must(h.members["a"].Group("g")))
		m := h.members[leader]
		m.SetHealth(errors.New("the disk is full"))
		time.Sleep(2 * regent.LAN.Kappa())
		if v := view(must(h.members["a"].Group("g"))); v.Leader == leader || v.Leader == "" {
			t.Errorf("%s leads, and is not well", v.Leader)
		}
		if v := view(local[leader]); v.Leader == leader {
			t.Error("it leads locally")
		}
		if s := m.Status(); s.HealthProblem != "the disk is full" {
			t.Errorf("the status says %q", s.HealthProblem)
		}
		var said []string
		for _, v := range m.History() {
			said = append(said, v.Cause.String())
		}
		if !slices.Contains(said, "unhealthy "+leader) {
			t.Errorf("the causes were %q", said)
		}
		m.SetHealth(nil)
		for name, other := range h.members {
			if name != leader {
				other.SetHealth(errors.New("so that the first one must lead again"))
			}
		}
		time.Sleep(2 * regent.LAN.Kappa())
		if v := view(must(m.Group("g"))); v.Leader != leader || m.Status().HealthProblem != "" {
			t.Errorf("well again: %v", v)
		}
		if v := view(local[leader]); v.Leader != leader {
			t.Errorf("well again: %v", v)
		}
	})
}

func TestHealthIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrong atomic.Pointer[error]
		var hangs atomic.Bool
		h := assembleWith(t, func(c *regent.Config) {
			c.Health = func(ctx context.Context) error {
				if hangs.Load() {
					<-ctx.Done()
					time.Sleep(5 * time.Second)
				}
				if p := wrong.Load(); p != nil {
					return *p
				}
				return nil
			}
		}, "a")
		m := h.members["a"]
		ill := func() string {
			time.Sleep(3 * regent.LAN.Heartbeat)
			return m.Status().HealthProblem
		}
		if got := ill(); got != "" {
			t.Errorf("ill: %q", got)
		}
		err := errors.New("no database")
		wrong.Store(&err)
		if got := ill(); got != "no database" {
			t.Errorf("ill: %q", got)
		}
		wrong.Store(nil)
		if got := ill(); got != "" {
			t.Errorf("ill: %q", got)
		}
		hangs.Store(true)
		if got := ill(); got != "its health check does not return in time" {
			t.Errorf("ill: %q", got)
		}
		hangs.Store(false)
		time.Sleep(5 * time.Second)
		if got := ill(); got != "" {
			t.Errorf("ill: %q", got)
		}
	})
}

func TestPreferredMemberIsGivenTheGroupAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, func(c *regent.Config) {
			c.Prefer = 3 * time.Second
			peer(c, "c", func(p *regent.Peer) { p.Priority = 1 })
		}, three...)
		stay := func(ctx context.Context, l *regent.Lease) error { <-ctx.Done(); return nil }
		go must(h.members["a"].Group("g")).Lead(t.Context(), stay)
		time.Sleep(time.Second)
		go must(h.members["c"].Group("g")).Lead(t.Context(), stay)
		time.Sleep(2 * time.Second)
		if got := leader(must(h.members["b"].Group("g"))); got != "a" {
			t.Errorf("%q leads before the time is over", got)
		}
		time.Sleep(3 * time.Second)
		if got := leader(must(h.members["b"].Group("g"))); got != "c" {
			t.Errorf("%q leads", got)
		}
	})
}
