package suite

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/members"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// The rows of a council that changes and has a consistent group.
const (
	viewAcross  = "consistent group agreed in a later configuration than before"
	lostLeft    = "consistent group agreed that a member had left the council"
	joinedSince = "consistent group admitted a newcomer of the council"
)

const councilRainSettle = councilSettle + 5*time.Second

// councilRainProtocol is a consistent group of a council whose members come and go.
func councilRainProtocol() *Protocol {
	p := councilProtocol()
	p.Name = "council rain"
	p.About = "a consistent group keeps its views and loses no work, while members come and go"
	p.Groups = append(p.Groups, RainGroup)
	p.Messages = append(append(p.Messages, rainMessages...), "rain.Ask", "rain.Told")
	spawn := councilRainSetup{councilSetup: councilSetup{first: 3}}
	p.Spawn = spawn.spawn
	configure := p.Configure
	p.Configure = func(c *sim.Config) {
		configure(c)
		c.Messages = true
	}
	p.Vary = func(c *sim.Config) {
		d := sim.NewDice(c.Seed, 0xc0c2)
		s := councilRainSetup{councilSetup{first: 1 + d.N(c.Members)}, true}
		c.Spawn, c.Change = s.spawn, s.change
	}
	groups := []protocol.Group{"blue"}
	p.Checkers = func(t check.Truth) []check.Checker {
		return check.CouncilRain(t, check.CouncilSpec{Groups: groups, Settle: councilRainSettle - 2*time.Second, Seed: uint64(t.Clock(0).At(0)), Moves: stackMoves, Longest: promisedLongest,
			Travel: sim.Delay{Max: 2 * nerioLease, Tail: sim.Percent(5), TailStep: time.Second}}, RainGroup)
	}
	p.Settle = councilRainSettle
	p.Snapshots = false // machines of consistent groups cannot be copied
	p.Rows = append(slices.DeleteFunc(slices.Clone(p.Rows), func(row string) bool { return row == severalLengths || row == WentBack || row == GroupMoved }), viewAcross, lostLeft, joinedSince)
	p.Least = map[string]int{stepSkipped: 3, stepRestarted: 2, askedBack: 3, memberOut: 2, memberJoined: 2, LeaderChanged: 2, viewAcross: 2, lostLeft: 3, joinedSince: 2}
	p.Watch = func(_ check.Truth, hit func(string)) sim.Observer {
		return &councilRainWatch{councilWatch: councilWatch{hit: hit}}
	}
	return p
}

// A councilRainSetup is in what the councils of two runs differ.
type councilRainSetup struct {
	councilSetup
	wild bool // programs report late and twice; in random runs
}

func (s councilRainSetup) spawn(b sim.Boot) (protocol.Machine, error) {
	m, _, err := s.both(b)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// both makes a member, and returns what is below its consistent group, too.
func (s councilRainSetup) both(b sim.Boot) (*rainMember, *members.Machine, error) {
	var r *rain.Machine
	below, err := s.member(b, func(number uint64) bool { return r.Carried(number) })
	if err != nil {
		return nil, nil, err
	}
	c := RainConfig(b, rain.Omega, true)
	c.Council = below
	c.Owns = func(g protocol.Group) bool { return g == RainGroup }
	rec := b.Record
	if wiped(rec) {
		rec = nil
	}
	r, err = rain.New(c, below, rec)
	if err != nil {
		return nil, nil, err
	}
	m := &rainMember{Machine: r, dice: sim.NewDice(b.Seed, 0x7a1)}
	if s.wild {
		m.program.wild = sim.NewDice(b.Seed, 0x7a2)
	}
	return m, below, nil
}

var _ rain.Council = (*members.Machine)(nil)

// councilRainWatch counts the rows.
type councilRainWatch struct {
	councilWatch
	conf *council.Config
	last rain.View
}

// Observe looks at views and configurations.
func (w *councilRainWatch) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvChosen:
		if c, ok := r.Detail.(*council.Config); ok {
			w.conf = c
		}
	case protocol.EvInstall:
		v, ok := r.Detail.(rain.View)
		if !ok || r.Why != "decided" {
			break
		}
		if w.last.Number == v.Parent && v.Epoch > w.last.Epoch && v.Number.Vid > 1 {
			w.hit(viewAcross)
		}
		if w.conf != nil {
			for s := range v.Failed.All() {
				if m := w.conf.At(s); m == nil || m.Since > w.last.Epoch {
					w.hit(lostLeft)
				}
			}
			for s := range v.Joined.All() {
				if m := w.conf.At(s); m != nil && m.Since > 0 {
					w.hit(joinedSince)
				}
			}
		}
		w.last = v
	}
	return w.councilWatch.Observe(r)
}
