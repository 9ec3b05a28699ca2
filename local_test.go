package regent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/runtime/world"
)

// What nobody uses costs nothing: the machine is gone when what it promised is over, and can come back.
func TestLocalGroupThatNobodyUsesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := assemble(t, nil, "a", "b")
		open := func() (n int) {
			c := make(chan int)
			_ = members["a"].loop.Do(func(protocol.Time) { c <- members["a"].loop.Open() })
			return <-c
		}
		before := open()
		for range 3 {
			for _, name := range []string{"a", "b"} {
				l, err := must(members[name].LocalGroup("g")).Campaign(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if open() != before+1 && name == "a" {
					t.Errorf("%d machines while one leads", open())
				}
				if err := l.Resign(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Second)
			if open() != before {
				t.Fatalf("%d machines are left, of %d", open(), before)
			}
			sent := members["b"].Status().PacketsOut
			time.Sleep(time.Second)
			if n := members["b"].Status().PacketsOut - sent; n > 10 {
				t.Errorf("%d packets in a second in which nothing happens", n)
			}
		}
	})
}

// The constants of local groups satisfy what HALL asks for, in every profile.
func TestProfilesSatisfyTheConstraintsOfLocalGroups(t *testing.T) {
	for name, p := range map[string]Timing{"fast": Fast, "lan": LAN, "wan": WAN} {
		h := p.local()
		if err := h.Check(directRound); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p.Kappa() <= h.Expires || p.Kappa() > 6*p.Lease*2 {
			t.Errorf("%s: kappa %v", name, p.Kappa())
		}
		if h.MaxAge != datagram.DefaultMaxAge(p.Delay, p.rho()) {
			t.Errorf("%s: another age than that of the datagram layer", name)
		}
		t.Logf("%s: lock %v, period %v, expires %v, one way %v, kappa %v", name, h.Lock, h.Period, h.Expires, h.OneWay, p.Kappa())
	}
	odd := LAN
	odd.Delay, odd.Renew, odd.Drift = 500*time.Microsecond, 3*time.Millisecond, 0.0001
	h := odd.local()
	if err := h.Check(directRound); err != nil {
		t.Errorf("odd constants: %v", err)
	}
}

// A member that has to speak as another incarnation has lost its machine, and with it what it knew of its promises.
func TestLocalGroupPromisesNothingWhilePromisesOfBeforeMayStand(t *testing.T) {
	m, err := prepare(Config{Name: "a", Council: []Peer{{Name: "a", Addrs: []string{"127.0.0.1:7"}}}}, world.World{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.release()
	m.started = 1
	lock := m.localConfig(1).Lock
	for _, c := range []struct {
		now, renamed protocol.Time
		longest      time.Duration
		waits        time.Duration
	}{
		{m.started.Add(lock), 0, lock, lock},
		{m.started.Add(2 * lock), 0, lock, 0},
		{m.started.Add(4 * lock), m.started.Add(3 * lock), lock, lock},
		{m.started.Add(5 * lock), m.started.Add(3 * lock), lock, 0},
		{m.started.Add(2 * lock), 0, 8 * lock, 8 * lock},
		{m.started.Add(9 * lock), 0, 8 * lock, 0},
	} {
		m.longestLock = func() time.Duration { return c.longest }
		machine, err := m.newLocal(c.now, c.renamed, 2, "g")
		if err != nil {
			t.Fatal(err)
		}
		waits := time.Duration(0)
		for _, f := range drivetest.Step(machine, c.now, protocol.Start{}).Facts {
			if f.Ev == protocol.EvWait {
				waits = f.Until.Sub(c.now)
			}
		}
		if waits != c.waits {
			t.Errorf("at %v, renamed at %v, longest lock %v: waits %v, want %v", c.now, c.renamed, c.longest, waits, c.waits)
		}
	}
}
