package tenure

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// State is how far a tenure has come at one party. The package doc lists what may be true in each.
type State uint8

// The states, in the order in which a tenure passes through them. It may skip some, and goes back only from Stopped to
// Leading, after a refused Yield.
const (
	Waiting  State = iota // no lease; nothing acts
	Leading               // the lower side may act; renewals are announced to it
	Asked                 // it was asked to stop and may still act; renewals are announced for at most its grace
	Stopping              // it may still act; no later deadline is announced; what can be killed is being killed
	Stopped               // it acts no more; its lost hooks run, or a transfer is under way
	Over                  // nothing is left to do
	states   = iota
)

var stateNames = [states]string{"Waiting", "Leading", "Asked", "Stopping", "Stopped", "Over"}

func (s State) String() string { return stateNames[s] }

// Kind is the kind of an event.
type Kind uint8

// The events of the upper side, which grants.
const (
	Elected   Kind = iota // the party leads, with Token, since At, until Until
	Extended              // the lease was renewed until Until
	Stop                  // the lower side shall stop, for Cause, by Until if that is set; the lease is renewed meanwhile
	Lost                  // the lease is over, for Cause; of a transfer: it is done
	Refused               // a transfer came to nothing
	UpperGone             // the upper side is dead, or its connection is closed: nothing more comes

	// The events of operators, and of whatever else decides beside the chain.

	Resign   // give the lease up, for Cause
	Transfer // give it up in favour of To
	Freeze   // announce no later deadline, for Cause: the lower side does not read, or the upper side has fixed the end
	Fixed    // the answer to Fix: no later end is shown, and Until is the highest that a reader may have seen

	// The events of the lower side, which acts.

	ProgramStopped // it has stopped, everything below it is gone, and its lost hooks have run; its record says Cause
	ProgramDied    // the kernel reports the death: of a program, of a tree's first process, of the runner (to agent and keeper)
	Yield          // it has stopped in favour of To, and goes on if that is refused
	KeeperDied     // the kernel reports the death of the keeper, or there never was one
	TreeGone       // nothing is left of the tree: Search.Verdict
	TreeUnknown    // nothing more can be found, and something may be left: Search.Verdict
	ConnectionLost // the connection to the lower side is closed, which proves nothing
	Pulse          // a sign of life came at At
	ElectedDone    // the elected hooks have ended
	LostDone       // the lost hooks have ended; to a keeper: those of the runner, or its own
	Forked         // the first process of the program exists and waits for permission to exec

	// The rest.

	Suspended // the host was suspended since the last event
	Found     // a note of an earlier life of this agent names the tree; every lease of that life is over at Until
	Tick      // the wake has come, or any other time
	kinds     = iota
)

var kindNames = [kinds]string{"Elected", "Extended", "Stop", "Lost", "Refused", "UpperGone", "Resign", "Transfer", "Freeze", "Fixed",
	"ProgramStopped", "ProgramDied", "Yield", "KeeperDied", "TreeGone", "TreeUnknown", "ConnectionLost", "Pulse", "ElectedDone", "LostDone", "Forked",
	"Suspended", "Found", "Tick"}

func (k Kind) String() string { return kindNames[k] }

// An Event is one thing that happens to a tenure. Fields that its kind does not name are ignored.
type Event struct {
	Kind  Kind
	Token uint64
	// At is when a lease was granted or a sign of life came, and Until when it ends; both on the lease clock of the host.
	At, Until protocol.Time
	Cause     protocol.Cause
	To        protocol.Rank
}

// EffectKind is the kind of an effect.
type EffectKind uint8

// The effects up, to the side that grants.
const (
	Release  EffectKind = iota // nothing acts any more, and hooks have run: another may lead at once; Cause is why
	HandOver                   // nothing acts any more: transfer to To; the answer is Lost or Refused
	Lapse                      // renew no more: the lower side may still act, so that the lease runs out

	// The effects down, to what acts.

	Announce // the deadline is Until; Token and At are set the first time
	Fix      // show no later end, and give Fixed before any other effect is carried out
	Ask      // stop, for Cause: close a channel, write a line, send SIGTERM
	Void     // the lease counts no more, whatever was announced: readers see that it is over
	Kill     // kill the tree and a running elected hook until nothing is found, then report TreeGone or TreeUnknown
	GoOn     // the Yield was refused: the program leads on
	End      // the tenure is over, for Cause

	// The effects at the party itself.

	RunElected // run the elected hooks, and kill them at Until
	RunLost    // run the lost hooks, and kill them at Until
	StopHook   // kill the hook that runs: its bound has passed
	Start      // fork the program's first process, and report Forked
	Exec       // let the forked process exec
	Abort      // end the forked process before it execs
	Note       // write down the tree before anything of it runs
	Forget     // remove the note and what was prepared for the tree, and end a search that is under way
	Log        // write Line to the log
	effects    = iota
)

