package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/view"
)

// A topModel is what top knows and shows. It is pure: inputs and keys go in, orders and screens come out, and the time is an argument.
type topModel struct {
	groups   map[string]*groupRow
	trackers map[string]*view.Tracker
	status   *api.AgentStatus
	members  []regent.PeerStatus
	problems int
	lost     bool // the agent has gone
	// only is what the command line restricts the lists to. changes are the last ones, oldest first; showChanges says that the screen shows them, from
	// changesTop.
	only        filter
	changes     []view.Turnover
	showChanges bool
	changesTop  int

	// listed are the names of the groups that are listed, in order, unless stale. hidden counts those that were given up long ago.
	listed []string
	stale  bool
	hidden int
	// sorted is by which column, and reversed says that the last comes first. The filter is a pattern, and all says that groups that were given up are listed.
	sorted   int
	reversed bool
	filter   string
	all      bool
	// chosen is the group on which the cursor is, and top the first row on the screen.
	chosen string
	top    int

	asks    asking
	typed   string
	order   topOrder
	message string
	// formatted counts rows that were formatted, for tests: only those on the screen are.
	formatted int
}

// asking is what the last line asks for.
type asking int

const (
	asksNothing asking = iota
	asksFilter         // a pattern
	asksMember         // the member to which the group is to be handed over
	asksYes            // a confirmation
	showsHelp          // the keys are listed
)

// A topOrder is what an operator has confirmed.
type topOrder struct {
	verb   string // transfer, resign, drain or undrain
	group  string
	token  uint64 // of the leadership that was seen
	member string // to which, or the host that is drained
}

// String asks for a confirmation.
func (o *topOrder) String() string {
	switch o.verb {
	case "transfer":
		return fmt.Sprintf("hand %s over to %s", o.group, o.member)
	case "resign":
		return "have the leader of " + o.group + " give it up"
	case "drain":
		return "drain " + o.member + ", the host of this agent: it hands over all that it leads"
	}
	return "let " + o.member + ", the host of this agent, lead again"
}

// topSorts are the columns by which groups are sorted, in the order in which the key goes through them.
var topSorts = []string{"group", "leader", "since", "trouble"}

func newTopModel(only filter) *topModel {
	return &topModel{only: only, groups: make(map[string]*groupRow), trackers: make(map[string]*view.Tracker)}
}

// past takes note of what happened before.
func (m *topModel) past(h *api.History) {
	for i := range h.Changes {
		m.take(&api.GroupInfo{Change: h.Changes[i]})
	}
	clear(m.groups) // those that are still there come by the stream
}

// take takes what the agent reports of a group.
func (m *topModel) take(g *api.GroupInfo) {
	t := m.trackers[g.Group]
	if t == nil {
		t = new(view.Tracker)
		m.trackers[g.Group] = t
	}
	last := t.Add(&g.View, g.Ended)
	m.note(last)
	if last == nil {
		last = t.Last()
	}
	if open := t.Open(); open != nil {
		last = open
	}
	row := newGroupRow(g, last)
	m.groups[g.Group] = &row
	m.stale = true
}

// pulse takes what the agent reports of itself and of the members.
func (m *topModel) pulse(s *api.AgentStatus, members []regent.PeerStatus) {
	m.status, m.members, m.lost = s, members, false
	report := statusReport{AgentStatus: *s, Members: members}
	m.problems = len(report.findProblems())
	m.stale = true // a group may have been given up long ago by now
}

// list brings the list up to date.
func (m *topModel) list(now time.Time) {
	if !m.stale {
		return
	}
	m.stale, m.hidden = false, 0
	m.listed = m.listed[:0]
	for name, g := range m.groups {
		switch {
		case !m.lets(name):
		case !m.all && ended(&g.GroupInfo, now):
			m.hidden++
		default:
			m.listed = append(m.listed, name)
		}
	}
	slices.SortFunc(m.listed, func(x, y string) int {
		by := m.compare(m.groups[x], m.groups[y])
		if m.reversed {
			by = -by
		}
		return cmp.Or(by, strings.Compare(x, y))
	})
}

