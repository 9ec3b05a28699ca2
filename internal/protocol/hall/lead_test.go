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
	until := x.last.Horizons[0].Until
	want := until.Add(-x.cfg.Rho.WaitAtLeast(2*x.cfg.Delta) - 2*x.cfg.Rho.WaitAtLeast(x.cfg.Sched))
	if x.last.Wake != want {
		t.Fatalf("the next request comes at %v, want a round and two late timers before the end, at %v", x.last.Wake, want)
	}
	x.at(want)
	request := x.sent
	x.now += 3 * ms
	x.hear(1, yes(request, 0, 1))
	if len(x.last.Horizons) != 0 {
		t.Fatal("renewed without its own support")
	}
	// One's own answer may be the last: it must not have to wait for the end of the round.
	x.hear(0, &hall.Election{Request: request})
	if h := x.last.Horizons; len(h) != 1 || h[0].Until != want.Add(x.lease()) {
		t.Errorf("horizons %v, want %v", h, want.Add(x.lease()))
	}
	if len(x.last.Views) != 0 {
		t.Error("a renewal that changes nothing is published")
	}
}

// refuse makes a newcomer that ranks before the leader refuse its renewal.
func refuse(t *testing.T) *member {
	x := join(t, 1, 4)
	x.lead(2, 3)
	x.at(x.last.Wake)
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
	if len(x.last.Send) != 0 {
		t.Fatalf("sends %v while its program may still act", x.last.Send)
	}
	x.now += 4 * ms
	if x.supported(0, &hall.Election{Request: 1}) {
		t.Error("supports another while it leads itself")
	}
	x.now += 2 * ms
	x.step(protocol.Stopped{Group: group})
	if v := x.view(); v.Leader != protocol.NoIdent {
		t.Errorf("after its program stopped: %+v", v)
	}
	if to := x.sentOf("hall.Release"); len(to) != 4 {
		t.Errorf("the locks were given back to %v, want everybody", to)
	}
	x.loop() // its own lock too
	if !x.supported(0, &hall.Election{Request: 2}) {
		t.Error("does not support a now")
	}
}

func TestProgramThatDoesNotStopLosesItsLeaseByTime(t *testing.T) {
	x := refuse(t)
	end := x.last.Wake
	x.at(end - 1)
	if len(x.last.Views)+len(x.last.Send) != 0 {
		t.Errorf("before the end: %+v", x.last)
	}
	x.at(end)
	if v := x.view(); v.Leader != protocol.NoIdent || v.Cause.Code != protocol.Merged {
		t.Errorf("at the end: %+v", v)
	}
	if to := x.sentOf("hall.Release"); len(to) != 4 {
		t.Errorf("released to %v", to)
	}
	if f := x.last.Facts[0]; f.Ev != protocol.EvStepdown || f.Why != "expired" {
		t.Errorf("first it states %+v, want that it stepped down", f)
	}
}

