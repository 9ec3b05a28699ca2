package hall_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
)

func TestLeaseIsRenewedEarlyEnough(t *testing.T) {
	x := join(t, 0, 2)
	x.lead(1)
	until := x.Last.Horizons[0].Until
	want := until.Add(-x.cfg.Rho.WaitAtLeast(2*x.cfg.Delta) - 2*x.cfg.Rho.WaitAtLeast(x.cfg.Sched))
	if x.Last.Wake != want {
		t.Fatalf("the next request comes at %v, want a round and two late timers before the end, at %v", x.Last.Wake, want)
	}
	x.at(want)
	request := x.sent
	x.Now += 3 * ms
	x.hear(1, yes(request, 0, 1))
	if len(x.Last.Horizons) != 0 {
		t.Fatal("renewed without its own support")
	}
	// One's own answer may be the last: it must not have to wait for the end of the round.
	x.hear(0, &hall.Election{Request: request})
	if h := x.Last.Horizons; len(h) != 1 || h[0].Until != want.Add(x.lease()) {
		t.Errorf("horizons %v, want %v", h, want.Add(x.lease()))
	}
	if len(x.Last.Views) != 0 {
		t.Error("a renewal that changes nothing is published")
	}
}

// refuse makes a newcomer that ranks before the leader refuse its renewal.
func refuse(t *testing.T) *member {
	x := join(t, 1, 4)
	x.lead(2, 3)
	x.at(x.Last.Wake)
	request := x.sent
	x.loop()
	x.hear(0, no(request, 1, 0))
	x.hear(2, yes(request, 1, 2))
	x.hear(3, yes(request, 1, 3))
	return x
}

// TestFailedRenewalReleasesNothingWhileTheProgramRuns is E-H1.
func TestFailedRenewalReleasesNothingWhileTheProgramRuns(t *testing.T) {
	x := refuse(t)
	if v := x.view(); v.Leader.Rank != 1 || !v.Stop || v.Cause.Code != protocol.Merged || v.Cause.Peer != 0 {
		t.Fatalf("view %+v, want a leader that is asked to stop because of a", v)
	}
	if len(x.Last.Send) != 0 {
		t.Fatalf("sends %v while its program may still act", x.Last.Send)
	}
	x.Now += 4 * ms
	if x.supported(0, &hall.Election{Request: 1}) {
		t.Error("supports another while it leads itself")
	}
	x.Now += 2 * ms
	x.step(protocol.Stopped{Group: group})
	if v := x.view(); v.Leader != protocol.NoIdent {
		t.Errorf("after its program stopped: %+v", v)
	}
	if to := x.Sent("hall.Release"); len(to) != 4 {
		t.Errorf("the locks were given back to %v, want everybody", to)
	}
	x.loop() // its own lock too
	if !x.supported(0, &hall.Election{Request: 2}) {
		t.Error("does not support a now")
	}
}

func TestProgramThatDoesNotStopLosesItsLeaseByTime(t *testing.T) {
	x := refuse(t)
	end := x.Last.Wake
	x.at(end - 1)
	if len(x.Last.Views)+len(x.Last.Send) != 0 {
		t.Errorf("before the end: %+v", x.Last)
	}
	x.at(end)
	if v := x.view(); v.Leader != protocol.NoIdent || v.Cause.Code != protocol.Merged {
		t.Errorf("at the end: %+v", v)
	}
	if to := x.Sent("hall.Release"); len(to) != 4 {
		t.Errorf("released to %v", to)
	}
	if f := x.Last.Facts[0]; f.Ev != protocol.EvStepdown || f.Why != "expired" {
		t.Errorf("first it states %+v, want that it stepped down", f)
	}
}

func TestLostRepliesAreMadeUpForWhileThereIsTime(t *testing.T) {
	for _, retries := range []int{0, 1} {
		x := join(t, 0, 2, func(c *hall.Config) { c.Retries, c.Renew = retries, 20*time.Millisecond })
		x.lead(1)
		x.at(x.Last.Wake)
		x.loop()
		x.at(x.Last.Wake) // b is silent
		if again := len(x.Sent("hall.Election")) > 0; again != (retries == 1) {
			t.Errorf("%d retries: asks again: %v", retries, again)
		}
		if to := x.Sent("hall.Release"); len(to) != 0 {
			t.Errorf("released to %v while it leads", to)
		}
		if retries == 0 {
			if v := x.view(); !v.Stop || v.Cause.Code != protocol.Suspected || v.Cause.Peer != 1 {
				t.Errorf("view %+v, want it to stop because of b", v)
			}
		}
	}
}

// TestWhoIsNoLongerAliveDoesNotSpoilTheCount is E-H6: c ceases to count between a request and its count.
func TestWhoIsNoLongerAliveDoesNotSpoilTheCount(t *testing.T) {
	x := join(t, 0, 3)
	for at := 1000 * ms; ; at += 111 * ms {
		x.at(at)
		if len(x.Sent("hall.Election")) == 0 && at > 1000*ms {
			t.Fatalf("no request at %v", at)
		}
		request := x.sent
		x.loop()
		x.hear(1, yes(request, 0, 1))
		switch at {
		case 1000 * ms:
			x.hear(2, no(request, 0, 2))
		case 1111 * ms:
			x.Now = 1145 * ms
			x.hear(2, no(1, 0, 2)) // it is alive until 1445ms
		}
		x.at(at + 35*ms)
		if at == 1444*ms {
			break
		}
		if len(x.Last.Views) > 0 && len(x.Last.Horizons) > 0 {
			t.Fatalf("leads at %v, while c is alive and does not support it", at)
		}
	}
	if v := x.view(); v.Support != protocol.NewSet(0, 1) {
		t.Errorf("view %+v, want it to lead with b", v)
	}
}

