package runtime

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
)

func TestOnlyAnswersToMereRenewalsGather(t *testing.T) {
	now := protocol.Time(1e9)
	me := protocol.Ident{Rank: 0, Inc: 1}
	s := summary("a", "x")
	packets, err := wire.NewEndpoint(now, wire.Config{Config: datagram.Config{Self: me, Members: 3, Council: datagram.Council{Digest: s.Digest()}, Rho: protocol.DefaultRho,
		Delta: 10 * time.Millisecond}, Pairs: wiretest.Pairs(me.Rank, 3)})
	if err != nil {
		t.Fatal(err)
	}
	const gather = 300 * time.Microsecond
	p := NewPort(PortOptions{Self: me.Rank, Socket: &line2{}, Wire: packets, Names: []string{"a", "b", "c"}, Addrs: [][]netip.AddrPort{{addr(1)}, {addr(2)}, {addr(3)}}, Summary: s,
		Gather: gather, Clock: func() protocol.Time { now++; return now }, Log: slog.New(slog.DiscardHandler)})
	renewal := &lease.Request{Seq: 1, Delta: time.Second}
	claim := &lease.Request{Seq: 1, Delta: time.Second, Claims: []lease.Claim{{Group: "g", Tenure: 1, Term: 1}}}
	release := &lease.Request{Seq: 1, Delta: time.Second, Releases: []lease.Release{{Group: "g"}}}
	for _, c := range []struct {
		what string
		b, c []protocol.Message
		want time.Duration
	}{
		{what: "nothing"},
		{"one renewal", []protocol.Message{renewal}, nil, 0},
		{"two renewals", []protocol.Message{renewal}, []protocol.Message{renewal}, gather},
		{"a renewal and a claim", []protocol.Message{renewal}, []protocol.Message{claim}, 0},
		{"a claim and a renewal", []protocol.Message{claim}, []protocol.Message{renewal}, 0},
		{"a release", []protocol.Message{release}, []protocol.Message{renewal}, 0},
		{"a renewal behind another message", []protocol.Message{&rank.OK{Seq: 1}, renewal}, []protocol.Message{renewal}, 0},
		{"a renewal before another message", []protocol.Message{renewal, &rank.OK{Seq: 1}}, []protocol.Message{renewal}, 0},
		{"two renewals again", []protocol.Message{renewal}, []protocol.Message{renewal}, gather},
	} {
		for to, all := range [][]protocol.Message{nil, c.b, c.c} {
			for _, m := range all {
				p.Send(now, protocol.Rank(to), 0, m)
			}
		}
		if got := p.Flush(); got != c.want {
			t.Errorf("after %s packets may wait %v, want %v", c.what, got, c.want)
		}
	}
}

func TestPacketsGatherAndCallsDoNotWait(t *testing.T) {
	c, w := listening(t)
	if w == nil {
		return
	}
	if _, err := c.WriteTo([]byte("x"), c.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	const gather = 20 * time.Millisecond
	begin := time.Now()
	w.Wait(long, gather)
	if took := time.Since(begin); took < gather*9/10 || took > long/2 {
		t.Errorf("with a packet there the wait took %v, want %v: the time for others to come", took, gather)
	}
	go w.Wake()
	w.Wait(long, long) // the test's own limit ends it if it misses the call
}
