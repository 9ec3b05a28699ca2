package tenure

import "github.com/regentproject/regent/internal/protocol"

// An action is what a machine does in one or more cells of the table.
type action struct {
	name, text string
	do         func(*Machine, protocol.Time, Event)
	// next lists the states to which it leads besides the one that it found, and effects what it may ask for, besides Log.
	next    []State
	effects []EffectKind
}

// What entering a state may ask for.
var (
	halting = []EffectKind{Fix, Kill, Lapse}
	ending  = []EffectKind{Fix, RunLost, HandOver, Release, Lapse, End, Forget}
)

func with(more []EffectKind, own ...EffectKind) []EffectKind {
	return append(append([]EffectKind(nil), more...), own...)
}

// An act is the number of an action.
type act uint8

const (
	none act = iota
	begin
	giveBack
	extend
	askToStop
	correct
	stopsToo
	lose
	unhold
	concede
	withdraw
	widowed
	cutOff
	freeze
	fixed
	handOver
	reported
	died
	yield
	refused
	unkept
	treeGone
	unproven
	late
	forget
	buried
	hungUp
	stays
	pulse
	greeted
	lostDone
	forked
	stillborn
	suspended
	slept
	dozed
	found
)

// actions lists all of them.
var actions = [...]action{
	none: {"none", "Nothing changes.", (*Machine).none, nil, nil},
	begin: {"begin", "The lease is held. The tree is noted, the deadline announced, and the elected hooks run or the program forks. " +
		"If the lease is already within its guard time, or was granted before a suspend, nothing begins and the lease is released. A keeper begins in any case, for the program may run, and kills at once if its runner is dead.",
		(*Machine).begin, []State{Leading, Stopping, Over}, []EffectKind{Note, Announce, RunElected, Start, Kill, Release, End, Forget}},
	giveBack: {"giveBack", "The lower side withdrew before the lease came: release it.", (*Machine).giveBack, nil, []EffectKind{Release}},
	extend:   {"extend", "Announce the later deadline, unless the deadline is frozen.", (*Machine).extend, nil, []EffectKind{Announce}},
	askToStop: {"askToStop", "Record the cause, ask the lower side to stop, and count its grace, which the event may shorten. A tree whose program does not run yet is killed.",
		(*Machine).askToStop, []State{Asked, Stopping}, with(halting, Ask)},
	correct:  {"correct", "Record the cause: the heavier of the two counts, and a change is logged. After the end, those below learn of it.", (*Machine).correct, nil, []EffectKind{End}},
	stopsToo: {"stopsToo", "Record the cause. A program that had yielded does not go on if the transfer is refused.", (*Machine).stopsToo, nil, []EffectKind{Fix}},
	lose: {"lose", "Nothing is held any more. Void the lease, ask the lower side to stop, and end it.",
		(*Machine).lose, []State{Stopping}, with(halting, Void, Ask)},
	unhold:   {"unhold", "Nothing is held any more: nothing will be released.", (*Machine).unhold, nil, nil},
	concede:  {"concede", "Nothing is held any more. A transfer that was under way is done; hooks that run go on.", (*Machine).concede, []State{Over}, []EffectKind{End, Forget}},
	withdraw: {"withdraw", "The candidacy is over. Nothing has begun.", (*Machine).withdraw, []State{Over}, []EffectKind{End, Forget}},
	widowed:  {"widowed", "The candidacy is over. A keeper waits on: the runner may have been elected before it died.", (*Machine).widowed, []State{Over}, []EffectKind{End, Forget}},
	cutOff: {"cutOff", "No renewal can come: freeze the deadline, ask the lower side to stop, and release nothing.",
		(*Machine).cutOff, []State{Asked, Stopping}, with(halting, Ask)},
	freeze:   {"freeze", "Announce no later deadline, and ask the lower side to stop.", (*Machine).freeze, []State{Asked, Stopping}, with(halting, Ask)},
	fixed:    {"fixed", "No later end is shown. The highest that a reader may have seen is the announced deadline.", (*Machine).fixed, nil, nil},
	handOver: {"handOver", "Remember the successor, and ask the lower side to stop.", (*Machine).handOver, []State{Asked, Stopping}, with(halting, Ask)},
	reported: {"reported", "The lower side has stopped and its hooks have run: release. A keeper is done.",
		(*Machine).reported, []State{Stopped, Over}, ending},
	died: {"died", "A dead program or function has stopped. What a dead runner or first process leaves is killed. " +
		"A keeper that waited for the runner kills, and runs its lost hooks.", (*Machine).died, []State{Stopping, Stopped, Over}, with(ending, Kill)},
	yield: {"yield", "The program has stopped: ask for the transfer. One that was not asked to stop goes on if it is refused.", (*Machine).yield, []State{Stopped, Over}, ending},
	refused: {"refused", "A program that yielded leads on, if its lease lasts. Otherwise nothing acts: release.",
		(*Machine).refused, []State{Leading, Over}, []EffectKind{GoOn, Release, End, Forget}},
	unkept: {"unkept", "Remember that no keeper is left, and log it. If the runner dies as well, the deadline decides.", (*Machine).unkept, nil, nil},
	treeGone: {"gone", "Nothing acts any more: run the lost hooks, then release. To an agent it is proof only if the runner is dead or its deadline has passed; " +
		"it waits until its deadline for those below to run the lost hooks.",
		(*Machine).gone, []State{Stopped, Over}, ending},
	unproven: {"unproven", "What is left may still act: nothing is released, and nothing is renewed.", (*Machine).unproven, []State{Over}, []EffectKind{Lapse, End, Forget}},
	late:     {"late", "Record the proof: what was left to run out may be released after all.", (*Machine).late, nil, nil},
	forget:   {"forget", "Nothing is left to look for: remove the note.", (*Machine).forget, nil, []EffectKind{Forget}},
	buried:   {"buried", "The runner cannot remove what it had prepared any more: agent and keeper do.", (*Machine).buried, nil, []EffectKind{Forget}},
	hungUp: {"hungUp", "A closed connection proves nothing: record Resigned, announce no later deadline, and end the lower side.",
		(*Machine).hungUp, []State{Stopping}, halting},
	stays:   {"stays", "The program cannot be asked to go on: a refused transfer ends in a release.", (*Machine).stays, nil, nil},
	pulse:   {"pulse", "The heartbeat begins anew when the sign of life came.", (*Machine).pulse, nil, nil},
	greeted: {"greeted", "The elected hooks have ended: the program forks.", (*Machine).greeted, nil, []EffectKind{Start}},
	lostDone: {"lostDone", "The lost hooks have run: release. A keeper remembers that the runner has run them.",
		(*Machine).lostDone, []State{Over, Stopped}, ending},
	forked:    {"forked", "The deadline has not passed: the program may exec.", (*Machine).forked, nil, []EffectKind{Exec}},
	stillborn: {"stillborn", "The program must not run: end it before it execs.", (*Machine).stillborn, nil, []EffectKind{Abort}},
	suspended: {"suspended", "No lease that was held before a suspend is used again: void it, ask the lower side to stop, and end it.",
		(*Machine).suspended, []State{Stopping}, with(halting, Void, Ask)},
	dozed: {"dozed", "A lease that was granted before is not used. The heartbeat begins anew.", (*Machine).dozed, nil, nil},
	slept: {"slept", "Record the cause, and void the lease. A program that had yielded does not go on.", (*Machine).sleeps, nil, []EffectKind{Void, Fix}},
	found: {"found", "Wait until the runner has ended the tree, kills it, or dies. Nothing is held.", (*Machine).found, []State{Asked}, nil},
}

