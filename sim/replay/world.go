package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// A world is what the lines so far say.
type world struct {
	members []member // by rank
	faults  []fault
	bounds  map[[2]protocol.Rank]proven
	groups  []*group
	ledger  *ledger.Ledger
	log     []web.Entry
	entries uint64
	// recent are entries that others may join, and replaced is the number of the one that the newest entry stands in for.
	recent   []told
	replaced uint64
	tenures  []web.Tenure
	number   int
	configs  configs
	council  council
}

// member is what is known of one member.
type member struct {
	named bool // the run has it
	state web.MemberState
	inc   protocol.Inc
	// frozen is how it was stopped in its tracks; empty if it was not.
	frozen string
	clock  reading
	place  standing
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
	at protocol.Time
}

const (
	logKept     = 300
	tenuresKept = 3000
)

// newWorld returns what is known before the first line: who is in the run, and which groups.
func newWorld(records []sim.Record) *world {
	w := &world{bounds: make(map[[2]protocol.Rank]proven), configs: readConfigs(records)}
	var all protocol.Set
	for i := range records {
		r := &records[i]
		all = all.Union(r.Members)
		for _, one := range []protocol.Rank{r.Node, r.Peer.Rank} {
			if one != protocol.Nobody {
				all.Add(one)
			}
		}
		if mode, name, ok := election(r); ok && w.group(mode, name) == nil {
			w.groups = append(w.groups, newGroup(mode, name))
		}
	}
	for r := range all.All() {
		for len(w.members) < int(r) {
			w.members = append(w.members, member{})
		}
		w.members = append(w.members, member{named: true, state: web.Down})
	}
	w.ledger = ledger.New(len(w.members))
	slices.SortStableFunc(w.groups, func(a, b *group) int { return strings.Compare(a.name, b.name) })
	return w
}

// all visits the members that the run has, by rank.
func (w *world) all(yield func(protocol.Rank) bool) {
	for r := range w.members {
		if w.members[r].named && !yield(protocol.Rank(r)) {
			return
		}
	}
}

// clone copies a world, so that what happens to one does not happen to the other.
func (w *world) clone() *world {
	c := *w
	c.bounds, c.ledger = maps.Clone(w.bounds), w.ledger.Clone()
	c.members, c.faults, c.log, c.tenures = slices.Clone(w.members), slices.Clone(w.faults), slices.Clone(w.log), slices.Clone(w.tenures)
	c.groups = make([]*group, len(w.groups))
	for i, g := range w.groups {
		c.groups[i] = g.clone()
	}
	return &c
}

// apply notes one line.
func (w *world) apply(r *sim.Record) {
	if r.At != 0 && r.Node != protocol.Nobody {
		w.members[r.Node].clock = reading{time.Duration(r.T), r.At}
	}
	did := w.ledger.Take(r)
	switch r.Ev {
	case sim.EvStart, sim.EvRestart, sim.EvCrash, sim.EvClose, sim.EvRefuse:
		w.life(r)
	case sim.EvFault, sim.EvHeal:
		w.fault(r)
	case sim.EvDeliver:
		w.bounds[[2]protocol.Rank{r.Peer.Rank, r.Node}] = bound(r)
	case sim.EvPhase:
		if r.Why == sim.Liveness {
			w.note(r, "", "the random faults end: "+strings.Join(names(r.Members), " ")+" must agree from now on", "you")
		}
	case sim.EvCommand:
		w.command(r)
	case protocol.EvSuspect:
		w.tell(r, "", r.Node.String(), fmt.Sprintf("no longer trusts %v to be alive", r.Peer.Rank), "")
	case protocol.EvWait:
		w.tell(r, "", r.Node.String(), waits(r.Why), "")
	default:
		if !w.change(r) {
			w.elect(r, &did)
		}
	}
}

// command notes what a program or an operator asks of a member.
func (w *world) command(r *sim.Record) {
	switch r.Why {
	case "reconfigure", "health": // the member says what it makes of it
	case "campaign":
		w.tell(r, string(r.Group), r.Node.String(), "campaigns", "you")
	case "transfer":
		w.tell(r, string(r.Group), r.Node.String(), strings.TrimSuffix("is asked to hand over to "+peer(r), " to "), "you")
	case "find":
		w.tell(r, string(r.Group), r.Node.String(), "is asked who leads", "you")
	case "verify":
		w.tell(r, string(r.Group), r.Node.String(), "is asked for a proof that the leader leads", "you")
	default:
		w.tell(r, string(r.Group), r.Node.String(), "is asked to "+r.Why, "you")
	}
}

// life notes that a member came or went.
func (w *world) life(r *sim.Record) {
	m := &w.members[r.Node]
	m.inc, m.frozen = r.Inc, ""
	if r.Ev == sim.EvStart || r.Ev == sim.EvRestart {
		m.state = web.Up
		text := "starts"
		if r.Ev == sim.EvRestart {
			text = "starts again"
		}
		w.tell(r, "", r.Node.String(), text, "")
		return
	}
	m.state = web.Down
	m.place.settled, m.place.accepted = false, 0
	text := map[protocol.Ev]string{sim.EvCrash: "crashes", sim.EvClose: "leaves in good order", sim.EvRefuse: "refuses to start: " + r.Why}[r.Ev]
	w.tell(r, "", r.Node.String(), text, "bad")
	w.gone(r)
}

// freezing are the faults that stop a member in its tracks.
var freezing = map[string]bool{"pause": true, "suspend": true, "halt": true}

// fault notes that something goes wrong, or no longer does.
func (w *world) fault(r *sim.Record) {
	f := parseFault(r.Why, words(r))
	if r.Ev == sim.EvHeal {
		if i := slices.IndexFunc(w.faults, func(o fault) bool { return o.text == f.text }); i >= 0 {
			w.faults = slices.Delete(w.faults, i, i+1)
		}
		if r.Node != protocol.Nobody && freezing[f.kind] && w.members[r.Node].frozen == f.kind {
			w.members[r.Node].frozen = ""
		}
		w.tellFault(r, &f, true)
		return
	}
	w.tellFault(r, &f, false)
	switch {
	case freezing[f.kind]:
		// A member that is down cannot be stopped, and its fault never ends.
		if r.Node != protocol.Nobody && w.members[r.Node].state == web.Up {
			w.members[r.Node].frozen = f.kind
		}
	case f.kind == "cut" || f.kind == "partition" || f.kind == "slow" || f.kind == "lose":
		w.faults = append(w.faults, f)
	}
}

// note adds a line to the log.
func (w *world) note(r *sim.Record, group, text, tone string) {
	w.entries++
	w.log = append(w.log, web.Entry{ID: w.entries, At: time.Duration(r.T), Member: name(r.Node), Group: group, Text: text, Tone: tone})
	if n := len(w.log) - logKept; n > 0 {
		w.log = slices.Delete(w.log, 0, n)
	}
}

// since returns the lines of the log that were added or changed after so many.
func (w *world) since(entries uint64) (all []web.Entry) {
	if w.entries == entries {
		return nil
	}
	for _, e := range w.log {
		if e.ID > entries {
			all = append(all, e)
		}
	}
	return all
}

// real turns an instant of a member's clock into time of the run, by the last reading of that clock.
func (w *world) real(r protocol.Rank, instant protocol.Time) time.Duration {
	c := w.members[r].clock
	return c.t + instant.Sub(c.at)
}
