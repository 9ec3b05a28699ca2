package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestQuorumOfGrantsMakesALeader(t *testing.T) {
	c := newCouncil(t, plain(3))
	start := c.now
	c.try(0, "g")
	l := c.led(0, "g")
	if want := start.Add(c.cfg.Rho.WaitAtMost(c.cfg.Lease)); l.End != want {
		t.Errorf("leads until %v, want %v", l.End, want)
	}
	if l.Backers != protocol.Everyone(3) || l.Token != 1 || len(l.Quorum) < 2 {
		t.Errorf("lease %+v", l)
	}
}

func TestMinorityDoesNot(t *testing.T) {
	c := newCouncil(t, plain(5))
	c.deaf = protocol.NewSet(2, 3, 4)
	c.try(0, "g")
	if _, ok := c.lease(0, "g"); ok {
		t.Error("leads with two of five")
	}
}

// E is the latest instant until which enough voters can be relied on, each by its own request.
func TestLeaseEndsWithTheVoterThatTheQuorumCannotSpare(t *testing.T) {
	c := newCouncil(t, plain(5))
	c.try(0, "g")
	first := c.led(0, "g").End
	c.deaf = protocol.NewSet(3, 4)
	c.now = c.now.Add(50 * ms)
	second := c.now.Add(c.cfg.Rho.WaitAtMost(c.cfg.Lease))
	c.pump(c.do(0, func(*half) {}))
	if l := c.led(0, "g"); l.End != second {
		t.Errorf("three of five renewed: until %v, want %v", l.End, second)
	}
	c.deaf.Add(2)
	c.now = c.now.Add(50 * ms)
	c.pump(c.do(0, func(*half) {}))
	if l := c.led(0, "g"); l.End != second || second <= first {
		t.Errorf("two of five renewed: until %v, want %v as before", l.End, second)
	}
}

func TestAnsweredHolderSleepsUntilTheNextRenewal(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.now = c.now.Add(c.cfg.Renew)
	asked := c.do(0, func(*half) {})
	if got, want := c.members[0].holder.Next(), c.now.Add(c.members[0].cfg.patience()); len(asked) != 3 || got != want {
		t.Fatalf("asked %d voters and waits until %v, want %v: their answers may be lost", len(asked), got, want)
	}
	c.pump(asked)
	if got, want := c.members[0].holder.Next(), c.now.Add(c.cfg.Renew); got != want {
		t.Errorf("with every answer there it waits until %v, want %v: the next renewal", got, want)
	}
}

// A frozen holder has no round any more. Whoever steps it may send nothing, and a wake that is never served would come for ever.
func TestFrozenHolderWantsNoRoundForUnansweredRequests(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.now = c.now.Add(c.cfg.Renew)
	c.do(0, func(*half) {}) // nobody gets these requests
	h := c.members[0].holder
	h.Freeze(c.now, protocol.Cause{})
	c.now = c.now.Add(h.cfg.patience())
	h.Begin(c.now, &protocol.Effects{})
	if h.renew != protocol.Never {
		t.Errorf("wants a round at %v, at %v", h.renew, c.now)
	}
}

// E-N4: a renewal for a shorter time must not take back what verification has promised.
func TestShorterRenewalDoesNotShortenALease(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	end := c.led(0, "g").End
	c.members[0].cfg.Lease = 60 * ms
	c.now = c.now.Add(50 * ms)
	c.pump(c.do(0, func(*half) {}))
	if l := c.led(0, "g"); l.End != end {
		t.Errorf("until %v, want %v", l.End, end)
	}
}

func TestExpiredLeaseIsOverBeforeALateAnswerIsLookedAt(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	end := c.led(0, "g").End
	c.now = end - 1
	asked := c.do(0, func(*half) {}) // a renewal, whose answers come too late
	if len(asked) == 0 {
		t.Fatal("no renewal was due")
	}
	var answers []envelope
	for _, l := range asked {
		answers = append(answers, c.deliver(l)...)
	}
	c.now = end
	out := c.members[0]
	c.do(0, func(*half) {})
	if _, ok := c.lease(0, "g"); ok {
		t.Fatal("leads at the end of its lease")
	}
	if f := facts(out, protocol.EvStepdown); len(f) != 1 || f[0].Why != "expired" {
		t.Errorf("stepdowns %+v", f)
	}
	for _, l := range answers {
		c.deliver(l)
	}
	if _, ok := c.lease(0, "g"); ok {
		t.Error("a late answer revived the lease")
	}
}

