// Package suite says, for each protocol, how it is simulated: how its machines are made, which invariants it keeps, which
// faults it must survive, and what a random run must have covered to count. One file holds one protocol.
package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// A Protocol is one that can be simulated.
type Protocol struct {
	// Name is a word, and a second one where a protocol has several variants: "stable fig5". The first word alone stands for
	// the one that is the Default.
	Name    string
	Default bool
	// About is a line for people.
	About string
	// Members is how many members a run has by default; it works with MinMembers and more.
	Members, MinMembers int
	// Rho is the drift that the protocol is promised.
	Rho protocol.Rho
	// Spawn makes a machine.
	Spawn sim.Spawn
	// Messages are the names of all its messages. Matters lists those whose loss, lateness or duplication counts as covered;
	// nil: all.
	Messages, Matters []string
	// Groups that every member campaigns for, where the protocol has groups.
	Groups []protocol.Group
	// Configure changes the world's configuration, if need be: programs and their readers, links. It sees a world that is
	// complete, and is called once for each run.
	Configure func(*sim.Config)
	// Vary, if not nil, lets random runs differ in more than faults, by the seed in the configuration. It comes after
	// Configure. Scenarios are not varied.
	Vary func(*sim.Config)
	// Port makes what lies between machines and links in a share of the runs; nil: nothing does.
	Port sim.NewPort
	// Checkers makes the checkers of one run.
	Checkers func(t check.Truth) []check.Checker
	// Faults weighs the kinds of faults that random runs draw from; a kind without weight is not drawn.
	Faults []Weight
	// Disks lists what a member that comes back from a random crash may find; nil: anything.
	Disks []sim.Disk
	// Backups says that random runs restore backups that another member can recognise. Settings is how many configurations
	// they restart the council with; none if it is zero.
	Backups  bool
	Settings int
	// Snapshots says that random runs restore members, while they run, from snapshots of their machines.
	Snapshots bool
	// Disasters says that random runs have members away for long, and give their council up.
	Disasters bool
	// Keys says that random runs replace and revoke members' keys.
	Keys bool
	// Timely is the longest delay of a link while a core must converge, and Settle how long that may take.
	Timely, Settle time.Duration
	// Assume, if not nil, says how links are while a core must converge, where that is not that all are timely: what the
	// protocol assumes, and no more. It is asked once for each run, with its seed and its core.
	Assume func(seed uint64, members int, core protocol.Set) Relink
	// Core is the least number of members that must be able to converge, of so many; the others may stay down for good.
	Core func(members int) int
	// Rows are what a random run of many seeds must have covered.
	Rows []string
	// Least is how many members a row takes that a small council cannot cover.
	Least map[string]int
	// Watch, if not nil, makes an observer that covers rows of the protocol's own; they must be listed in Rows.
	Watch func(t check.Truth, hit func(row string)) sim.Observer
}

// A Weight is how often a kind of fault is drawn, in comparison to the others.
type Weight struct {
	Kind   sim.Kind
	Weight int
}

// The rows that every random run is counted for. A leader is a member that leads by its own view and, in the domain
// Elector, by that of another member too.
const (
	LeaderCrashed   = "leader crashed"
	LeaderRestarted = "leader restarted within a lease"
	LeaderSuspended = "leader suspended"
	LeaderCut       = "leader cut one-way"
	MessageLate     = "message late"
	MessageLost     = "message lost"
	MessageTwice    = "message duplicated"
	ClockFast       = "clock at +rho"
	ClockSlow       = "clock at -rho"
	TwoCandidates   = "two candidates at once"
	LeaderChanged   = "leader changed"
)

// Rows lists them, in the order of reports.
var Rows = []string{LeaderCrashed, LeaderRestarted, LeaderSuspended, LeaderCut, MessageLate, MessageLost, MessageTwice, ClockFast,
	ClockSlow, TwoCandidates, LeaderChanged}

// Lookup finds a protocol by its name.
func Lookup(name string) (*Protocol, error) {
	var names []string
	for _, p := range All() {
		if base, _, _ := strings.Cut(p.Name, " "); p.Name == name || p.Default && base == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("protocol %q: there is no such protocol; known: %s", name, strings.Join(names, ", "))
}

// All returns the protocols in the order of their names.
func All() []*Protocol {
	all := []*Protocol{councilProtocol(), councilRainProtocol(), councilHeirProtocol(), councilHeirRainProtocol(), datagramProtocol(), foundingProtocol(), linkProtocol(), nerioProtocol(), rankProtocol()}
	all = append(append(all, stableProtocols()...), hallProtocols()...)
	all = append(append(all, detectProtocol()), ringProtocols()...)
	all = append(all, stackProtocols()...)
	all = append(all, counterProtocols()...)
	all = append(all, rainProtocols()...)
	slices.SortFunc(all, func(a, b *Protocol) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// matters says whether what happens to a message counts.
func (p *Protocol) matters(name string) bool {
	if p.Matters == nil {
		return true
	}
	return slices.Contains(p.Matters, name)
}

// majority is the core of protocols that need a quorum.
func majority(members int) int { return members/2 + 1 }
