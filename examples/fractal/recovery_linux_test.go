package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// A recovery is how long after a crash the others agree, the first tile goes on, and all tiles are safe again.
type recovery struct {
	agreed, resumed, safe time.Duration
}

// recover kills a member that computes, measures, and brings the member back.
func (s *show) recover(victim string, frame uint64) (r recovery) {
	s.t.Helper()
	from := s.mark()
	s.allow(frame - every/2)
	s.until("all tiles are computed", func(e []entry) bool { return reached(e, frame-every) })
	rest := slices.DeleteFunc(slices.Clone(s.Names), func(n string) bool { return n == victim })
	crashed := time.Now()
	s.must(s.Crash(victim))
	s.until("the others recover from the loss of "+victim, func(e []entry) bool { return safe(e[from:], rest...) })
	s.mu.Lock()
	for _, e := range s.events[from:] {
		after := e.At.Sub(crashed)
		switch {
		case after <= 0 || e.member == victim:
		case e.What == "view" && strings.Contains(e.Text, "failed: "+victim):
			r.agreed = max(r.agreed, after)
		case e.What == "resume" && r.resumed == 0:
			r.resumed = after
		case e.What == "founded":
			r.safe = max(r.safe, after)
		}
	}
	s.mu.Unlock()
	s.allow(frame)
	s.until("all tiles go on", func(e []entry) bool { return reached(e[from:], frame) })
	from = s.mark()
	s.must(s.Start(victim))
	s.until(victim+" is back", func(e []entry) bool { return safe(e[from:], s.Names...) })
	return r
}

// BenchmarkRecovery kills processes, of a council with the timing for a data centre, and reports medians. Where other members are held up for
// longer than their lease, the group agrees more than once, and the time includes that.
func BenchmarkRecovery(b *testing.B) {
	s := prepare(b, 1<<40, cluster.Options{Timing: regent.LAN})
	s.each(s.Start, s.Names...)
	s.until("all tiles have a checkpoint of all seven", func(e []entry) bool { return safe(e, s.Names...) })
	var all []recovery
	for b.Loop() {
		i := len(all)
		r := s.recover(s.Names[1+i%(len(s.Names)-1)], uint64(every*(i+1)))
		b.Logf("%s: agreed %v, first tile goes on %v, all safe %v", s.Names[1+i%(len(s.Names)-1)], r.agreed, r.resumed, r.safe)
		all = append(all, r)
	}
	for name, of := range map[string]func(recovery) time.Duration{"agreed": func(r recovery) time.Duration { return r.agreed },
		"resumed": func(r recovery) time.Duration { return r.resumed }, "safe": func(r recovery) time.Duration { return r.safe }} {
		var took []time.Duration
		for _, r := range all {
			took = append(took, of(r))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Milliseconds()), fmt.Sprintf("ms/%s", name))
	}
	b.ReportMetric(0, "ns/op")
}
