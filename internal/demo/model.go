package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/town"
)

// model is what is known of the members, from what they say.
type model struct {
	names   []string
	members map[string]*row
	// news are the last things that happened, oldest first.
	news   []string
	chosen int
	// leaderships and changes are counted, and both is how long two programs led at once: zero.
	leaderships, changes int
	held                 []town.Event
	both                 time.Duration
}

// row is what is known of one member.
type row struct {
	joined  bool
	view    regent.View
	leads   bool
	token   uint64
	status  *regent.Status
	remains time.Duration
	rtt     time.Duration
	failed  string
}

// newsKept is how many lines of news are kept.
const newsKept = 100

func newModel(names []string) *model {
	m := &model{names: names, members: make(map[string]*row)}
	for _, n := range names {
		m.members[n] = &row{}
	}
	return m
}

// leader returns the member whose program leads; empty if none is known to.
func (m *model) leader() string {
	best, token := "", uint64(0)
	for _, n := range m.names {
		if r := m.members[n]; r.leads && r.token >= token {
			best, token = n, r.token
		}
	}
	return best
}

// note adds a line of news and returns it.
func (m *model) note(at time.Duration, text string) string {
	line := fmt.Sprintf("%8.3fs  %s", at.Seconds(), text)
	m.news = append(m.news, line)
	if len(m.news) > newsKept {
		m.news = m.news[1:]
	}
	return line
}

// take notes what a member said, and returns it as a line if it is news.
func (m *model) take(e *town.Event, at time.Duration) string {
	r := m.members[e.Member]
	if r == nil {
		return ""
	}
	switch e.What {
	case town.Joined:
		r.joined, r.failed = true, ""
		return m.note(at, e.Member+" takes part")
	case town.Leads:
		r.leads, r.token = true, e.Token
		m.leaderships++
		return m.note(at, fmt.Sprintf("%s leads with token %d", e.Member, e.Token))
	case town.Stops:
		r.leads, r.remains = false, 0
		return m.note(at, e.Member+" "+e.Text)
	case town.Saw:
		m.changes++
		r.view = *e.View
		if e.View.Leader == "" {
			return m.note(at, fmt.Sprintf("%s sees no leader: %v", e.Member, e.View.Cause))
		}
	case town.Held:
		m.hold(e)
	case town.Said:
		m.said(r, e)
	case town.Failed:
		r.failed = e.Text
		return m.note(at, e.Member+": "+e.Text)
	case town.Closed:
		return m.note(at, e.Member+" left")
	case town.Gone:
		*r = row{}
		return m.note(at, e.Member+" is gone")
	}
	return ""
}

func (m *model) said(r *row, e *town.Event) {
	r.status, r.remains = e.Status, e.Remaining
	r.rtt = 0
	for _, p := range e.Members {
		r.rtt = max(r.rtt, p.RoundTrip)
	}
}

// hold checks a leadership against all others, by the clock readings that the programs wrote down.
func (m *model) hold(e *town.Event) {
	for _, h := range m.held {
		if h.Token != e.Token {
			m.both += max(0, time.Duration(min(h.Until, e.Until)-max(h.Since, e.Since)))
		}
	}
	m.held = append(m.held, *e)
}

// trouble says what members complained of.
func (m *model) trouble() string {
	var all []string
	for _, n := range m.names {
		if f := m.members[n].failed; f != "" {
			all = append(all, n+": "+f)
		}
	}
	if len(all) == 0 {
		return "give it more time"
	}
	return strings.Join(all, "; ")
}

// table draws everything as lines.
func (m *model) table(t *town.Town, at time.Duration, width int) []string {
	lines := []string{
		fmt.Sprintf("regent demo: %d members, one leader %37.1fs", len(m.names), at.Seconds()),
		"",
		"    member  is        leader  token       lease                  round trip  longest pause",
	}
	for i, n := range m.names {
		lines = append(lines, m.row(t, i, n))
	}
	lines = append(lines, "", "what happened:")
	const shown = 12
	lines = append(lines, m.news[max(0, len(m.news)-shown):]...)
	for range shown - len(m.news) {
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

func (m *model) row(t *town.Town, i int, name string) string {
	r := m.members[name]
	mark := "  "
	if i == m.chosen {
		mark = "> "
	}
	state, cut := t.State(name)
	switch {
	case state != "running":
	case !r.joined:
		state = "joining"
	case r.leads:
		state = "LEADS"
	default:
		state = "follows"
	}
	if cut {
		state += ", cut"
	}
	lease, rtt, pause := "", "", ""
	if r.leads {
		lease = bar(r.remains, t.Timing.Lease)
	}
	if r.status != nil {
		rtt, pause = r.rtt.Round(10*time.Microsecond).String(), r.status.Pauses.Longest.Round(100*time.Microsecond).String()
	}
	token := ""
	if r.view.Leader != "" {
		token = fmt.Sprint(r.view.Token)
	}
	return fmt.Sprintf("%s%d %-7s %-9s %-7s %-11s %-22s %-11s %s", mark, i+1, name, state, r.view.Leader, token, lease, rtt, pause)
}

// bar shows a length of time as a bar and a number.
func bar(d, whole time.Duration) string {
	const cells = 10
	n := min(cells, int(d*cells/max(1, whole)))
	return strings.Repeat("█", n) + strings.Repeat("·", cells-n) + " " + d.Round(time.Millisecond).String()
}
