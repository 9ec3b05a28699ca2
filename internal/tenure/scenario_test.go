package tenure

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A party is a machine with what it asked for, by names.
type party struct {
	t *testing.T
	m *Machine
}

// lease is how long the leases of scenarios are, in units of the clock.
const lease = 100

func newParty(t *testing.T, c Config) *party {
	c.Self, c.Guard, c.Grace, c.HookWithin, c.Answer, c.KillWithin = 1, 20, max(c.Grace, 30), 40, 40, 5
	p := &party{t: t, m: New(0, c)}
	p.step(0, Event{Kind: Elected, Token: 7, At: 0, Until: lease})
	return p
}

// step steps the machine and returns the names of the effects.
func (p *party) step(now protocol.Time, ev Event) string {
	var names []string
	for _, e := range p.m.Step(now, ev, nil) {
		names = append(names, e.Kind.String())
	}
	return strings.Join(names, " ")
}

// wants demands effects and a state.
func (p *party) wants(now protocol.Time, ev Event, want string, state State) {
	p.t.Helper()
	if got := p.step(now, ev); got != want || p.m.State() != state {
		p.t.Fatalf("%v at %v: got %q and %v, want %q and %v", ev.Kind, now, got, p.m.State(), want, state)
	}
}

func of(k Kind) Event { return Event{Kind: k} }

func because(k Kind, c protocol.CauseCode) Event {
	return Event{Kind: k, Cause: protocol.Cause{Code: c, Peer: 1}}
}

// The clock of a program may be behind that of its agent by the margin that the agent takes off.
func TestAProgramIsReleasedWhenItsDeadlineHasPassedOnItsOwnClock(t *testing.T) {
	p := newParty(t, Config{Lower: Program, Margin: 4})
	p.wants(1, of(ConnectionLost), "Lapse", Stopping)
	if at := p.m.Wake(); at != lease {
		t.Errorf("wakes at %v", at)
	}
	p.wants(lease-1, of(Tick), "", Stopping)
	p.wants(lease, of(Tick), "Release End", Over)
}

func TestAnEmptySearchProvesNothingWithoutItsRunner(t *testing.T) {
	for _, s := range []struct {
		search Search
		want   Kind
		ok     bool
	}{
		{Search{}, TreeUnknown, true},
		{Search{Hidden: true, Adopter: true}, TreeUnknown, true},
		{Search{Adopter: true}, TreeGone, true},
		{Search{Cgroup: Empty, Hidden: true}, TreeGone, true},
		{Search{Cgroup: Empty, Foreign: 1}, TreeUnknown, true},
		{Search{Cgroup: Occupied}, Tick, false},
		{Search{Adopter: true, Left: 1}, Tick, false},
		{Search{Cgroup: Empty, Held: 1}, Tick, false},
		{Search{Foreign: 1, Held: 1}, Tick, false},
	} {
		if got, ok := s.search.Verdict(); got != s.want || ok != s.ok {
			t.Errorf("%+v: got %v, %v", s.search, got, ok)
		}
	}
}

func TestWhatIsUnknownIsLeftToRunOut(t *testing.T) {
	p := newParty(t, Config{Lower: Party, Notes: true})
	p.wants(10, of(ConnectionLost), "Kill", Stopping)
	p.wants(11, of(ProgramDied), "Kill", Stopping)
	p.wants(12, of(TreeUnknown), "Lapse", Stopping)
	p.wants(50, Event{Kind: Extended, Until: 200}, "", Stopping)
	p.wants(lease, of(Tick), "Log End Forget", Over)
}

func TestATreeIsNotProvenGoneUnderALivingRunner(t *testing.T) {
	p := newParty(t, Config{Lower: Party})
	p.wants(10, of(ConnectionLost), "Kill", Stopping)
	p.wants(12, of(TreeGone), "", Stopping)
	p.wants(20, of(ProgramDied), "Kill", Stopping)
	p.wants(22, of(TreeGone), "Release End Forget", Over)
}

func TestLostHooksRunBeforeTheRelease(t *testing.T) {
	p := newParty(t, Config{Lower: Tree, Hooks: true})
	p.wants(1, of(ElectedDone), "Start", Leading)
	p.wants(2, of(Forked), "Exec", Leading)
	p.wants(10, because(Stop, protocol.Closed), "Ask", Asked)
	p.wants(12, of(ProgramDied), "Kill", Stopping)
	p.wants(13, of(TreeGone), "RunLost", Stopped)
	p.wants(14, of(ElectedDone), "", Stopped)
	p.wants(20, of(LostDone), "Release End Forget", Over)
}

