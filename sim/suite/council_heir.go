package suite

import (
	"encoding/binary"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/members"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// The rows of a council that its survivors may give up.
const (
	councilGivenUp   = "council given up"
	heirLed          = "council of survivors led"
	heirFinished     = "council of survivors agreed on by another than the one that was asked"
	heirTakenBack    = "agreement of a survivor taken back"
	survivorStopped  = "survivor restarted after it had agreed"
	lostTold         = "lost member told that its council was given up"
	givenUpAgain     = "council of survivors given up"
	surrenderRefused = "giving up refused"
	survivorForgot   = "survivor without a record joined the council of survivors"
	survivorWentBack = "survivor restored from before its council was given up"
)

var heirRows = []string{LeaderCrashed, LeaderChanged, MessageLate, MessageLost, MessageTwice, ClockFast, ClockSlow, councilGivenUp, heirLed, heirTakenBack, survivorStopped,
	lostTold, givenUpAgain, surrenderRefused, survivorWentBack}

// councilHeirProtocol is a council that changes, loses majorities, and is given up by survivors. Lost hosts come back.
func councilHeirProtocol() *Protocol {
	groups := []protocol.Group{"blue"}
	setup := heirSetup{councilSetup{first: 3, mourn: mourn}}
	return &Protocol{
		Name:       "council heirs",
		About:      "survivors of a lost majority go on as another council, and the others cannot join in",
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn:      setup.spawn,
		Messages: []string{"council.Abandon", "council.Abandoned", "council.Objected", "council.Inherit", "council.Inherited", "council.Fetch", "council.Chosen",
			"lease.Request", "lease.OK"},
		Groups: groups,
		Configure: func(c *sim.Config) {
			c.Program.Reader = newStampReader
			c.Bound.Old = true
			c.Change = setup.change
			c.Remember = remembersRealm
		},
		Vary: func(c *sim.Config) {
			s := heirSetup{councilSetup{first: 2, mourn: mourn}}
			if c.Members > 2 {
				s.first += sim.NewDice(c.Seed, 0xc0c2).N(c.Members - 1)
			}
			c.Spawn, c.Change = s.spawn, s.change
		},
		Checkers: func(t check.Truth) []check.Checker {
			return check.Heirs(t, check.CouncilSpec{Groups: groups, Settle: councilSettle - 2*time.Second})
		},
		Faults: []Weight{
			{sim.Change, 40}, {sim.Crash, 24}, {sim.Pause, 3}, {sim.Suspend, 4}, {sim.Cut, 4}, {sim.Partition, 10}, {sim.Slow, 4}, {sim.Lose, 4},
			{sim.Duplicate, 4}, {sim.Rate, 3}, {sim.SlowDisk, 6}, {sim.Resign, 2}, {sim.Leave, 2},
		},
		Disks:     []sim.Disk{sim.Kept, sim.Kept, sim.Kept, sim.Kept, sim.Lost, sim.Reboot},
		Backups:   true,
		Snapshots: true,
		Disasters: true,
		Timely:    nerioTimely,
		Settle:    councilSettle,
		Core:      func(n int) int { return n },
		Rows:      heirRows,
		Least:     map[string]int{heirTakenBack: 5, givenUpAgain: 5, survivorWentBack: 5},
		Watch:     func(_ check.Truth, hit func(string)) sim.Observer { return &heirWatch{hit: hit} },
	}
}

// mourn is for how long members must be silent before others give them up. It is as short as it may be.
const mourn = 4 * nerioLongest

// A heirSetup is a council that is also given up.
type heirSetup struct{ councilSetup }

func (s heirSetup) spawn(b sim.Boot) (protocol.Machine, error) {
	m, err := s.member(b, nil)
	if err != nil {
		return nil, err
	}
	return &realm{m, m, b.Self}, nil
}

// change is a change of the council, or giving it up. Every second request is of the latter kind. An operator sees who is silent, but for one in four, who
// believes that only the hosts in Side are left.
func (s heirSetup) change(f *sim.Fault) protocol.Event {
	if f.Amount%2 == 1 {
		return s.councilSetup.change(f)
	}
	r := council.Recovery{At: uint64(f.At), By: councilName(f.A), Try: f.Amount%8 == 6}
	binary.BigEndian.PutUint64(r.ID[:], uint64(f.At)|1<<63)
	r.ID[15] = byte(f.A)
	if f.Amount%8 == 0 && !f.Side.Empty() {
		for host := range protocol.Rank(32) {
			if !f.Side.Has(host) {
				r.Lost = append(r.Lost, councilName(host))
			}
		}
	}
	return protocol.Reconfigure{Record: (&council.Change{Recovery: &r}).Append(nil)}
}

// A realm is a member whose packets name its council, as they do on a network: those of another one do not open. Questions for the configuration, and
// answers to them, are outside of that.
type realm struct {
	realmMachine
	members *members.Machine // it, or below it
	self    protocol.Rank
}

type realmMachine interface {
	protocol.Machine
	protocol.Incarnate
	protocol.Closable
}

// named is a message with the council of its sender.
type named struct {
	protocol.Message
	council protocol.CouncilID
	opened  bool // by its receiver
}

// remembersRealm is remembersNerio for members whose packets name their council: who cannot open one does not remember it.
var remembersRealm = sim.Remember{
	By: func(m protocol.Message) bool {
		n, ok := m.(*named)
		return ok && n.opened && remembersNerio.By(n.Message)
	},
	Within: remembersNerio.Within,
	Asks:   councilAsks,
}

// Copy returns an independent copy.
func (n *named) Copy() protocol.Message { return &named{n.Message.Copy(), n.council, n.opened} }

// Clone copies a member that is nothing besides.
func (m *realm) Clone() protocol.Machine {
	c := m.members.Clone().(*members.Machine)
	return &realm{c, c, m.self}
}

func (m *realm) council() protocol.CouncilID {
	if c := m.members.Conf(); c != nil {
		return c.Council
	}
	return protocol.CouncilID{}
}

// Step implements protocol.Machine.
func (m *realm) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch e := ev.(type) {
	case *protocol.Receive:
		if n, ok := e.Message.(*named); ok {
			ev = m.open(e, n)
		}
	case protocol.Reconfigure:
		ev = m.ask(now, e)
	}
	m.realmMachine.Step(now, ev, out)
	for i := range out.Send {
		out.Send[i].Message = &named{Message: out.Send[i].Message, council: m.council()}
	}
}

