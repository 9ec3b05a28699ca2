package regent

import (
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"sync"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/guardian/process"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
)

// checkGuardian refuses a guardian where there is none.
func (c *Config) checkGuardian() error {
	if c.Guardian && goruntime.GOOS != "linux" {
		return fmt.Errorf("config: guardian on %s: it needs Linux (leave Guardian off)", goruntime.GOOS)
	}
	return nil
}

// A guarded member has a guardian. The page of the guardian is the loop's own.
type guarded struct {
	process *process.Guardian
	// standing is the loop's own, as the page is.
	standing *guardian.Standing
	// leases are those of programs that may outlive this process, as those of an agent; nil: all act within the process.
	leases *guardian.Leases
	// changed says that letters have to be made anew.
	changed chan struct{}
	closing sync.Once
}

// keptGroups is how many groups a guardian can keep at a time. An agent that leads more is reported by none.
const keptGroups = 1 << 14

// startGuardian starts the guardian of a member, before anything can be led. A guardian that does not start costs speed only. Elsewhere says that programs
// outside of this process see the leases.
func (m *Member) startGuardian(elsewhere bool) error {
	if !m.config.Guardian || mayLead(m.council().me()) != nil {
		return nil
	}
	if _, ok := m.world.Clock.(*clock.Real); !ok {
		return errors.New("config: guardian of a member in memory: it needs a process (leave Guardian off)")
	}
	slots := 0
	if elsewhere {
		slots = keptGroups
	}
	p, err := process.Start(slots, !m.config.NoRealtime)
	if err != nil {
		m.log.Warn("the guardian does not start: if this member dies, others wait until its leases expire", "err", err)
		return nil
	}
	m.log.Info("the guardian watches this process", "pid", p.Pid())
	m.guardian = &guarded{process: p, standing: guardian.NewStanding(p.Page()), changed: make(chan struct{}, 1)}
	if elsewhere {
		m.guardian.leases = guardian.NewLeases(p.Page())
	}
	return nil
}

// mirror returns one that has the guardian keep each lease before it is shown by another one.
func (g *guarded) mirror(by runtime.Mirror, lease clock.Clock) runtime.Mirror {
	if g == nil || g.leases == nil {
		return by
	}
	return keptLeases{by, g.leases, lease}
}

// A keptLeases keeps the leases that a mirror shows. It is the loop's own.
type keptLeases struct {
	runtime.Mirror
	leases *guardian.Leases
	clock  clock.Clock
}

func (k keptLeases) Extended(h protocol.HorizonID, until protocol.Time) {
	k.leases.Shown(until)
	k.Mirror.Extended(h, until)
}

func (k keptLeases) Behind(g protocol.Group, token uint64, h protocol.HorizonID) {
	k.leases.Begins(k.clock.Now(), g)
	k.Mirror.Behind(g, token, h)
}

func (k keptLeases) Fixed(g protocol.Group, token uint64, until protocol.Time) {
	k.leases.Shown(until)
	k.leases.Begins(k.clock.Now(), g)
	k.Mirror.Fixed(g, token, until)
}

func (k keptLeases) Ended(g protocol.Group, token uint64) {
	k.Mirror.Ended(g, token)
	k.leases.Ended(k.clock.Now(), g)
}

// entrust has the guardian look for the program of a lease once this process is dead. Without a guardian it does nothing.
func (m *Member) entrust(l *runtime.Lease, runner, cgroup *os.File) error {
	g := m.guardian
	if g == nil || g.leases == nil {
		return nil
	}
	found := make(chan uint64, 1)
	if err := m.loop.Do(func(protocol.Time) {
		select {
		case <-l.Over():
			found <- 0 // the group may have another tenure by now
		default:
			found <- g.leases.Tenure(l.Group().Name)
		}
	}); err != nil {
		return err
	}
	select {
	case tenure := <-found:
		if tenure == 0 {
			return nil
		}
		return g.process.Entrust(tenure, runner, cgroup)
	case <-m.loop.Ended():
		return ErrClosed
	}
}

// watches says whether the guardian runs.
func (g *guarded) watches() bool {
	if g == nil {
		return false
	}
	select {
	case <-g.process.Ended():
		return false
	default:
		return true
	}
}

// options has the loop and the port show the guardian what it needs to know before it leaves.
func (g *guarded) options(m *Member, o *runtime.Options, p *runtime.PortOptions) {
	if g == nil {
		return
	}
	o.Proved = func(until protocol.Time) {
		if err := g.process.Prove(m.world.Clock, until); err != nil {
			g.standing.ProofLost()
		}
	}
	p.Numbered, p.Rekeyed = g.process.Page().Number, g.anew
}

// restored says that this machine goes on from a snapshot. It is for the loop's own goroutine.
func (g *guarded) restored() {
	if g != nil {
		g.standing.Restored()
	}
}

// anew asks for new letters. It does not wait.
func (g *guarded) anew() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// attendGuardian hands letters over to the guardian whenever they have changed.
func (m *Member) attendGuardian(ctx context.Context) {
	g := m.guardian
	for {
		select {
		case <-g.changed:
		case <-m.loop.Named():
		case <-g.process.Ended():
			m.log.Warn("the guardian has ended: if this member dies, others wait until its leases expire", "err", g.process.Err())
			return
		case <-ctx.Done():
			return
		}
		letters, restores := make(chan []process.Voter, 1), uint64(0)
		if m.loop.Do(func(protocol.Time) { restores = g.standing.Restores(); letters <- m.letters() }) != nil {
			return
		}
		select {
		case l := <-letters:
			if err := g.process.Tell(l); err != nil {
				m.log.Warn("the guardian takes no letters: if this member dies, others wait until its leases expire", "err", err)
			} else if len(l) > 0 && m.loop.Do(func(protocol.Time) { g.standing.Told(restores) }) != nil {
				return
			}
		case <-m.loop.Ended():
			return
		}
	}
}

// letters returns what the guardian tells the voters. It is for the loop's own goroutine.
func (m *Member) letters() (voters []process.Voter) {
	all := m.council()
	for r := range all.peers {
		if all.peers[r].Observer || all.absent.Has(protocol.Rank(r)) || protocol.Rank(r) == all.self || r >= len(m.port.Addrs) {
			continue
		}
		if l, err := m.port.Wire.Letter(protocol.Rank(r)); err == nil {
			voters = append(voters, process.Voter{Rank: protocol.Rank(r), Addrs: m.port.Addrs[r], Letter: l})
		}
	}
	return voters
}

// close ends the guardian. The loop has ended.
func (g *guarded) close() error {
	if g == nil {
		return nil
	}
	var err error
	g.closing.Do(func() { err = g.process.Close() })
	return err
}
