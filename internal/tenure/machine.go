package tenure

import (
	"github.com/regentproject/regent/internal/protocol"
)

// proof is what is known of whether the lower side can still act.
type proof uint8

const (
	mayAct  proof = iota
	unknown       // nothing is found, and that proves nothing
	gone          // proven, reported, or promised for a deadline that has passed
)

// stage is how far a party that runs hooks and a program has come with them.
type stage uint8

const (
	idle     stage = iota // nothing was begun
	greeting              // the elected hooks run
	forking               // the first process is being forked
	running               // the program runs, or has run
	clearing              // the lost hooks run
	cleared               // they have run, or were killed
)

// A Machine is one tenure at one party. The zero value is of no use: New makes one.
type Machine struct {
	config Config
	state  State
	proof  proof
	stage  stage
	token  uint64
	// announced is the deadline that the lower side knows.
	// Invariant: it never moves back, and stands still once frozen is set and fixing is not.
	announced protocol.Time
	frozen    bool
	// fixing says that Fix was asked for and not answered: readers may have seen a later end than announced.
	fixing bool
	// held says that the upper side still counts on this party: there is something to release.
	held bool
	// lapsed says that the upper side was asked to renew no more.
	lapsed bool
	// passed says that the announced deadline has passed under a Party that is still being killed.
	passed bool
	// runnerDead and keeperDead are about the two below an agent, or, of runnerDead, beside a keeper.
	runnerDead, keeperDead bool
	// to is the successor that somebody asked for, or Nobody; goesOn says that the program leads on if the transfer is refused.
	to     protocol.Rank
	goesOn bool
	// handing says that the upper side was asked to transfer and has not answered.
	handing bool
	// due is when the grace, the time to kill, the bound of the hook that runs, or that of a transfer ends. silence is when the heartbeat is missed.
	due, silence protocol.Time
	// slept is when a suspend was noticed while the tenure waited.
	slept protocol.Time
	cause protocol.Cause
	out   []Effect
}

// New returns a tenure that waits.
func New(now protocol.Time, c Config) *Machine {
	m := &Machine{config: c, to: protocol.Nobody, due: protocol.Never, silence: protocol.Never, announced: -1 << 63, slept: -1 << 63}
	m.revive(now)
	return m
}

// State returns how far the tenure has come, Token its token, and Cause why it ends or ended; Unexplained before that.
func (m *Machine) State() State          { return m.state }
func (m *Machine) Token() uint64         { return m.token }
func (m *Machine) Cause() protocol.Cause { return m.cause }

// Announced returns the deadline that the lower side knows, and whether one was announced.
func (m *Machine) Announced() (protocol.Time, bool) { return m.announced, m.announced > -1<<63 }

// Leads says whether the lower side leads at now, as a load balancer may ask.
func (m *Machine) Leads(now protocol.Time) bool {
	return (m.state == Leading || m.state == Asked) && now < m.announced
}

// Step takes one event and returns out with all that it leads to appended, to be carried out in order. now never runs
// backwards. Tick looks at the deadlines, and so does Forked, before the program may exec. No other event does, because
// more may wait behind it: a renewal, or the report of an end. A driver gives what waits first. If Wake has passed then, a
// Tick is due at once. One that comes early, late or twice is harmless.
func (m *Machine) Step(now protocol.Time, ev Event, out []Effect) []Effect {
	m.out = out
	if looks(ev.Kind) {
		m.expire(now)
	}
	actions[table[m.state][ev.Kind]].do(m, now, ev)
	out, m.out = m.out, nil
	return out
}

// looks says that the deadlines come before the event.
func looks(k Kind) bool { return k == Tick || k == Forked }

// Wake returns when the machine wants a Tick; Never if it wants none.
func (m *Machine) Wake() protocol.Time {
	guard := m.announced.Add(-m.config.Guard)
	switch m.state {
	case Waiting:
		return m.silence
	case Leading:
		return min(guard, m.due, m.silence)
	case Asked:
		if m.kills() {
			return min(guard, m.due, m.silence)
		}
		return min(m.announced, m.due, m.silence)
	case Stopping:
		if m.passed || m.fixing || m.config.Owed {
			return protocol.Never
		}
		return m.passes()
	case Stopped:
		return m.due
	}
	return protocol.Never
}