func TestLostRepliesAreMadeUpForWhileThereIsTime(t *testing.T) {
	for _, retries := range []int{0, 1} {
		x := join(t, 0, 2, func(c *hall.Config) { c.Retries, c.Renew = retries, 20*time.Millisecond })
		x.lead(1)
		x.at(x.last.Wake)
		x.loop()
		x.at(x.last.Wake) // b is silent
		if again := len(x.sentOf("hall.Election")) > 0; again != (retries == 1) {
			t.Errorf("%d retries: asks again: %v", retries, again)
		}
		if to := x.sentOf("hall.Release"); len(to) != 0 {
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
		if len(x.sentOf("hall.Election")) == 0 && at > 1000*ms {
			t.Fatalf("no request at %v", at)
		}
		request := x.sent
		x.loop()
		x.hear(1, yes(request, 0, 1))
		switch at {
		case 1000 * ms:
			x.hear(2, no(request, 0, 2))
		case 1111 * ms:
			x.now = 1145 * ms
			x.hear(2, no(1, 0, 2)) // it is alive until 1445ms
		}
		x.at(at + 35*ms)
		if at == 1444*ms {
			break
		}
		if len(x.last.Views) > 0 && len(x.last.Horizons) > 0 {
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
	asked := x.now
	x.step(protocol.Resign{Group: group})
	if v := x.view(); !v.Stop || v.Leader.Rank != 0 || v.Cause.Code != protocol.Resigned {
		t.Fatalf("view %+v", v)
	}
	renewals := 0
	for x.now < asked+200*ms && x.last.Wake < asked+400*ms {
		x.at(x.last.Wake)
		if len(x.sentOf("hall.Election")) == 0 {
			break
		}
		request := x.sent
		x.loop()
		x.hear(1, yes(request, 0, 1))
		renewals += len(x.last.Horizons)
	}
	if renewals < 2 {
		t.Errorf("renewed %d times while the program stops", renewals)
	}
	if x.now != asked+150*ms {
		t.Errorf("renewals ended at %v, want %v: the program has had its time", x.now, asked+150*ms)
	}
	x.at(x.last.Wake)
	if v := x.view(); v.Leader != protocol.NoIdent || v.Cause.Code != protocol.Resigned {
		t.Errorf("view %+v", v)
	}
	if x.last.Wake != protocol.Never {
		t.Errorf("it still wants something at %v: it has left the group", x.last.Wake)
	}
}

func TestUnfitStandsBackForTwiceKappa(t *testing.T) {
	x := join(t, 0, 2)
	x.lead(1)
	asked := x.now
	x.step(protocol.Unfit{})
	if v := x.view(); !v.Stop {
		t.Fatalf("view %+v", v)
	}
	x.step(protocol.Stopped{Group: group})
	back := asked.Add(x.cfg.Rho.WaitAtLeast(2 * x.cfg.Kappa()))
	if x.last.Wake != back {
		t.Errorf("back at %v, want %v", x.last.Wake, back)
	}
	x.at(back)
	if len(x.sentOf("hall.Election")) == 0 {
		t.Error("does not try again")
	}
}

func TestCloseWaitsForTheLockThatWasGiven(t *testing.T) {
	x := join(t, 1, 2)
	x.supported(0, &hall.Election{Request: 1})
	end := x.now.Add(x.cfg.Lock)
	x.step(protocol.Close{})
	if x.m.Closed() || x.last.Wake != end+1 {
		t.Fatalf("closed %v, wake %v; want to wait until %v", x.m.Closed(), x.last.Wake, end+1)
	}
	x.at(end + 1)
	if !x.m.Closed() {
		t.Error("not closed when the lock is over")
	}
}

func TestBetterMemberTakesOverWhenPartitionsMerge(t *testing.T) {
	x := join(t, 1, 2)
	x.lead()
	x.now += ms
	x.hear(0, &hall.Election{Request: 1})
	if r, _ := x.reply(); !r.No.Has(1) {
		t.Error("supports a while it leads itself")
	}
	x.at(x.last.Wake)
	if v := x.view(); !v.Stop || v.Cause.Code != protocol.Merged || v.Cause.Peer != 0 {
		t.Errorf("view %+v", v)
	}
}

func TestTurnsGoToTheNextSupporter(t *testing.T) {
	x := join(t, 1, 4, func(c *hall.Config) { c.Rotate = 1 })
	x.lead(3)
	x.at(x.last.Wake)
	request := x.sent
	x.loop()
	x.hear(3, yes(request, 1, 3))
	if v := x.view(); !v.Stop || v.Cause.Code != protocol.Transferred {
		t.Fatalf("view %+v", v)
	}
	x.step(protocol.Stopped{Group: group})
	var turn uint64
	for _, e := range x.last.Send {
		turn = e.Message.(*hall.Release).Rotation
	}
	if turn != 3 {
		t.Fatalf("the ranks are turned to %d, want 3", turn)
	}
	heir := join(t, 3, 4, func(c *hall.Config) { c.Rotate = 1 })
	heir.hear(1, &hall.Election{Request: 1})
	heir.now += 30 * ms
	heir.at(heir.now)
	heir.hear(1, &hall.Release{Request: 1, Rotation: turn})
	if len(heir.sentOf("hall.Election")) != 4 {
		t.Errorf("the heir does not try at once: %+v", heir.last)
	}
}

func TestCalmLetsOneThatComesAndGoesWait(t *testing.T) {
	x := join(t, 1, 3, func(c *hall.Config) { c.Calm = time.Second })
	if !x.supported(0, &hall.Election{Request: 1}) {
		t.Fatal("a first acquaintance is not supported")
	}
	x.at(x.last.Wake)
	x.now += 301 * ms
	x.at(x.now)
	back := x.now
	for i := uint64(2); x.now < back+2000*ms; i++ {
		x.hear(0, &hall.Election{Request: i, Alive: protocol.NewSet(0, 1)})
		answered := len(x.sentOf("hall.Reply")) > 0
		if want := x.now.Sub(back) >= time.Second; answered != want {
			t.Fatalf("%v after it was heard again: answered %v", x.now.Sub(back), answered)
		}
		x.now += 100 * ms
	}
}
