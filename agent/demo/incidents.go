package demo

import (
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// news is an entry of the log. turn is the change of leader of a quorum group that it tells of; nil: it tells of none.
type news struct {
	web.Entry
	turn *view.Turnover
	// doubt says that a member sees no leader while another one leads, as far as is known.
	doubt bool
}

// A loss is the beginning of a time without a leader, as one member reported it.
type loss struct {
	at    time.Duration
	cause why.Cause
}

// leads says whether a leadership of holder can have ended for the cause when member led next.
func (l *loss) leads(holder, member string) bool {
	return l.cause.Member == holder || l.cause.Why == why.Transferred && l.cause.Member == member
}

// moment is an instant since the beginning as views have it.
func moment(at time.Duration) time.Time { return time.Unix(0, 0).Add(at) }

// track takes what is known of a quorum group as a view. It returns the change of leader that is complete with it, or that began; nil if there is none.
func (g *election) track(v view.View, at time.Duration) *view.Turnover {
	if g.mode != web.Quorum || v.Leader != "" && v.Token < g.token {
		return nil // an older leadership is heard of late
	}
	v.Group, v.Mode, v.At = g.name, view.Quorum, moment(at)
	if done := g.tracker.Add(&v, ""); done != nil {
		g.holder, g.token = v.Leader, v.Token
		return done
	}
	if v.Leader == "" {
		return g.tracker.Open()
	}
	return nil
}

// leaderGained notes that a group has a leader, and why it needed one.
func (g *election) leaderGained(at time.Duration, member string, token uint64) *view.Turnover {
	cause := "elected " + member
	if g.lost {
		cause += ", after: " + g.cause
	} else if d := g.doubted; d != nil && d.leads(g.holder, member) && at-d.at < sameNews { // reported before the lease was known to be over
		g.track(view.View{Cause: d.cause}, d.at)
	}
	g.change(at, cause)
	return g.track(view.View{Leader: member, Token: token, Mine: true, Cause: why.Cause{Why: why.Elected, Member: member}}, at)
}

// leaderLost notes why a group has no leader, in a cause and in words. What is heard first counts: others find out later, and only what they see. It returns
// the change of leader that begins with it; nil if it is no news. A member that is cut off does not see the leader that others have: that is partly.
func (g *election) leaderLost(at time.Duration, cause why.Cause, text string) (turn *view.Turnover, partly bool) {
	if g.lost {
		return nil, false
	}
	if r := g.currentLeadership(); r != nil && r.until > at {
		if g.doubted == nil {
			g.doubted = &loss{at, cause}
		}
		return nil, true
	}
	g.change(at, text)
	g.lost = true
	return g.track(view.View{Cause: cause}, at), false
}

// isLate says that what a member reports is about the leadership before the present one.
func (g *election) isLate(member string, cause why.Cause, at time.Duration) bool {
	r := g.currentLeadership()
	switch {
	case r == nil || at-r.from >= sameNews:
		return false
	case cause.Why == why.Transferred: // to the present leader
		return cause.Member == r.member
	}
	return cause.Member != r.member && (r.member != member || cause.Member != "")
}

// stop notes that a leader was asked to stop, and why: that is the cause of what follows. It may be heard of after the program has stopped.
func (g *election) stop(v *regent.View, member string, at time.Duration) {
	if v.Stopping && v.Leader == member && v.Token == g.token && !g.lost {
		g.track(view.View{Leader: v.Leader, Token: v.Token, Stopping: true, Cause: v.Cause}, at)
	}
}

// addTurn adds a change of leader to the log, in place of its beginning and of what members reported meanwhile, and returns it as a line.
func (m *model) addTurn(at time.Duration, turn *view.Turnover) string {
	t := *turn
	if t.To != "" {
		m.log = slices.DeleteFunc(m.log, func(n news) bool {
			return n.turn != nil && n.turn.To == "" && n.turn.Group == t.Group || n.doubt && n.Group == t.Group && at-n.At < sameNews
		})
	}
	return m.put(news{Entry: web.EntryOf(&view.Incident{Turnover: t}, at), turn: &t})
}

// amend gives the last change of leader of a group the cause that was reported after the next leader.
func (m *model) amend(g *election, late loss) {
	for i := range slices.Backward(m.log) {
		n := &m.log[i]
		t := n.turn
		if t == nil || t.Group != g.name {
			continue
		}
		if t.Cause.Why == why.Elected && t.From != "" && late.leads(t.From, t.To) {
			t.Cause = late.cause
			if gap := n.At - late.at; gap > 0 {
				t.At, t.Gap = moment(late.at), gap
			}
			id := n.ID
			n.Entry = web.EntryOf(&view.Incident{Turnover: *t}, n.At)
			n.ID = id
		}
		return
	}
}

// incidents makes one entry of those that belong together: of changes of leader with one cause, and of what several members say of several groups at about
// the same time. It has the number of the first of them.
func incidents(log []news) []web.Entry {
	type shared struct {
		at              int // its place in the result
		begin           time.Duration
		members, groups []string
		rest            string
	}
	var turns []view.Turnover
	var places []int // of turnovers, in the log
	for i := range log {
		if log[i].turn != nil {
			turns, places = append(turns, *log[i].turn), append(places, i)
		}
	}
	first := make(map[int]*view.Incident) // by the place in the log
	all := view.Incidents(turns)
	for i := range all {
		first[places[all[i].Place]] = &all[i]
	}
	var out []web.Entry
	last := make(map[string]*shared)
	for i := range log {
		e := log[i].Entry
		if log[i].turn != nil {
			if x := first[i]; x != nil {
				e = web.EntryOf(x, e.At)
				e.ID = log[i].ID
				out = append(out, e)
			}
			continue
		}
		rest, ok := sharedNews(&e)
		if !ok {
			out = append(out, e)
			continue
		}
		x := last[rest]
		if x == nil || e.At-x.begin >= sameNews {
			x = &shared{at: len(out), begin: e.At, rest: rest}
			last[rest] = x
			out = append(out, e)
		}
		x.members, x.groups = include(x.members, e.Member), include(x.groups, e.Group)
		together(&out[x.at], x.members, x.groups, rest)
	}
	return out
}

// include adds a name to a sorted list, unless it is empty or there already.
func include(all []string, name string) []string {
	if i, ok := slices.BinarySearch(all, name); !ok && name != "" {
		return slices.Insert(all, i, name)
	}
	return all
}

// sharedNews returns what an entry says of its member, and whether others may say the same.
func sharedNews(e *web.Entry) (rest string, shared bool) {
	rest, ok := strings.CutPrefix(e.Text, e.Member+" ")
	return rest, ok && (rest == "takes part" || strings.HasPrefix(rest, "sees no leader: "))
}

// together says of several members and groups what was said of one.
func together(e *web.Entry, members, groups []string, rest string) {
	e.Text = strings.Join(members, ", ") + " " + rest
	if len(members) > 1 {
		verb, more, _ := strings.Cut(rest, " ")
		e.Text = strings.Join(members, ", ") + " " + strings.TrimSuffix(verb, "s") + " " + more
	}
	if len(groups) > 1 {
		e.Text += " (" + strings.Join(groups, ", ") + ")"
		e.Group, e.Groups = "", slices.Clone(groups)
	}
}
