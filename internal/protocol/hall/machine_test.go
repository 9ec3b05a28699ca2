package hall_test

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/hall"
)

func TestWhoHearsNobodyBetterAsksEverybodyAndItself(t *testing.T) {
	x := join(t, 1, 3)
	if to := x.Sent("hall.Election"); !slices.Equal(to, []protocol.Rank{0, 1, 2}) {
		t.Errorf("the Election went to %v, want everybody in rank order", to)
	}
}

func TestWhoIsNotInTheGroupIsSilent(t *testing.T) {
	c := hall.Default(0, 2, 1, hall.LAN)
	c.Group = group
	m, err := hall.New(c)
	if err != nil {
		t.Fatal(err)
	}
	x := &member{t: t, m: m, Stepper: drivetest.Stepper{Machine: m}, cfg: c}
	x.step(protocol.Start{})
	if x.Last.Wake != protocol.Never || len(x.Last.Send) > 0 {
		t.Errorf("before it campaigns: %+v", x.Last)
	}
	x.Now = 500 * ms
	x.hear(1, &hall.Election{Request: 1})
	if len(x.Last.Send) > 0 {
		t.Errorf("it answers: %+v", x.Last.Send)
	}
	x.step(protocol.Campaign{Group: "another"})
	if len(x.Last.Send) > 0 {
		t.Errorf("another group wakes it: %+v", x.Last.Send)
	}
}

// TestFirstRequestOfAFreshCandidateCannotWin is what BI rests on; that the second follows at once is the fail-over optimisation.
func TestFirstRequestOfAFreshCandidateCannotWinAndTheSecondFollowsAtOnce(t *testing.T) {
	x := join(t, 0, 2)
	first := x.sent
	x.loop()
	x.hear(1, yes(first, 0, 1))
	x.at(1020*ms + 20_000)
	if len(x.Last.Views) != 0 || x.sent != first+1 {
		t.Fatalf("after the first round: views %v, request %d; want none, and the second request", x.Last.Views, x.sent)
	}
	if to := x.Sent("hall.Release"); len(to) > 0 {
		t.Error("locks that will be needed in a moment were given back")
	}
}

func TestLeadsWithTheSupportOfAllThatItHears(t *testing.T) {
	x := join(t, 0, 4)
	x.lead(1, 2)
	v := x.view()
	if v.Domain != protocol.Local || v.Support != protocol.NewSet(0, 1, 2) || v.Tenure != 1 || v.Cause.Code != protocol.Elected {
		t.Errorf("view %+v", v)
	}
	sent := 1021 * ms
	if h := x.Last.Horizons; len(h) != 1 || h[0].Until != sent.Add(x.lease()) {
		t.Errorf("the lease ends at %v, want %v: from the request on, not from the replies", h, sent.Add(x.lease()))
	}
	if x.lease() >= x.cfg.Lock {
		t.Error("the lease is not shorter than the lock")
	}
}

func TestOneRefusalOrOneSilenceIsTooMany(t *testing.T) {
	for name, answer := range map[string]*hall.Reply{"refusal": no(2, 0, 2), "silence": nil} {
		x := join(t, 0, 3)
		x.loop()
		x.hear(1, yes(1, 0, 1))
		x.hear(2, yes(1, 0, 2))
		x.at(1021 * ms)
		x.loop()
		x.hear(1, yes(2, 0, 1))
		if answer != nil {
			x.hear(2, answer)
		}
		x.at(1042 * ms)
		if len(x.Last.Views) != 0 {
			t.Errorf("%s: %+v", name, x.Last.Views)
		}
		if to := x.Sent("hall.Release"); len(to) != 3 {
			t.Errorf("%s: the failed request was released to %v, want all three", name, to)
		}
		if next := 1021*ms + 111*ms; x.Last.Wake != next {
			t.Errorf("%s: the next request comes at %v, want a period less σ after the last, at %v", name, x.Last.Wake, next)
		}
	}
}

func TestMajorityDoesNotLeadWithLess(t *testing.T) {
	major := func(c *hall.Config) { c.Supporters = hall.Majority(5) }
	x := join(t, 0, 5, major)
	for range 2 {
		request := x.sent
		x.loop()
		x.hear(1, yes(request, 0, 1))
		x.at(x.Now + 150*ms)
	}
	if len(x.Last.Views) != 0 {
		t.Errorf("leads with two of five: %+v", x.Last.Views)
	}
	join(t, 0, 5, major).lead(1, 2)
}