// table says what each event leads to in each state. Tick and Forked look at the deadlines first: see expiry.
var table = [states][kinds]act{
	Waiting: {
		Elected: begin, Extended: none, Stop: none, Lost: withdraw, Refused: none, UpperGone: withdraw,
		Resign: none, Transfer: none, Freeze: none, Fixed: none,
		ProgramStopped: withdraw, ProgramDied: widowed, Yield: none, KeeperDied: unkept, TreeGone: none, TreeUnknown: none,
		ConnectionLost: withdraw, Pulse: pulse, ElectedDone: none, LostDone: none, Forked: stillborn,
		Suspended: dozed, Found: found, Tick: none,
	},
	Leading: {
		Elected: none, Extended: extend, Stop: askToStop, Lost: lose, Refused: none, UpperGone: cutOff,
		Resign: askToStop, Transfer: handOver, Freeze: freeze, Fixed: none,
		ProgramStopped: reported, ProgramDied: died, Yield: yield, KeeperDied: unkept, TreeGone: none, TreeUnknown: none,
		ConnectionLost: hungUp, Pulse: pulse, ElectedDone: greeted, LostDone: lostDone, Forked: forked,
		Suspended: suspended, Found: none, Tick: none,
	},
	Asked: {
		Elected: none, Extended: extend, Stop: correct, Lost: lose, Refused: none, UpperGone: cutOff,
		Resign: correct, Transfer: none, Freeze: freeze, Fixed: fixed,
		ProgramStopped: reported, ProgramDied: died, Yield: yield, KeeperDied: unkept, TreeGone: none, TreeUnknown: none,
		ConnectionLost: hungUp, Pulse: pulse, ElectedDone: none, LostDone: lostDone, Forked: stillborn,
		Suspended: suspended, Found: none, Tick: none,
	},
	Stopping: {
		Elected: none, Extended: none, Stop: correct, Lost: unhold, Refused: none, UpperGone: unhold,
		Resign: correct, Transfer: none, Freeze: correct, Fixed: fixed,
		ProgramStopped: reported, ProgramDied: died, Yield: yield, KeeperDied: unkept, TreeGone: treeGone, TreeUnknown: unproven,
		ConnectionLost: none, Pulse: none, ElectedDone: none, LostDone: lostDone, Forked: stillborn,
		Suspended: slept, Found: none, Tick: none,
	},
	Stopped: {
		Elected: none, Extended: extend, Stop: stopsToo, Lost: concede, Refused: refused, UpperGone: concede,
		Resign: stopsToo, Transfer: none, Freeze: stopsToo, Fixed: fixed,
		ProgramStopped: reported, ProgramDied: died, Yield: none, KeeperDied: unkept, TreeGone: late, TreeUnknown: late,
		ConnectionLost: stays, Pulse: none, ElectedDone: none, LostDone: lostDone, Forked: stillborn,
		Suspended: slept, Found: none, Tick: none,
	},
	Over: {
		Elected: giveBack, Extended: none, Stop: correct, Lost: correct, Refused: none, UpperGone: none,
		Resign: none, Transfer: none, Freeze: correct, Fixed: fixed,
		ProgramStopped: correct, ProgramDied: buried, Yield: none, KeeperDied: none, TreeGone: forget, TreeUnknown: forget,
		ConnectionLost: none, Pulse: none, ElectedDone: none, LostDone: none, Forked: stillborn,
		Suspended: none, Found: none, Tick: none,
	},
}

