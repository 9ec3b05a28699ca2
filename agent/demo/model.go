package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/cluster/journal"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/roster"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// model is what is known of the members, from what they say.
type model struct {
	// now is the time since the beginning.
	now       func() time.Duration
	names     []string
	members   map[string]*row
	elections []*election
	// log is what happened, oldest first, and entries counts all there ever was.
	log     []news
	entries uint64
	chosen  int
	// leaderships and changes are counted, and overlap is how long two programs led one quorum group at once: zero.
	leaderships, changes int
	overlap              time.Duration
	council              council
	tour                 tour
	// others says that the table shows all groups, and not only the first.
	others bool
}

// row is what is known of one member.
type row struct {
	joined bool
	status *regent.Status
	peers  []regent.PeerStatus
	// council is what it says of the council.
	council *roster.Council
	failed  string
	// paused is when its process was stopped in its tracks; zero if it was not.
	paused time.Duration
}

// election is what is known of one group.
type election struct {
	name string
	mode web.Mode
	// views is what members believe, and beside what they believe of local leaders beside a quorum group.
	views, beside map[string]regent.View
	// stopping is why programs were asked to stop, if they were.
	stopping map[string]regent.Cause
	// leaderships are in the order in which they began, with those that last.
	leaderships []*leadership
	number      int
	changed     time.Duration
	cause       string
	changes     int
	// lost says that the cause is why there is no leader. doubted is what a member reported while the lease was still running; nil: nothing.
	lost    bool
	doubted *loss
	// tracker finds changes of leader. holder and token are of the last leadership that it knows.
	tracker view.Tracker
	holder  string
	token   uint64
}

// leadership is one leadership of one program.
type leadership struct {
	id     string
	member string
	token  uint64
	local  bool
	// support is who supports a local leader.
	support []string
	// from and to are when it began and ended, in time since the beginning; over says that it has.
	from, to time.Duration
	over     bool
	// until is the end of the lease as far as was heard, and length how long a new one is.
	until, length time.Duration
	// proven says that from and to are the program's own readings of the clock while its lease was valid.
	proven bool
	cause  string
}

const (
	// logKept and reignsKept bound what is remembered of a long demonstration.
	logKept         = 400
	leadershipsKept = 200
)

func newModel(names []string, groups ...cluster.Group) *model {
	m := &model{now: func() time.Duration { return 0 }, names: slices.Clone(names), members: make(map[string]*row),
		council: council{invited: make(map[string]bool), removed: make(map[string]time.Duration)}}
	for _, n := range names {
		m.members[n] = &row{}
	}
	for _, g := range groups {
		m.elections = append(m.elections, &election{name: g.Name, mode: web.Mode(g.Mode), views: make(map[string]regent.View),
			beside: make(map[string]regent.View), stopping: make(map[string]regent.Cause)})
	}
	return m
}

// election returns what is known of a group; of the first one if it has no name.
func (m *model) election(name string, mode web.Mode) *election {
	for _, e := range m.elections {
		if (name == "" || e.name == name) && (mode == "" || e.mode == mode) {
			return e
		}
	}
	return nil
}

// leader returns the member whose program leads the first group; empty if none is known to.
func (m *model) leader() string {
	if r := m.elections[0].currentLeadership(); r != nil {
		return r.member
	}
	return ""
}

// addEntry adds a line to the log and returns it.
func (m *model) addEntry(e web.Entry) string { return m.put(news{Entry: e}) }

func (m *model) put(n news) string {
	m.entries++
	n.ID = m.entries
	m.log = append(m.log, n)
	if n := len(m.log) - logKept; n > 0 {
		m.log = slices.Delete(m.log, 0, n)
	}
	return newsLine(&n.Entry)
}

// newsLine shows an entry of the log in a terminal.
func newsLine(e *web.Entry) string {
	group := ""
	if e.Group != "" {
		group = " (" + e.Group + ")"
	}
	return fmt.Sprintf("%8.3fs  %s%s", e.At.Seconds(), e.Text, group)
}

