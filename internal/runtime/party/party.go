package party

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// Options is what a party needs beside its machine's configuration.
type Options struct {
	Config tenure.Config
	// Clock is the lease clock of this process.
	Clock clock.Clock
	// Do carries an effect out. It must neither wait nor give the party an event: whatever does runs on another goroutine.
	Do func(tenure.Effect)
	// Unread, if it is set, says that messages of the upper side were received and not given yet.
	Unread func() bool
	// Shown, if it is set, returns the deadline that the upper side shows where everybody can look, and whether it does. Renewals then
	// come without a message: the party looks before each event.
	Shown func() (protocol.Time, bool)
	// Fix answers the effect of that name; it is set if Config.Shown is: it fixes the end that the lower side is shown, and returns the
	// highest that it may have seen. It must not wait.
	Fix func() protocol.Time
	// Watch, if it is set, returns the watch under whose deadline the party stands; nil: it has an alarm of its own.
	Watch func() *Watch
	// Signs, if it is set, has the signs of life of the lower side. The party then needs no Pulse.
	Signs *Signs
}

// A Party drives one tenure. All methods may be called from any goroutine; those that return something also from Do.
type Party struct {
	options Options

	// mu is held during a step and while its effects are carried out.
	mu    sync.Mutex
	m     *tenure.Machine
	out   []tenure.Effect
	timer *time.Timer
	watch *Watch // under which it stands
	// heard is the last sign of life that the machine knows; quiet is when its silence ends without another, for Silence. guarded says that Silence
	// looks at it.
	heard   int64
	quiet   atomic.Int64
	guarded bool
	// slept is how long the host had been suspended before the last step.
	slept time.Duration

	// view guards what readers see.
	view      sync.Mutex
	state     tenure.State
	token     uint64
	cause     protocol.Cause
	announced protocol.Time
	known     bool
}

// New returns a party whose tenure waits.
func New(o Options) *Party {
	p := &Party{options: o, m: tenure.New(o.Clock.Now(), o.Config), slept: suspended(o.Clock)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(time.Hour, p.Tick)
	p.arm(o.Clock.Now())
	if _, ok := o.Clock.(sleeper); ok {
		watchResumes(p) // last: a resume ticks at once
	}
	return p
}

// A sleeper is a clock that knows how long the host has been suspended.
type sleeper interface{ Suspended() time.Duration }

// suspended returns that, as far as the clock has seen it.
func suspended(c clock.Clock) time.Duration {
	if s, ok := c.(sleeper); ok {
		return s.Suspended()
	}
	return 0
}

// Tick looks at the deadlines.
func (p *Party) Tick() { p.Give(tenure.Event{Kind: tenure.Tick}) }

// settleLimit and a part of the guard time bound how long a party waits for its own reader. settlePause is how often it looks.
const (
	settleLimit = 20 * time.Millisecond
	settlePause = 200 * time.Microsecond
	settlePart  = 4
)

// settle waits until what was received from above has been given. On a busy host a pause lasts longer than it was asked to, so the
// time is measured.
func (p *Party) settle() {
	if p.options.Unread == nil {
		return
	}
	limit := max(settlePause, min(settleLimit, p.options.Config.Guard/settlePart))
	for begun := time.Now(); p.options.Unread() && time.Since(begun) < limit; {
		time.Sleep(settlePause)
	}
}

// Give gives the machine an event, and returns when its effects have been carried out.
func (p *Party) Give(ev tenure.Event) { p.GiveIf(func() bool { return true }, ev) }

// GiveIf does the same if the event is still valid. No effect of the party is carried out between the question and the event.
func (p *Party) GiveIf(valid func() bool, ev tenure.Event) {
	if ev.Kind == tenure.Tick || ev.Kind == tenure.Forked {
		p.settle()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !valid() {
		return
	}
	now := p.options.Clock.Now()
	if ev.Kind == tenure.Pulse {
		ev.At = now
	}
	// A report of an end that came before the suspend is taken for what it is.
	before := ev.Kind == tenure.ProgramStopped || ev.Kind == tenure.LostDone
	slept := suspended(p.options.Clock)
	woke := slept > p.slept
	p.slept = slept
	if woke && !before {
		p.step(now, tenure.Event{Kind: tenure.Suspended})
	}
	if !woke {
		p.take(now)
	}
	p.hear(now)
	p.step(now, ev)
	if woke && before {
		p.step(now, tenure.Event{Kind: tenure.Suspended})
	}
	p.arm(now)
}

// take gives the machine the renewals that came without a message.
func (p *Party) take(now protocol.Time) {
	if p.options.Shown == nil {
		return
	}
	until, shown := p.options.Shown()
	if known, _ := p.m.Announced(); shown && until > known {
		p.step(now, tenure.Event{Kind: tenure.Extended, Until: until})
	}
}

// step steps the machine and has the effects carried out.
func (p *Party) step(now protocol.Time, ev tenure.Event) {
	out := p.m.Step(now, ev, p.out[:0])
	p.publish()
	for i := 0; i < len(out); i++ {
		if out[i].Kind == tenure.Fix { // at once: what follows rests on the deadline
			out = p.m.Step(now, tenure.Event{Kind: tenure.Fixed, Until: p.options.Fix()}, out)
			p.publish()
			continue
		}
		p.options.Do(out[i])
	}
	p.out = out
	if p.m.State() == tenure.Over {
		unwatchResumes(p)
	}
}

// publish lets readers see how far the tenure has come.
func (p *Party) publish() {
	p.view.Lock()
	defer p.view.Unlock()
	p.state, p.token, p.cause = p.m.State(), p.m.Token(), p.m.Cause()
	p.announced, p.known = p.m.Announced()
}

// arm sets the alarm, after a step at now.
func (p *Party) arm(now protocol.Time) {
	wake := p.m.Wake()
	p.enter()
	if p.watch != nil {
		wake = p.m.WakeBeside()
	}
	silence := wake != protocol.Never && wake == p.m.Silence() && p.options.Signs != nil
	switch {
	case silence:
		p.options.Signs.silence.guard(p, wake.Sub(now))
	case p.guarded:
		p.options.Signs.silence.leave(p)
	}
	p.guarded = silence
	if silence || wake == protocol.Never {
		p.timer.Stop()
		return
	}
	p.timer.Reset(early(wake.Sub(now)))
}

// early is how long a timer may run that must not ring late: time services slow its clock by at most 3/16. What is left is too
// short to matter at some point.
func early(left time.Duration) time.Duration {
	const short = 2 * time.Millisecond
	if left > short {
		left -= left / 16 * 3
	}
	return max(left, 0)
}

// State returns how far the tenure has come, Token its token, and Cause why it ends or ended.
func (p *Party) State() tenure.State {
	p.view.Lock()
	defer p.view.Unlock()
	return p.state
}

// Token returns the token of the tenure.
func (p *Party) Token() uint64 {
	p.view.Lock()
	defer p.view.Unlock()
	return p.token
}

// Cause returns why the tenure ends or ended; Unexplained before that.
func (p *Party) Cause() protocol.Cause {
	p.view.Lock()
	defer p.view.Unlock()
	return p.cause
}

// Announced returns the deadline that the lower side knows, and whether one was announced.
func (p *Party) Announced() (protocol.Time, bool) {
	p.view.Lock()
	defer p.view.Unlock()
	return p.announced, p.known
}
