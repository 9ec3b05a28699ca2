package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/web"
)

// usualHeight is how many lines a terminal has that does not say.
const usualHeight = 24

// table draws everything as lines. It fits a terminal of 80 by 24 with five members.
func (m *model) table(t *cluster.Cluster, at time.Duration, page string, width, height int) []string {
	if height <= 0 {
		height = usualHeight
	}
	first := m.elections[0]
	title := fmt.Sprintf("regent demo: %d members; %s: %s", len(m.names), first.name, first.leads(at, m))
	lines := []string{fmt.Sprintf("%-71s %7.1fs", cut(title, 71), at.Seconds()), ""}
	if page != "" {
		lines[1] = "page: " + page
	}
	council := ""
	if c := m.council.now; c != nil && (c.Running() || c.Number > 0) {
		council = "council " + c.Progress()
	}
	lines = append(lines, council, "    member  is         leader  token  lease             round trip longest pause")
	for i, n := range m.names {
		lines = append(lines, m.row(t, at, i, n))
	}
	if m.others {
		lines = append(lines, "")
		for _, g := range m.elections {
			lines = append(lines, fmt.Sprintf("    %-10s %-10s %s", g.name, g.mode, g.leads(at, m)+g.believers(at, m)))
		}
	}
	tour := m.tourLines()
	room := height - len(lines) - len(tour) - len(help) - 1
	if room > 2 {
		latest := m.latest(room - 2)
		lines = slices.Concat(lines, []string{"", "what happened:"}, latest, make([]string, room-2-len(latest)))
	}
	lines = slices.Concat(lines, []string{""}, tour, help)
	for i, l := range lines {
		lines[i] = cut(l, width)
	}
	return slices.Clip(lines)
}

// cut returns as much of a line as fits; all of it if the width is not known.
func cut(line string, width int) string {
	if r := []rune(line); width > 0 && len(r) > width {
		return string(r[:width])
	}
	return line
}

// sameNews is how far apart entries may be that say the same of several members.
const sameNews = time.Second

// latest returns the last entries of the log as lines: those about the first group, unless all groups are shown.
func (m *model) latest(lines int) []string {
	first := m.elections[0].name
	all := incidents(slices.DeleteFunc(slices.Clone(m.log), func(n news) bool { return n.Group != "" && n.Group != first && !m.others }))
	var out []string
	for _, e := range all[max(0, len(all)-lines):] {
		if e.Group == first && !m.others {
			e.Group = "" // that is what all is about
		}
		out = append(out, newsLine(&e))
	}
	return out
}

// leads says who leads a group. What paused members believe is no fact: see believers.
func (g *election) leads(at time.Duration, m *model) string {
	var all []string
	for _, r := range g.standing(at, m.members) {
		switch {
		case r.local && len(r.support) > 0:
			all = append(all, fmt.Sprintf("%s leads locally, for %s", r.member, strings.Join(r.support, " ")))
		case r.local:
			all = append(all, r.member+" leads locally")
		case r.token > 0:
			all = append(all, fmt.Sprintf("%s leads with token %d", r.member, r.token))
		default:
			all = append(all, r.member+" leads")
		}
	}
	if len(all) == 0 {
		all = append(all, "nobody leads")
		if g.cause != "" {
			all[0] += ": " + g.cause
		}
	}
	return strings.Join(all, "; ")
}

// believers names the paused members that believe that they lead a group; empty if there are none.
func (g *election) believers(at time.Duration, m *model) (text string) {
	standing := g.standing(at, m.members)
	for _, r := range g.leaderships {
		if p := m.members[r.member]; p != nil && p.paused > 0 && !r.over && !slices.Contains(standing, r) {
			text += "; " + r.member + " is paused, and believes that it leads"
		}
	}
	return text
}

func (m *model) row(t *cluster.Cluster, at time.Duration, i int, name string) string {
	r, g := m.members[name], m.elections[0]
	mark := "  "
	if i == m.chosen {
		mark = "> "
	}
	state, isCut := t.State(name)
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
	if isCut {
		state += ", cut"
	}
	line := fmt.Sprintf("%s%d %-7s %-10s ", mark, i+1, name, state)
	if r.paused > 0 && !removed {
		return line + m.belief(name, at)
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
		rtt, pause = digits(longest), digits(r.status.PauseLongest)
	}
	token, view := "", g.views[name]
	if view.Leader != "" {
		token = fmt.Sprint(view.Token)
	}
	return strings.TrimRight(line+fmt.Sprintf("%-7s %-6s %-17s %-10s %s", view.Leader, token, lease, rtt, pause), " ")
}

// belief says what a paused member believes of the first group. It was true when the member was paused, and nobody knows whether it is.
func (m *model) belief(name string, at time.Duration) string {
	g := m.elections[0]
	for _, r := range g.leaderships {
		if r.member != name || r.over || r.local {
			continue
		}
		until := fmt.Sprintf("it believes that it leads until %.1fs", r.until.Seconds())
		if past := at - r.until; past > 0 {
			return fmt.Sprintf("%s, %.1f s ago", until, past.Seconds())
		}
		return until
	}
	since := fmt.Sprintf(", as at %.1fs", m.members[name].paused.Seconds())
	if v := g.views[name]; v.Leader != "" {
		return "it believes that " + v.Leader + " leads" + since
	}
	return "it believes that nobody leads" + since
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

// digits shows three digits of a length.
func digits(d time.Duration) string {
	to := time.Duration(1)
	for d/to >= 1000 {
		to *= 10
	}
	return d.Round(to).String()
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
