// Package fault says how bad a link is, and makes it so: what packages memory and relay have in common.
//
//	link.go      one direction of one pair: delay, loss, duplicates, disorder, cuts
//	links.go     all links of a network, set while it runs, and the language for it
//	schedule.go  what is due when
//	wait*.go     waiting as exactly as the system can
package fault

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A Link is one direction between two members. The zero value is perfect.
type Link struct {
	// Delay is added to each datagram, and up to Jitter more, evenly spread. Datagrams keep their order.
	Delay, Jitter time.Duration
	// Drop is the share of datagrams that is lost.
	Drop float64
	// Duplicate is the share that comes twice, the second time up to Late later than the rest would.
	Duplicate float64
	Late      time.Duration
	// Reorder is the share that is held back, by up to Delay+Jitter or a millisecond if that is more, while those behind
	// go ahead.
	Reorder float64
	// Cut links lose everything.
	Cut bool
}

// Check says whether the link makes sense.
func (l Link) Check() error {
	for name, d := range map[string]time.Duration{"delay": l.Delay, "jitter": l.Jitter, "late": l.Late} {
		if d < 0 || d > time.Hour {
			return fmt.Errorf("%s %v: must be between 0 and 1h", name, d)
		}
	}
	for name, share := range map[string]float64{"drop": l.Drop, "duplicate": l.Duplicate, "reorder": l.Reorder} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("%s %v: must be between 0 and 1", name, share)
		}
	}
	return nil
}

// Immediate says that datagrams pass without delay.
func (l Link) Immediate() bool { return l.Delay == 0 && l.Jitter == 0 && l.Reorder == 0 && l.Late == 0 }

// A Plan says what becomes of one datagram: how many copies arrive, and after which delays.
type Plan struct {
	Copies int
	Delays [2]time.Duration
}

// Plan decides over one datagram. turn is how long the datagram before it will still take: unless it is held back, this
// one takes no less. Plan returns the turn of the next.
func (l Link) Plan(r *rand.Rand, turn time.Duration) (Plan, time.Duration) {
	var p Plan
	if l.Cut || l.Drop > 0 && r.Float64() < l.Drop {
		return p, turn
	}
	p.Copies = 1
	if l.Duplicate > 0 && r.Float64() < l.Duplicate {
		p.Copies = 2
	}
	for i := range p.Copies {
		if i > 0 && l.Late > 0 {
			p.Delays[i] = p.Delays[0] + 1 + time.Duration(r.Int64N(int64(l.Late)))
			continue
		}
		d := l.Delay
		if l.Jitter > 0 {
			d += time.Duration(r.Int64N(int64(l.Jitter) + 1))
		}
		if l.Reorder > 0 && r.Float64() < l.Reorder {
			p.Delays[i] = max(d, turn) + 1 + time.Duration(r.Int64N(int64(max(l.Delay+l.Jitter, time.Millisecond))))
			continue
		}
		turn = max(turn, d)
		p.Delays[i] = turn
	}
	return p, turn
}

// String shows the link as Set reads it.
func (l Link) String() string {
	var parts []string
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"delay", l.Delay}, {"jitter", l.Jitter}, {"late", l.Late}} {
		if d.d != 0 {
			parts = append(parts, d.name+"="+d.d.String())
		}
	}
	for _, f := range []struct {
		name string
		f    float64
	}{{"drop", l.Drop}, {"duplicate", l.Duplicate}, {"reorder", l.Reorder}} {
		if f.f != 0 {
			parts = append(parts, f.name+"="+strconv.FormatFloat(f.f, 'g', -1, 64))
		}
	}
	if l.Cut {
		parts = append(parts, "cut=true")
	}
	if parts == nil {
		return "perfect"
	}
	return strings.Join(parts, " ")
}

// Set changes what the words say, such as delay=5ms or drop=0.1, and leaves the rest. The word perfect changes all.
func (l Link) Set(words ...string) (Link, error) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "perfect":
			l = Link{}
		case "delay":
			l.Delay, err = time.ParseDuration(value)
		case "jitter":
			l.Jitter, err = time.ParseDuration(value)
		case "drop":
			l.Drop, err = strconv.ParseFloat(value, 64)
		case "duplicate":
			l.Duplicate, err = strconv.ParseFloat(value, 64)
		case "reorder":
			l.Reorder, err = strconv.ParseFloat(value, 64)
		case "late":
			l.Late, err = time.ParseDuration(value)
		case "cut":
			l.Cut, err = strconv.ParseBool(value)
		default:
			return l, fmt.Errorf("%q: say delay=, jitter=, drop=, duplicate=, late=, reorder=, cut= or perfect", word)
		}
		if err != nil {
			return l, fmt.Errorf("%q: %w", word, err)
		}
	}
	return l, l.Check()
}
