package party

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// signing returns parties that lead for a day, each with signs of its own, and a heartbeat of three seconds. steps counts what they do.
func signing(n int) (parties []*Party, signs []*Signs, steps *int) {
	c, silence, steps := clock.Package(), NewSilence(), new(int)
	for range n {
		s := silence.Signs()
		p := New(Options{Clock: c, Do: func(tenure.Effect) {}, Signs: s,
			Config: tenure.Config{Lower: tenure.Program, Guard: time.Second, Grace: time.Hour, Heartbeat: 3 * time.Second},
			Shown:  func() (protocol.Time, bool) { *steps++; return 0, false }})
		p.Give(tenure.Event{Kind: tenure.Elected, Token: 1, At: c.Now(), Until: c.Now().Add(24 * time.Hour)})
		parties, signs = append(parties, p), append(signs, s)
	}
	return parties, signs, steps
}

func TestSignsOfLifeCostNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parties, signs, steps := signing(10)
		before := *steps
		for range 100 {
			time.Sleep(1500 * time.Millisecond)
			for _, s := range signs {
				s.Give()
			}
		}
		synctest.Wait()
		if n := *steps - before; n != 0 {
			t.Errorf("%d steps although every sign came in time", n)
		}
		for _, p := range parties {
			if p.State() != tenure.Leading {
				t.Errorf("%v", p.State())
			}
			p.Give(tenure.Event{Kind: tenure.ProgramStopped})
		}
	})
}

// The heartbeat begins when the sign came, and not when somebody looked.
func TestSilentPartyIsEndedWhenItsHeartbeatIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parties, signs, _ := signing(2)
		for range 20 {
			time.Sleep(1500 * time.Millisecond)
			signs[0].Give()
			signs[1].Give()
		}
		time.Sleep(time.Second)
		signs[1].Give()
		time.Sleep(time.Second)
		parties[0].Tick() // an early look changes nothing
		parties[1].Tick()
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		if s := parties[0].State(); s != tenure.Leading {
			t.Errorf("%v before the heartbeat was missed", s)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if a, b := parties[0].State(), parties[1].State(); a != tenure.Stopping || b != tenure.Leading {
			t.Errorf("%v and %v when the first has been silent for its heartbeat", a, b)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := parties[1].State(); s != tenure.Stopping {
			t.Errorf("%v when the second has been silent as well", s)
		}
		for _, p := range parties {
			p.Give(tenure.Event{Kind: tenure.ProgramStopped})
		}
	})
}

// A party without signs is ended while another with a longer heartbeat is guarded already.
func TestShorterHeartbeatRingsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parties, _, _ := signing(1)
		short := New(Options{Clock: parties[0].options.Clock, Do: func(tenure.Effect) {}, Signs: parties[0].options.Signs.silence.Signs(),
			Config: tenure.Config{Lower: tenure.Program, Heartbeat: time.Second}})
		time.Sleep(1001 * time.Millisecond)
		synctest.Wait()
		if short.State() != tenure.Over || parties[0].State() != tenure.Leading {
			t.Errorf("%v with a heartbeat of 1 s, %v with one of 3 s", short.State(), parties[0].State())
		}
		parties[0].Give(tenure.Event{Kind: tenure.ProgramStopped})
		if n := len(parties[0].options.Signs.silence.all); n != 0 {
			t.Errorf("%d parties are guarded after their end", n)
		}
	})
}