// An expiry is a deadline that the machine watches by itself.
type expiry struct {
	state State
	when  string
	text  string
	next  []State
}

// expiries lists what expireOne does, in its order.
var expiries = []expiry{
	{Waiting, "the heartbeat was missed", "Record Unhealthy and log it; the candidacy is over. A program that works again campaigns again.", []State{Over}},
	{Leading, "the guard time before the announced deadline has begun", "Record LeaseExpired and ask the lower side to stop. A tree is killed.", []State{Asked, Stopping}},
	{Asked, "the guard time has begun, and the lower side can be killed", "Record LeaseExpired and kill.", []State{Stopping}},
	{Asked, "the announced deadline has passed", "Record LeaseExpired; see Stopping.", []State{Stopping}},
	{Leading, "the heartbeat was missed", "Record Unhealthy, ask the lower side to stop, freeze the deadline, and kill what can be killed.", []State{Stopping}},
	{Asked, "the heartbeat was missed", "The same.", []State{Stopping}},
	{Asked, "the grace is over", "Log it, freeze the deadline, and kill what can be killed. The lease of what cannot be killed is renewed no more.", []State{Stopping}},
	{Leading, "the bound of the elected hook has passed", "Kill the hook and fork the program.", nil},
	{Stopping, "the announced deadline, once it is fixed, the margin after it and the time to kill have passed", "A Program heeds it: release. A tree that is proven gone is released, with a line that its hooks did not run. " +
		"Anything else may still act: the lease is left to run out. A runner or keeper then runs the lost hooks; an agent kills once more.", []State{Stopped, Over}},
	{Stopped, "the bound of the lost hook has passed", "Kill the hook and go on as if it had ended.", []State{Over}},
	{Stopped, "the transfer was not answered", "Release.", []State{Over}},
}

// Ignores says that the event changes nothing in the state, as the table has it.
func Ignores(s State, k Kind) bool { return table[s][k] == none }

// States and Kinds are how many there are, for tools that count pairs.
const (
	States = int(states)
	Kinds  = int(kinds)
)
