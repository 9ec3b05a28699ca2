package protocol

import "time"

// An Event is one thing that happens to a machine: Start, Tick, *Receive, Persisted, Stopped, Unfit, or a command.
type Event interface{ event() }

type (
	// Start is the first event of every machine, and comes once.
	Start struct{}

	// Tick says that the wake has come, or that the driver felt like it.
	Tick struct{}

	// Receive is a message from a peer or from oneself. It travels as a pointer that the driver uses again, so that a
	// message costs no allocation; neither it nor its Message may be kept.
	Receive struct {
		From    Ident
		Message Message
		// Delay is a proven upper bound on the message's real delay, from the sender's now to this one's, or Unknown.
		Delay time.Duration
	}

	// Persisted says that the oldest record not yet confirmed is on disk.
	Persisted struct{}

	// Restored says that the member's machine goes on from a snapshot: the member may have done things that it has forgotten, under the
	// same incarnation. Start are the random bits of the life that begins now.
	Restored struct{ Start StartBits }

	// Stopped says that the program that led the group has stopped: its function returned, its process tree is gone, or it
	// said so. Only then may its leadership be released.
	Stopped struct{ Group Group }

	// Unfit is the one event that an authority gives its elector: the member that you trust (me) cannot gather a quorum.
	Unfit struct{}

	// Campaign asks to lead the group.
	Campaign struct {
		Group Group
		// Length is that of the leases; zero: the council's. A leadership that has begun keeps its own.
		Length time.Duration
		// Value is what each leadership of the campaign announces from its beginning, as Announce would; empty: nothing. A later Campaign replaces it.
		Value string
		// ID, if not zero, is that of an Answer, which says whether leases of that length are to be had here.
		ID uint64
	}

	// Resign gives the group up, or ends the attempt to lead it. Why is the cause to be shown; zero stands for Resigned.
	Resign struct {
		Group Group
		Why   CauseCode
	}

	// Lapse ends the renewals of a tenure whose program may still act: the lease gets a fixed end, and nothing is released
	// before it. Why is the cause if the program was not asked to stop before. A tenure with another number stays as it is.
	Lapse struct {
		Group  Group
		Tenure uint64
		Why    CauseCode
	}

	// Announce sets the value that this member's leadership of the group bears from now on, of at most MaxValue bytes; empty
	// takes it back. A tenure with another number keeps its value, and so does one that has used up its versions.
	Announce struct {
		Group  Group
		Tenure uint64
		Value  string
	}

	// Transfer gives the group up in favour of To. If ID is not zero an Answer says whether To leads it now.
	Transfer struct {
		Group Group
		To    Rank
		ID    uint64
		// Ask only asks whether it would be begun: nothing changes.
		Ask bool
	}

	// Find asks who leads the group, here or at any other member. Its Answer bears ID. All asks every member, whatever this one knows.
	Find struct {
		Group Group
		ID    uint64
		All   bool
	}

	// Verify asks the leader of the group itself whether it leads, and for Length of real time more if that can be had
	// (zero: one round trip). Its Answer bears ID and counts while this member's clock is below its Until.
	Verify struct {
		Group  Group
		ID     uint64
		Length time.Duration
	}

	// Close says that the member is leaving: it leads and grants nothing more, and notes in its record when nothing that it
	// granted is outstanding. The driver goes on stepping until the machine, a Closable, says that it is done, or it
	// loses patience.
	Close struct{}

	// Recover says that what the manager of a consistent group had to recover by the view with that number is recovered. If
	// there is a later view by now it says nothing.
	Recover struct {
		Group     Group
		Term, Vid uint64
	}

	// Begin is an operator's word to a member of a consistent group that is dead: begin anew with the dead members that you see.
	// It is for groups without a quorum; a quorum begins by itself.
	Begin struct{ Group Group }

	// Reconfigure changes the council. Record is the encoded next configuration.
	Reconfigure struct{ Record []byte }

	// Health says whether the member is fit to lead. One that is not gives up what it leads and tries for nothing, but
	// votes as before; what its programs want to lead is remembered until it is fit again.
	Health struct {
		// OK says that nothing is wrong with it.
		OK bool
		// Drained says that an operator keeps it from leading, whether or not something is wrong.
		Drained bool
	}

	// Trusts is an elector's word to an authority: its member trusts Leader now (Nobody: it has no opinion). Barred are
	// members that would not lead now if they could, besides those that never may; they are passed over.
	Trusts struct {
		Leader Rank
		Barred Set
	}
)

// Fit says whether the member may lead.
func (h Health) Fit() bool { return h.OK && !h.Drained }

// Cause returns why a member that is not fit leads nothing. What is wrong with it explains more than that it was drained.
func (h Health) Cause() CauseCode {
	if h.OK {
		return Drained
	}
	return Unhealthy
}

// Unknown is the Delay of a message about which nothing is proven.
const Unknown = time.Duration(1<<63 - 1)

func (Start) event()       {}
func (Tick) event()        {}
func (*Receive) event()    {}
func (Persisted) event()   {}
func (Restored) event()    {}
func (Stopped) event()     {}
func (Unfit) event()       {}
func (Campaign) event()    {}
func (Resign) event()      {}
func (Lapse) event()       {}
func (Announce) event()    {}
func (Transfer) event()    {}
func (Find) event()        {}
func (Verify) event()      {}
func (Close) event()       {}
func (Recover) event()     {}
func (Begin) event()       {}
func (Reconfigure) event() {}
func (Health) event()      {}
func (Trusts) event()      {}
