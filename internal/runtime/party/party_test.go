package party

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// effects are those that a party had carried out.
type effects struct {
	mu  sync.Mutex
	all []tenure.EffectKind
}

func (f *effects) do(e tenure.Effect) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, e.Kind)
}

func (f *effects) has(k tenure.EffectKind) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.all {
		if e == k {
			return true
		}
	}
	return false
}

// leading returns a party that leads for a second, with a guard time of a fifth.
func leading(t *testing.T, c clock.Clock, unread func() bool) (*Party, *effects) {
	t.Helper()
	f := new(effects)
	p := New(Options{Clock: c, Do: f.do, Unread: unread, Config: tenure.Config{Guard: 200 * time.Millisecond, Grace: time.Hour}})
	p.Give(tenure.Event{Kind: tenure.Elected, Token: 1, At: c.Now(), Until: c.Now().Add(time.Second)})
	return p, f
}

func TestPartyLooksAtItsDeadlineInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, f := leading(t, clock.Package(), nil)
		time.Sleep(799 * time.Millisecond)
		if f.has(tenure.Ask) {
			t.Error("asked before the guard time")
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if !f.has(tenure.Ask) {
			t.Error("not asked when the guard time has begun")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if p.State() != tenure.Over {
			t.Errorf("%v after the deadline", p.State())
		}
	})
}

// A party that was not scheduled finds a renewal and its deadline at the same time.
func TestRenewalsThatWaitAreReadBeforeTheDeadlineIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late protocol.Time
		own := clock.Package()
		waits := true
		var p *Party
		p, f := leading(t, clock.Of(func() protocol.Time { return own.Now() + late }), func() bool {
			if waits {
				waits = false
				go p.Give(tenure.Event{Kind: tenure.Extended, Until: own.Now() + late + protocol.Time(time.Second)})
				return true
			}
			return false
		})
		late = protocol.Time(2 * time.Second) // as after a pause
		p.Tick()
		if f.has(tenure.Ask) || p.State() != tenure.Leading {
			t.Errorf("%v: a lease ended whose renewal had been received", p.State())
		}
		p.Give(tenure.Event{Kind: tenure.ProgramStopped})
	})
}

// What an effect makes invalid does not count, also if it was found before the effect.
func TestEventThatAnEffectMadeInvalidIsDropped(t *testing.T) {
	p, _ := leading(t, clock.Package(), nil)
	valid, asked, given := true, make(chan struct{}), make(chan struct{})
	p.options.Do = func(e tenure.Effect) {
		if e.Kind == tenure.Ask {
			close(asked)
			time.Sleep(10 * time.Millisecond) // wall clock: the event waits for a mutex
			valid = false
		}
	}
	go func() {
		defer close(given)
		<-asked
		p.GiveIf(func() bool { return valid }, tenure.Event{Kind: tenure.ProgramStopped})
	}()
	p.Give(tenure.Event{Kind: tenure.Stop})
	<-given
	if p.State() == tenure.Over {
		t.Error("an event that was no longer valid ended the tenure")
	}
	p.GiveIf(func() bool { return true }, tenure.Event{Kind: tenure.ProgramStopped})
	if p.State() != tenure.Over {
		t.Errorf("%v: a valid event was dropped", p.State())
	}
}

// A reader that never gets to it must not use up the guard time.
func TestPartyWaitsForItsReaderForAPartOfTheGuardTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := leading(t, clock.Package(), func() bool { return true })
		p.options.Config.Guard = 4 * time.Millisecond
		begun := time.Now()
		p.Tick()
		if waited := time.Since(begun); waited > 2*time.Millisecond {
			t.Errorf("waited %v", waited)
		}
		p.Give(tenure.Event{Kind: tenure.ProgramStopped})
	})
}
