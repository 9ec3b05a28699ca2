package tenure

import (
	"github.com/regentproject/regent/internal/protocol"
)

// The actions of the table. Each is one row of the list below it.

func (m *Machine) none(protocol.Time, Event) {}

func (m *Machine) begin(now protocol.Time, ev Event) {
	m.token, m.held = ev.Token, true
	until := ev.Until.Add(-m.config.Margin)
	late, slept := now >= until.Add(-m.config.Guard), ev.At <= m.slept
	if (late || slept) && !m.config.Backup { // it came too late, or the host was suspended since: nothing begins
		m.proof = gone
		m.blame(m.own(protocol.LeaseExpired))
		if slept {
			m.blame(m.own(protocol.ClockFault))
		}
		m.giveUp()
		return
	}
	m.state, m.announced = Leading, until
	m.revive(now)
	if m.config.Notes {
		m.emit(Effect{Kind: Note, Token: m.token, Until: until})
	}
	m.emit(Effect{Kind: Announce, Token: m.token, At: ev.At, Until: until})
	switch {
	case m.config.Lower != Tree:
	case m.config.Backup:
		m.stage = running
		switch { // the runner may have begun before
		case slept:
			m.blame(m.own(protocol.ClockFault))
			m.halt(now)
		case m.runnerDead:
			m.blame(m.own(protocol.Resigned))
			m.halt(now)
		}
	case m.config.Hooks:
		m.stage, m.due = greeting, now.Add(m.config.HookWithin)
		m.emit(Effect{Kind: RunElected, Until: m.due})
	default:
		m.start()
	}
}

func (m *Machine) giveBack(_ protocol.Time, ev Event) {
	if m.config.Backup {
		return // it is the runner's to give back
	}
	m.emit(Effect{Kind: Release, Token: ev.Token, Cause: m.own(protocol.Resigned)})
}

func (m *Machine) extend(_ protocol.Time, ev Event) {
	if until := ev.Until.Add(-m.config.Margin); !m.frozen && until > m.announced {
		m.announced = until
		m.emit(Effect{Kind: Announce, Until: until})
	}
}

func (m *Machine) askToStop(now protocol.Time, ev Event) {
	m.blame(ev.Cause)
	m.ask(now)
	if m.state == Asked && ev.Kind == Stop && ev.Until != 0 && !m.config.Backup {
		m.due = min(m.due, ev.Until)
	}
}

func (m *Machine) correct(_ protocol.Time, ev Event) {
	before := m.cause
	if m.token != 0 || m.announced > -1<<63 { // it was elected
		m.blame(ev.Cause)
	}
	if m.state == Over && m.cause != before { // those below have their records, too
		m.emit(Effect{Kind: End, Cause: m.cause})
	}
}

func (m *Machine) stopsToo(now protocol.Time, ev Event) {
	m.blame(ev.Cause)
	m.goesOn = false
	m.fix()
}

func (m *Machine) lose(now protocol.Time, ev Event) {
	m.held = false
	m.blame(ev.Cause)
	m.emit(Effect{Kind: Void})
	m.askOnce()
	m.halt(now)
}

func (m *Machine) unhold(_ protocol.Time, ev Event) {
	m.held = false
	if ev.Kind == Lost {
		m.blame(ev.Cause)
	}
}

func (m *Machine) concede(now protocol.Time, ev Event) {
	m.unhold(now, ev)
	if m.handing {
		m.over()
	}
}

func (m *Machine) withdraw(_ protocol.Time, ev Event) {
	m.proof = gone
	m.over()
}

func (m *Machine) widowed(now protocol.Time, ev Event) {
	if !m.config.Backup {
		m.withdraw(now, ev)
	}
	m.runnerDead = true
}

func (m *Machine) cutOff(now protocol.Time, ev Event) {
	m.held = false
	m.fix()
	m.blame(m.own(protocol.LeaseExpired))
	if m.state == Leading {
		m.ask(now)
	}
}

func (m *Machine) freeze(now protocol.Time, ev Event) {
	m.fix()
	m.blame(ev.Cause)
	if m.state == Leading {
		m.ask(now)
	}
}

func (m *Machine) fixed(_ protocol.Time, ev Event) {
	if m.fixing {
		m.fixing = false
		m.announced = max(m.announced, ev.Until.Add(-m.config.Margin))
	}
}

func (m *Machine) handOver(now protocol.Time, ev Event) {
	m.to = ev.To
	m.blame(protocol.Cause{Code: protocol.Transferred, Peer: ev.To})
	m.ask(now)
}

func (m *Machine) reported(now protocol.Time, ev Event) {
	if ev.Cause.Code == protocol.Unexplained {
		ev.Cause = m.own(protocol.Resigned)
	}
	m.blame(ev.Cause)
	m.proof = gone
	switch {
	case m.config.Backup: // the runner has done everything
		m.stage = cleared
		m.over()
	case m.state != Stopped:
		m.ended(now)
	}
}