func TestSlowMessagesAreAsGoodAsNone(t *testing.T) {
	x := join(t, 1, 2)
	for _, bound := range []time.Duration{x.cfg.Delta + 1, protocol.Unknown} {
		x.hearSlowly(0, &hall.Election{Request: 1}, bound)
		if len(x.Last.Send) > 0 {
			t.Errorf("a request that took %v is answered", bound)
		}
	}
	// The slow requests do not make it give way either.
	x.lead()
}

func TestSlowRepliesDoNotCount(t *testing.T) {
	x := join(t, 0, 2)
	request := x.sent
	x.loop()
	x.hearSlowly(1, yes(request, 0, 1), x.cfg.Delta+1)
	x.at(1021 * ms)
	x.loop()
	x.at(1042 * ms)
	if v := x.view(); v.Support != protocol.NewSet(0) {
		t.Errorf("supported by %v, want only itself: the other is too slow to be in its partition", v.Support)
	}
}

func TestWhoDoesNotHearDoesNotKeepAnotherFromLeading(t *testing.T) {
	x := join(t, 0, 2)
	began := x.Now
	for led := false; !led; {
		// b is heard, as a candidate of its own, but does not hear: it never answers.
		x.hear(1, &hall.Election{Request: uint64(x.Now / ms)})
		for range 3 {
			x.Now += 10 * ms
			x.step(protocol.Tick{})
			if len(x.Sent("hall.Election")) > 0 {
				x.loop()
			}
			led = led || len(x.Last.Horizons) > 0
		}
		switch waited := x.Now.Sub(began); {
		case led && waited < x.cfg.Expires:
			t.Fatalf("leads after %v without the support of a member that it hears", waited)
		case waited > 2*x.cfg.Expires+x.cfg.Period:
			t.Fatalf("does not lead after %v", waited)
		}
	}
}

func TestWhoIsNotHeardByACandidateDoesNotWaitForItForEver(t *testing.T) {
	x := join(t, 1, 2)
	began := x.Now
	for i := uint64(1); ; i++ {
		// a asks all the time, and never names b among those that it hears.
		x.hear(0, &hall.Election{Request: i})
		if r, _ := x.reply(); !r.Yes.Has(1) && x.Now.Sub(began) < x.cfg.Expires {
			t.Fatalf("not supported after %v", x.Now.Sub(began))
		} else if r.No.Has(1) {
			break // but it is answered, so that it can hear b again
		}
		x.Now += 60 * ms
	}
	for x.Now.Sub(began) < x.cfg.Kappa()+x.cfg.Expires {
		x.Now += 10 * ms
		x.step(protocol.Tick{})
		if len(x.Sent("hall.Election")) > 0 {
			return
		}
		x.hear(0, &hall.Election{Request: uint64(x.Now / ms)})
	}
	t.Error("never becomes a candidate itself")
}

func TestVoterSupportsOnlyTheBestThatItHears(t *testing.T) {
	x := join(t, 2, 4)
	if x.supported(3, &hall.Election{Request: 1}) {
		t.Error("supports somebody that ranks below itself")
	}
	if !x.supported(1, &hall.Election{Request: 1}) {
		t.Error("does not support the best that it hears")
	}
	x.Now += 500 * ms // the lock is over, and so is what was heard
	if !x.supported(0, &hall.Election{Request: 1}) {
		t.Error("does not support a better one")
	}
	x.Now += 200 * ms // the lock is over, but a still counts as alive
	if x.supported(1, &hall.Election{Request: 2}) {
		t.Error("supports b, and has heard a lately")
	}
}

func TestVoterIsLockedToTheLastInstant(t *testing.T) {
	x := join(t, 3, 4)
	if !x.supported(1, &hall.Election{Request: 1}) {
		t.Fatal("not supported")
	}
	given := x.Now
	x.Now = given.Add(x.cfg.Lock)
	if x.supported(0, &hall.Election{Request: 1}) {
		t.Error("locks to a while the lock on b stands")
	}
	x.Now++
	if !x.supported(0, &hall.Election{Request: 2}) {
		t.Error("does not lock to a when the lock on b is over")
	}
}

