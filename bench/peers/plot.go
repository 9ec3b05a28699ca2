package main

import (
	"fmt"
	"slices"
	"strings"
)

// plots returns all plots, by file.
func (r *report) plots() map[string]string {
	out := make(map[string]string)
	for _, kind := range r.tried() {
		if p := r.cdf(kind); len(p.lines) > 0 {
			out["cdf-"+kind+".svg"] = p.svg()
		}
	}
	for name, p := range map[string]plot{"packets.svg": r.packets(), "stability.svg": r.stability()} {
		if len(p.points) > 0 {
			out[name] = p.svg()
		}
	}
	return out
}

// losses are the kinds, for people.
var losses = map[string]string{"kill": "kill -9 of the leader", "stop": "SIGSTOP of the leader", "resign": "resignation", "host": "death of the leader's host", "cut": "the leader's host cut off"}

// where says in one line how a plot came to be.
func (r *report) where() string {
	return fmt.Sprintf("%s, %d processors, load %s", r.Date.Format("2 January 2006"), r.Machine.Processors, span(r.Load))
}

// span is the range of the load averages.
func span(loads []float64) string {
	if len(loads) == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.1f to %.1f", slices.Min(loads), slices.Max(loads))
}

// colour is that of a system, the same in all plots.
func colour(system string) int { return slices.Index(systemNames(), system) }

// cdf has a line for each run: which share of the trials took at most how long.
func (r *report) cdf(kind string) plot {
	p := plot{title: "From " + losses[kind] + " to the next leader", subtitle: r.where(), x: "milliseconds", y: "share of trials, %", logX: true}
	for _, x := range r.Runs {
		t := x.Trials[kind]
		if t == nil || len(t.MS) == 0 {
			continue
		}
		l := line{name: x.name(), colour: colour(x.System), dashed: x.Role == "default"}
		sorted := slices.Sorted(slices.Values(t.MS))
		for i, v := range sorted {
			l.x = append(l.x, v, v)
			l.y = append(l.y, 100*float64(i)/float64(len(sorted)), 100*float64(i+1)/float64(len(sorted)))
		}
		p.lines = append(p.lines, l)
	}
	return p
}

// killed is the median of trials in which the leader is killed.
func killed(x *run) (float64, bool) {
	t := x.Trials["kill"]
	if t == nil || len(t.MS) == 0 {
		return 0, false
	}
	return t.MS.at(0.5), true
}

// packets has a point for each run: what it sends while nothing happens, and how soon it replaces a leader that was killed.
func (r *report) packets() plot {
	p := plot{title: "Failover against packets", subtitle: "median after kill -9; squares: defaults; " + r.where(), x: "packets per second between hosts, idle", y: "milliseconds", logX: true, logY: true}
	for _, x := range r.Runs {
		took, ok := killed(x)
		if !ok || x.Idle == nil || x.Idle.Packets == nil || *x.Idle.Packets <= 0 {
			continue
		}
		p.points = append(p.points, point{name: x.name(), x: *x.Idle.Packets, y: took, colour: colour(x.System), square: x.Role == "default"})
	}
	return p
}

// stability has up to two points for each run: changes in an hour that nothing caused, idle (filled) and busy (hollow), and how soon it replaces a leader that was killed.
func (r *report) stability() plot {
	p := plot{title: "Failover against stability", subtitle: "median after kill -9; filled: idle, hollow: busy; squares: defaults; " + r.where(), x: "unprovoked changes per hour", y: "milliseconds", logX: true, logY: true, zeroX: true}
	for _, x := range r.Runs {
		took, ok := killed(x)
		if !ok {
			continue
		}
		at := point{name: x.name(), y: took, colour: colour(x.System), square: x.Role == "default"}
		if x.Idle != nil {
			at.x = perHour(x.Idle.Changes, x.Idle.Seconds)
			p.points = append(p.points, at)
		}
		if x.Busy != nil {
			at.x, at.hollow = perHour(x.Busy.Changes, x.Busy.Seconds), true
			p.points = append(p.points, at)
		}
	}
	return p
}

// escape makes text safe in SVG.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
