package regent

import (
	"context"
	"errors"
	"fmt"
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
	// changed says that letters have to be made anew.
	changed chan struct{}
	closing sync.Once
}

// startGuardian starts the guardian of a member, before anything can be led. A guardian that does not start costs speed only.
func (m *Member) startGuardian() error {
	if !m.config.Guardian || mayLead(m.council().me()) != nil {
		return nil
	}
	if _, ok := m.world.Clock.(*clock.Real); !ok {
		return errors.New("config: guardian of a member in memory: it needs a process (leave Guardian off)")
	}
	p, err := process.Start(0, !m.config.NoRealtime)
	if err != nil {
		m.log.Warn("the guardian does not start: if this member dies, others wait until its leases expire", "err", err)
		return nil
	}
	m.log.Info("the guardian watches this process", "pid", p.Pid())
	m.guardian = &guarded{process: p, standing: guardian.NewStanding(p.Page()), changed: make(chan struct{}, 1)}
	return nil
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