// apply notes what a member said, and returns it as a line if it is news. since turns its readings of the clock into time
// since the beginning.
func (m *model) apply(e *cluster.Event, since func(cluster.Time) time.Duration) string {
	r := m.members[e.Member]
	if r == nil {
		return ""
	}
	at := since(e.At)
	entry := web.Entry{At: at, Member: e.Member}
	switch e.What {
	case cluster.Joined:
		r.joined, r.failed = true, ""
		entry.Text = e.Member + " takes part"
	case cluster.Leads, cluster.Stops, cluster.Saw, cluster.Held:
		g := m.election(e.Group, web.Mode(e.Mode))
		if g == nil {
			return ""
		}
		entry.Group = g.name
		if turn := m.elect(g, e, at, since, &entry); turn != nil {
			return m.addTurn(at, turn)
		}
		if entry.Text != "" && e.What == cluster.Saw && g.mode == web.Quorum {
			return m.put(news{Entry: entry, doubt: true})
		}
	case cluster.Said:
		m.updateStatus(r, e, at)
	case cluster.Recovered:
		entry.Text, entry.Tone, entry.Group = recovered(e), "good", e.Group
	case cluster.Did:
		m.answered(e)
		return ""
	case cluster.Failed:
		r.failed = e.Text
		if e.Council != nil { // the council was not changed, which is no fault of the member
			r.failed = ""
			m.answered(e)
		}
		entry.Text, entry.Tone = e.Member+": "+e.Text, "bad"
	case cluster.Closed:
		entry.Text = e.Member + " left"
	case cluster.Gone:
		m.processExited(e, at)
		entry.Text, entry.Tone = e.Member+" is gone", "bad"
	}
	if entry.Text == "" {
		return ""
	}
	return m.addEntry(entry)
}

// recovered names the members that a fault manager has recovered. The first view of a group asks for it as well, and so does one of a manager
// that takes over from another, though nobody may be lost.
func recovered(e *cluster.Event) string {
	if e.Text == "" {
		return e.Member + " is the fault manager, and found nothing to recover"
	}
	return fmt.Sprintf("%s recovered what %s left behind", e.Member, e.Text)
}

// elect notes what happened in a group. It returns a change of the leader of a quorum group; what else is news is in entry.
func (m *model) elect(g *election, e *cluster.Event, at time.Duration, since func(cluster.Time) time.Duration, entry *web.Entry) (turn *view.Turnover) {
	switch e.What {
	case cluster.Leads:
		g.begin(e, at)
		m.leaderships++
		if e.Local {
			entry.Text, entry.Tone = fmt.Sprintf("%s leads locally, for %s", e.Member, strings.Join(e.Support, " ")), "good"
		}
		if !g.besideGroup(e.Local) {
			turn = g.leaderGained(at, e.Member, e.Token)
		}
	case cluster.Stops:
		r := g.leadership(e.Member, e.Token, e.Local)
		if r != nil {
			r.end(at, reason(e.Text))
		}
		switch {
		case e.Local:
			entry.Text, entry.Tone = e.Member+" stops leading locally: "+reason(e.Text), "bad"
			if r == g.latest(true) && !g.besideGroup(true) {
				g.leaderLost(at, causeOf(e), reason(e.Text))
			}
		case r != nil && r == g.latest(false):
			turn, _ = g.leaderLost(at, causeOf(e), reason(e.Text))
		default:
			m.amend(g, loss{at, causeOf(e)})
			if next := g.latest(false); next != nil && at-next.from >= sameNews { // it was paused, or cut off
				entry.Text = e.Member + " learns that it no longer leads: " + reason(e.Text)
			}
		}
	case cluster.Held:
		if r := g.leadership(e.Member, e.Token, e.Local); r != nil && e.Until > 0 {
			r.from, r.to, r.over, r.proven = since(e.Since), since(e.Until), true, true
			if g.mode == web.Quorum && !r.local {
				m.overlap += g.overlap(r)
			}
		}
	case cluster.Saw:
		m.changes++
		turn = m.viewChanged(g, e, at, entry)
	}
	return turn
}

