package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/web"
)

// newsShown is how many lines of the log the table shows.
const newsShown = 12

// table draws everything as lines.
func (m *model) table(t *cluster.Cluster, at time.Duration, page string, width int) []string {
	title := fmt.Sprintf("regent demo: %d members, %.1fs", len(m.names), at.Seconds())
	if page != "" {
		title += "   in a browser: " + page
	}
	council := ""
	if c := m.council.now; c != nil {
		council = "council " + c.Progress()
	}
	lines := []string{title, council, "",
		"    member  is        leader  token       lease                  round trip  longest pause"}
	for i, n := range m.names {
		lines = append(lines, m.row(t, at, i, n))
	}
	lines = append(lines, "")
	for _, g := range m.elections {
		lines = append(lines, fmt.Sprintf("    %-10s %-10s %s", g.name, g.mode, g.leaders(at)))
	}
	lines = append(lines, "", "what happened:")
	news := m.log[max(0, len(m.log)-newsShown):]
	for i := range news {
		lines = append(lines, newsLine(&news[i]))
	}
	for range newsShown - len(news) {
		lines = append(lines, "")
	}
	lines = append(lines, "", help)
	for i, l := range lines {
		if r := []rune(l); width > 0 && len(r) > width {
			lines[i] = string(r[:width])
		}
	}
	return slices.Clip(lines)
}

// leaders says who leads a group.
func (g *election) leaders(at time.Duration) string {
	var all []string
	for _, r := range g.standing(at, nil) {
		switch {
		case r.local && len(r.support) > 0:
			all = append(all, fmt.Sprintf("%s leads locally, for %s", r.member, strings.Join(r.support, " ")))
		case r.local:
			all = append(all, r.member+" leads locally")
		default:
			all = append(all, r.member+" leads")
		}
	}
	if len(all) == 0 {
		return "nobody leads: " + g.cause
	}
	return strings.Join(all, "; ")
}

func (m *model) row(t *cluster.Cluster, at time.Duration, i int, name string) string {
	r, g := m.members[name], m.elections[0]
	mark := "  "
	if i == m.chosen {
		mark = "> "
	}
	state, cut := t.State(name)
	lead := g.currentLeadership()
	leads := lead != nil && lead.member == name
	_, removed := m.council.removed[name]
	switch {
	case removed:
		state = "removed"
	case state != "running":
	case !r.joined:
		state = "joining"
	case leads:
		state = "LEADS"
	case m.leadsLocally(name):
		state = "local"
	default:
		state = "follows"
	}
	if cut {
		state += ", cut"
	}
	lease, rtt, pause := "", "", ""
	if leads {
		lease = bar(max(0, lead.until-at), t.Timing.Lease)
	}
	if r.status != nil {
		longest := time.Duration(0)
		for _, p := range r.peers {
			longest = max(longest, p.RoundTrip)
		}
		rtt, pause = longest.Round(10*time.Microsecond).String(), r.status.PauseLongest.Round(100*time.Microsecond).String()
	}
	token, view := "", g.views[name]
	if view.Leader != "" {
		token = fmt.Sprint(view.Token)
	}
	return fmt.Sprintf("%s%d %-7s %-9s %-7s %-11s %-22s %-11s %s", mark, i+1, name, state, view.Leader, token, lease, rtt, pause)
}

// leadsLocally says whether a member leads its part of a quorum group that has no leader there.
func (m *model) leadsLocally(name string) bool {
	return slices.ContainsFunc(m.elections[0].leaderships, func(r *leadership) bool { return r.local && !r.over && r.member == name })
}

// bar shows a length of time as a bar and a number.
func bar(d, whole time.Duration) string {
	const cells = 10
	n := min(cells, int(d*cells/max(1, whole)))
	return strings.Repeat("█", n) + strings.Repeat("·", cells-n) + " " + d.Round(time.Millisecond).String()
}

// standing returns the leaderships of a group that last, as a person should see them: those whose member is known to have
// stopped in its tracks end with their leases, though nobody has heard that they did.
func (g *election) standing(at time.Duration, members map[string]*row) []*leadership {
	var all []*leadership
	sole := g.currentLeadership()
	for _, r := range g.leaderships {
		if r.over || g.mode == web.Quorum && !r.local && r != sole {
			continue
		}
		if m := members[r.member]; m != nil && m.paused > 0 && at > m.paused+r.length {
			continue
		}
		all = append(all, r)
	}
	return all
}
