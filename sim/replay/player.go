package replay

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/agent/web"
)

// A Player is a source that plays a recording. All its methods may be called at any time.
type Player struct {
	*web.Store
	mu        sync.Mutex
	title     string
	recording *Recording
	step      int
	at        time.Duration
	speed     float64
	// shown is the time of the run that the store shows.
	shown atomic.Int64
	// wake says that it plays now.
	wake chan struct{}
}

// NewPlayer returns a player for a recording, at its beginning. Run makes it play.
func NewPlayer(title string, t *Recording) *Player {
	p := &Player{wake: make(chan struct{}, 1)}
	p.Store = web.NewStore(func() time.Duration { return time.Duration(p.shown.Load()) })
	p.insert(title, t)
	return p
}

func (p *Player) insert(title string, t *Recording) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.title, p.recording, p.step, p.at, p.speed = title, t, 0, 0, 0
	p.publish()
}

// publish shows the state at the current step.
func (p *Player) publish() {
	st := p.recording.world(p.step).state(p.at)
	st.About = web.About{Kind: "replay", Title: "replay of " + p.title, Marks: p.recording.marks, Council: st.About.Council}
	st.Playback = &web.Playback{Step: p.step, Steps: p.recording.Steps(), At: p.at, End: p.recording.End(), Speed: p.speed, Line: p.recording.Line(p.step)}
	p.shown.Store(int64(p.at))
	p.Store.Replace(st)
}

// Load replaces the recording.
func (p *Player) Load(name string, file io.Reader) error {
	t, err := Read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.insert(filepath.Base(name), t)
	return nil
}

// Do carries out what the page asks for: play with a speed, pause, and seek to a step.
func (p *Player) Do(_ context.Context, c web.Command) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch c.Verb {
	case "play":
		const fastest = 10000
		if c.Value == 0 || c.Value > fastest || c.Value < -fastest {
			return "", fmt.Errorf("play at %v: must not be zero, nor beyond %d either way", c.Value, fastest)
		}
		p.speed = c.Value
		// A user that plays at the end wants to see it again.
		if p.speed > 0 && p.step == p.recording.Steps() {
			p.at, p.step = 0, 0
		} else if p.speed < 0 && p.step == 0 {
			p.at, p.step = p.recording.End(), p.recording.Steps()
		}
		select {
		case p.wake <- struct{}{}:
		default:
		}
	case "pause":
		p.speed = 0
	case "seek":
		if c.Value < 0 || c.Value > float64(p.recording.Steps()) {
			return "", fmt.Errorf("step %v: there are %d", c.Value, p.recording.Steps())
		}
		p.speed, p.step = 0, int(c.Value)
		p.at = p.recording.At(p.step)
	default:
		return "", fmt.Errorf("%q: a recorded run can be played, paused and sought in", c.Verb)
	}
	p.publish()
	return "", nil
}

// frame is how often a recording that plays moves on.
const frame = 40 * time.Millisecond

// Run plays the recording, whenever somebody asks for it, until ctx ends.
func (p *Player) Run(ctx context.Context) {
	ticker := time.NewTicker(frame)
	defer ticker.Stop()
	for last := time.Now(); ; {
		if !p.playing() {
			select { // nothing happens until somebody plays
			case <-p.wake:
				last = time.Now()
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-ticker.C:
			now := time.Now()
			p.move(now.Sub(last))
			last = now
		case <-ctx.Done():
			return
		}
	}
}

func (p *Player) playing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.speed != 0
}

// move lets time pass on a recording that plays.
func (p *Player) move(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.speed == 0 {
		return
	}
	p.at += time.Duration(float64(d) * p.speed)
	switch end := p.recording.End(); {
	case p.speed > 0 && p.at >= end:
		p.at, p.step, p.speed = end, p.recording.Steps(), 0
	case p.speed < 0 && p.at <= 0:
		p.at, p.step, p.speed = 0, 0, 0
	default:
		p.step = p.recording.StepAt(p.at)
	}
	p.publish()
}
