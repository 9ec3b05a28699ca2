package ring_test

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/ring"
)

const ms = protocol.Time(time.Millisecond)

func start(t testing.TB, c ring.Config) (*ring.Machine, protocol.Effects) {
	t.Helper()
	m, err := ring.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m, drivetest.Step(m, 0, protocol.Start{})
}

func beat(from protocol.Rank, inc protocol.Inc, seq uint64, leader protocol.Rank) *protocol.Receive {
	id := protocol.NoIdent
	if leader != protocol.Nobody {
		id = protocol.Ident{Rank: leader, Inc: 1}
	}
	return &protocol.Receive{From: protocol.Ident{Rank: from, Inc: inc}, Message: &ring.Beat{Seq: seq, Regular: true, Leader: id}}
}

func to(e protocol.Effects) string {
	var s protocol.Set
	for _, m := range e.Send {
		s.Add(m.To)
	}
	return s.String()
}

// last returns the newest leader and cause of a Step; "" if it has none.
func last(e protocol.Effects) string {
	if len(e.Views) == 0 {
		return ""
	}
	v := e.Views[len(e.Views)-1]
	return v.Leader.String() + ": " + v.Cause.String()
}

func TestOnlyNeighboursAreSpokenTo(t *testing.T) {
	for self, want := range map[protocol.Rank]string{0: "{b e}", 2: "{b d}", 4: "{a d}"} {
		if _, e := start(t, ring.Default(self, 5, 1)); to(e) != want {
			t.Errorf("%v speaks to %s, want %s", self, to(e), want)
		}
	}
	if _, e := start(t, ring.Default(0, 1, 1)); to(e) != "{}" || last(e) != "a/1: elected a" {
		t.Errorf("alone it speaks to %s and follows %s", to(e), last(e))
	}
}

func TestTheLowestLeadsAndTheOthersBelieveTheirPredecessor(t *testing.T) {
	if _, e := start(t, ring.Default(0, 5, 1)); last(e) != "a/1: elected a" {
		t.Errorf("the lowest begins with %s", last(e))
	}
	m, e := start(t, ring.Default(2, 5, 1))
	if last(e) != "nobody: started" {
		t.Errorf("another begins with %s", last(e))
	}
	e = drivetest.Step(m, ms, beat(1, 1, 1, 0))
	if last(e) != "a/1: elected b" || to(e) != "{b d}" {
		t.Errorf("its predecessor follows a: %s, and tells %s at once", last(e), to(e))
	}
	if e := drivetest.Step(m, 2*ms, beat(3, 1, 1, 3)); last(e) != "" {
		t.Errorf("its successor says something else, and it believes that: %s", last(e))
	}
	for i := uint64(2); i < 9; i++ { // the closest one that is alive counts, however many of those before it are not
		drivetest.Step(m, protocol.Time(i)*50*ms, beat(1, 1, i, 1))
	}
	if e := drivetest.Step(m, 450*ms, beat(1, 1, 9, 1)); last(e) != "" {
		t.Errorf("changed again: %s", last(e))
	}
}

func TestTheNextOneTakesOverFromTheDead(t *testing.T) {
	m, _ := start(t, ring.Default(2, 4, 1))
	drivetest.Step(m, ms, beat(1, 1, 1, 0))
	drivetest.Step(m, ms, beat(3, 1, 1, 0))
	var got []string
	for now := 10 * ms; now < 400*ms; now += 10 * ms {
		if s := last(drivetest.Step(m, now, protocol.Tick{})); s != "" {
			got = append(got, now.String()+" "+s)
		}
		if now%(50*ms) == 0 {
			drivetest.Step(m, now, beat(3, 1, uint64(now/ms), 0))
		}
	}
	want := "130ms nobody: suspected b (silent for 129ms), 250ms c/1: suspected a (silent for 120ms)"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	// The dead are still spoken to, and welcomed back.
	if e := drivetest.Step(m, 1000*ms, beat(0, 2, 1, 0)); last(e) != "a/1: elected a" || to(e) != "{a b d}" {
		t.Errorf("a is back: %s, told %s", last(e), to(e))
	}
	if e := drivetest.Step(m, 1001*ms, beat(1, 1, 2, protocol.Nobody)); last(e) != "nobody: returned b" {
		t.Errorf("b is back: %s", last(e))
	}
}

