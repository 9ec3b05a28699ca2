package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestSlowDownIsTwiceTheRoundTripUpToAQuarterOfTheLease(t *testing.T) {
	cfg := plain(3)
	for _, c := range []struct{ p99, length, want time.Duration }{
		{0, 0, 0}, {20 * ms, 0, 0}, // as it should be
		{21 * ms, 0, 42 * ms}, {24 * ms, 0, 48 * ms}, {26 * ms, 0, 50 * ms}, {time.Minute, 0, 50 * ms},
		{100 * ms, 2 * time.Second, 200 * ms}, {time.Second, 2 * time.Second, 500 * ms},
	} {
		if got := cfg.slowDown(c.p99, c.length); got != c.want {
			t.Errorf("round trips of %v, leases of %v: slowed down by %v, want %v", c.p99, c.length, got, c.want)
		}
	}
}

func TestOneSlowRoundTripInAHundredDoesNotCount(t *testing.T) {
	var r roundTrips
	r.add(0, time.Second)
	for range fewTrips - 2 {
		r.add(0, 5*ms)
	}
	if d := r.p99(0); d != 5*ms {
		t.Errorf("one round trip of a second: %v", d)
	}
	r.add(0, 300*ms)
	if d := r.p99(0); d != 300*ms {
		t.Errorf("two slow ones, the second of 300 ms: %v", d)
	}
	for range fewTrips - 1 {
		r.add(0, 5*ms)
	}
	if d := r.p99(0); d != 300*ms {
		t.Errorf("forgotten after %d others: %v", fewTrips-1, d)
	}
	for range fewTrips {
		r.add(0, 5*ms)
	}
	if d := r.p99(0); d != 5*ms {
		t.Errorf("remembered for ever: %v", d)
	}
	r = roundTrips{} // one slow round trip in each of two windows
	for _, n := range []int{fewTrips, fewTrips / 2} {
		r.add(0, 200*ms)
		for range n - 1 {
			r.add(0, 5*ms)
		}
	}
	if d := r.p99(0); d != 200*ms {
		t.Errorf("two slow ones in a hundred and fifty: %v", d)
	}
}

// answers lets a voter that grants nothing answer the holder's last request after a while.
func (c *council) answers(r protocol.Rank, after time.Duration) {
	h := c.members[0].holder
	seq := h.seq
	c.now = c.now.Add(after)
	c.do(0, func(h *half) {
		h.holder.Nack(c.now, c.ident(r), &Nack{Asker: h.inc, Seq: seq, Why: WhyRecovering, Remaining: time.Hour})
	})
}

// ask lets the holder send a voter one request.
func (c *council) ask(r protocol.Rank) {
	c.do(0, func(h *half) { h.holder.send(c.now, &h.holder.voters[r], r) })
}

// The answer comes when nothing waits for it any more, and still counts as measured. An answer to another incarnation does not.
func TestRoundTripsLongerThanTheLeaseAreMeasured(t *testing.T) {
	c := newCouncil(t, plain(3))
	v := &c.members[0].holder.voters[1]
	for range 2 {
		c.ask(1)
		c.answers(1, 700*ms)
		if len(v.flights) != 0 {
			t.Fatal("a request of which nothing can come is still waited for")
		}
	}
	if d := v.rtt.p99(c.now); d != 700*ms {
		t.Errorf("measured %v, want 700 ms", d)
	}
	c.ask(1)
	n := v.rtt.few.n
	seq := c.members[0].holder.seq
	c.do(0, func(h *half) {
		h.holder.OK(c.now, c.ident(1), &OK{Asker: h.inc + 1, Seq: seq})
		h.holder.OK(c.now, c.ident(1), &OK{Asker: h.inc, Seq: seq + 9})
	})
	if v.rtt.few.n != n {
		t.Error("measured by an answer to another incarnation, or to no request")
	}
	// A probe that is lost does not keep others from being measured.
	c.now = c.now.Add(time.Second)
	c.ask(1)
	c.answers(1, 300*ms)
	c.ask(1)
	c.answers(1, 900*ms)
	if v.rtt.few.now[0] != 900*ms {
		t.Errorf("the slowest is %v after a probe was lost", v.rtt.few.now[0])
	}
}

