package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/web"
)

// A world is what the lines so far say.
type world struct {
	names   []string // of all members that the run has, in their order
	members map[string]member
	faults  []fault
	bounds  map[[2]string]proven
	groups  []*group
	clocks  map[string]reading
	log     []web.Entry
	entries uint64
	tenures []web.Tenure
	number  int
}

// member is what is known of one member.
type member struct {
	state web.MemberState
	inc   uint32
	// frozen is how it was stopped in its tracks; empty if it was not.
	frozen string
}

// proven is what the last packet of a link proved.
type proven struct {
	bound time.Duration
	known bool
	any   bool // a packet came at all
}

// reading pairs the clock of a member with the time of the run.
type reading struct {
	t  time.Duration
	at int64
}

const (
	logKept     = 300
	tenuresKept = 3000
)

// newWorld returns what is known before the first line: who is in the run, and which groups.
func newWorld(records []record) *world {
	w := &world{members: make(map[string]member), bounds: make(map[[2]string]proven), clocks: make(map[string]reading)}
	for i := range records {
		r := &records[i]
		for _, n := range append([]string{r.Node, r.peer()}, r.Members...) {
			if n != "" && n != "*" {
				w.members[n] = member{state: web.Down}
			}
		}
		if mode, name, ok := election(r); ok && w.group(mode, name) == nil {
			w.groups = append(w.groups, newGroup(mode, name))
		}
	}
	w.names = slices.SortedFunc(maps.Keys(w.members), byRank)
	slices.SortStableFunc(w.groups, func(a, b *group) int { return strings.Compare(a.name, b.name) })
	return w
}

// byRank orders names as ranks are named: a to z, then aa and so on.
func byRank(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// clone copies a world, so that what happens to one does not happen to the other.
func (w *world) clone() *world {
	c := *w
	c.members, c.bounds, c.clocks = maps.Clone(w.members), maps.Clone(w.bounds), maps.Clone(w.clocks)
	c.faults, c.log, c.tenures = slices.Clone(w.faults), slices.Clone(w.log), slices.Clone(w.tenures)
	c.groups = make([]*group, len(w.groups))
	for i, g := range w.groups {
		c.groups[i] = g.clone()
	}
	return &c
}

// apply notes one line.
func (w *world) apply(r *record) {
	if r.At != 0 && r.Node != "" {
		w.clocks[r.Node] = reading{r.T, r.At}
	}
	switch r.Ev {
	case "start", "restart", "crash", "close", "refuse":
		w.life(r)
	case "fault", "heal":
		w.fault(r)
	case "deliver":
		b, known := r.bound()
		w.bounds[[2]string{r.peer(), r.Node}] = proven{b, known, true}
	case "phase":
		w.note(r, "", fmt.Sprintf("phase %s of %s", r.Why, strings.Join(r.Members, " ")), "you")
	case "command":
		text := "somebody asks " + r.Node + " to " + r.Why
		if p := r.peer(); p != "" && r.Why == "transfer" {
			text += " to " + p
		}
		w.note(r, r.Group, text, "you")
	case "suspect":
		w.note(r, "", fmt.Sprintf("%s no longer trusts %s to be alive", r.Node, r.peer()), "")
	case "wait":
		w.note(r, "", fmt.Sprintf("%s grants nothing for now: %s", r.Node, r.Why), "")
	default:
		w.elect(r)
	}
}

// life notes that a member came or went.
func (w *world) life(r *record) {
	m := w.members[r.Node]
	m.inc, m.frozen = r.Inc, ""
	if r.Ev == "start" || r.Ev == "restart" {
		m.state = web.Up
		w.note(r, "", fmt.Sprintf("%s: %s", r.Node, r.Ev), "")
	} else {
		m.state = web.Down
		text := map[string]string{"crash": "crashes", "close": "leaves in good order", "refuse": "refuses to start: " + r.Why}[r.Ev]
		w.note(r, "", r.Node+" "+text, "bad")
		w.gone(r)
	}
	w.members[r.Node] = m
}

// freezing are the faults that stop a member in its tracks.
var freezing = map[string]bool{"pause": true, "suspend": true, "halt": true}

// fault notes that something goes wrong, or no longer does.
func (w *world) fault(r *record) {
	f := parseFault(r.Why, r.text())
	m, known := w.members[f.from]
	if r.Ev == "heal" {
		if i := slices.IndexFunc(w.faults, func(o fault) bool { return o.text == f.text }); i >= 0 {
			w.faults = slices.Delete(w.faults, i, i+1)
		}
		if freezing[f.kind] && known && m.frozen == f.kind {
			m.frozen = ""
			w.members[f.from] = m
		}
		w.note(r, "", "over: "+f.text, "")
		return
	}
	w.note(r, "", f.text, "bad")
	switch {
	case freezing[f.kind]:
		// Who is down cannot be stopped, and its fault never ends.
		if known && m.state == web.Up {
			m.frozen = f.kind
			w.members[f.from] = m
		}
	case f.kind == "cut" || f.kind == "partition" || f.kind == "slow" || f.kind == "lose":
		w.faults = append(w.faults, f)
	}
}

// note adds a line to the log.
func (w *world) note(r *record, group, text, tone string) {
	w.entries++
	w.log = append(w.log, web.Entry{ID: w.entries, At: r.T, Member: r.Node, Group: group, Text: text, Tone: tone})
	if n := len(w.log) - logKept; n > 0 {
		w.log = slices.Delete(w.log, 0, n)
	}
}

// newest returns the last line of the log.
func (w *world) newest() web.Entry {
	if len(w.log) == 0 {
		return web.Entry{}
	}
	return w.log[len(w.log)-1]
}

// real turns an instant of a member's clock into time of the run, by the last reading of that clock.
func (w *world) real(node string, instant int64) time.Duration {
	c := w.clocks[node]
	return c.t + time.Duration(instant-c.at)
}