func TestLeadershipIsLostBeforeItIsReleased(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	out := c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) })
	if _, ok := c.lease(0, "g"); ok {
		t.Fatal("still leads")
	}
	if len(facts(c.members[0], protocol.EvStepdown)) != 1 {
		t.Error("no stepdown in the Step that releases")
	}
	released := 0
	for _, l := range out {
		released += len(l.msg.(*Request).Releases)
	}
	if released != 3 {
		t.Errorf("%d releases, want one to each voter", released)
	}
}

func TestLeaseIsRenewedWhileTheProgramStops(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.do(0, func(h *half) {
		h.holder.Resign(c.now, "g", protocol.Nobody, protocol.Never, protocol.Cause{Code: protocol.Resigned})
	})
	c.tick(time.Second)
	if l := c.led(0, "g"); !l.Stopping || l.End <= c.now {
		t.Errorf("lease %+v", l)
	}
	for _, l := range c.sent {
		if r, is := l.msg.(*Request); is && len(r.Releases) > 0 {
			t.Fatal("released under a program that may still act")
		}
	}
}

func TestProgramThatDoesNotStopInTimeLetsTheLeaseRunOut(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.try(0, "h")
	c.do(0, func(h *half) {
		h.holder.Resign(c.now, "g", protocol.Nobody, c.now.Add(100*ms), protocol.Cause{Code: protocol.Resigned})
	})
	c.tick(110 * ms)
	l := c.led(0, "g")
	if l.Cap == protocol.Never || l.Cap <= c.now {
		t.Fatalf("the lease has no set end: %+v", l)
	}
	c.now = l.Cap - 1
	c.do(0, func(*half) {})
	c.led(0, "g") // not a moment too soon
	c.now = l.Cap
	c.pump(c.do(0, func(*half) {}))
	if _, ok := c.lease(0, "g"); ok {
		t.Error("leads beyond the set end")
	}
	if s := c.members[1].grantor.Status(c.now, "g"); s.Holder != protocol.NoIdent {
		t.Errorf("%v has the group: it was not released", s.Holder)
	}
	c.tick(time.Second)
	c.led(0, "h") // renewed all the while
}

// E-N4: who was told that the leader stays must not see it go.
func TestVerifiedLeaderStaysAsLongAsItSaid(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	var said time.Duration
	c.do(0, func(h *half) { said, _ = h.holder.Verify(c.now, "g", 30*ms) })
	if said != 30*ms {
		t.Fatalf("said %v, want 30ms", said)
	}
	until := c.now.Add(c.cfg.Rho.WaitAtLeast(said))
	c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) })
	c.now = until - 1
	c.do(0, func(*half) {})
	c.led(0, "g")
	c.now = until
	c.do(0, func(*half) {})
	if _, ok := c.lease(0, "g"); ok {
		t.Error("stays longer than it said")
	}
}

func TestVerificationNeverPromisesMoreThanTheLease(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	l := c.led(0, "g")
	c.do(0, func(h *half) {
		said, token := h.holder.Verify(c.now, "g", time.Hour)
		if want := c.cfg.Rho.RealAtLeast(l.End.Sub(c.now)); said != want || token != l.Token {
			t.Errorf("said %v at %d, want %v at %d", said, token, want, l.Token)
		}
		if h.holder.tenures["g"].verified > l.End {
			t.Error("bound beyond the end of the lease")
		}
		h.holder.Resign(c.now, "g", protocol.Nobody, protocol.Never, protocol.Cause{})
		if said, _ := h.holder.Verify(c.now, "g", ms); said != 0 {
			t.Error("promises to stay though it was asked to stop")
		}
	})
	c.now = l.End
	c.do(0, func(h *half) {
		if said, _ := h.holder.Verify(c.now, "g", ms); said != 0 {
			t.Error("promises to stay though its lease is over")
		}
	})
}

func TestReleaseIsRepeatedUntilEachVoterHasAnswered(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.deaf = protocol.NewSet(2)
	c.pump(c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) }))
	c.tick(2 * time.Second) // its promise has long lapsed; only its word counts
	if !c.members[0].holder.Releasing() {
		t.Fatal("the release was given up before the voter answered")
	}
	c.deaf = protocol.Set{}
	c.tick(time.Second)
	if c.members[0].holder.Releasing() {
		t.Error("the release goes on after all have answered")
	}
	before := len(c.sent)
	c.tick(2 * time.Second)
	if len(c.sent) != before {
		t.Errorf("%d messages of a member that leads, tries and releases nothing", len(c.sent)-before)
	}
}