func TestPatienceGrowsAfterTwoLateAnswers(t *testing.T) {
	c := newCouncil(t, plain(3))
	h := c.members[0].holder
	v := &h.voters[1]
	plain := c.cfg.patience()
	for i := range 4 {
		c.ask(1)
		want := plain
		if i >= FreeTries {
			want += 50 * ms
		}
		if got := h.patience(v); got != want {
			t.Errorf("request %d: patience %v, want %v", i+1, got, want)
		}
		c.answers(1, 60*ms)
	}
	c.ask(1)
	c.answers(1, 20*ms)
	if got := h.patience(v); got != plain {
		t.Errorf("after an answer in time: %v", got)
	}
	// A voter that is dead, and was never slow, is no reason to slow down.
	dead := &h.voters[2]
	dead.rtt.add(c.now, ms)
	dead.rtt.add(c.now, ms)
	for range 5 {
		c.ask(2)
		c.tick(250 * ms)
	}
	if got := h.patience(dead); dead.late != FreeTries || got != plain {
		t.Errorf("%d late answers of a dead voter: patience %v", dead.late, got)
	}
}

// slowVoters lets a member know that its peers are slow.
func (c *council) slowVoters(r protocol.Rank, trip time.Duration) {
	h := c.members[r].holder
	for i := range h.voters {
		if protocol.Rank(i) != r {
			h.voters[i].late = FreeTries
			for range 3 {
				h.voters[i].rtt.add(c.now, trip)
			}
		}
	}
}

// A voter that hears a release says so after the patience with it is over. The holder does not repeat it for ever.
func TestLateAnswerEndsARelease(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.led(0, "g")
	ls := c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) })
	c.deaf = protocol.NewSet(1, 2)
	c.tick(30 * ms)
	c.deaf = protocol.Set{}
	if h := c.members[0].holder; !h.Releasing() || !h.voters[1].silent {
		t.Fatal("the release was answered, or is still waited for")
	}
	for _, l := range ls {
		for _, answer := range c.deliver(l) {
			c.deliver(answer) // and nothing else arrives
		}
	}
	if c.members[0].holder.Releasing() {
		t.Error("a release that all have heard is repeated")
	}
}

// A leader takes a voter for silent as soon as before: what the voter does not back is claimed again with the next renewal.
func TestLeadersAreNotSlowedDown(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.slowVoters(0, 60*ms)
	h := c.members[0].holder
	if got, want := h.patience(&h.voters[1]), c.cfg.patience()+50*ms; got != want {
		t.Errorf("a candidate has %v of patience, want %v", got, want)
	}
	c.try(0, "g")
	c.led(0, "g")
	c.slowVoters(0, 60*ms)
	if got := h.patience(&h.voters[1]); got != c.cfg.patience() {
		t.Errorf("a leader has %v of patience", got)
	}
}

// Leases of two seconds can be had where answers take longer than the lease of the council.
func TestAttemptTakesAsLongAsAnswersDo(t *testing.T) {
	c := newCouncil(t, mixed(3))
	h := c.members[0].holder
	slow := h.newLength(2 * long)
	if got := h.tryFor(slow); got != c.cfg.Lease {
		t.Errorf("quick answers: attempts take %v", got)
	}
	c.slowVoters(0, 220*ms)
	h.voters[0].rtt.add(c.now, 0)
	if got, want := h.tryFor(slow), c.cfg.RoundTrip+min(440*ms, long/2); got != want {
		t.Errorf("answers after 220 ms: attempts take %v, want %v", got, want)
	}
	if got := h.tryFor(h.lengths[0]); got != c.cfg.Lease {
		t.Errorf("an attempt for a lease of %v takes %v", c.cfg.Lease, got)
	}
}

