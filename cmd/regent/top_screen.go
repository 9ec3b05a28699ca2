package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/names"
)

// topFrame is how many lines of the screen are no rows: two of heads, one with the columns, and the last.
const topFrame = 4

// topPage returns how many rows fit.
func topPage(height int) int { return max(1, height-topFrame) }

// The sequences for text that stands out. Colour alone carries no information: the chosen row has a mark, and words name what is wrong.
const (
	reversed = "\x1b[7m"
	bold     = "\x1b[1m"
	plain    = "\x1b[0m"
)

// screen returns the lines of a screen of a size. Only rows that are on it are formatted.
func (m *topModel) screen(width, height int, now time.Time) []string {
	m.list(now)
	lines := []string{clip(m.head(now), width)}
	if m.showChanges {
		lines = append(lines, m.changesScreen(width, height, now)...)
	} else {
		lines = append(lines, m.groupsScreen(width, height, now)...)
	}
	if m.asks == showsHelp {
		lines = append(lines[:2], topHelp...)
	}
	for len(lines) < height-1 {
		lines = append(lines, "")
	}
	return append(lines[:max(0, height-1)], clip(m.foot(), width))
}

// groupsScreen returns the lines of the list of groups, below the head.
func (m *topModel) groupsScreen(width, height int, now time.Time) []string {
	page, at := topPage(height), m.place()
	m.top = min(max(m.top, at-page+1), at)
	m.top = max(0, min(m.top, len(m.listed)-page))
	lines := []string{clip(m.second(), width)}
	rows := [][]string{{"", "GROUP", "LEADER", "TOKEN", "SINCE", "HERE", "LAST CHANGE"}}
	shown := m.listed[m.top:min(m.top+page, len(m.listed))]
	for i, name := range shown {
		rows = append(rows, m.row(name, m.top+i == at, now))
	}
	for i, line := range columns(rows) {
		line = clip(line, width)
		switch {
		case i == 0:
			line = bold + line + plain
		case m.top+i-1 == at:
			line = reversed + line + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(line))) + plain
		}
		lines = append(lines, line)
	}
	return lines
}

// head says how this host and the council are.
func (m *topModel) head(now time.Time) string {
	if m.status == nil {
		return "regent top"
	}
	state := "takes part"
	switch {
	case m.lost:
		state = "AGENT GONE, trying again"
	case !m.status.Joined:
		state = "DOES NOT TAKE PART"
	}
	text := fmt.Sprintf("%s  %s %s, leads %d", now.Format("15:04:05"), m.status.Name, state, m.status.Leading)
	unwell := 0
	for i := range m.members {
		if !well(&m.members[i]) {
			unwell++
		}
	}
	text += "; " + cli.Count(len(m.members), "member")
	if unwell > 0 {
		text += fmt.Sprintf(", %d NOT WELL", unwell)
	}
	if drained := drainedHosts(m.members); len(drained) > 0 {
		text += "; drained: " + strings.Join(drained, ", ")
	}
	if m.problems > 0 {
		text += "; " + strings.ToUpper(cli.Count(m.problems, "problem")) + ": regent status"
	}
	return text
}

// second says what is listed.
func (m *topModel) second() string {
	none := 0
	for _, name := range m.listed {
		none += boolRank(m.groups[name].Leader == "")
	}
	text := cli.Count(len(m.listed), "group")
	if none > 0 {
		text += fmt.Sprintf(", %d WITHOUT A LEADER", none)
	}
	if m.hidden > 0 {
		text += fmt.Sprintf(", %d given up hidden", m.hidden)
	}
	text += "; by " + topSorts[m.sorted]
	if m.reversed {
		text += ", reversed"
	}
	return text + m.filterText()
}

func (m *topModel) row(name string, chosen bool, now time.Time) []string {
	m.formatted++
	g := m.groups[name]
	mark, leader := " ", "NONE"
	if chosen {
		mark = ">"
	}
	if g.Leader != "" {
		leader = g.Leader
	}
	what := g.Text
	if g.Value != "" {
		what += place(g.Value)
	}
	return []string{mark, names.Label(g.Group), leader, tokenOf(&g.Change), shortTime(g.At, now), here(&g.Change), what}
}

// here says in a word what this host has to do with a group, and the mode of one that hosts lead.
func here(c *api.Change) string {
	switch {
	case !ledByPrograms(c.Mode) && c.Mine:
		return string(c.Mode) + ", leads"
	case !ledByPrograms(c.Mode):
		return string(c.Mode)
	case c.Mine && c.Stopping:
		return "stops"
	case c.Mine:
		return "leads"
	}
	return ""
}

// foot is the last line: what is asked for, what was done, or the keys.
func (m *topModel) foot() string {
	switch {
	case m.asks == asksFilter:
		return "filter (* and ? stand for characters): " + names.Show(m.typed) + "_"
	case m.asks == asksMember:
		return fmt.Sprintf("hand %s over to (%s): %s_", names.Label(m.order.group), namesOfMembers(m.members), names.Show(m.typed))
	case m.asks == asksYes:
		return m.order.String() + "? y: yes, any other key: no"
	case m.message != "":
		return m.message
	}
	if m.showChanges {
		return "up down pgup pgdown scroll  / filter  c groups  ? help  q quit"
	}
	return "s sort  / filter  c changes  t transfer  g give up  d drain  ? help  q quit"
}

func namesOfMembers(members []regent.PeerStatus) string {
	var all []string
	for i := range members {
		all = append(all, members[i].Name)
	}
	return strings.Join(all, " ")
}

// topHelp lists the keys.
var topHelp = []string{
	"",
	"  up down pgup pgdown home end   choose a group",
	"  s   sort by group, leader, since, or trouble (groups without a leader)",
	"  r   reverse the order",
	"  /   filter: a part of the name, or a pattern with * and ?; esc ends it",
	"  a   show groups that were given up more than 5 minutes ago, or hide them",
	"  c   show the last changes of leader, or the groups again",
	"  t   transfer: hand the chosen group over to another member",
	"  g   resign: have its leader give it up",
	"  d   drain the host of the agent, and u undrain it",
	"  q   quit",
	"",
	"  Orders are carried out after a confirmation.",
}

// columns pads cells to columns. The last column is not padded.
func columns(rows [][]string) []string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			b.WriteString(cell)
			if j < len(row)-1 {
				gap := 2
				if j == 0 {
					gap = 1
				}
				b.WriteString(strings.Repeat(" ", width[j]-utf8.RuneCountInString(cell)+gap))
			}
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// clip cuts a line at the edge of the screen.
func clip(line string, width int) string {
	if r := []rune(line); len(r) > width {
		return string(r[:max(0, width-1)]) + "…"
	}
	return line
}