// TestLockGivenJustBeforeARequestIsOverWhenTheNextComes is HALL Fig. 21 and E-H2, at its worst: the first request took Δ and
// came just after the voter had locked itself to another, the second comes as early as it may and takes no time; the
// candidate's clock is as fast and the voter's as slow as can be.
func TestLockGivenJustBeforeARequestIsOverWhenTheNextComes(t *testing.T) {
	for name, timing := range map[string]hall.Timing{"lan": hall.LAN, "fast": hall.Fast, "wan": hall.WAN, "fitted": hall.LAN.Fit(2)} {
		x := join(t, 2, 3, func(c *hall.Config) { c.Timing = timing })
		if !x.supported(1, &hall.Election{Request: 1}) {
			t.Fatal("not supported")
		}
		x.Now++
		if x.supported(0, &hall.Election{Request: 1}) {
			t.Fatal("supports two")
		}
		between := x.cfg.Rho.RealAtLeast(x.cfg.Period-x.cfg.Sched) - x.cfg.Delta + x.cfg.MinDelay
		x.Now = x.Now.Add(x.cfg.Rho.WaitAtMost(between))
		if !x.supported(0, &hall.Election{Request: 2}) {
			t.Errorf("%s: still locked to b when the second request of a comes", name)
		}
	}
}

func TestRestartedVoterGrantsNothingForALock(t *testing.T) {
	c := hall.Default(1, 2, 7, hall.LAN)
	c.Group = group
	for _, start := range []struct {
		clean   bool
		longest time.Duration // of the configurations before
		wait    time.Duration
	}{{false, 0, c.Lock}, {false, c.Lock / 2, c.Lock}, {false, 3 * c.Lock, 3 * c.Lock}, {true, 3 * c.Lock, 0}} {
		c.Clean, c.Longest = start.clean, start.longest
		m, err := hall.New(c)
		if err != nil {
			t.Fatal(err)
		}
		x := &member{t: t, m: m, Stepper: drivetest.Stepper{Machine: m}, cfg: c}
		x.step(protocol.Start{})
		x.step(protocol.Campaign{Group: group})
		x.Now = protocol.Time(start.wait)
		if got := x.supported(0, &hall.Election{Request: 1}); got != start.clean {
			t.Errorf("%+v: supports at once: %v", start, got)
		}
		x.Now++
		if !x.supported(0, &hall.Election{Request: 2}) {
			t.Errorf("%+v: does not support after its wait", start)
		}
	}
}

func TestReleaseThatOvertakesItsElectionVoidsIt(t *testing.T) {
	x := join(t, 1, 2)
	x.hearSlowly(0, &hall.Release{Request: 5}, time.Second)
	if x.supported(0, &hall.Election{Request: 5}) {
		t.Error("locks by a request that was given back already")
	}
	if !x.supported(0, &hall.Election{Request: 6}) {
		t.Error("does not lock by the next request")
	}
}

func TestElectionThatWasOvertakenDoesNotWeakenTheLock(t *testing.T) {
	x := join(t, 2, 3)
	x.supported(1, &hall.Election{Request: 6})
	x.Now += 5 * ms
	x.supported(1, &hall.Election{Request: 5})
	if f := x.Last.Facts[len(x.Last.Facts)-1]; f.Ev != protocol.EvGrant || f.Seq != 6 {
		t.Errorf("the lock is of request %d, want 6", f.Seq)
	}
	x.hear(1, &hall.Release{Request: 5})
	if len(x.Last.Facts) != 0 {
		t.Errorf("an older Release ends the lock: %+v", x.Last.Facts)
	}
	x.hear(1, &hall.Release{Request: 6})
	if len(x.Last.Facts) != 1 || x.Last.Facts[0].Ev != protocol.EvUngrant {
		t.Errorf("its own Release does not: %+v", x.Last.Facts)
	}
}

func TestMessagesOfEarlierIncarnationsAndStrangersChangeNothing(t *testing.T) {
	x := join(t, 1, 2)
	x.step(&protocol.Receive{From: protocol.Ident{Rank: 0, Inc: 2}, Message: &hall.Release{Request: 1}})
	for name, from := range map[string]protocol.Ident{"earlier": {Rank: 0, Inc: 1}, "stranger": {Rank: 9, Inc: 1}} {
		x.step(&protocol.Receive{From: from, Message: &hall.Election{Request: 9}})
		if len(x.Last.Send) > 0 {
			t.Errorf("%s: answered", name)
		}
	}
}

