package web

import (
	"math"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/plan"
)

// PausesOf returns a member's own, against the longest that a lease survives.
func PausesOf(s *regent.Status, survives time.Duration) *Pauses {
	out := &Pauses{Median: s.PauseMedian, P99: s.PauseP99, Longest: s.PauseLongest, Survives: survives, Day: s.PauseDay}
	if s.PauseDay > 0 {
		out.DayAt = s.PauseDayAt.UnixMilli()
	}
	if s.PauseCount == 0 {
		return out
	}
	rungs := plan.Rungs(s.PauseBuckets, survives)
	var most uint64
	for _, r := range rungs {
		most = max(most, r.Count)
	}
	for _, r := range rungs {
		shown := Rung{Upper: r.Upper, Count: r.Count, Share: math.Round(100*plan.Share(r.Count, most)) / 100, Costs: r.Costs}
		if r.Upper == math.MaxInt64 {
			shown.Upper = 0
		}
		out.Rungs = append(out.Rungs, shown)
	}
	return out
}