// causeOf returns why a program must stop.
func causeOf(e *cluster.Event) why.Cause {
	if e.Cause != nil {
		return *e.Cause
	}
	return why.Cause{}
}

// reason returns why a program must stop, without saying that it must.
func reason(text string) string {
	if _, cause, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(text, "must stop leading ") {
		return cause
	}
	return text
}

// besideGroup says that something is about a local leader beside the group, and not about the group.
func (g *election) besideGroup(local bool) bool { return local && g.mode == web.Quorum }

// latest returns the leadership that began last, of the group or of its local leaders.
func (g *election) latest(local bool) *leadership {
	for _, r := range slices.Backward(g.leaderships) {
		if r.local == local {
			return r
		}
	}
	return nil
}

// viewChanged notes what a member believes now. It returns the change of leader that begins with it; nil if none does.
func (m *model) viewChanged(g *election, e *cluster.Event, at time.Duration, entry *web.Entry) *view.Turnover {
	views, v, member := g.views, e.View, e.Member
	if g.besideGroup(e.Local) {
		views = g.beside
	}
	views[member] = *v
	if g.mode == web.Eventual || g.mode == web.Consistent {
		m.trustChanged(g, e, at, entry)
		return nil
	}
	key := fmt.Sprint(member, e.Local)
	if v.Leader != "" {
		delete(g.stopping, key)
		if v.Stopping {
			g.stopping[key] = v.Cause
		}
		if !e.Local {
			g.stop(v, member, at)
		}
		return nil
	}
	cause := v.Cause
	// A program that stops because its lease ends says so as any other that gives the group up. What counts is why it was
	// asked to.
	if c, ok := g.stopping[key]; ok && v.Cause.Why == why.Resigned && c.Why != why.Unexplained {
		cause = c
	}
	delete(g.stopping, key)
	// What happens to local leaders beside a group is not news of the group.
	if cause.Why == why.Started || g.besideGroup(e.Local) {
		return nil
	}
	if g.isLate(member, cause, at) {
		m.amend(g, loss{at, cause})
		return nil
	}
	turn, partly := g.leaderLost(at, cause, cause.String())
	// A member that lost its own leadership reports it when its program stops.
	if partly && cause.Member != member || g.mode != web.Quorum {
		entry.Text = fmt.Sprintf("%s sees no leader: %v", member, cause)
	}
	return turn
}

// trustChanged notes which member another one trusts in a group without leases. A member that trusts itself leads: in an eventual group as far as it
// knows, in a consistent one because all agree.
func (m *model) trustChanged(g *election, e *cluster.Event, at time.Duration, entry *web.Entry) {
	r := g.openLeadership(e.Member)
	leads := r != nil
	if leads {
		r.support = e.Support
	}
	switch {
	case e.View.Leader == e.Member && !leads:
		g.begin(e, at)
		g.change(at, e.View.Cause.String())
		entry.Text, entry.Tone = e.Member+" leads, as far as it knows", "good"
		if g.mode == web.Consistent {
			entry.Text = fmt.Sprintf("%s manages: all of %s agree", e.Member, strings.Join(e.Support, " "))
		}
	case e.View.Leader != e.Member && leads:
		r.end(at, e.View.Cause.String())
		g.change(at, e.View.Cause.String())
		entry.Text = fmt.Sprintf("%s trusts %s: %v", e.Member, cmp.Or(e.View.Leader, "nobody"), e.View.Cause)
	}
}

// openLeadership returns the leadership of a member that lasts; nil if there is none.
func (g *election) openLeadership(member string) *leadership {
	for _, r := range g.leaderships {
		if r.member == member && !r.over {
			return r
		}
	}
	return nil
}

// change notes that the leader of a group, or its absence, changed.
func (g *election) change(at time.Duration, cause string) {
	g.changed, g.cause, g.lost, g.doubted = at, cause, false, nil
	g.changes++
}

