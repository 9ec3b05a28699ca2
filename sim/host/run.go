package host

import (
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/sim"
)

// The phases of a run: faults, then calm, then everybody stops.
const (
	faultTime = 4 * time.Second
	calmTime  = 2 * time.Second
	stopTime  = 2 * time.Second
)

// A Plan is all that a run is made of.
type Plan struct {
	Seed   uint64
	Hosts  int
	Faults []Fault
}

// Draw turns a seed into a plan.
func Draw(seed uint64) Plan {
	hosts := 2 + int(seed%2)
	return Plan{Seed: seed, Hosts: hosts, Faults: drawFaults(seed, hosts, faultTime)}
}

// Play plays a plan, and returns the first complaint of a checker; empty: none. trace lists what happened, if it is wanted.
func Play(p Plan, cover *Coverage, traced bool) (failure string, trace []string) {
	w := &World{Dice: sim.NewDice(p.Seed, 1), pages: sim.NewDice(p.Seed, 2), now: protocol.Time(time.Second), cover: cover, tracing: traced}
	start := w.now
	w.check.w, w.council.w = w, w
	for r := range p.Hosts {
		w.hosts = append(w.hosts, w.newHost(protocol.Rank(r)))
	}
	for _, f := range p.Faults {
		w.at(start.Add(f.At), func() {
			if f.In != tenure.Waiting {
				w.armed = append(w.armed, f)
				return
			}
			w.inject(f)
		})
	}
	w.council.look()
	w.check.poll()
	w.run(start.Add(faultTime))
	w.quieten()
	w.run(start.Add(faultTime + calmTime))
	if w.council.led < w.now.Add(-time.Second) {
		w.check.fail("H-LIVE", "nobody leads although all is calm")
	}
	w.close()
	w.run(start.Add(faultTime + calmTime + stopTime))
	w.check.left()
	w.check.causes()
	return w.check.failure, w.trace
}

// quieten ends all faults.
func (w *World) quieten() {
	w.calm = true
	for _, h := range w.hosts {
		h.starved, h.cut = false, false
		for _, p := range h.all {
			p.paused = false
		}
		h.rouseAll()
	}
}

// close has everybody stop.
func (w *World) close() {
	w.closing = true
	for _, h := range w.hosts {
		if h.candidacy == nil || h.candidacy.top.p.dead {
			continue
		}
		why := protocol.Cause{Code: protocol.Closed, Peer: h.rank}
		if h.candidacy.life == nil {
			h.candidacy.top.above(tenure.Event{Kind: tenure.Lost, Cause: why}, 0)
			continue
		}
		h.candidacy.top.above(tenure.Event{Kind: tenure.Stop, Cause: why}, 0)
	}
}

// Shrink takes faults out of a plan for as long as it still fails, and in the same way.
func Shrink(p Plan) Plan {
	name := func(failure string) string { s, _, _ := strings.Cut(failure, ":"); return s }
	first, _ := Play(p, new(Coverage), false)
	for again := true; again; {
		again = false
		for i := len(p.Faults) - 1; i >= 0; i-- {
			q := p
			q.Faults = append(append([]Fault(nil), p.Faults[:i]...), p.Faults[i+1:]...)
			if failure, _ := Play(q, new(Coverage), false); failure != "" && name(failure) == name(first) {
				p, again = q, true
			}
		}
	}
	return p
}
