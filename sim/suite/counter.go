package suite

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/fsource"
	"github.com/regentproject/regent/internal/protocol/hybrid"
	"github.com/regentproject/regent/internal/protocol/timefree"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/pipe"
)

// The rows that runs of counting electors are counted for besides those of every protocol.
const (
	MemberBlocked   = "member blocked: too few answered"
	MemberUnblocked = "member answered again"
	OpinionEnded    = "member blocked for so long that it had no opinion"
	CrashProven     = "restart counted as a suspicion"
	LeaderDoubted   = "leader deposed by gossip"
)

var counterRows = append(append([]string{}, Rows...), MemberBlocked, MemberUnblocked, OpinionEnded, CrashProven, LeaderDoubted)

// Constants of the simulated council.
const (
	counterF      = 1
	counterTimely = 40 * time.Millisecond
	counterCap    = 300 * time.Millisecond
	// counterSeldom is beyond every time-out: a peer heard only so seldom is accused each time.
	counterSeldom = 500 * time.Millisecond
	// counterSettle is long enough for the slowest that random runs draw: a dead leader that four queries of a second each
	// must find missing, after the last restart of a member, and word of that at the same pace.
	counterSettle = 12 * time.Second
)

// TimefreeConfig, FsourceConfig and HybridConfig return the configuration of a simulated member.
func TimefreeConfig(b sim.Boot) timefree.Config { return timefree.Default(b.Self, b.Members, b.Inc) }

func FsourceConfig(b sim.Boot) fsource.Config {
	c := fsource.Default(b.Self, b.Members, b.Inc)
	c.Cap = counterCap
	return c
}

func HybridConfig(b sim.Boot) hybrid.Config {
	c := hybrid.Default(b.Self, b.Members, b.Inc)
	c.Alive.Cap = counterCap
	return c
}

// counterProtocols are the electors that count suspicions.
func counterProtocols() []*Protocol {
	tf := counterProtocol("timefree", "the member whose answers were missed least leads; no time-out decides anything", "query")
	tf.Spawn = func(b sim.Boot) (protocol.Machine, error) { return timefree.New(TimefreeConfig(b)) }
	tf.Messages = []string{"timefree.Query", "timefree.Response"}
	tf.Assume = func(seed uint64, members int, core protocol.Set) Relink {
		return drawOrder(sim.NewDice(seed, 0x7f0), members, core, 2)
	}
	fs := counterProtocol("fsource", "the member accused least leads; one with f timely links is enough", "alive")
	fs.Spawn = func(b sim.Boot) (protocol.Machine, error) { return fsource.New(FsourceConfig(b)) }
	fs.Messages = []string{"fsource.Alive"}
	fs.Assume = func(seed uint64, members int, core protocol.Set) Relink {
		s, r, bad := drawSource(sim.NewDice(seed, 0x7f1), core, counterF)
		return FromSource(s, r, bad, counterSeldom)
	}
	hy := counterProtocol("hybrid", "both at once: a leader is found where either finds one", "query", "alive")
	hy.Spawn = func(b sim.Boot) (protocol.Machine, error) { return hybrid.New(HybridConfig(b)) }
	hy.Messages = append(append([]string{}, tf.Messages...), fs.Messages...)
	hy.Assume = func(seed uint64, members int, core protocol.Set) Relink {
		d := sim.NewDice(seed, 0x7f2)
		if d.N(2) == 0 {
			return drawOrder(d, members, core, 3)
		}
		// Answers that lose now and then depose a leader now and then, for as long as it takes. No run is long enough to
		// judge that, so their order is kept; the adversary in the tests breaks it.
		s, r, bad := drawSource(d, core, counterF)
		source, apart := FromSource(s, r, bad, counterSeldom), distances(d, members, counterTimely)
		return func(from, to protocol.Rank, l sim.Link) sim.Link {
			l.Delay = apart(from, to)
			return source(from, to, l)
		}
	}
	return []*Protocol{tf, fs, hy}
}

// drawOrder draws links that keep their order: in one of so many draws so slow that time-outs are no good.
func drawOrder(d *sim.Dice, members int, core protocol.Set, slow int) Relink {
	every := time.Duration(0)
	if d.N(slow) == 0 {
		every = counterSeldom
	}
	return InOrder(d, members, core, counterF, counterTimely, every)
}

// counterProtocol is what they have in common. Tables names their sources of suspicion.
func counterProtocol(name, about string, tables ...string) *Protocol {
	return &Protocol{
		Name:       name,
		About:      about,
		Members:    5,
		MinMembers: 3,
		Rho:        protocol.DefaultRho,
		Port:       pipe.Sealed(pipe.Config{Rho: protocol.DefaultRho, Delta: 120 * time.Millisecond}),
		Checkers: func(t check.Truth) []check.Checker {
			return []check.Checker{check.NewEventual(t, counterSettle), check.NewCounts(t, counterSettle, tables...)}
		},
		Faults: []Weight{
			{sim.Crash, 10}, {sim.Pause, 4}, {sim.Suspend, 4}, {sim.Halt, 2}, {sim.Cut, 8}, {sim.Partition, 6}, {sim.Slow, 6},
			{sim.Lose, 4}, {sim.Duplicate, 3}, {sim.Rate, 3}, {sim.Jump, 1},
		},
		Timely: counterTimely,
		Settle: counterSettle,
		Core:   func(members int) int { return members - counterF },
		Rows:   counterRows,
		Watch:  watchCounter,
	}
}

// counterWatch counts the rows of electors that count.
type counterWatch struct {
	hit    func(string)
	causes []protocol.CauseCode // of each member's last view
}

func watchCounter(t check.Truth, hit func(string)) sim.Observer {
	return &counterWatch{hit: hit, causes: make([]protocol.CauseCode, t.Members())}
}

// Observe looks for the rows in the views.
func (w *counterWatch) Observe(r *sim.Record) error {
	if r.Ev != sim.EvView {
		return nil
	}
	v := r.Detail.(*protocol.View)
	last := w.causes[r.Node]
	w.causes[r.Node] = v.Cause.Code
	switch {
	case v.Cause.Code == protocol.NoQuorum && v.Cause.Bound > 0:
		w.hit(MemberBlocked)
		if v.Leader == protocol.NoIdent && last != protocol.Started {
			w.hit(OpinionEnded)
		}
	case v.Cause.Code == protocol.Returned && last == protocol.NoQuorum:
		w.hit(MemberUnblocked)
	case v.Cause.Code == protocol.Restarted:
		w.hit(CrashProven)
	case v.Cause.Code == protocol.Doubted:
		w.hit(LeaderDoubted)
	}
	return nil
}