// An answer to an earlier release of the group says nothing about a later one.
func TestLaterReleaseNeedsItsOwnAnswer(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	first := c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) })
	i := slices.IndexFunc(first, func(l envelope) bool { return l.to == 2 })
	early := c.deliver(first[i]) // the answer is on its way
	for _, l := range first {
		if l.to != 2 {
			c.pump(c.deliver(l))
		}
	}
	c.deaf = protocol.NewSet(2)
	c.try(0, "g")
	c.pump(c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) }))
	for _, l := range early {
		c.deliver(l)
	}
	if !c.members[0].holder.Releasing() {
		t.Error("the second release was taken for answered")
	}
}

func TestCandidateOutbidBeginsAnewEverywhere(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.members[1].terms.Floor = 40
	c.try(0, "g")
	l := c.led(0, "g")
	if l.Token != 41 {
		t.Fatalf("token %d, want 41", l.Token)
	}
	for _, q := range l.Quorum {
		if s := c.members[q.Voter].grantor.groups["g"]; s.term != 41 {
			t.Errorf("voter %d acknowledged term %d: all must bear one", q.Voter, s.term)
		}
	}
}

func TestLeaderOutbidAtOneVoterKeepsItsToken(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.members[2].terms.Floor = 1000
	c.restart(2, c.now)
	c.tick(200 * ms)
	l := c.led(0, "g")
	if l.Token != 1 || l.Backers != protocol.Everyone(3) {
		t.Errorf("token %d, backers %v: want 1 and all", l.Token, l.Backers)
	}
	if e := c.members[2].grantor.groups["g"]; e.term != 1001 || e.token != 1 {
		t.Errorf("at the restarted voter: term %d, token %d; want 1001 and 1", e.term, e.token)
	}
	c.pump(c.do(0, func(h *half) { h.holder.Stopped(c.now, "g", protocol.Nobody) }))
	c.try(0, "g")
	if l := c.led(0, "g"); l.Token != 1002 {
		t.Errorf("the next token is %d, want 1002: above all that any claim bore", l.Token)
	}
}

func TestVoterThatRestartedBacksNothing(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.restart(1, c.now.Add(time.Hour))
	c.deaf = protocol.NewSet(2)
	end := c.led(0, "g").End
	c.now = c.now.Add(50 * ms)
	c.pump(c.do(0, func(*half) {}))
	if l := c.led(0, "g"); l.End != end || l.Backers.Has(1) {
		t.Errorf("until %v with %v: a voter that forgot counts", l.End, l.Backers)
	}
}

func TestBrokenPromiseBacksNothingUntilClaimedAgain(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.try(0, "g")
	c.deaf = protocol.NewSet(2)
	c.tick(300 * ms) // lapses at voter 2 only
	c.deaf = protocol.Set{}
	c.now = c.members[0].holder.renew
	asked := c.do(0, func(*half) {})
	for _, l := range asked {
		if l.to != 2 {
			continue
		}
		for _, a := range c.deliver(l) {
			again := c.deliver(a)
			if l := c.led(0, "g"); l.Backers.Has(2) {
				t.Fatal("a voter whose promise had lapsed backs the group without a claim")
			}
			c.pump(again)
		}
	}
	if l := c.led(0, "g"); !l.Backers.Has(2) {
		t.Error("the voter was not claimed again")
	}
}

// E-N9: what a candidate could not use is free again at once.
func TestRefusedCandidateReleasesAtOnce(t *testing.T) {
	c := newCouncil(t, plain(4))
	for v, p := range map[protocol.Rank]protocol.Rank{0: 2, 1: 2} {
		c.claim(v, p, 1, Claim{Group: "g", Tenure: 1, Term: 1})
	}
	c.try(3, "g")
	o := c.members[3].outcomes
	if len(o) != 1 || o[0].What != Failed || !o[0].Busy {
		t.Fatalf("outcomes %+v, want one failure that refusals explain", o)
	}
	for _, v := range []protocol.Rank{2, 3} {
		if s := c.members[v].grantor.Status(c.now, "g"); s.Holder != protocol.NoIdent {
			t.Errorf("%v is still assigned to %v", v, s.Holder)
		}
	}
}

