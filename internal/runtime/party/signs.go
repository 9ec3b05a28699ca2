package party

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// Signs are the signs of life of one program, for all its parties. A sign is one store: the parties find it when they step for
// another reason, or when it is time to look.
type Signs struct {
	silence *Silence
	// last is when the last sign came, on the clock of silence; zero: none came.
	last atomic.Int64
}

// Give takes note of a sign of life.
func (s *Signs) Give() { s.last.Store(int64(s.silence.now())) }

// since returns the last sign that came after another one, and how long ago that was.
func (s *Signs) since(before int64) (last int64, ago time.Duration, later bool) {
	last = s.last.Load()
	return last, s.silence.now() - time.Duration(last), last > before
}

// hear gives the machine the last sign of life. The clock of signs stands still while the host is suspended: a suspend is no silence.
func (p *Party) hear(now protocol.Time) {
	if p.options.Signs == nil {
		return
	}
	if last, ago, later := p.options.Signs.since(p.heard); later {
		p.heard = last
		p.step(now, tenure.Event{Kind: tenure.Pulse, At: now.Add(-ago)})
	}
}

// A Silence is one alarm for the silence of many parties with Signs. It looks at their signs when the first of them would have been silent for
// too long, and has only those look at their deadlines that gave none.
type Silence struct {
	origin time.Time

	mu    sync.Mutex
	all   map[*Party]struct{}
	timer *time.Timer
	// rings is when the timer rings.
	rings time.Duration
}

// NewSilence returns an alarm for no party.
func NewSilence() *Silence { return &Silence{origin: time.Now(), all: make(map[*Party]struct{})} }

// Signs returns the signs of another program.
func (s *Silence) Signs() *Signs { return &Signs{silence: s} }

// now reads the clock of signs: the time since origin.
func (s *Silence) now() time.Duration { return time.Since(s.origin) }

// guard has the alarm ring for a party when left has passed without a sign.
func (s *Silence) guard(p *Party, left time.Duration) {
	at := s.now() + left
	p.quiet.Store(int64(at))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[p] = struct{}{}
	switch {
	case s.timer == nil:
		s.timer = time.AfterFunc(left, s.ring)
	case at < s.rings:
		s.timer.Reset(left)
	default:
		return
	}
	s.rings = at
}

// leave takes a party from the alarm.
func (s *Silence) leave(p *Party) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, p)
	if len(s.all) == 0 && s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// ring has those parties look at their deadlines that gave no sign.
func (s *Silence) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		return
	}
	now := s.now()
	first := protocol.Never
	for p := range s.all { // order does not matter: each looks at its own deadline
		at := protocol.Time(p.silentAt())
		if at <= protocol.Time(now) {
			go p.Tick()
			at = protocol.Time(now + again)
		}
		first = min(first, at)
	}
	s.rings = time.Duration(first)
	s.timer.Reset(s.rings - now)
}

// silentAt returns when the party has been silent for too long, on the clock of signs, if no sign comes.
func (p *Party) silentAt() time.Duration {
	return max(time.Duration(p.quiet.Load()), time.Duration(p.options.Signs.last.Load())+p.options.Config.Heartbeat)
}