// WakeBeside returns when a leading machine wants a Tick for another reason than its deadline, which its driver watches for many
// machines together.
func (m *Machine) WakeBeside() protocol.Time { return min(m.due, m.silence) }

// Silence returns when the heartbeat is missed; Never if none is due.
func (m *Machine) Silence() protocol.Time { return m.silence }

// passes returns when the announced deadline has passed on every clock of the host, and the time to kill with it.
func (m *Machine) passes() protocol.Time { return max(m.announced.Add(m.config.Margin), m.due) }

// expire does what deadlines ask for that have passed, one after the other.
func (m *Machine) expire(now protocol.Time) {
	for m.expireOne(now) {
	}
}

func (m *Machine) expireOne(now protocol.Time) bool {
	guarded := now >= m.announced.Add(-m.config.Guard)
	switch {
	case m.state == Waiting && now >= m.silence:
		m.log(Silent)
		m.blame(m.own(protocol.Unhealthy))
		m.proof = gone
		m.over()
	case m.state == Leading && guarded:
		m.blame(m.own(protocol.LeaseExpired))
		m.ask(now)
	case m.state == Asked && guarded && m.kills():
		m.blame(m.own(protocol.LeaseExpired))
		m.halt(now)
	case m.state == Asked && now >= m.announced:
		m.blame(m.own(protocol.LeaseExpired))
		m.halt(now)
	case (m.state == Leading || m.state == Asked) && now >= m.silence:
		m.log(Silent)
		m.blame(m.own(protocol.Unhealthy))
		m.askOnce()
		m.halt(now)
	case m.state == Asked && now >= m.due:
		m.log(NotInTime)
		m.halt(now)
	case m.state == Leading && now >= m.due: // of the elected hook
		m.log(HookKilled)
		m.emit(Effect{Kind: StopHook})
		m.start()
	case m.state == Stopping && now >= m.passes() && !m.passed && !m.fixing && !m.config.Owed:
		m.pass(now)
	case m.state == Stopped && now >= m.due && m.stage == clearing:
		m.log(HookKilled)
		m.emit(Effect{Kind: StopHook})
		m.stage = cleared
		m.finish(now)
	case m.state == Stopped && now >= m.due && m.handing:
		m.giveUp()
	default:
		return false
	}
	return true
}

// kills says whether this party can kill what acts.
func (m *Machine) kills() bool { return m.config.Lower == Tree || m.config.Lower == Party }

// ask asks the lower side to stop. What has not begun to run is ended at once.
func (m *Machine) ask(now protocol.Time) {
	m.askOnce()
	m.state, m.due = Asked, now.Add(m.config.Grace)
	switch {
	case m.config.Backup:
		m.due = protocol.Never // the runner counts the grace
	case m.config.Lower == Tree && m.stage != running:
		m.halt(now)
	}
}

// askOnce writes the request, unless it was written. That of a keeper goes to the runner, which takes it as Freeze.
func (m *Machine) askOnce() {
	if m.state == Leading {
		m.emit(Effect{Kind: Ask, Cause: m.cause})
	}
}

// halt ends the lower side: it learns of no later deadline, and is killed if it can be. A lease that nobody can use any more
// need not be renewed; one whose tree is being killed is, because its lost hooks have to run.
func (m *Machine) halt(now protocol.Time) {
	m.state, m.due, m.silence = Stopping, now, protocol.Never
	m.fix()
	if m.kills() {
		m.due = now.Add(m.config.KillWithin)
		m.emit(Effect{Kind: Kill})
		return
	}
	m.lapse()
}

// fix freezes the deadline. Readers of a deadline that is shown may have seen a later end since the last Extended. They see none
// after the driver has fixed it, and only then is the highest known.
func (m *Machine) fix() {
	if !m.frozen {
		m.frozen = true
		m.fixing = m.config.Shown
		if m.fixing {
			m.emit(Effect{Kind: Fix})
		}
	}
}