var effectNames = [effects]string{"Release", "HandOver", "Lapse", "Announce", "Fix", "Ask", "Void", "Kill", "GoOn", "End",
	"RunElected", "RunLost", "StopHook", "Start", "Exec", "Abort", "Note", "Forget", "Log"}

func (k EffectKind) String() string { return effectNames[k] }

// An Effect is one thing that the driver does. Fields that its kind does not name are zero.
type Effect struct {
	Kind      EffectKind
	Line      Line
	Token     uint64
	At, Until protocol.Time
	Cause     protocol.Cause
	To        protocol.Rank
}

// Line is a line for the log.
type Line uint8

// The lines.
const (
	Corrected    Line = iota // the record of the cause was corrected to Cause
	NotInTime                // the program did not stop within its grace
	Silent                   // no sign of life came for the heartbeat
	HookKilled               // a hook took too long and was killed
	HooksNotRun              // runner and keeper died: the lost hooks did not run
	LeftToRunOut             // what is left could not be proven gone: the lease is left to run out
	KeeperLost               // the keeper died; the runner alone ends the program now
	lines        = iota
)

var lineTexts = [lines]string{
	"the cause of the end was corrected",
	"the program did not stop within its grace",
	"the program sent no sign of life within its heartbeat",
	"a hook took too long and was killed",
	"the lost hooks did not run: runner and keeper are dead",
	"something may be left of the program: the lease is left to run out",
	"the keeper of the program died",
}

func (l Line) String() string { return lineTexts[l] }

// Lower is what acts below a party, and what can be known about it.
type Lower uint8

// The kinds of lower sides.
const (
	// Function is a function of the same process. It cannot be killed, and has stopped when it returns.
	Function Lower = iota
	// Program is a program on a connection, or a stream. It cannot be killed, heeds its deadline, and has stopped when it
	// reports that or when the kernel reports its death. Processes that it started are its own business.
	Program
	// Tree is a tree of processes. It can be killed, heeds nothing, and has stopped when it is proven gone.
	Tree
	// Party is a runner with its keeper, and the tree below them. They end the tree by its deadline; the agent kills it as well.
	Party
	lowers = iota
)

var lowerNames = [lowers]string{"Function", "Program", "Tree", "Party"}

func (l Lower) String() string { return lowerNames[l] }

// Config is what one party knows before the tenure begins.
type Config struct {
	// Self is the member at which the party is: causes that it decides name it.
	Self  protocol.Rank
	Lower Lower
	// Backup makes a keeper of it, beside a runner: it asks and starts nothing, ignores the grace, and runs the lost hooks only
	// if the runner died without having run them. Lower is Tree.
	Backup bool
	// Hooks says that there are lost hooks: of a Tree this party runs them, of a Party those below do.
	Hooks bool
	// Owed says that the upper side waits for the program to stop even if the lease is lost, as that of a consistent group does before it
	// takes part again: Release is sent then as well, and no deadline stands for it. Lower is Function.
	Owed bool
	// Notes has trees written down before anything of them runs.
	Notes bool
	// Guard is how long before the announced deadline the lower side is asked to stop if it cannot be killed, and killed if it
	// can. Margin is taken off every end that comes from above before it is announced: the
	// clock of the lower side may be late by that much, so that an announced deadline has passed only that long after it.
	Guard, Margin time.Duration
	// Shown says that the lower side reads its deadline where the upper side moves it, such as on a page. Then Extended comes only before other
	// events, later than the lower side may see the renewal, and a freeze counts when Fixed has come.
	Shown bool
	// Grace is how long the lower side may take from being asked until it has stopped, with all that it does then: of a Party
	// it covers the runner's grace, the killing and the lost hooks. Zero stops it at once.
	Grace time.Duration
	// KillWithin is how long killing may take before the announced deadline, if it has passed, decides.
	KillWithin time.Duration
	// HookWithin bounds each hook, and Answer how long a transfer may take.
	HookWithin, Answer time.Duration
	// Heartbeat is how long the lower side may be silent; zero: for any time.
	Heartbeat time.Duration
}