func TestHooksThatHangAreKilled(t *testing.T) {
	p := newParty(t, Config{Lower: Tree, Hooks: true})
	p.wants(39, of(Tick), "", Leading)
	p.wants(40, of(Tick), "Log StopHook Start", Leading)
	p.wants(41, of(Forked), "Exec", Leading)
	p.wants(42, of(ProgramDied), "Kill", Stopping)
	p.wants(43, of(TreeGone), "RunLost", Stopped)
	p.wants(82, of(Tick), "", Stopped)
	p.wants(83, of(Tick), "Log StopHook Release End Forget", Over)
}

func TestAKeeperRunsTheHooksOfADeadRunner(t *testing.T) {
	k := newParty(t, Config{Lower: Tree, Hooks: true, Backup: true})
	k.wants(10, of(ProgramDied), "Kill", Stopping)
	k.wants(12, of(TreeGone), "RunLost", Stopped)
	k.wants(20, of(LostDone), "Release End Forget", Over)

	a := newParty(t, Config{Lower: Party, Hooks: true})
	a.wants(10, of(ProgramDied), "Kill", Stopping)
	a.wants(11, of(TreeGone), "", Stopping)
	a.wants(20, of(ProgramStopped), "Release End Forget", Over)
}

func TestAKeeperWaitsForTheElectionOfItsDeadRunner(t *testing.T) {
	k := &party{t: t, m: New(0, Config{Lower: Tree, Hooks: true, Backup: true, Guard: 20, HookWithin: 40})}
	k.wants(10, of(ProgramDied), "", Waiting)
	k.wants(12, Event{Kind: Elected, Token: 7, At: 5, Until: lease}, "Announce Kill", Stopping)
	k.wants(14, of(TreeGone), "RunLost", Stopped)
}

// A keeper that learns of the election after a suspend ends what the runner may have begun before it.
func TestAKeeperUsesNoElectionFromBeforeASuspend(t *testing.T) {
	for at, want := range map[protocol.Time]State{9: Stopping, 11: Leading} {
		k := &party{t: t, m: New(0, Config{Lower: Tree, Backup: true, Guard: 20})}
		k.wants(10, of(Suspended), "", Waiting)
		effects := map[State]string{Stopping: "Announce Kill", Leading: "Announce"}[want]
		k.wants(12, Event{Kind: Elected, Token: 7, At: at, Until: lease}, effects, want)
	}
}

// A program that hangs while it waits would cost a lease if it were elected. It is told why, so that it campaigns again.
func TestASilentProgramDoesNotWaitForItsElection(t *testing.T) {
	p := &party{t: t, m: New(0, Config{Self: 1, Lower: Program, Guard: 20, Heartbeat: 30})}
	p.wants(25, Event{Kind: Pulse, At: 20}, "", Waiting) // the heartbeat begins when the sign came
	p.wants(26, Event{Kind: Pulse, At: 10}, "", Waiting) // and an older one changes nothing
	p.wants(49, of(Tick), "", Waiting)
	p.wants(50, of(Tick), "Log End", Over)
	if got := p.m.Cause(); got != (protocol.Cause{Code: protocol.Unhealthy, Peer: 1}) {
		t.Errorf("it is over for %v", got)
	}
	p.wants(51, Event{Kind: Elected, Token: 7, At: 51, Until: 51 + lease}, "Release", Over)
}

// A host that is suspended gives no sign of life. Its programs have the whole heartbeat from then on.
func TestASuspendIsNoSilence(t *testing.T) {
	p := &party{t: t, m: New(0, Config{Lower: Program, Guard: 20, Heartbeat: 30})}
	p.wants(40, of(Suspended), "", Waiting)
	p.wants(40, of(Tick), "", Waiting)
	if at := p.m.Wake(); at != 70 {
		t.Errorf("wakes at %v", at)
	}
	p.wants(69, of(Tick), "", Waiting)
	p.wants(70, of(Tick), "Log End", Over)
}

func TestHooksThatNobodyCanRunDelayTheReleaseToTheDeadline(t *testing.T) {
	p := newParty(t, Config{Lower: Party, Hooks: true})
	p.wants(10, of(ProgramDied), "Kill", Stopping)
	p.wants(10, of(KeeperDied), "Log", Stopping)
	p.wants(11, of(TreeGone), "", Stopping)
	p.wants(lease-1, of(Tick), "", Stopping)
	p.wants(lease, of(Tick), "Log Release End Forget", Over)
}

