package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/view"
)

// note keeps a change of leader for the pane of changes.
func (m *topModel) note(t *view.Turnover) {
	if t == nil {
		return
	}
	if len(m.changes) == changesKept {
		m.changes = slices.Delete(m.changes, 0, changesKept/4)
	}
	m.changes = append(m.changes, *t)
}

// lets says whether the screen shows a group, by the pattern of the command line and by the filter.
func (m *topModel) lets(group string) bool {
	f := filter{pattern: m.filter}
	if m.filter != "" && !isPattern(m.filter) {
		f.pattern = "*" + m.filter + "*"
	}
	return m.only.lets(group) && f.lets(group)
}

// shownChanges returns the changes that the pane shows, the newest first.
func (m *topModel) shownChanges() (out []view.Turnover) {
	all := m.changes
	for _, t := range m.trackers {
		if open := t.Open(); open != nil {
			all = append(all[:len(all):len(all)], *open)
		}
	}
	for i := range all {
		if m.lets(all[i].Group) && !all[i].At.Before(m.only.from) {
			out = append(out, all[i])
		}
	}
	slices.SortStableFunc(out, func(x, y view.Turnover) int { return y.At.Compare(x.At) })
	return out
}

// changesScreen returns the lines of the pane of changes, below the head.
func (m *topModel) changesScreen(width, height int, now time.Time) []string {
	all, page := m.shownChanges(), topPage(height)
	m.changesTop = max(0, min(m.changesTop, len(all)-page))
	text := cli.Count(len(all), "change")
	if !m.only.from.IsZero() {
		text += " since " + timeOfDay(m.only.from, now)
	}
	lines := []string{clip(text+m.filterText()+"; newest first", width)}
	rows := [][]string{{"", "TIME", "GROUP", "LEADER", "TOKEN", "CHANGE"}}
	for i := range all[m.changesTop:min(m.changesTop+page, len(all))] {
		t := &all[m.changesTop+i]
		leader := "NONE"
		if t.To != "" {
			leader = t.To
		}
		rows = append(rows, []string{"", shortTime(t.At, now), names.Label(t.Group), leader, tokenText(t.ToToken), t.String()})
	}
	for i, line := range columns(rows) {
		line = clip(line, width)
		if i == 0 {
			line = bold + line + plain
		}
		lines = append(lines, line)
	}
	return lines
}

// changesKey takes a key of the pane of changes. It returns false for keys that mean the same in both panes.
func (m *topModel) changesKey(k string, page int) bool {
	switch k {
	case "c", "esc":
		m.showChanges = false
	case "up", "k":
		m.changesTop--
	case "down", "j":
		m.changesTop++
	case "pgup":
		m.changesTop -= page
	case "pgdown", "space":
		m.changesTop += page
	case "home":
		m.changesTop = 0
	case "end":
		m.changesTop = len(m.changes) + len(m.trackers)
	case "q", "?", "/":
		return false
	default:
		m.message = fmt.Sprintf("%s: choose a group first (c shows the groups)", k)
	}
	m.changesTop = max(0, m.changesTop)
	return true
}

// filterText names what restricts the lists.
func (m *topModel) filterText() (text string) {
	if m.only.pattern != "" {
		text = "; only " + names.Label(m.only.pattern)
	}
	if m.filter != "" {
		text += "; filter " + names.Label(m.filter)
	}
	return text
}
