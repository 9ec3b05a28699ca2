package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// shardsConfig is of agents with a consistent group. Its members must bear the pauses of a busy host.
const shardsConfig = "timing: {lease: 3s, longest_lease: 3s, renew: 200ms, round_trip: 100ms, evict: 10s}\nconsistent: true\ngroups: [{name: shards, mode: consistent}]\n"

// shardsGroup is the programs of the consistent group, one on each host.
type shardsGroup struct {
	t  *testing.T
	mu sync.Mutex // of what follows
	// seen has the agreements by their numbers, and asked those that were asked to recover, by agreement and token.
	seen  map[uint64]*regent.Agreement
	asked map[[2]uint64]string
	// reported are agreements whose recovery counts.
	reported map[uint64]bool
	// last is the last agreement that the program of a host received.
	last map[string]regent.View
}

func newShards(t *testing.T) *shardsGroup {
	return &shardsGroup{t: t, seen: make(map[uint64]*regent.Agreement), asked: make(map[[2]uint64]string), reported: make(map[uint64]bool), last: make(map[string]regent.View)}
}

// stand has the program of a host take part.
func (s *shardsGroup) stand(ctx context.Context, host string, session *regent.Client) {
	s.t.Helper()
	g, err := session.ConsistentGroup("shards")
	if err != nil {
		s.t.Fatal(err)
	}
	go func() {
		// The error is that of a session whose agent has ended.
		_ = g.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error {
			for v := range l.Views(ctx) {
				s.take(host, v)
				if v.Agreement.Recover && l.Recovered(ctx, v) == nil {
					s.mu.Lock()
					s.reported[v.Agreement.Number] = true
					s.mu.Unlock()
				}
			}
			<-ctx.Done()
			return nil
		})
	}()
}

// take looks at an agreement: numbers grow, all members have the same, and one is asked to recover.
func (s *shardsGroup) take(host string, v regent.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := v.Agreement
	if last, ok := s.last[host]; ok && cmp.Or(cmp.Compare(v.Token, last.Token), cmp.Compare(a.Number, last.Agreement.Number)) < 0 {
		s.t.Errorf("%s received agreement %d of token %d after %d of %d", host, a.Number, v.Token, last.Agreement.Number, last.Token)
	}
	s.last[host] = v
	if x := s.seen[a.Number]; x == nil {
		s.seen[a.Number] = a
	} else if fmt.Sprint(x.Members, x.Failed, x.Joined, x.Unfinished) != fmt.Sprint(a.Members, a.Failed, a.Joined, a.Unfinished) {
		s.t.Errorf("agreement %d is %v at %s, and %v elsewhere", a.Number, a, host, x)
	}
	if !a.Recover {
		return
	}
	key := [2]uint64{v.Token, a.Number}
	if other := s.asked[key]; other != "" && other != host {
		s.t.Errorf("%s and %s were both asked to recover what agreement %d lost", other, host, a.Number)
	}
	s.asked[key] = host
}

// agree waits until the members of the group are those named, and what was lost is recovered.
func (s *shardsGroup) agree(want ...string) {
	s.t.Helper()
	cluster.Eventually(s.t, fmt.Sprintf("the group is %v", want), func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, host := range want {
			a := s.last[host].Agreement
			if a == nil || !s.reported[a.Number] || !slices.Equal(slices.Sorted(slices.Values(a.Members)), want) {
				return false
			}
		}
		return true
	})
}

// judge looks whether every member that was lost was named, once, and recovered or named again.
func (s *shardsGroup) judge(removed ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	failed := make(map[string]int)
	for n := uint64(1); n <= uint64(len(s.seen)); n++ {
		a, before := s.seen[n], s.seen[n-1]
		if a == nil {
			s.t.Fatalf("no program received agreement %d of %d", n, len(s.seen))
		}
		for _, m := range a.Failed {
			failed[m]++
		}
		if before == nil {
			continue
		}
		for _, m := range before.Members {
			if !slices.Contains(a.Members, m) && !slices.Contains(a.Failed, m) {
				s.t.Errorf("%s was in agreement %d (%v) and is not in %d (%v), which does not name it as failed", m, n-1, before, n, a)
			}
		}
		for _, m := range a.Failed {
			if !slices.Contains(before.Members, m) {
				s.t.Errorf("agreement %d names %s as failed, which was not in %d: %v", n, m, n-1, before)
			}
		}
		for _, m := range append(slices.Clone(before.Failed), before.Unfinished...) {
			if s.reported[n-1] == slices.Contains(a.Unfinished, m) {
				s.t.Errorf("%s was lost before agreement %d; its recovery was reported: %v; agreement %d: %v", m, n, s.reported[n-1], n, a)
			}
		}
	}
	for _, m := range removed {
		if failed[m] == 0 {
			s.t.Errorf("%s was removed, and nobody was asked to recover what it had", m)
		}
	}
	s.t.Logf("%d agreements; failed: %v", len(s.seen), failed)
}