func (m *topModel) compare(x, y *groupRow) int {
	switch topSorts[m.sorted] {
	case "leader":
		return strings.Compare(x.Leader, y.Leader)
	case "since":
		return y.At.Compare(x.At) // the latest change first
	case "trouble":
		return boolRank(x.Leader != "") - boolRank(y.Leader != "")
	}
	return strings.Compare(x.Group, y.Group)
}

// place returns where the cursor is in the list: where the chosen group is, or at the first row if it is not listed.
func (m *topModel) place() int { return max(0, slices.Index(m.listed, m.chosen)) }

// move moves the cursor by rows.
func (m *topModel) move(by int) {
	if len(m.listed) > 0 {
		m.chosen = m.listed[min(max(0, m.place()+by), len(m.listed)-1)]
	}
}

// key takes a key. It returns an order that was confirmed, and whether that was the end. Page is how many rows are on the screen.
func (m *topModel) key(k string, page int, now time.Time) (order *topOrder, quit bool) {
	m.list(now)
	if k == "ctrl+c" {
		return nil, true
	}
	switch m.asks {
	case asksFilter, asksMember:
		m.edit(k)
		return nil, false
	case asksYes:
		m.asks = asksNothing
		if k != "y" {
			m.message = "nothing was done"
			return nil, false
		}
		o := m.order
		m.message = o.verb + " …"
		return &o, false
	case showsHelp:
		m.asks = asksNothing
		return nil, false
	}
	m.message = ""
	if m.showChanges && m.changesKey(k, page) {
		return nil, false
	}
	switch k {
	case "q":
		return nil, true
	case "c":
		m.showChanges, m.changesTop = true, 0
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup":
		m.move(-page)
	case "pgdown", "space":
		m.move(page)
	case "home":
		m.move(-len(m.listed))
	case "end":
		m.move(len(m.listed))
	case "?":
		m.asks = showsHelp
	default:
		m.set(k)
		m.begin(k)
	}
	return nil, false
}

// set changes what is listed.
func (m *topModel) set(k string) {
	switch k {
	case "s":
		m.sorted = (m.sorted + 1) % len(topSorts)
	case "r":
		m.reversed = !m.reversed
	case "a":
		m.all = !m.all
	case "/":
		m.asks, m.typed = asksFilter, m.filter
	case "esc":
		m.filter = ""
	default:
		return
	}
	m.stale = true
}

// begin begins an order, which a confirmation completes.
func (m *topModel) begin(k string) {
	verb := map[string]string{"t": "transfer", "g": "resign", "d": "drain", "u": "undrain"}[k]
	switch {
	case verb == "":
	case verb == "drain" || verb == "undrain":
		if m.status != nil {
			m.order, m.asks = topOrder{verb: verb, member: m.status.Name}, asksYes
		}
	case len(m.listed) == 0:
		m.message = "there is no group to " + verb
	default:
		g := m.groups[m.listed[m.place()]]
		switch {
		case g.Leader == "":
			m.message = g.Group + " has no leader"
		case !ledByPrograms(g.Mode):
			m.message = g.Group + " is led by hosts, without programs: stop the agent of " + g.Leader
		default:
			m.chosen = g.Group
			m.order, m.asks, m.typed = topOrder{verb: verb, group: g.Group, token: g.Token}, asksYes, ""
			if verb == "transfer" {
				m.asks = asksMember
			}
		}
	}
}

// edit takes a key of a text that is asked for.
func (m *topModel) edit(k string) {
	switch {
	case k == "esc":
		m.asks = asksNothing
		return
	case k == "backspace":
		runes := []rune(m.typed)
		m.typed = string(runes[:max(0, len(runes)-1)])
	case k == "space":
		m.typed += " "
	case len([]rune(k)) == 1:
		m.typed += k
	case k == "enter" && m.asks == asksMember:
		if !slices.ContainsFunc(m.members, func(p regent.PeerStatus) bool { return p.Name == m.typed }) {
			m.asks, m.message = asksNothing, fmt.Sprintf("there is no member %q", m.typed)
			return
		}
		m.order.member, m.asks = m.typed, asksYes
		return
	case k == "enter":
		m.asks = asksNothing
	}
	if m.asks == asksFilter || k == "enter" {
		m.filter, m.stale = m.typed, true
	}
}
