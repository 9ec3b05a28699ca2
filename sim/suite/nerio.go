package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// The rows that runs of quorum leases are counted for besides those of every protocol.
const (
	LeaderResigned = "leader resigned"
	HandedOver     = "group handed over"
	LeaseFrozen    = "lease frozen under a program that did not stop"
	LeaseLapsed    = "lease lapsed"
	AttemptBusy    = "attempt refused as busy"
	AttemptSilent  = "attempt failed in silence"
	TermRaised     = "candidate outbid and began anew"
	PromiseBroken  = "promise lapsed and began anew"
	Released       = "release heard"
	LeaderVerified = "leader verified"
	Recovered      = "member recovered without its record"
	BackupFound    = "restored backup found out"
	CleanStart     = "member left in good order"
	ValueLearnt    = "value of a leader learnt"
	WentBack       = "machine restored from a snapshot"
	KeyReplaced    = "key of a member replaced"
	KeyRevoked     = "member revoked"
)

var nerioRows = append(append([]string{}, Rows...), LeaderResigned, HandedOver, LeaseFrozen, LeaseLapsed, AttemptBusy,
	AttemptSilent, TermRaised, PromiseBroken, Released, LeaderVerified, Recovered, CleanStart, ManyGroups, FlagWithRecord, FlagWithout,
	OtherLengths, Rolled, BackupFound, ValueLearnt, MixedLengths, MovedLength, WentBack, KeyReplaced, KeyRevoked, DeathReported, DeathBelieved, ProgramOutlive)

// Constants of the simulated council: the LAN profile, with links that are somewhat slower than d allows.
const (
	nerioTrip    = 20 * time.Millisecond
	nerioTimely  = 8 * time.Millisecond
	nerioLease   = 200 * time.Millisecond
	nerioLongest = 250 * time.Millisecond
	// nerioLonger is by how much both are longer in the next of the settings that a council may be restarted with.
	nerioLonger = 150 * time.Millisecond
	nerioRenew  = 50 * time.Millisecond
	nerioStop   = 250 * time.Millisecond
	// nerioSettle is the bound of N-EE: the longest promise of a voter that has just restarted, that of a leader that has
	// just died, a program that takes its time to stop, and some attempts that get into each other's way.
	nerioSettle = 4 * time.Second
)

// NerioConfig returns the configuration of a simulated member. Every member bootstraps at its first start only: a council
// that has lost a majority of its records may begin anew only if an operator says so. Ten seconds of wall time seem to
// pass between two starts, so that incarnations do not repeat even if everybody has forgotten them.
func NerioConfig(b sim.Boot) nerio.Config {
	longer := time.Duration(b.Setting) * nerioLonger
	return nerio.Config{
		Me: b.Self, Quorums: protocol.Majority(b.Members), Digest: uint64(b.Setting),
		RoundTrip: nerioTrip, Lease: nerioLease + longer, Longest: nerioLongest + longer, Renew: nerioRenew, StopWithin: nerioStop,
		Rho: protocol.DefaultRho, Bootstrap: b.Inc == 1, FirstInc: 10 * b.Inc, Tag: b.Tag,
	}
}

// nerioProtocol is quorum leases without an elector: every candidate tries for itself.
func nerioProtocol() *Protocol {
	groups := []protocol.Group{"blue", "red"}
	return &Protocol{
		Name:       "nerio",
		About:      "at most one leader anywhere, by leases of a quorum; every candidate tries for itself",
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return nerio.New(NerioConfig(b), b.Record, b.Seed)
		},
		Messages: []string{"lease.Request", "lease.OK", "lease.Nack", "nerio.Recover", "nerio.Known", "nerio.Stale", "nerio.Handover",
			"nerio.Verify", "nerio.Remainder", "nerio.Who", "nerio.Leads", "nerio.Candidates", "nerio.Values", "nerio.Noted"},
		Matters: []string{"lease.Request", "lease.OK"},
		Groups:  groups,
		Configure: func(c *sim.Config) {
			c.Program.Reader = newStampReader
			c.Bound.Old = true // the machine answers them: so a restored backup is found out
			c.Remember = remembersNerio
		},
		Port: pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: 3 * nerioTimely,
			Outdated: func() protocol.Message { return &nerio.Outdated{} }, Died: died}),
		Vary: varyNerio,
		Checkers: func(t check.Truth) []check.Checker {
			return nerioCheckers(t, groups, nerioSettle)
		},
		Faults: []Weight{
			{sim.Crash, 12}, {sim.Pause, 5}, {sim.Suspend, 4}, {sim.Cut, 8}, {sim.Partition, 6}, {sim.Slow, 6}, {sim.Lose, 4},
			{sim.Duplicate, 4}, {sim.Rate, 3}, {sim.SlowDisk, 2}, {sim.Resign, 6}, {sim.Transfer, 6}, {sim.Find, 2}, {sim.Verify, 8},
			{sim.Leave, 4}, {sim.Campaign, 2},
		},
		// A restored backup is found out if somebody who remembers can be asked. The world sees to that for known ones.
		Disks:     []sim.Disk{sim.Kept, sim.Kept, sim.Lost, sim.Reboot},
		Backups:   true,
		Snapshots: true,
		Keys:      true,
		Settings:  nerioSettings,
		Timely:    nerioTimely,
		Settle:    nerioSettle,
		Core:      majority,
		Rows:      nerioRows,
		Watch:     watchNerio,
	}
}