// fill lets a voter have as many promises to a holder as it may, with a group in each.
func (c *council) fill(voter, holder protocol.Rank) {
	c.do(voter, func(h *half) {
		w := h.grantor.ward(c.ident(holder))
		for i := range maxPromises {
			p := w.begin(0, time.Duration(i+1))
			p.gen, p.until = uint64(i+1), c.now.Add(long)
			h.grantor.assign(h.grantor.entry(c.now, protocol.Group(fmt.Sprint("old", i))), p)
		}
		w.gen = maxPromises
	})
}

// Voter and holder do not answer each other without end until one of the promises lapses.
func TestHolderBacksOffFromAVoterWithoutRoom(t *testing.T) {
	c := newCouncil(t, mixed(3))
	c.fill(1, 0)
	c.fill(2, 0)
	ls := c.do(0, func(h *half) { h.holder.Try(c.now, "g", long) })
	for n := 0; len(ls) > 0; n++ {
		if n == 100 {
			t.Fatal("a hundred messages at one instant")
		}
		l := ls[0]
		ls = append(ls[1:], c.deliver(l)...)
	}
	if o := c.members[0].outcomes; len(o) != 1 || o[0].What != Failed || !o[0].Busy {
		t.Errorf("the attempt came to %+v", o)
	}
	// One voter without room is outvoted, and asked again with each renewal.
	c = newCouncil(t, mixed(3))
	c.fill(1, 0)
	c.tryFor(0, "g", long)
	c.led(0, "g")
	c.sent = nil
	for range 8 {
		c.tick(c.cfg.Renew)
	}
	n := 0
	for _, e := range c.sent {
		if m, is := e.msg.(*Request); is && e.to == 1 && len(m.Claims) > 0 {
			n++
		}
	}
	if n == 0 || n > 9 {
		t.Errorf("the voter was asked %d times in eight intervals between renewals", n)
	}
	c.tick(2 * long)
	if l := c.led(0, "g"); !l.Backers.Has(1) {
		t.Errorf("backed by %v after the promises of before have run out", l.Backers)
	}
}

// Nothing is measured while a candidate waits. What it measured before says nothing about round trips of now.
func TestRoundTripsAreForgotten(t *testing.T) {
	var r roundTrips
	began := protocol.Time(time.Hour)
	for range 3 {
		r.add(began, 300*ms)
	}
	for _, c := range []struct{ after, want time.Duration }{
		{0, 300 * ms}, {tripsAge, 300 * ms}, {2*tripsAge - 1, 300 * ms}, {2 * tripsAge, 0},
	} {
		if got := r.p99(began.Add(c.after)); got != c.want {
			t.Errorf("%v later: %v, want %v", c.after, got, c.want)
		}
	}
	// Those that are measured meanwhile do not keep them.
	for i := range 2 * fewTrips / 5 {
		r.add(began.Add(time.Duration(i)*tripsAge*5/fewTrips), 5*ms)
	}
	if got := r.p99(began.Add(2 * tripsAge)); got != 5*ms {
		t.Errorf("with others since: %v", got)
	}
	if !r.measured {
		t.Error("the voter counts as one that never answered")
	}
}

// A voter that answers in time again is no reason to go slow, though slow answers of it are remembered.
func TestAnswerInTimeEndsTheSlowDown(t *testing.T) {
	c := newCouncil(t, plain(3))
	h := c.members[0].holder
	for i, after := range []time.Duration{700 * ms, 700 * ms, 700 * ms, 5 * ms} {
		for r := range protocol.Rank(2) {
			c.ask(r + 1)
			c.answers(r+1, after)
		}
		if got := h.SlowDown(0); i > 0 && (got == 0) != (after == 5*ms) {
			t.Errorf("slowed down by %v after an answer that took %v", got, after)
		}
	}
}
