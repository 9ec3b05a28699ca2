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

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	"github.com/regentproject/regent/roster"
)

// spread is many groups of a balanced council that changes, each with a program at every member.
type spread struct {
	*changingCouncil
	groups []string
	mu     sync.Mutex
	// led has, by group, who led it, in order.
	led map[string][]string
}

func newSpread(t *testing.T, first []string, others ...string) *spread {
	t.Helper()
	c := newChangingWith(t, func(c *Config) { c.Balance = true }, first, others...)
	s := &spread{changingCouncil: c, led: make(map[string][]string)}
	for i := range 24 {
		s.groups = append(s.groups, fmt.Sprint("g", i))
	}
	for _, name := range first {
		s.stand(name)
	}
	return s
}

// stand has programs of a member wait for all groups.
func (s *spread) stand(name string) {
	s.t.Helper()
	for _, group := range s.groups {
		g := must(s.at(name).Group(group))
		go func() {
			_ = g.Lead(s.t.Context(), func(ctx context.Context, l *Lease) error {
				s.mu.Lock()
				s.led[group] = append(s.led[group], name)
				s.mu.Unlock()
				<-ctx.Done()
				return nil
			})
		}()
	}
}

// placed returns where groups have their places, by the weights that members show.
func (s *spread) placed(now roster.Council) map[string]string {
	var order balance.Order
	var all protocol.Set
	names := make(map[protocol.Rank]string)
	for _, m := range now.Members {
		for len(order) <= m.Rank {
			order = append(order, balance.Share{})
		}
		order[m.Rank] = balance.Share{Seed: balance.Seed(m.Name), Weight: m.Weight, Class: m.Priority}
		all.Add(protocol.Rank(m.Rank))
		names[protocol.Rank(m.Rank)] = m.Name
	}
	places := make(map[string]string)
	for _, g := range s.groups {
		places[g] = names[order.First(protocol.Group(g), all)]
	}
	return places
}

// leaders returns who leads what now, and how many leaderships there have been.
func (s *spread) leaders() (now map[string]string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now = make(map[string]string)
	for g, led := range s.led {
		now[g] = led[len(led)-1]
		n += len(led)
	}
	return now, n
}

// expect waits until all groups are led where they have their places.
func (s *spread) settled(what string, now roster.Council) map[string]string {
	s.t.Helper()
	places := s.placed(now)
	for range 600 {
		leaders, _ := s.leaders()
		if fmt.Sprint(leaders) == fmt.Sprint(places) {
			return places
		}
		<-time.After(100 * time.Millisecond)
	}
	leaders, _ := s.leaders()
	for _, g := range s.groups {
		if leaders[g] != places[g] {
			s.t.Errorf("N-STAB: %s: %s is led by %s: %s has its place", what, g, leaders[g], places[g])
		}
	}
	s.t.FailNow()
	return nil
}

// moved counts the groups that have another place.
func moved(before, after map[string]string) (n int) {
	for g := range before {
		if before[g] != after[g] {
			n++
		}
	}
	return n
}

// A balanced council takes in a member with a weight, changes weights, and loses a member. Only groups move whose places are elsewhere since a
// member came or went; another weight by itself moves none.
func TestBalancedCouncilChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpread(t, []string{"a", "b", "c"}, "d")
		before := s.settled("at first", s.members["a"].Council())
		_, n := s.leaders()

		heavy := s.peers["d"]
		heavy.Weight = 3
		go s.welcome("d")
		now := s.change("a", roster.Change{Add: []Peer{heavy}})
		s.stand("d")
		if i := slices.IndexFunc(now.Members, func(m roster.Member) bool { return m.Name == "d" }); now.Members[i].Weight != 3 {
			t.Fatalf("d has weight %d", now.Members[i].Weight)
		}
		after := s.settled("after d came", now)
		_, m := s.leaders()
		if want := moved(before, after); m-n != want || want < 6 {
			t.Errorf("d came, and %d groups were led anew: %d have another place", m-n, want)
		}

		light := s.peers["a"]
		light.Weight = 9
		now = s.change("d", roster.Change{Set: []Peer{light}})
		time.Sleep(time.Minute)
		if leaders, k := s.leaders(); k != m || moved(after, leaders) > 0 {
			t.Errorf("N-STAB: another weight moved %d groups", k-m)
		}
		if places := s.placed(now); moved(after, places) < 4 {
			t.Fatalf("with the weight of a %d groups have another place", moved(after, places))
		}
		// What c leaves goes to members that stay. The heir may be in the middle of the step when it tries, and another candidate leads then.
		n = m
		now = s.change("a", roster.Change{Remove: []string{"c"}})
		time.Sleep(time.Minute)
		places := s.placed(now)
		leaders, m := s.leaders()
		left := 0
		for _, g := range s.groups {
			switch {
			case after[g] == "c":
				left++
				if leaders[g] != places[g] {
					t.Errorf("%s was led by c, and is led by %s: %s has its place", g, leaders[g], places[g])
				}
			case leaders[g] != after[g]:
				t.Errorf("N-STAB: %s was moved from %s to %s when c left", g, after[g], leaders[g])
			}
		}
		if m-n != left || left == 0 {
			t.Errorf("c led %d groups, and %d were led anew", left, m-n)
		}
	})
}

func TestWeightsWithoutEffectAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		p := c.peers["b"]
		p.Weight = 2
		if _, err := c.members["a"].Change(t.Context(), roster.Change{Set: []Peer{p}}); err == nil || !strings.Contains(err.Error(), "not balanced") {
			t.Errorf("a weight without balance: %v", err)
		}
	})
}
