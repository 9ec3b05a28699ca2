package protocol

import "time"

// A Fact is something that happened inside a machine and that a checker or a reader of the trace wants to know. It is
// one flat struct, so that stating it costs no allocation; Ev says which of its fields count. docs/trace.md has a line
// for each.
type Fact struct {
	Ev    Ev
	Dom   Domain
	Group Group
	// Peer is the other member in it: the one that got a promise, is trusted, or is suspected.
	Peer Ident
	// Seq, Gen, Term and Tenure number a request, an unbroken promise, a claim and a leadership.
	Seq, Gen, Term, Tenure uint64
	// Length names the promise of a voter among those to one holder, and the length of a tenure; zero: the council's.
	Length time.Duration
	// Start, Until and At are instants of the member's own clock.
	Start, Until, At Time
	// Members is a support set, a trusted set, the members of a view.
	Members Set
	// Why is one word of reason.
	Why string
	// Detail is what else the event carries: a value that marshals to JSON and is never changed after it was stated.
	Detail any
}

// Ev names the kind of a fact, as the trace spells it.
type Ev string

// The kinds of facts that machines state. The simulator adds its own (crash, restart, link, ...).
const (
	EvWeak     Ev = "weak"     // Peer is trusted; Term is the round or view number, if any
	EvSuspect  Ev = "suspect"  // Peer is no longer trusted to be alive; Detail: nil
	EvTrust    Ev = "trust"    // Peer is trusted to be alive again
	EvPromise  Ev = "promise"  // to Peer, of the Length, in Gen, until Until, by its request Seq
	EvBreak    Ev = "break"    // the promise Gen to Peer is over, with all that was assigned in it
	EvAssign   Ev = "assign"   // the group to Peer, in its Tenure, at Term, within the promise Gen; At: the voter's clock
	EvUnassign Ev = "unassign" // the group from Peer, which had it at Term; Why
	EvDied     Ev = "died"     // Peer is proven dead: it is granted nothing more
	EvGrant    Ev = "grant"    // one lock, on Peer, by its request Seq, until Until; At: the voter's clock
	EvUngrant  Ev = "ungrant"  // the lock on Peer is over; Why; At
	EvAttempt  Ev = "attempt"  // to lead the group in Tenure, proposing Term
	EvFail     Ev = "fail"     // the attempt Tenure came to nothing; Why
	EvLease    Ev = "lease"    // gained or moved: Until, Tenure, Term (the token), Start, Seq (its horizon), Gen (its epoch); Detail: the quorum timestamp
	EvHorizon  Ev = "horizon"  // Seq: the horizon; Until: its new end
	EvStepdown Ev = "stepdown" // the member no longer leads in Tenure; Why
	EvEdict    Ev = "edict"    // Detail: the edict; At: the clock sample
	EvVerify   Ev = "verify"   // Peer is known to lead until Until, at Term
	EvWait     Ev = "wait"     // the voter grants nothing until Until; Why
	EvAccused  Ev = "accused"  // Peer has heard the incarnation Seq of this member, which does not act on that; Why
	EvSpeak    Ev = "speak"    // the member speaks as incarnation Seq from now on; Term: its floor; Why
	EvCouncil  Ev = "council"  // the member takes the council's id, of which Seq are the first 64 bits; Why: drawn, adopted, taken, named, kept
	EvVote     Ev = "vote"     // for the configuration with number Seq and the digest Gen; Why
	EvChosen   Ev = "chosen"   // that configuration is chosen; Members: its voters
	EvAdopt    Ev = "adopt"    // that configuration is in force at this member; Term: its floor; Members: its voters; Why
	EvSettle   Ev = "settle"   // the configuration Seq is settled at this member; Term: the floor
	EvAsked    Ev = "asked"    // the council is asked to be changed here; Why: asked, or why not
	EvOut      Ev = "out"      // the member has no seat in the configuration Seq
	EvCount    Ev = "count"    // a counter of suspicions has grown: Peer's is Seq now; Why: of which kind
	EvHealth   Ev = "health"   // the member is fit to lead from now on, or is not; Why: "well", "ill", "drained"
	EvRound    Ev = "round"    // the query Seq has ended; Members are those whose responses won

	EvNode    Ev = "node"    // a member of a consistent group is dead, alive, candidate, supporter or manager: Why
	EvPeer    Ev = "peer"    // Peer is connected, lost or failing, being a member, or isolated or regained: Why
	EvCand    Ev = "cand"    // to Peer, about the member in Members; Seq: the attempt; Term, Gen: the view's number; Why: dn, up
	EvAccept  Ev = "accept"  // to Peer, who asked by the attempt Seq; the rest as for cand
	EvCancel  Ev = "cancel"  // to Peer; the rest as for cand
	EvConv    Ev = "conv"    // all confirm what Peer, the manager, decides: Members is the next view; Term, Gen: its number
	EvInstall Ev = "install" // the view (Term, Gen) of Members under Peer, on top of Seq; Why: decided, announced, told, heard
	EvDone    Ev = "done"    // the manager has recovered what was lost by the view (Term, Gen)
	EvStall   Ev = "stall"   // Peer cannot be agreed on: Members are the ends of the link that is broken; Why: its name
	EvLink    Ev = "link"    // the link to Peer made its transition Seq: odd is up, even is down; Why
	EvPost    Ev = "post"    // a message Why goes to Peer, as number Seq of the session Term; Gen: its mark, if it has one
	EvTake    Ev = "take"    // and is delivered: number Seq of the session Term, from Peer
)
