package session

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/protocol"
)

// A place is where the deadline of a candidacy stands on the agent's page.
type place struct {
	conn   *Conn
	slot   int
	number uint64
	// last is the end that was read last, as an instant of the host's clock and of this process's.
	last atomic.Pointer[[2]protocol.Time]
}

// look returns a reading of the clock, and the end of the lease then, as an instant of this process's clock.
func (p *place) look() (now, end protocol.Time) {
	now, shown, ok := p.conn.page.Look(p.slot, p.number, p.conn.clock.Late)
	if !ok {
		return p.conn.clock.Late(), 0
	}
	last := p.last.Load()
	if last == nil || last[0] != shown { // once for each renewal
		last = &[2]protocol.Time{shown, p.conn.toLocal(shown).Add(-Skew)}
		p.last.Store(last)
	}
	return now, last[1]
}

// placeOf returns where the deadline of a leadership stands; nil: the agent tells it in messages.
func (c *Conn) placeOf(e *Event) *place {
	if c.page == nil || e.Tenure == 0 || !c.page.Has(e.Slot) {
		return nil
	}
	return &place{conn: c, slot: e.Slot, number: e.Tenure}
}

// usePage takes the page of the agent into use, and says whether it is the one that the greeting announced.
func (c *Conn) usePage(words page.Words) bool {
	r, err := page.NewReader(words)
	if err != nil || r.Identity() != c.hello.Page {
		return false
	}
	c.page = r
	return true
}

// A pulse gives signs of life for a connection.
type pulse struct {
	once sync.Once
	// sooner gets the silence of a candidacy that allows less than those before.
	sooner chan time.Duration
}

// beat gives signs of life from now on, so often that the agent never misses them for so long.
func (c *Conn) beat(silence time.Duration) {
	c.pulse.once.Do(func() {
		c.pulse.sooner = make(chan time.Duration)
		go c.keepBeating(silence)
	})
	select {
	case c.pulse.sooner <- silence:
	case <-c.gone:
	}
}

// keepBeating gives signs of life until the connection is lost.
func (c *Conn) keepBeating(silence time.Duration) {
	timer := time.NewTimer(untilBeat(silence))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			if c.writeLine([]byte(`{"do":"alive"}`)) != nil {
				return
			}
		case asked := <-c.pulse.sooner:
			silence = min(silence, asked)
		case <-c.gone:
			return
		}
		timer.Reset(untilBeat(silence))
	}
}

// untilBeat returns how long it is until the next sign of life. All programs of a host give theirs at the same instants: an agent that wakes
// up once for many of them uses a fraction of the time.
func untilBeat(silence time.Duration) time.Duration {
	interval := max(silence/pulses, time.Millisecond)
	return interval - time.Duration(time.Now().UnixNano())%interval
}
