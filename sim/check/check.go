// Package check holds the invariants that protocols must keep: one checker for each. A checker sees the trace as it happens, and
// the ground truth beside it; it never looks into a machine. What promises and leases come to is read by package ledger.
//
// A file holds checkers of one family. This table has every invariant:
//
//	S-OM              omega.go         in the end all that are up trust the same correct member
//	T-EL              omega.go         the same as S-OM, where no more than the elector's own assumption holds
//	T-CNT             omega.go         counters only grow; in the end the leader's stands still, and those of the dead do not
//	S-OM+             electors.go      one view number is one leader's, and in the end all agree on it
//	S-COMM            electors.go      in the end only links from the leader carry messages
//	S-P               electors.go      in the end everybody knows exactly who is alive
//	S-kSTAB           stable.go        a leader that has been accessible for kδ is not demoted
//	S-9D              stable.go        while all is well nobody is without a leader for longer than 9δ
//
//	N-LU              nerio.go         at every instant at most one lease of a group is in force, and one holder backed by a quorum
//	N-14              nerio.go         a lease in force is backed by the promises of a quorum, to its end
//	N-16'             nerio.go         a voter keeps its word
//	N-EE              nerio_live.go    no group is without a lease for long while all is well
//	N-STAB            nerio_live.go    a lease does not lapse while all is well
//	N-STAB (moves)    nerio_moves.go   a healthy leader is moved only after a join or an undrain, to where a program waits
//	N-VER             nerio_live.go    a member that is verified to lead does
//	N-ROLE            nerio_live.go    nobody leads who may not, and nobody tries who is ill
//	N-VAL             nerio_value.go   a view shows a value that its leader announced, never an earlier one, and in the end the last one
//	N-EO              edicts.go        edicts and tenures are ordered as they were made, at every common voter
//	N-EV              edicts.go        an edict is made within its maker's lease
//	N-TOK             edicts.go        tokens grow strictly from tenure to tenure
//	N-TOK (resource)  edicts.go        what a resource behind a gate carries out never goes back
//
//	H-LOCK            hall_rules.go    a voter is locked to one at a time, and for longer than the lease
//	H-LS              hall_rules.go    a local leader supports itself
//	H-SO              hall_rules.go    no member supports two local leaders
//	H-T               hall_rules.go    a partition that holds together has a leader within κ
//	H-MIN             hall_rules.go    and from then on it is its best-ranked member
//	H-BI              hall_rules.go    who has been connected to a leader for κ supports it
//	H-MAJ             hall_rules.go    where a majority must support a leader there is one at most
//	H-GRAPH           hall_rules.go    where connections do not change the leaders are those of the graph
//
//	R-31/32           rain.go          when failures and returns are over there is one manager
//	R-WL              rain.go          members that are all connected, and with nobody else, come to be in one view
//	R-33w             rain.go          a wrong suspicion leaves no trace
//	R-DEAD            rain.go          a dead member asks nobody
//	R-EVICT           rain_evict.go    a member that loses its links one by one takes one other at most along
//	R-UNIQ            rain_chain.go    a number is one view's, and each view is decided on top of the one that was reported before it
//	R-OUT             rain_chain.go    a member outside a view has stopped when programs receive that view
//	R-REC             rain_chain.go    the next change waits for the recovery, or names it as unfinished
//	R-ONCE            rain_once.go     one program recovers what an agreement asks for, once
//	R-TAB             rain_table.go    at every event each member does what a line of RAIN's Table 1 says
//
//	CH1               link.go          neither end of a link is more than two transitions ahead
//	CH2               link.go          an end goes through one sequence of transitions, without a gap
//	CH3               link.go          an end is down within tout of the last contact
//	CH4               link.go          what one end finds out makes one transition at each end
//	CH-MSG            link_session.go  messages over a link are delivered in order, once, in their session, or not at all
//	CH-UP             link_session.go  in the end all links of the core are up, in the same session at both ends
//
//	C-ONE             council.go       a number is one configuration's
//	C-MONO            council.go       no member goes back to an earlier configuration, or votes there
//	C-SETTLE          council.go       no lease rests on a configuration two before one that is chosen
//	C-CARRY           council.go       a member that has settled accepts no term up to an earlier token
//	C-OUT             council.go       a member that was removed grants nothing
//	C-LIVE            council.go       a council that is healed settles, and is led
//	C-VIEW            council_rain.go  a member that has settled knows every view of an earlier configuration that programs received
//	C-HEIR            council_heir.go  a council of survivors begins when all have agreed
//	C-STOP            council_heir.go  a survivor that has agreed takes part in nothing
//	C-WAIT            council_heir.go  no lease from before it was given up
//	C-ONE (heirs)     council_heir.go  C-ONE in each council
//	C-TOK (heirs)     council_heir.go  tokens above all of the council before
//	C-LIVE (heirs)    council_heir.go  a council of survivors is settled and led
//	R-HEIR            council_heir_rain.go  the first view of survivors is on top of the last one that one of them knows, and names all that was not recovered
//	R-REC (heirs)     council_heir_rain.go  R-REC in each council
//	R-ONCE (heirs)    council_heir_rain.go  R-ONCE in each council
//	R-OUT (heirs)     council_heir_rain.go  R-OUT, across councils
//	C-AGREE (heirs)   council_heir_rain.go  C-AGREE in the last council
//	R-JOB             council_rain.go  who was of a view and is not of the next one failed there, also if another one has the seat
//	C-AGREE           council_rain.go  the members of a council that is healed are in one view (R-WL)
//
//	CI1               founding.go      no two members have different council ids
//	CI2               founding.go      in the end all members have one
//
//	FA1               datagram.go      no message took longer than is proven of it
//	FA2               datagram.go      while all is well every message is proven to be fast
//	FA3               datagram.go      nothing is delivered twice
//	FA4               datagram.go      nothing is delivered across incarnations
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