// begin notes a new leadership.
func (g *election) begin(e *cluster.Event, at time.Duration) {
	g.number++
	r := &leadership{id: fmt.Sprintf("%s/%s/%d", g.mode, g.name, g.number), member: e.Member, token: e.Token, from: at,
		length: e.Remaining, local: e.Local, support: e.Support}
	if e.Remaining > 0 {
		r.until = at + e.Remaining
	}
	g.leaderships = append(g.leaderships, r)
	if n := len(g.leaderships) - leadershipsKept; n > 0 {
		g.leaderships = slices.Delete(g.leaderships, 0, n)
	}
}

// leadership returns the last leadership of a member under a token, or of one of its local ones, which have none.
func (g *election) leadership(member string, token uint64, local bool) *leadership {
	for _, r := range slices.Backward(g.leaderships) {
		if r.member == member && r.token == token && r.local == local {
			return r
		}
	}
	return nil
}

func (r *leadership) end(at time.Duration, cause string) {
	if !r.over {
		r.to, r.over = at, true
	}
	if r.cause == "" {
		r.cause = cause
	}
}

// span is the leadership as the journal has it.
func (r *leadership) span() journal.Span {
	return journal.Span{Since: journal.Time(r.from), Seen: journal.Time(r.to)}
}

// overlap returns for how long a leadership whose readings are known stood beside others of which they are known too.
func (g *election) overlap(r *leadership) (both time.Duration) {
	for _, o := range g.leaderships {
		if o != r && o.proven && !o.local && o.token != r.token {
			both += journal.Overlap(o.span(), r.span())
		}
	}
	return both
}

// currentLeadership returns the leadership of a quorum group that lasts; nil if there is none. Of several the one with the highest
// token: members are heard of in any order, and an older one has not been heard to stop yet.
func (g *election) currentLeadership() *leadership {
	var best *leadership
	for _, r := range g.leaderships {
		if !r.over && !r.local && (best == nil || cmp.Compare(r.token, best.token) >= 0) {
			best = r
		}
	}
	return best
}

// answered notes that a change of the council is over, or that it was refused.
func (m *model) answered(e *cluster.Event) {
	if e.Council == nil {
		return
	}
	for name := range m.council.invited {
		m.council.invited[name] = false
	}
}

// updateStatus notes how a member says that it is.
func (m *model) updateStatus(r *row, e *cluster.Event, at time.Duration) {
	r.status, r.peers, r.council = e.Status, e.Members, e.Council
	for _, l := range e.Standings {
		g := m.election(l.Group, web.Mode(l.Mode))
		if g == nil {
			continue
		}
		if x := g.leadership(e.Member, l.Token, l.Local); x != nil && !x.over {
			x.until, x.support = at+l.Remaining, l.Support
			x.length = max(x.length, l.Remaining)
		}
	}
}

// processExited notes that a process has ended, and its leaderships with it.
func (m *model) processExited(e *cluster.Event, at time.Duration) {
	*m.members[e.Member] = row{}
	for name := range m.council.invited { // it may have been the one that was asked
		m.council.invited[name] = false
	}
	for _, g := range m.elections {
		delete(g.views, e.Member)
		delete(g.beside, e.Member)
		for _, r := range g.leaderships {
			if r.member == e.Member && !r.over {
				r.end(at, "its process ended")
				m.leaderGone(g, e.Member, at)
			}
		}
	}
}

// leaderGone notes that the process has ended that led a group. All that the other members can know is that it is silent.
func (m *model) leaderGone(g *election, member string, at time.Duration) {
	if turn, _ := g.leaderLost(at, why.Cause{Why: why.Suspected, Member: member}, member+" is gone"); turn != nil {
		m.addTurn(at, turn)
	}
}

// firstFailure says what members complained of.
func (m *model) firstFailure() string {
	for _, n := range slices.Sorted(maps.Keys(m.members)) {
		if f := m.members[n].failed; f != "" {
			return n + ": " + f
		}
	}
	return "give it more time"
}
