package replay

import (
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/internal/protocol"
)

// state returns what the page shows at an instant.
func (w *world) state(at time.Duration) *web.State {
	st := &web.State{Log: w.log}
	c := w.describe()
	if c != nil {
		st.About.Council = web.CouncilOf(c, w.council.since)
	}
	for r := range w.all {
		m := &w.members[r]
		out := web.Member{Name: r.String(), State: m.state, Incarnation: uint64(m.inc)}
		if m.frozen != "" && m.state == web.Up {
			out.State, out.Problem = web.Paused, "stopped by "+m.frozen
		}
		for _, g := range w.groups {
			if l, ok := g.leads[r]; ok && l.stands(at) {
				out.Leading++
			}
		}
		if c != nil {
			w.stand(&out, c, r)
		}
		st.Members = append(st.Members, out)
	}
	for from := range w.all {
		for to := range w.all {
			if from != to {
				st.Links = append(st.Links, w.link(from, to))
			}
		}
	}
	for _, g := range w.groups {
		st.Groups = append(st.Groups, w.show(g, at))
	}
	st.Tenures = w.shown(at)
	return st
}

// stands says whether a leadership lasts at an instant: a lease that has run out is over, even if nobody has noticed.
func (l *lead) stands(at time.Duration) bool { return l.until == 0 || l.until > at }

// link returns how to hears from: what is wrong with the link, and what its last packet proved.
func (w *world) link(from, to protocol.Rank) web.Link {
	l := web.Link{From: from.String(), To: to.String(), State: web.Unknown}
	p := w.bounds[[2]protocol.Rank{from, to}]
	switch both := w.members[from].state == web.Up && w.members[to].state == web.Up; {
	case both && p.known:
		l.State, l.Bound = web.Fast, p.bound
	case both && p.any:
		l.State = web.Slow
	case both:
		l.State = web.Fast // nothing is wrong with it, and the trace has no packets
	}
	for i := range w.faults {
		f := &w.faults[i]
		if !f.covers(l.From, l.To) {
			continue
		}
		l.Made = f.text
		switch f.kind {
		case "cut", "partition":
			l.State, l.Bound = web.Cut, 0
			return l
		default:
			if l.State != web.Unknown {
				l.State = web.Slow
			}
		}
	}
	return l
}

func (w *world) show(g *group, at time.Duration) web.Group {
	out := web.Group{Name: g.name, Mode: g.mode, Changed: g.changed, Cause: g.cause, Changes: g.changes}
	for r := range w.all {
		if l, ok := g.leads[r]; ok && l.stands(at) {
			out.Leaders = append(out.Leaders, web.Leader{Member: r.String(), Term: l.token, Token: l.token, Since: l.since, Until: l.until,
				Lease: l.length, Support: l.support, Local: g.mode == web.Local, Stopping: l.stopping})
		}
		if v, ok := g.views[r]; ok {
			out.Views = append(out.Views, v)
		}
	}
	return out
}

// shown returns the leaderships so far. Those whose lease has run out end there.
func (w *world) shown(at time.Duration) []web.Tenure {
	all := make([]web.Tenure, len(w.tenures))
	copy(all, w.tenures)
	open := make(map[string]lead)
	for _, g := range w.groups {
		for _, l := range g.leads {
			open[l.id] = l
		}
	}
	for i := range all {
		if l, ok := open[all[i].ID]; ok && !l.stands(at) {
			all[i].To, all[i].Evidence = l.until, "the lease ran out by the holder's own clock"
		} else if ok {
			all[i].Evidence = "the lease stands, by the holder's own clock"
		}
	}
	return all
}