func TestOldBeatsAreNoSignOfLife(t *testing.T) {
	m, _ := start(t, ring.Default(1, 3, 2))
	drivetest.Step(m, ms, beat(0, 2, 5, 0))
	for name, in := range map[string]*protocol.Receive{
		"duplicate": beat(0, 2, 5, 1), "overtaken": beat(0, 2, 4, 1), "an earlier life": beat(0, 1, 9, 1), "a stranger": beat(7, 1, 1, 7),
		"oneself": beat(1, 9, 9, 1),
	} {
		if e := drivetest.Step(m, 2*ms, in); last(e) != "" {
			t.Errorf("%s: %s", name, last(e))
		}
	}
}

// silence returns for how long b waits for a, after a was heard every 20ms.
func silence(t *testing.T, accrual bool, jitter protocol.Time) time.Duration {
	c := ring.Default(1, 3, 1)
	c.Timeout = 300 * time.Millisecond
	if accrual {
		c.Phi = 8
	}
	m, _ := start(t, c)
	now := protocol.Time(0)
	for i := uint64(1); i < 100; i++ {
		now = protocol.Time(i)*20*ms + protocol.Time(i%2)*jitter
		drivetest.Step(m, now, beat(0, 1, i, 0))
		drivetest.Step(m, now, beat(2, 1, i, 0))
	}
	for at := now; at < now+5000*ms; at += ms {
		for _, f := range drivetest.Step(m, at, protocol.Tick{}).Facts {
			if f.Ev == protocol.EvSuspect && f.Peer.Rank == 0 {
				return at.Sub(now)
			}
		}
	}
	t.Fatal("a is never suspected")
	return 0
}

func TestPhiAdaptsToTheRhythm(t *testing.T) {
	plain, regular, shaky := silence(t, false, 0), silence(t, true, 0), silence(t, true, 12*ms)
	if plain != 300*time.Millisecond {
		t.Errorf("a time-out takes %v", plain)
	}
	// The mean, and 5.6 deviations of at least a fifth of a period.
	if regular < 70*time.Millisecond || regular > 80*time.Millisecond {
		t.Errorf("a regular neighbour is given up after %v", regular)
	}
	if shaky < regular+5*time.Millisecond {
		t.Errorf("a shaky neighbour is given up after %v, a regular one after %v", shaky, regular)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*ring.Config){
		"0 members":    func(c *ring.Config) { c.Members = 0 },
		"member 5":     func(c *ring.Config) { c.Self = 5 },
		"period 0s":    func(c *ring.Config) { c.Period = 0 },
		"time-out 1ms": func(c *ring.Config) { c.Timeout = time.Millisecond },
		"phi 99":       func(c *ring.Config) { c.Phi = 99 },
	} {
		c := ring.Default(0, 3, 1)
		change(&c)
		if _, err := ring.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
}

func TestASteadyStateDoesNotAllocate(t *testing.T) {
	c := ring.Default(1, 9, 1)
	c.Phi = 8
	m, _ := start(t, c)
	in, next, now := beat(0, 1, 1, 0), beat(2, 1, 1, 0), protocol.Time(0)
	var out drivetest.Buffer
	step := func() {
		now += 50 * ms
		in.Message.(*ring.Beat).Seq++
		next.Message.(*ring.Beat).Seq++
		out.Step(m, now, in)
		out.Step(m, now, next)
		out.Step(m, now, protocol.Tick{})
	}
	for range 20 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations for each period", n)
	}
	b := &ring.Beat{Seq: 1}
	if c := b.Copy().(*ring.Beat); c == b || *c != *b {
		t.Error("the copy is not a copy")
	}
}