func TestNewIncarnationWaitsForTheLockOfTheOldOne(t *testing.T) {
	x := join(t, 1, 2)
	x.supported(0, &hall.Election{Request: 1})
	x.Now += 10 * ms
	x.step(&protocol.Receive{From: protocol.Ident{Rank: 0, Inc: 2}, Message: &hall.Election{Request: 1}})
	if r, _ := x.reply(); !r.No.Has(1) {
		t.Error("a restarted candidate gets the lock while what it left behind may still lead")
	}
}

func TestFollowerKnowsItsLogicalPartition(t *testing.T) {
	x := join(t, 2, 4)
	x.hear(0, &hall.Election{Request: 1})
	if len(x.Last.Views) != 0 {
		t.Errorf("a candidate is taken for a leader: %+v", x.Last.Views)
	}
	support := protocol.NewSet(0, 1, 2)
	x.Now += 60 * ms
	x.hear(0, &hall.Election{Request: 2, Support: support})
	if v := x.view(); v.Leader.Rank != 0 || v.Support != support {
		t.Errorf("view %+v, want a with %v", v, support)
	}
	x.Now += 60 * ms
	x.hear(0, &hall.Election{Request: 3, Support: support})
	if len(x.Last.Views) != 0 {
		t.Errorf("the same again is published: %+v", x.Last.Views)
	}
	x.hearSlowly(0, &hall.Election{Request: 4, Support: support}, 40*time.Millisecond)
	x.at(x.Now.Add(x.cfg.Lock) + 1)
	if v := x.view(); v.Leader != protocol.NoIdent || v.Cause.String() != "slow link a (bound 40ms)" {
		t.Errorf("view %v because %v, want nobody because of a slow link", v.Leader, v.Cause)
	}
}

func TestFollowerIsToldWhenTheLeaderLeadsWithoutIt(t *testing.T) {
	x := join(t, 2, 3)
	x.hear(0, &hall.Election{Request: 1, Support: protocol.NewSet(0, 2)})
	x.hear(0, &hall.Election{Request: 2, Support: protocol.NewSet(0, 1)})
	if v := x.view(); v.Leader != protocol.NoIdent {
		t.Errorf("view %+v", v)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for name, change := range map[string]func(*hall.Config){
		"plain": func(*hall.Config) {},
		"tree":  func(c *hall.Config) { c.Arity = 2; c.Timing = c.Timing.Fit(c.Window()) },
		"turns": func(c *hall.Config) { c.Rotate = 1 << 30 },
		"calm":  func(c *hall.Config) { c.Calm = time.Second },
	} {
		leader, follower := join(t, 0, 3, change), join(t, 1, 3, change)
		var buffer drivetest.Buffer
		first := func(e *protocol.Effects) *hall.Election { return e.Send[0].Message.(*hall.Election) }
		in := &protocol.Receive{Delay: time.Millisecond}
		deliver := func(to *member, from protocol.Rank, m protocol.Message) *protocol.Effects {
			in.From, in.Message = protocol.Ident{Rank: from, Inc: 1}, m
			return buffer.Step(to.m, to.Now, in)
		}
		rep := &hall.Reply{Yes: protocol.NewSet(2)}
		now, wake := leader.Now, leader.Now
		el := first(&leader.Last)
		round := func() {
			leader.Now, follower.Now = now, now
			deliver(leader, 0, el)
			if eff := deliver(follower, 0, el); len(eff.Send) > 0 {
				deliver(leader, 1, eff.Send[0].Message)
			}
			rep.Request = el.Request
			wake = deliver(leader, 2, rep).Wake
			for now = max(now+1, wake); ; now += ms {
				if eff := buffer.Step(leader.m, now, protocol.Tick{}); len(eff.Send) > 0 {
					el = first(eff)
					return
				}
			}
		}
		for range 50 {
			round()
		}
		if el.Support.Empty() {
			t.Fatalf("%s: does not lead", name)
		}
		if n := testing.AllocsPerRun(200, round); n != 0 {
			t.Errorf("%s: a round of a leader and a follower allocates %v times, want none", name, n)
		}
	}
}

// A group that was closed and is opened again in the same incarnation must not use the numbers of its requests twice: what
// was released would stay void, and late answers would count.
func TestRequestsGoOnAfterThoseOfAnEarlierMachine(t *testing.T) {
	x := join(t, 0, 3, func(c *hall.Config) { c.After = 41 })
	if x.sent != 42 {
		t.Errorf("the first request is %d", x.sent)
	}
}