// nerioCheckers returns the checkers of quorum leases, of which one must exist within the bound.
func nerioCheckers(t check.Truth, groups []protocol.Group, bound time.Duration) []check.Checker {
	return check.Nerio(t, nerioSpec(t, groups, bound))
}

// nerioSpec returns what the runs are judged by.
func nerioSpec(t check.Truth, groups []protocol.Group, bound time.Duration) check.NerioSpec {
	voters, leaders := rolesIn(t)
	if w, ok := t.(interface{ Groups() []protocol.Group }); ok && groups != nil { // without groups N-EE is not checked
		groups = w.Groups()
	}
	return check.NerioSpec{
		Quorums: protocol.MajorityOf(t.Members(), voters), Leaders: leaders, Longest: promisedLongest, Groups: groups, Bound: bound, Moves: stackMoves,
		Seed: uint64(t.Clock(0).At(0)), Travel: sim.Delay{Max: 2 * nerioLease, Tail: sim.Percent(5), TailStep: time.Second},
	}
}

// varyNerio lets random runs differ in what a council may be set up as: with and without disks, with δ fixed or measured,
// and under an elector that is quiet, steady, or unstable.
func varyNerio(c *sim.Config) {
	d := sim.NewDice(c.Seed, 0x4e10)
	diskless, adapt, elector := d.N(6) == 0, d.N(3) == 0, d.N(3)
	every := sim.Delay{Min: time.Millisecond, Max: 2 * time.Second >> d.N(9)}
	v := newVariation(c)
	guard(c)
	c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		cfg := NerioConfig(b)
		cfg.Diskless, cfg.Adapt, cfg.Elector = diskless, adapt, elector > 0
		// Where there is a record the flag does not matter.
		cfg.Bootstrap = cfg.Bootstrap || b.Record != nil
		v.set(&cfg, &b)
		m, err := nerio.New(cfg, b.Record, b.Seed)
		if err != nil || elector < 2 {
			return m, err
		}
		return newUnstable(m, b, every), nil
	}
}

// Unstable makes a simulated member whose elector says something else every so often, whatever it likes.
func Unstable(b sim.Boot, every sim.Delay) (protocol.Machine, error) {
	cfg := NerioConfig(b)
	cfg.Elector = true
	m, err := nerio.New(cfg, b.Record, b.Seed)
	if err != nil {
		return nil, err
	}
	return newUnstable(m, b, every), nil
}

// nerioWatch counts the rows of quorum leases.
type nerioWatch struct {
	variedWatch
	trying map[attempt]uint64 // the term last proposed
}

type attempt struct {
	who    protocol.Rank
	group  protocol.Group
	tenure uint64
}

func watchNerio(_ check.Truth, hit func(string)) sim.Observer {
	return &nerioWatch{variedWatch: variedWatch{hit: hit, led: make(map[protocol.Rank]map[protocol.Group]bool)}, trying: make(map[attempt]uint64)}
}

// Observe looks for the rows in the facts.
func (w *nerioWatch) Observe(r *sim.Record) error {
	w.observe(r)
	switch r.Ev {
	case protocol.EvAttempt:
		w.attempt(r)
	case protocol.EvFail:
		delete(w.trying, attempt{r.Node, r.Group, r.Tenure})
		w.when(r.Why == "busy", AttemptBusy)
		w.when(r.Why == "silence", AttemptSilent)
	case protocol.EvLease:
		delete(w.trying, attempt{r.Node, r.Group, r.Tenure})
		w.when(r.Why == "frozen", LeaseFrozen)
	case protocol.EvStepdown:
		w.when(r.Why == "resigned", LeaderResigned)
		w.when(r.Why == "expired", LeaseLapsed)
	case protocol.EvUnassign:
		w.when(r.Why == "released", Released)
		w.when(r.Why == "died", DeathBelieved)
	case sim.EvReport:
		w.hit(DeathReported)
	case sim.EvOutlive:
		w.hit(ProgramOutlive)
	case sim.EvView:
		v := r.Detail.(*protocol.View)
		w.when(v.Value != nil && v.Tenure == 0, ValueLearnt)
	case protocol.EvBreak:
		w.hit(PromiseBroken)
	case protocol.EvVerify:
		w.hit(LeaderVerified)
	case protocol.EvSpeak:
		w.when(r.Why == "recovered", Recovered)
	case protocol.EvWait:
		w.when(r.Why == "stale record", BackupFound)
		w.when(r.Why == "restored snapshot", WentBack)
	case sim.EvClose:
		w.hit(CleanStart)
	case sim.EvFault:
		w.when(r.Why == sim.Rotate.String(), KeyReplaced)
		w.when(r.Why == sim.Revoke.String(), KeyRevoked)
	case sim.EvAnswer:
		w.when(r.Why == "yes" && r.Until == 0 && r.Peer.Rank != r.Node, HandedOver)
	case sim.EvCrash, sim.EvRestart:
		for a := range w.trying {
			if a.who == r.Node {
				delete(w.trying, a)
			}
		}
	}
	return nil
}

func (w *nerioWatch) when(yes bool, row string) {
	if yes {
		w.hit(row)
	}
}

func (w *nerioWatch) attempt(r *sim.Record) {
	me := attempt{r.Node, r.Group, r.Tenure}
	if before, ok := w.trying[me]; ok && r.Term > before {
		w.hit(TermRaised)
	}
	w.trying[me] = r.Term
	for a := range w.trying {
		if a.group == r.Group && a.who != r.Node {
			w.hit(TwoCandidates)
		}
	}
}
