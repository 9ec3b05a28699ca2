package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

const (
	tenuresKept = 1000
	logKept     = 300
	// incidentSpan is within what time changes of several groups are one incident, if they have the same cause.
	incidentSpan = 2 * time.Second
	// groupsNamed is how many groups of an incident are named, and groupsListed how many are found by their names.
	groupsNamed  = 3
	groupsListed = 20
)

// past returns the leaderships and the incidents that changes tell of.
func past(changes []api.Change, since func(time.Time) time.Duration) (tenures []web.Tenure, log []web.Entry) {
	open := make(map[string]int) // the last leadership of a group, by its place
	all := incidents{trackers: make(map[string]*tracked), last: make(map[incidentKey]int)}
	for i := range changes {
		c := &changes[i]
		at := since(c.At)
		group := names.Label(c.Group)
		key := string(c.Mode) + ":" + group
		all.add(key, c)
		last, ok := open[key]
		if ok && (tenures[last].Member != c.Leader || tenures[last].Token != c.Token) {
			tenures[last].To, tenures[last].Cause = at, c.Cause.String()
			delete(open, key)
			ok = false
		}
		if c.Leader != "" && !ok {
			open[key] = len(tenures)
			tenures = append(tenures, web.Tenure{ID: fmt.Sprint(c.Serial), Group: group, Mode: web.Mode(c.Mode), Member: c.Leader, Token: c.Token,
				Local: web.Mode(c.Mode) == web.Local, From: at, Evidence: "as this member saw it, by the time of day of this host"})
		}
	}
	all.finish()
	return slices.Clone(tenures[max(0, len(tenures)-tenuresKept):]), all.entries(since)
}

// An incident is what happened to one or several groups at once, for one cause.
type incident struct {
	view.Turnover
	serial  uint64
	support []string
	// groups are the labels of those that it changed, as far as they are listed, and count is how many there are.
	groups []string
	count  int
}

// incidentKey is what the changes of one incident have in common.
type incidentKey struct {
	mode     view.Mode
	from, to string
	why      why.Kind
	member   string
}

// tracked follows one group. serial is that of its last change.
type tracked struct {
	view.Tracker
	serial uint64
}

// incidents collects them.
type incidents struct {
	all      []incident
	trackers map[string]*tracked
	// order has the groups as they were first seen.
	order []string
	// last is the place of the last incident of its kind.
	last map[incidentKey]int
}

// add takes the next change of a group.
func (x *incidents) add(key string, c *api.Change) {
	t := x.trackers[key]
	if t == nil {
		t = &tracked{}
		x.trackers[key] = t
		x.order = append(x.order, key)
	}
	t.serial = c.Serial
	if done := t.Add(&c.View, c.Ended); done != nil {
		x.put(done, c.Serial, c.Support)
	}
}

// finish adds the groups that have no leader yet.
func (x *incidents) finish() {
	for _, key := range x.order {
		t := x.trackers[key]
		if open := t.Open(); open != nil {
			x.put(open, t.serial, nil)
		}
	}
}

// put adds a change of leader, to an incident if there is one that it belongs to.
func (x *incidents) put(t *view.Turnover, serial uint64, support []string) {
	key := incidentKey{t.Mode, t.From, t.To, t.Cause.Why, t.Cause.Member}
	if i, ok := x.last[key]; ok && t.At.Sub(x.all[i].At).Abs() <= incidentSpan {
		before := &x.all[i]
		before.Gap = max(before.Gap, t.Gap)
		before.count++
		if len(before.groups) < groupsListed {
			before.groups = append(before.groups, names.Label(t.Group))
		}
		return
	}
	x.last[key] = len(x.all)
	x.all = append(x.all, incident{Turnover: *t, serial: serial, support: support, groups: []string{names.Label(t.Group)}, count: 1})
}

// entries are the last incidents, as lines of the log.
func (x *incidents) entries(since func(time.Time) time.Duration) []web.Entry {
	var log []web.Entry
	for i := max(0, len(x.all)-logKept); i < len(x.all); i++ {
		one := &x.all[i]
		e := web.Entry{ID: one.serial, At: since(one.At), Member: one.To, Group: one.groups[0], Text: one.String(), Tone: "good"}
		if one.To == "" {
			e.Member, e.Tone = one.From, "bad"
		}
		if len(one.support) > 0 {
			e.Text += ", for " + strings.Join(one.support, " ")
		}
		if one.count > 1 {
			named := one.groups[:min(groupsNamed, len(one.groups))]
			e.Text += fmt.Sprintf(" (%d groups: %s", one.count, strings.Join(named, ", "))
			if more := one.count - len(named); more > 0 {
				e.Text += fmt.Sprintf(" and %d more", more)
			}
			e.Text += ")"
			e.Group, e.Groups = "", one.groups
		}
		log = append(log, e)
	}
	return log
}