func TestNoLeaseIsUsedAfterASuspend(t *testing.T) {
	p := newParty(t, Config{Lower: Program})
	p.wants(10, of(Suspended), "Void Ask Lapse", Stopping)
	p.wants(11, Event{Kind: Extended, Until: 200}, "", Stopping)
	if p.m.Leads(12) {
		t.Error("it leads after a suspend")
	}
	q := &party{t: t, m: New(0, Config{Lower: Tree, Guard: 20})}
	q.wants(50, of(Suspended), "", Waiting)
	q.wants(51, Event{Kind: Elected, Token: 3, At: 49, Until: 200}, "Log Release End Forget", Over)
}

func TestRenewalsThatWaitedCountBeforeTheDeadline(t *testing.T) {
	p := newParty(t, Config{Lower: Program})
	p.wants(250, Event{Kind: Extended, Until: 150}, "Announce", Leading)
	p.wants(250, Event{Kind: Extended, Until: 330}, "Announce", Leading)
	p.wants(250, of(Tick), "", Leading)
}

func TestTheHeavierCauseCountsOnBothSides(t *testing.T) {
	agent, runner := newParty(t, Config{Lower: Party}), newParty(t, Config{Lower: Tree})
	runner.wants(1, of(Forked), "Exec", Leading)
	runner.wants(80, of(Tick), "Ask Kill", Stopping)
	agent.wants(80, because(Resign, protocol.Resigned), "Ask", Asked)
	runner.wants(81, because(Stop, protocol.Resigned), "", Stopping)
	runner.wants(82, of(TreeGone), "Release End Forget", Over)
	agent.wants(83, Event{Kind: ProgramStopped, Cause: runner.m.Cause()}, "Log Release End Forget", Over)
	if a, r := agent.m.Cause(), runner.m.Cause(); a != r || a.Code != protocol.LeaseExpired {
		t.Errorf("the agent records %v, the runner %v", a, r)
	}
}

func TestAProgramThatNeverStopsIsRenewedNoMore(t *testing.T) {
	p := newParty(t, Config{Lower: Function, Grace: 30 * time.Nanosecond})
	p.wants(10, because(Stop, protocol.Closed), "Ask", Asked)
	p.wants(30, Event{Kind: Extended, Until: 130}, "Announce", Asked)
	p.wants(40, of(Tick), "Log Lapse", Stopping)
	p.wants(50, Event{Kind: Extended, Until: 150}, "", Stopping)
	p.wants(130, of(Tick), "Log End", Over)
}

func TestAProgramThatIsHeldUpAfterForkDoesNotStartLate(t *testing.T) {
	p := newParty(t, Config{Lower: Tree})
	p.wants(81, of(Forked), "Ask Kill Abort", Stopping)
}

func TestAMembershipThatIsLostWaitsForItsProgram(t *testing.T) {
	p := newParty(t, Config{Lower: Function, Owed: true})
	p.wants(10, because(Lost, protocol.Excluded), "Void Ask", Stopping)
	p.wants(2*lease, of(Tick), "", Stopping)
	p.wants(3*lease, of(ProgramStopped), "Release End", Over)
}

func TestARefusedYieldLeadsOn(t *testing.T) {
	p := newParty(t, Config{Lower: Program})
	p.wants(10, Event{Kind: Yield, To: 2}, "HandOver", Stopped)
	p.wants(12, of(Refused), "GoOn", Leading)
	p.wants(20, Event{Kind: Transfer, To: 2}, "Ask", Asked)
	p.wants(22, of(ProgramStopped), "HandOver", Stopped)
	p.wants(23, of(Refused), "Release End", Over)
}

// A reader of the page sees a renewal between the last look of the agent and the freeze.
func TestADeadlineThatIsShownCountsOnceItIsFixed(t *testing.T) {
	p := newParty(t, Config{Lower: Program, Shown: true, Margin: 1})
	p.wants(lease-1, of(Tick), "Ask Fix Lapse", Stopping)
	p.wants(lease+10, of(Tick), "", Stopping)
	p.wants(lease+10, Event{Kind: Fixed, Until: lease + 51}, "", Stopping)
	if wake := p.m.Wake(); wake != lease+51 { // the margin after it
		t.Errorf("wakes at %v, and a reader may have seen %v", wake, lease+51)
	}
	p.wants(lease+50, of(Tick), "", Stopping)
	p.wants(lease+51, of(Tick), "Release End", Over)
}

// A program that yielded may go on: its deadline is shown until it must not.
func TestAYieldedProgramKeepsWhatIsShownUntilItStopsForGood(t *testing.T) {
	p := newParty(t, Config{Lower: Program, Shown: true})
	p.wants(10, Event{Kind: Yield, To: 2}, "HandOver", Stopped)
	p.wants(11, because(Stop, protocol.Closed), "Fix", Stopped)
	p.wants(11, Event{Kind: Fixed, Until: lease}, "", Stopped)
	p.wants(12, of(Refused), "Release End", Over)
}
