//go:build linux

package library_test

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/transport/relay"
	"github.com/regentproject/regent/why"
)

// patient survives pauses of a busy machine.
var patient = func() regent.Timing {
	t := regent.LAN
	t.Lease, t.LongestLease = 1500*time.Millisecond, 2*time.Second
	return t
}()

// Each pair of members has two ways to one another, through two relays.
func TestDeadPathsCostNoLease(t *testing.T) {
	names := []string{"a", "b", "c"}
	addrs := freeAddrs(t, len(names))
	var ends []relay.Member
	for i, n := range names {
		ends = append(ends, relay.Member{Name: n, Addr: netip.MustParseAddrPort(addrs[i])})
	}
	var ways [2]*relay.Relay
	for i := range ways {
		r, err := relay.Start(relay.Config{Members: ends})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		ways[i] = r
	}
	do := func(way int, line string) {
		t.Helper()
		if _, err := ways[way].Do(line); err != nil {
			t.Fatal(err)
		}
	}
	members := joinBy(t, names, addrs, ways[:])
	l, err := must(members[0].Group("g")).Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	traffic := func() (sum uint64) {
		for _, m := range members {
			sum += m.Status().PacketsOut
		}
		return sum
	}
	for round := range 3 { // either way dies, for longer than the lease, and comes back
		dead := round % 2
		do(dead, "cut * *")
		// wall clock: paths are real sockets, and what is to be seen is that nothing happens
		time.Sleep(patient.Lease + patient.Lease/2)
		if !l.Valid() {
			t.Fatalf("round %d: the lease was lost with one way dead: %v", round, l.Cause())
		}
		do(dead, "heal * *")
		// wall clock: likewise
		time.Sleep(200 * time.Millisecond)
	}
	before := traffic()
	// wall clock: packets are counted over a second
	time.Sleep(time.Second)
	sent := traffic() - before
	// A renewal and its answer, every 50 ms, for two voters: 80. By both ways it would be 160.
	if sent > 140 {
		t.Errorf("%d packets in a second: all ways are used though one is proven", sent)
	}
	do(0, "cut * *")
	do(1, "cut * *")
	<-l.Done()
	if kind := l.Cause().Why; kind != why.LeaseExpired && kind != why.NoQuorum {
		t.Errorf("with all ways dead: %v", l.Cause())
	}
	do(0, "heal * *")
	_ = l.Resign(t.Context())
}

// joinBy makes members join that reach one another by all the relays.
func joinBy(t *testing.T, names, addrs []string, ways []*relay.Relay) []*regent.Member {
	t.Helper()
	members := make([]*regent.Member, len(names))
	done := make(chan error, len(names))
	keys := make([]regent.Peer, len(names))
	for i, n := range names {
		keys[i].Name = n
	}
	own := regent.DrawKeys(keys)
	for i, me := range names {
		c := regent.Config{Name: me, OwnKeys: own[me], Bootstrap: true, Bind: addrs[i], Timing: patient, Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
		for j, n := range names {
			p := regent.Peer{Name: n, Addrs: []string{addrs[j], addrs[j]}, PublicKeys: keys[j].PublicKeys}
			if n != me {
				p.Addrs = nil
				for _, r := range ways {
					a, err := r.Addr(n)
					if err != nil {
						t.Fatal(err)
					}
					p.Addrs = append(p.Addrs, a.String())
				}
			}
			c.Council = append(c.Council, p)
		}
		go func() {
			m, err := regent.Join(t.Context(), c)
			members[i] = m
			done <- err
		}()
	}
	for range names {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		for _, m := range slices.Backward(members) {
			_ = m.Leave(ctx)
		}
	})
	return members
}
