package runtime

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
)

// A modelSocket holds packets of a flood, and says which share of them the filter lets in.
type modelSocket struct {
	floodSpy
	odds   float64
	queued float64
}

func (s *modelSocket) SetFilter(f *transport.Filter) error {
	s.odds = 1
	if f != nil {
		s.odds = float64(f.Odds[0].OneIn)
	}
	return nil
}

// What the guard decides under a flood of recorded packets costs a leader no lease, whatever the sender's rate and the room of the socket are: honest packets, one in
// 10 ms, are never lost for as long as a renewal and its repetition take. Every ten seconds the guard looks without a filter whether the flood goes on. That and the nap are all that
// keeps packets out here: the host has no pauses.
func TestFloodKeepsHonestPacketsOutForAMomentOnly(t *testing.T) {
	const (
		nap     = 2 * time.Millisecond // a tenth of the round trip of profile lan
		honest  = 10 * time.Millisecond
		longest = 80 * time.Millisecond // leases of profile lan survive pauses of 109 ms
	)
	for _, c := range []struct {
		rate float64 // of the flood, a second
		room float64 // of the socket, in packets
		cost time.Duration
	}{
		{300_000, 250, 3 * time.Microsecond}, // kernels with net.core.rmem_max of 208 KB
		{300_000, 5000, 3 * time.Microsecond},
		{800_000, 250, 3 * time.Microsecond}, // more than the member can take
		{800_000, 5000, 6 * time.Microsecond},
		{100_000, 250, 6 * time.Microsecond},
	} {
		s := &modelSocket{odds: 1}
		s.fifo = true
		f := &floodGuard{socket: s, thread: s, nap: nap, gate: func(c wire.Chances, _ int) *transport.Filter {
			return &transport.Filter{Odds: []transport.Odds{{OneIn: max(1, c.Known)}}}
		}}
		now, next, heard, gap, looks := protocol.Time(time.Second), protocol.Time(time.Second), protocol.Time(time.Second), time.Duration(0), 0
		// pass lets packets come for a while. An honest one is lost if the socket is full then, and heard when the queue before it has been read.
		pass := func(d time.Duration) {
			now = now.Add(d)
			s.queued += c.rate / s.odds * d.Seconds()
			full := s.queued >= c.room
			s.queued = min(s.queued, c.room)
			for ; next <= now; next = next.Add(honest) {
				if !full {
					at := now.Add(time.Duration(s.queued) * c.cost)
					gap, heard = max(gap, at.Sub(heard)), at
				}
			}
		}
		for now < protocol.Time(61*time.Second) {
			n := min(inBatch, int(s.queued))
			s.queued -= float64(n)
			pass(5*time.Microsecond + time.Duration(n)*c.cost)
			s.used += time.Duration(n) * c.cost
			for range n {
				f.count(true)
			}
			was, slept := f.filtered, s.slept
			if !f.idle() {
				if _, err := f.tick(now); err != nil {
					t.Fatal(err)
				}
				if f.flooded && n < inBatch {
					s.sleep(nap)
				}
			}
			if was != 0 && f.filtered == 0 {
				looks++
			}
			if d := s.slept - slept; d > 0 {
				pass(d)
			}
			if n == 0 {
				pass(100 * time.Microsecond) // it waits
			}
		}
		t.Logf("%v: %d looks without a filter, the longest gap between honest packets is %v", c, looks, gap)
		if looks < 4 {
			t.Errorf("%v: %d looks without a filter: nothing was shown", c, looks)
		}
		if gap > longest {
			t.Errorf("%v: no honest packet is heard for %v", c, gap)
		}
	}
}