func (m *realm) open(e *protocol.Receive, n *named) protocol.Event {
	switch n.Message.(type) {
	case *council.Fetch, *council.Chosen:
	default:
		if n.council != m.council() {
			return protocol.Tick{}
		}
	}
	n.opened = true
	r := *e
	r.Message = n.Message
	return &r
}

// ask names the members that are silent, if the operator names none.
func (m *realm) ask(now protocol.Time, e protocol.Reconfigure) protocol.Event {
	c, err := council.DecodeChange(e.Record)
	conf := m.members.Conf()
	if err != nil || c.Recovery == nil || len(c.Recovery.Lost) > 0 || conf == nil {
		return e
	}
	for i := range conf.Members {
		x := &conf.Members[i]
		if x.Seat != m.members.Seat() && m.members.Council().Silent(now, x.Seat) >= mourn {
			c.Recovery.Lost = append(c.Recovery.Lost, x.Name)
		}
	}
	return protocol.Reconfigure{Record: c.Append(nil)}
}

// heirWatch counts the rows.
type heirWatch struct {
	hit     func(string)
	at      map[protocol.Rank]*council.Config
	stopped protocol.Set
	// back are members that were restored from snapshots or older records.
	back protocol.Set
}

// Observe looks at what survivors agree on.
func (w *heirWatch) Observe(r *sim.Record) error {
	if w.at == nil {
		w.at = make(map[protocol.Rank]*council.Config)
	}
	conf, _ := r.Detail.(*council.Config)
	switch {
	case r.Ev == protocol.EvVote && r.Why == "heir":
		w.stopped.Add(r.Node)
	case r.Ev == protocol.EvVote && r.Why == "taken back":
		w.hit(heirTakenBack)
		w.stopped.Remove(r.Node)
	case r.Ev == sim.EvRestart && r.Why == sim.Snapshot.String():
		w.back.Add(r.Node)
		w.stopped.Remove(r.Node)
	case r.Ev == sim.EvRestart && w.stopped.Has(r.Node):
		w.hit(survivorStopped)
	case r.Ev == protocol.EvAsked && r.Why != "asked" && len(r.Why) > 9 && r.Why[:9] == "council: ":
		w.hit(surrenderRefused)
	case conf == nil || conf.Parent() == nil:
	case r.Ev == protocol.EvOut:
		w.hit(lostTold)
	case r.Ev == protocol.EvChosen && conf.Number == conf.Parent().Number+1:
		w.hit(councilGivenUp)
		if len(conf.Parents) > 1 {
			w.hit(givenUpAgain)
		}
		if conf.Parent().By != councilName(r.Node) {
			w.hit(heirFinished)
		}
	case r.Ev == protocol.EvAdopt:
		if r.Why == "recovered" {
			w.hit(survivorForgot)
			if w.back.Has(r.Node) {
				w.hit(survivorWentBack)
			}
		}
		w.back.Remove(r.Node)
		w.at[r.Node] = conf
		w.stopped.Remove(r.Node)
	}
	if r.Ev == protocol.EvLease && w.at[r.Node] != nil {
		w.hit(heirLed)
	}
	return nil
}