func TestSilentVotersCountAsRefusalsOnlyBesideOthers(t *testing.T) {
	c := newCouncil(t, plain(5))
	c.deaf = protocol.NewSet(2, 3, 4)
	c.try(0, "g")
	c.tick(150 * ms)
	if o := c.members[0].outcomes; len(o) != 0 {
		t.Fatalf("gave up on silence alone: %+v", o)
	}
	c.tick(100 * ms)
	if o := c.members[0].outcomes; len(o) != 1 || o[0].Busy {
		t.Fatalf("outcomes %+v, want one failure by silence, at the end of the lease asked for", o)
	}
	c = newCouncil(t, plain(5))
	c.claim(1, 2, 1, Claim{Group: "g", Tenure: 1, Term: 1})
	c.deaf = protocol.NewSet(3, 4)
	c.try(0, "g")
	c.tick(30 * ms)
	if o := c.members[0].outcomes; len(o) != 1 || !o[0].Busy {
		t.Fatalf("outcomes %+v, want one failure after a round trip", o)
	}
}

// Answers may overtake one another: that of an earlier promise says nothing about the present one.
func TestAnswerOfAnEarlierPromiseIsIgnored(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.deaf = protocol.NewSet(1)
	first := c.do(0, func(h *half) { h.holder.Try(c.now, "g", 0) })
	var early []envelope
	for _, l := range first {
		if l.to == 2 {
			early = c.deliver(l) // promise 1, granted; the answer is held up
		} else {
			c.pump([]envelope{l})
		}
	}
	// The promise lapses at voter 2 long before the answer comes, and another one begins.
	v := c.members[2].grantor.wards[0].promises[0]
	v.until = c.now
	c.now = c.now.Add(30 * ms)
	c.do(2, func(*half) {})
	second := c.do(0, func(h *half) { h.holder.renew = c.now })
	for _, l := range second {
		if l.to == 2 {
			l.msg.(*Request).Claims = nil
			for _, a := range c.deliver(l) {
				c.deliver(a)
			}
		}
	}
	if h := c.members[0].holder; h.lengths[0].by[2].gen != 2 {
		t.Fatalf("promise %d, want 2", h.lengths[0].by[2].gen)
	}
	for _, l := range early {
		c.deliver(l)
	}
	if _, ok := c.lease(0, "g"); ok {
		t.Error("leads by a promise that was broken")
	}
}

// A voter whose end has passed does not back a first completion, even if its promise is not known to be broken.
func TestLapsedVoterDoesNotCompleteAQuorum(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.members[0].cfg.Lease = 60 * ms
	c.members[0].holder.cfg.Lease = 60 * ms
	c.deaf = protocol.NewSet(1, 2)
	out := c.do(0, func(h *half) { h.holder.Try(c.now, "g", 0) })
	c.members[0].holder.schedule(c.members[0].holder.tenures["g"], c.now.Add(time.Hour))
	c.pump(out)
	c.mute = protocol.NewSet(0)
	self := c.now.Add(c.cfg.Rho.WaitAtMost(60 * ms))
	c.now = self
	c.mute, c.deaf = protocol.Set{}, protocol.Set{}
	for _, l := range out {
		if l.to == 1 {
			// Its own vote has lapsed on its own clock; that of voter 1 is fresh.
			c.members[0].holder.voters[1].flights[0].start = c.now
			for _, a := range c.deliver(l) {
				c.deliver(a)
			}
		}
	}
	if l, ok := c.lease(0, "g"); ok {
		t.Errorf("leads with %v", l.Quorum)
	}
}

// An answer that was on its way for longer than its asker lived is no answer to the next incarnation's question.
func TestAnswerToAnEarlierIncarnationIsIgnored(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.members[0].candidates["g"] = true
	try := func() []envelope { return c.do(0, func(h *half) { h.holder.Try(c.now, "g", 0) }) }
	var late []envelope
	for _, l := range try() {
		if l.to != 0 {
			late = append(late, c.deliver(l)...)
		}
	}
	if len(late) != 2 {
		t.Fatalf("%d answers, want 2", len(late))
	}
	c.restart(0, c.now)
	try()
	for _, l := range late {
		c.deliver(l)
	}
	if l, ok := c.lease(0, "g"); ok {
		t.Errorf("leads by answers to the incarnation before: %+v", l)
	}
}