func (m *Machine) died(now protocol.Time, ev Event) {
	again := m.runnerDead
	m.runnerDead = m.config.Lower == Party || m.config.Backup
	m.goesOn = false
	switch {
	case m.state == Stopped && (!m.config.Backup || again || m.stage == clearing):
	case m.state == Stopped && m.stage == cleared:
		m.finish(now)
	case !m.kills():
		m.blame(m.own(protocol.Resigned))
		m.proof = gone
		m.ended(now)
	case m.state == Stopping && !m.runnerDead: // the first process: it is being killed
		m.stage = max(m.stage, running)
	default:
		// What was found gone before may have come after all: a runner that lives can start its program.
		m.blame(m.own(protocol.Resigned))
		m.proof = mayAct
		if !m.runnerDead {
			m.stage = max(m.stage, running)
		}
		m.halt(now)
	}
}

func (m *Machine) unkept(protocol.Time, Event) {
	if !m.keeperDead {
		m.keeperDead = true
		m.log(KeeperLost)
	}
}

func (m *Machine) yield(now protocol.Time, ev Event) {
	if m.kills() {
		return
	}
	m.goesOn = m.state == Leading
	m.to, m.proof = ev.To, gone
	m.ended(now)
}

func (m *Machine) refused(now protocol.Time, _ Event) {
	if !m.handing {
		return
	}
	m.handing, m.to = false, protocol.Nobody
	if m.goesOn && now < m.announced.Add(-m.config.Guard) {
		m.state, m.proof, m.goesOn, m.due = Leading, mayAct, false, protocol.Never
		m.revive(now)
		m.emit(Effect{Kind: GoOn})
		return
	}
	m.blame(m.own(protocol.Resigned))
	m.giveUp()
}

func (m *Machine) gone(now protocol.Time, _ Event) {
	switch {
	case m.config.Lower == Tree || m.passed:
		m.proof = gone
		m.ended(now)
	case m.runnerDead:
		m.proof = gone
		if !m.config.Hooks {
			m.ended(now)
		}
	}
}

func (m *Machine) unproven(protocol.Time, Event) {
	m.proof = unknown
	m.lapse()
	if m.passed {
		m.over()
	}
}

func (m *Machine) late(_ protocol.Time, ev Event) {
	switch {
	case ev.Kind == TreeGone:
		m.proof = gone
	case m.proof == mayAct:
		m.proof = unknown
	}
}

func (m *Machine) forget(protocol.Time, Event) { m.emit(Effect{Kind: Forget}) }

func (m *Machine) buried(now protocol.Time, ev Event) {
	if m.proof != mayAct && (m.config.Lower == Party || m.config.Backup) {
		m.emit(Effect{Kind: Forget})
	}
}

func (m *Machine) hungUp(now protocol.Time, _ Event) {
	m.blame(m.own(protocol.Resigned)) // the lightest there is: whatever else comes counts
	m.halt(now)
}

func (m *Machine) stays(protocol.Time, Event) { m.goesOn = false }

func (m *Machine) pulse(_ protocol.Time, ev Event) {
	if m.config.Heartbeat > 0 {
		m.silence = max(m.silence, ev.At.Add(m.config.Heartbeat))
	}
}

// revive begins the heartbeat anew.
func (m *Machine) revive(now protocol.Time) {
	m.silence = protocol.Never
	if m.config.Heartbeat > 0 {
		m.silence = now.Add(m.config.Heartbeat)
	}
}

func (m *Machine) greeted(protocol.Time, Event) {
	if m.stage == greeting {
		m.start()
	}
}

func (m *Machine) lostDone(now protocol.Time, _ Event) {
	switch {
	case m.state == Stopped && m.stage == clearing:
		m.stage = cleared
		m.finish(now)
	case m.config.Backup: // the runner has run them
		m.stage = cleared
	}
}

func (m *Machine) forked(protocol.Time, Event) {
	if m.stage == forking {
		m.stage = running
		m.emit(Effect{Kind: Exec})
	}
}

func (m *Machine) stillborn(protocol.Time, Event) { m.emit(Effect{Kind: Abort}) }

func (m *Machine) suspended(now protocol.Time, _ Event) {
	m.blame(m.own(protocol.ClockFault))
	m.emit(Effect{Kind: Void})
	m.askOnce()
	m.halt(now)
}

func (m *Machine) dozed(now protocol.Time, _ Event) {
	m.slept = now
	m.revive(now) // nothing below could give a sign of life
}

func (m *Machine) sleeps(protocol.Time, Event) {
	m.blame(m.own(protocol.ClockFault))
	m.emit(Effect{Kind: Void})
	m.goesOn = false
	m.fix()
}

func (m *Machine) found(now protocol.Time, ev Event) {
	m.state, m.frozen, m.announced = Asked, true, ev.Until
	m.blame(m.own(protocol.Restarted))
}