func TestResignationRenewsUntilTheProgramHasStopped(t *testing.T) {
	x := join(t, 0, 2, func(c *hall.Config) { c.StopWithin = 150 * time.Millisecond })
	x.lead(1)
	asked := x.Now
	x.step(protocol.Resign{Group: group})
	if v := x.view(); !v.Stop || v.Leader.Rank != 0 || v.Cause.Code != protocol.Resigned {
		t.Fatalf("view %+v", v)
	}
	renewals := 0
	for x.Now < asked+200*ms && x.Last.Wake < asked+400*ms {
		x.at(x.Last.Wake)
		if len(x.Sent("hall.Election")) == 0 {
			break
		}
		request := x.sent
		x.loop()
		x.hear(1, yes(request, 0, 1))
		renewals += len(x.Last.Horizons)
	}
	if renewals < 2 {
		t.Errorf("renewed %d times while the program stops", renewals)
	}
	if x.Now != asked+150*ms {
		t.Errorf("renewals ended at %v, want %v: the program has had its time", x.Now, asked+150*ms)
	}
	x.at(x.Last.Wake)
	if v := x.view(); v.Leader != protocol.NoIdent || v.Cause.Code != protocol.Resigned {
		t.Errorf("view %+v", v)
	}
	if x.Last.Wake != protocol.Never {
		t.Errorf("it still wants something at %v: it has left the group", x.Last.Wake)
	}
}

func TestUnfitStandsBackForTwiceKappa(t *testing.T) {
	x := join(t, 0, 2)
	x.lead(1)
	asked := x.Now
	x.step(protocol.Unfit{})
	if v := x.view(); !v.Stop {
		t.Fatalf("view %+v", v)
	}
	x.step(protocol.Stopped{Group: group})
	back := asked.Add(x.cfg.Rho.WaitAtLeast(2 * x.cfg.Kappa()))
	if x.Last.Wake != back {
		t.Errorf("back at %v, want %v", x.Last.Wake, back)
	}
	x.at(back)
	if len(x.Sent("hall.Election")) == 0 {
		t.Error("does not try again")
	}
}

func TestCloseWaitsForTheLockThatWasGiven(t *testing.T) {
	x := join(t, 1, 2)
	x.supported(0, &hall.Election{Request: 1})
	end := x.Now.Add(x.cfg.Lock)
	x.step(protocol.Close{})
	if x.m.Closed() || x.Last.Wake != end+1 {
		t.Fatalf("closed %v, wake %v; want to wait until %v", x.m.Closed(), x.Last.Wake, end+1)
	}
	x.at(end + 1)
	if !x.m.Closed() {
		t.Error("not closed when the lock is over")
	}
}

func TestBetterMemberTakesOverWhenPartitionsMerge(t *testing.T) {
	x := join(t, 1, 2)
	x.lead()
	x.Now += ms
	x.hear(0, &hall.Election{Request: 1})
	if r, _ := x.reply(); !r.No.Has(1) {
		t.Error("supports a while it leads itself")
	}
	x.at(x.Last.Wake)
	if v := x.view(); !v.Stop || v.Cause.Code != protocol.Merged || v.Cause.Peer != 0 {
		t.Errorf("view %+v", v)
	}
}

func TestTurnsGoToTheNextSupporter(t *testing.T) {
	x := join(t, 1, 4, func(c *hall.Config) { c.Rotate = 1 })
	x.lead(3)
	x.at(x.Last.Wake)
	request := x.sent
	x.loop()
	x.hear(3, yes(request, 1, 3))
	if v := x.view(); !v.Stop || v.Cause.Code != protocol.Transferred {
		t.Fatalf("view %+v", v)
	}
	x.step(protocol.Stopped{Group: group})
	var turn uint64
	for _, e := range x.Last.Send {
		turn = e.Message.(*hall.Release).Rotation
	}
	if turn != 3 {
		t.Fatalf("the ranks are turned to %d, want 3", turn)
	}
	heir := join(t, 3, 4, func(c *hall.Config) { c.Rotate = 1 })
	heir.hear(1, &hall.Election{Request: 1})
	heir.Now += 30 * ms
	heir.at(heir.Now)
	heir.hear(1, &hall.Release{Request: 1, Rotation: turn})
	if len(heir.Sent("hall.Election")) != 4 {
		t.Errorf("the heir does not try at once: %+v", heir.Last)
	}
}

func TestCalmLetsOneThatComesAndGoesWait(t *testing.T) {
	x := join(t, 1, 3, func(c *hall.Config) { c.Calm = time.Second })
	if !x.supported(0, &hall.Election{Request: 1}) {
		t.Fatal("a first acquaintance is not supported")
	}
	x.at(x.Last.Wake)
	x.Now += 301 * ms
	x.at(x.Now)
	back := x.Now
	for i := uint64(2); x.Now < back+2000*ms; i++ {
		x.hear(0, &hall.Election{Request: i, Alive: protocol.NewSet(0, 1)})
		answered := len(x.Sent("hall.Reply")) > 0
		if want := x.Now.Sub(back) >= time.Second; answered != want {
			t.Fatalf("%v after it was heard again: answered %v", x.Now.Sub(back), answered)
		}
		x.Now += 100 * ms
	}
}