// lapse asks the upper side, once, to renew no more. A lease that runs out is not handed over.
func (m *Machine) lapse() {
	if m.held && !m.lapsed {
		m.lapsed = true
		if m.cause.Code == protocol.Transferred {
			m.blame(m.own(protocol.LeaseExpired))
		}
		m.emit(Effect{Kind: Lapse, Cause: m.cause})
	}
}

// pass takes note that the announced deadline has passed under a lower side that has not stopped.
func (m *Machine) pass(now protocol.Time) {
	if m.cause.Code == protocol.Unexplained {
		m.blame(m.own(protocol.LeaseExpired))
	}
	switch {
	case m.config.Lower == Program:
		m.proof = gone // it heeds its deadline
	case m.proof == gone: // of a Party whose hooks were waited for
		m.log(HooksNotRun)
	case m.config.Lower == Party:
		// Its runner, if it lives, starts nothing any more: what a search finds from now on is final.
		m.passed = true
		m.log(LeftToRunOut)
		m.lapse()
		if m.proof == unknown {
			m.over()
			return
		}
		m.emit(Effect{Kind: Kill})
		return
	case m.held || m.kills():
		m.log(LeftToRunOut)
		m.lapse()
	}
	m.ended(now)
}

// ended takes note that the lower side acts no more, or that its deadline has passed. Lost hooks come before the release.
func (m *Machine) ended(now protocol.Time) {
	m.state, m.due, m.silence = Stopped, protocol.Never, protocol.Never
	if !m.goesOn {
		m.fix()
	}
	if m.config.Lower == Tree && m.config.Hooks && (m.stage == greeting || m.stage == forking || m.stage == running) {
		if m.config.Backup && !m.runnerDead {
			return // the runner runs them
		}
		m.stage, m.due = clearing, now.Add(m.config.HookWithin)
		m.emit(Effect{Kind: RunLost, Until: m.due, Cause: m.cause})
		return
	}
	if m.config.Backup && !m.runnerDead {
		return // the runner reports
	}
	m.finish(now)
}

// finish gives the group up, in favour of the successor if there is one.
func (m *Machine) finish(now protocol.Time) {
	if m.to != protocol.Nobody && m.held && m.proof == gone && !m.handing {
		m.handing, m.due = true, now.Add(m.config.Answer)
		m.emit(Effect{Kind: HandOver, To: m.to, Cause: m.cause})
		return
	}
	m.giveUp()
}

// giveUp releases what nobody can act under any more, and leaves the rest to run out.
func (m *Machine) giveUp() {
	switch {
	case !m.held && !m.config.Owed:
	case m.proof == gone:
		m.emit(Effect{Kind: Release, Cause: m.cause})
	default:
		m.lapse()
	}
	m.over()
}

// over ends the tenure at this party.
func (m *Machine) over() {
	m.state, m.held, m.handing, m.goesOn = Over, false, false, false
	m.due, m.silence = protocol.Never, protocol.Never
	m.emit(Effect{Kind: End, Cause: m.cause})
	if m.kills() && m.proof != mayAct {
		m.emit(Effect{Kind: Forget})
	}
}

// start has the program forked, if the party starts one.
func (m *Machine) start() {
	m.stage, m.due = forking, protocol.Never
	m.emit(Effect{Kind: Start})
}

// own is a cause that this party decides.
func (m *Machine) own(c protocol.CauseCode) protocol.Cause {
	return protocol.Cause{Code: c, Peer: m.config.Self}
}

// blame takes note of a cause. One that is heavier than the one on record replaces it, and is worth a line.
func (m *Machine) blame(c protocol.Cause) {
	before := m.cause
	m.cause = Winner(before, c)
	if before.Code != protocol.Unexplained && m.cause != before {
		m.emit(Effect{Kind: Log, Line: Corrected, Cause: m.cause})
	}
}

func (m *Machine) log(l Line) { m.emit(Effect{Kind: Log, Line: l, Cause: m.cause}) }

func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }
