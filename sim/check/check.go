// Package check holds the invariants that protocols must keep: one checker for each, one file for each checker.
// A checker sees the trace as it happens, and the ground truth beside it; it never looks into a machine.
//
// The names are those of PROTOCOLS §9:
//
//	S-OM   omega.go       in the end all that are up trust the same correct member
//	S-OM+  numbered.go    one view number is one leader's, and in the end all agree on it
//	S-kSTAB stays.go      a leader that has been accessible for kδ is not demoted
//	S-9D   prompt.go      while all is well nobody is without a leader for longer than 9δ
//	S-COMM quiet.go       in the end only links from the leader carry messages
//	S-P    trusted.go     in the end everybody knows exactly who is alive
//	T-EL   eventual.go    the same as S-OM, where no more than the elector's own assumption holds
//	T-CNT  counts.go      counters only grow; in the end the leader's stands still, and those of the dead do not
//	N-LU   unique.go      at every instant at most one lease of a group is in force, and one holder backed by a quorum
//	N-14   backed.go      a lease in force is backed by the promises of a quorum, to its end
//	N-16'  keeps.go       a voter keeps its word
//	N-EV   edictvalid.go  an edict is made within its maker's lease
//	N-EO   edictorder.go  edicts and tenures are ordered as they were made, at every common voter
//	N-TOK  token.go       tokens grow strictly from tenure to tenure
//	       resource.go    what a resource behind a gate carries out never goes back
//	N-STAB stability.go   a lease does not lapse while all is well
//	N-EE   elected.go     no group is without a lease for long while all is well
//	N-VER  verified.go    who is verified to lead does
//	N-ROLE roles.go       nobody leads who may not, and nobody tries who is ill
//	FA1    bounded.go     no message took longer than is proven of it
//	FA2    timely.go      while all is well every message is proven to be fast
//	FA3    once.go        nothing is delivered twice
//	FA4    present.go     nothing is delivered across incarnations
//	CH1    slack.go       neither end of a link is more than two transitions ahead
//	CH2    sequence.go    an end goes through one sequence of transitions, without a gap
//	CH3    severed.go     an end is down within tout of the last contact
//	CH4    single.go      what one end finds out makes one transition at each end
//	CH-MSG insession.go   messages over a link are delivered in order, once, in their session, or not at all
//	CH-UP  connected.go   in the end all links of the core are up, in the same session at both ends
//	H-LS   selfsupport.go   a local leader supports itself
//	H-SO   supportone.go    no member supports two local leaders
//	H-LOCK locked.go        a voter is locked to one at a time, and for longer than the lease
//	H-T    led.go           a partition that holds together has a leader within κ
//	H-MIN  minimum.go       and from then on it is its best-ranked member
//	H-BI   inconsistency.go who has been connected to a leader for κ supports it
//	H-MAJ  majorityonly.go  where a majority must support a leader there is one at most
//	H-GRAPH graph.go        where connections do not change the leaders are those of the graph
//	R-31/32 oneview.go      when failures and returns are over there is one manager
//	R-33w  notrace.go       a wrong suspicion leaves no trace
//	R-UNIQ onechain.go      a number is one view's, and each view is decided on top of the one that was reported before it
//	R-DEAD dead.go          who is dead asks nobody
//	R-WL   weaklive.go      members that are all connected, and with nobody else, come to be in one view
//	R-OUT  outside.go       whoever is not of a view has stopped when programs are told of it
//	R-REC  recovered.go     the next change waits for the recovery, or is told that it was not finished
package check

import (
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// A Checker watches over one invariant during one run.
type Checker interface {
	// Name is what the invariant is called; it stands in every failure.
	Name() string
	// Observe sees a record as it happens. An error is a Violation.
	Observe(*sim.Record) error
	// Finish is called once when the run is over, for what only its end can show.
	Finish() error
}

// Truth is what a checker may know besides the trace. A sim.World is one.
type Truth interface {
	Now() sim.Real
	Members() int
	Clock(protocol.Rank) *sim.Clock
	Up(protocol.Rank) bool
	Frozen(protocol.Rank) bool
	Ident(protocol.Rank) protocol.Ident
	Cut(from, to protocol.Rank) bool
}

// A Violation is an invariant that did not hold.
type Violation struct {
	Name string
	T    sim.Real
	Text string
}

// Error names the invariant first.
func (v *Violation) Error() string { return fmt.Sprintf("%s violated at %v: %s", v.Name, v.T, v.Text) }

// Violatedf returns a Violation of the named invariant.
func Violatedf(name string, t sim.Real, format string, args ...any) error {
	return &Violation{Name: name, T: t, Text: fmt.Sprintf(format, args...)}
}
