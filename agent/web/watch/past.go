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
)

const (
	tenuresKept = 1000
	logKept     = 300
)

// past returns the leaderships and the incidents that changes tell of.
func past(changes []api.Change, since func(time.Time) time.Duration) (tenures []web.Tenure, log []web.Entry) {
	open := make(map[string]int) // the last leadership of a group, by its place
	all := turnovers{trackers: make(map[string]*tracked)}
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

// turnovers collects the changes of leader of all groups.
type turnovers struct {
	all []view.Turnover
	// serials are those of the changes that completed them, and supports are who supports the leaders of local groups.
	serials  []uint64
	supports [][]string
	trackers map[string]*tracked
	// order has the groups as they were first seen.
	order []string
}

// tracked follows one group. serial is that of its last change.
type tracked struct {
	view.Tracker
	serial uint64
}

// add takes the next change of a group.
func (x *turnovers) add(key string, c *api.Change) {
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
func (x *turnovers) finish() {
	for _, key := range x.order {
		t := x.trackers[key]
		if open := t.Open(); open != nil {
			x.put(open, t.serial, nil)
		}
	}
}

func (x *turnovers) put(t *view.Turnover, serial uint64, support []string) {
	x.all, x.serials, x.supports = append(x.all, *t), append(x.serials, serial), append(x.supports, support)
}

// entries are the last incidents, as lines of the log.
func (x *turnovers) entries(since func(time.Time) time.Duration) []web.Entry {
	var log []web.Entry
	all := view.Incidents(x.all)
	for i := max(0, len(all)-logKept); i < len(all); i++ {
		one := &all[i]
		e := web.EntryOf(one, since(one.At))
		e.ID = x.serials[one.Place]
		if support := x.supports[one.Place]; len(support) > 0 {
			e.Text += ", for " + strings.Join(support, " ")
		}
		log = append(log, e)
	}
	return log
}
