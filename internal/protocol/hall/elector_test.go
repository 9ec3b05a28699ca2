package hall_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/hall"
)

// electorOf returns an elector that has started a second ago, and takes part since then.
func electorOf(t *testing.T, self protocol.Rank, members int) *member {
	t.Helper()
	c := hall.Default(self, members, 1, hall.LAN)
	c.Group = group
	e, err := hall.NewElector(c)
	if err != nil {
		t.Fatal(err)
	}
	x := &member{Hand: drivetest.Hand{Machine: e}, t: t, cfg: c}
	if wake := x.step(protocol.Start{}).Wake; wake != x.Now {
		t.Fatalf("it wants to be woken at %v, want at once, to begin", wake)
	}
	x.at(x.Now)
	if got := x.Sent("hall.Election"); len(got) != members {
		t.Fatalf("it asked %v, want all %d", got, members)
	}
	x.at(1000 * ms)
	return x
}

// plain fails if a Step has told anything but whom to trust.
func (x *member) plain() {
	x.t.Helper()
	if len(x.Last.Horizons) > 0 {
		x.t.Errorf("an elector has a lease: %v", x.Last.Horizons)
	}
	for _, v := range x.Last.Views {
		if v.Domain != protocol.Elector || v.Horizon != 0 || v.Stop || v.Group != group {
			x.t.Errorf("an elector said %+v", v)
		}
	}
	for _, f := range x.Last.Facts {
		if f.Ev != protocol.EvWeak || f.Dom != protocol.Elector {
			x.t.Errorf("an elector stated %+v", f)
		}
	}
}

func TestElectorTrustsItselfOnceAllThatItHearsSupportIt(t *testing.T) {
	x := electorOf(t, 0, 3)
	x.lead(1, 2)
	x.plain()
	if v, want := x.view(), protocol.NewSet(0, 1, 2); v.Leader != (protocol.Ident{Rank: 0, Inc: 1}) || v.Support != want {
		t.Errorf("it trusts %v with %v, want itself with %v", v.Leader, v.Support, want)
	}
}

func TestElectorTrustsWhoLeadsItAndNobodyAfterThat(t *testing.T) {
	x := electorOf(t, 1, 3)
	all := protocol.Everyone(3)
	x.hear(0, &hall.Election{Request: 7, Alive: all})
	x.hear(0, &hall.Election{Request: 8, Alive: all, Support: all})
	x.plain()
	if v := x.view(); v.Leader.Rank != 0 || v.Support != all {
		t.Errorf("it trusts %v with %v, want a with %v", v.Leader, v.Support, all)
	}
	x.at(x.Now.Add(x.cfg.Lock + 1))
	x.plain()
	if v := x.view(); v.Leader != protocol.NoIdent {
		t.Errorf("it trusts %v when its lock is over", v.Leader)
	}
}

func TestElectorThatIsUnfitIsSilentForTwiceKappa(t *testing.T) {
	x := electorOf(t, 0, 3)
	x.lead(1, 2)
	if wake := x.step(protocol.Unfit{}).Wake; wake != x.Now {
		t.Fatalf("it wants to be woken at %v, want at once, to stop", wake)
	}
	x.plain()
	x.at(x.Now)
	x.plain()
	if v := x.view(); v.Leader != protocol.NoIdent || v.Cause.Code != protocol.NoQuorum {
		t.Errorf("it trusts %v (%v), want nobody", v.Leader, v.Cause)
	}
	if got := x.Sent("hall.Release"); len(got) != 3 {
		t.Errorf("it gave locks back to %v, want to all", got)
	}
	back := x.Now.Add(x.cfg.Rho.WaitAtLeast(2 * x.cfg.Kappa()))
	if x.Last.Wake != back {
		t.Errorf("it comes back at %v, want at %v", x.Last.Wake, back)
	}
	x.Now += 10 * ms
	x.hear(1, &hall.Election{Request: 1, Alive: protocol.NewSet(1, 2)})
	x.at(back - 1)
	if len(x.Last.Send) > 0 {
		t.Errorf("it said %v while it stood back", x.Last.Send)
	}
	x.at(back)
	if len(x.Sent("hall.Election")) != 3 {
		t.Errorf("it does not ask for support when it is back: %v", x.Last.Send)
	}
}

// The word may come late: somebody else may be trusted by then.
func TestElectorThatTrustsAnotherDoesNotStandBack(t *testing.T) {
	x := electorOf(t, 1, 3)
	all := protocol.Everyone(3)
	x.hear(0, &hall.Election{Request: 7, Alive: all})
	x.hear(0, &hall.Election{Request: 8, Alive: all, Support: all})
	x.step(protocol.Unfit{})
	x.Now = x.Now.Add(10 * time.Millisecond)
	if !x.supported(0, &hall.Election{Request: 9, Alive: all, Support: all}) {
		t.Error("it does not support its leader any more")
	}
}

func TestElectorIsRefusedWithWhatIsWrongWithItsConstants(t *testing.T) {
	c := hall.Default(0, 3, 1, hall.LAN)
	c.Lock = time.Millisecond
	if _, err := hall.NewElector(c); err == nil {
		t.Error("a lock of a millisecond was accepted")
	}
}
