package regent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/roster"
)

// Forecast says what a change of the council would do, and changes nothing. Sites, which may be nil, names the site of members: then it also says for how long
// the loss of a whole site would stop the council. Writes of the record count as they were measured at this member.
func (m *Member) Forecast(c roster.Change, sites map[string]string) (roster.Forecast, error) {
	type answer struct {
		f   roster.Forecast
		err error
	}
	if err := m.mayChange(); err != nil {
		return roster.Forecast{}, err
	}
	done := make(chan answer, 1)
	if err := m.loop.Do(func(now protocol.Time) {
		f, err := m.forecast(now, &c, sites)
		done <- answer{f, err}
	}); err != nil {
		return roster.Forecast{}, err
	}
	select {
	case a := <-done:
		return a.f, a.err
	case <-m.loop.Ended():
		return roster.Forecast{}, ErrClosed
	}
}

// forecast is Forecast on the loop.
func (m *Member) forecast(now protocol.Time, c *roster.Change, sites map[string]string) (out roster.Forecast, err error) {
	machine := m.authority.Council()
	ask, err := m.asks(c)
	if err == nil {
		err = m.refusal(machine.Judge(ask))
	}
	if err != nil || ask.Goal == nil || machine.Conf().Goal != nil {
		return out, err
	}
	conf := machine.Conf()
	f := conf.Forecast(ask.Goal, m.silent(now), m.pace(sites))
	out = roster.Forecast{Steps: len(f.Steps), Takes: f.Takes, Needs: f.Needs, Short: f.Short}
	for _, line := range f.Lines() {
		if warning, yes := strings.CutPrefix(line, "warning: "); yes {
			out.Warnings = append(out.Warnings, warning)
		} else {
			out.Lines = append(out.Lines, line)
		}
	}
	if f.Invites() {
		out.Lines = append(out.Lines, fmt.Sprintf("a new member waits for %v, the longest promise, before it votes, and the change waits for %v at most while a new member is silent",
			conf.Terms.Longest, ask.Goal.Within))
	}
	return out, nil
}

// silent are members that are not heard now.
func (m *Member) silent(now protocol.Time) (s protocol.Set) {
	all := m.council()
	for r := range all.peers {
		if rank := protocol.Rank(r); rank != all.self && !all.absent.Has(rank) && r < len(m.port.Names) {
			if seen := m.port.Peer(now, rank).Seen; seen == 0 || now.Sub(seen) >= runtime.Quiet {
				s.Add(rank)
			}
		}
	}
	return s
}

// pace is how fast the members are, as configured and as measured here.
func (m *Member) pace(sites map[string]string) agreed.Pace {
	t := m.timing()
	p := agreed.Pace{RoundTrip: t.RoundTrip, Renew: t.Renew, Disk: m.loop.SlowestWrite().Round(10 * time.Microsecond), Leases: []time.Duration{t.Lease}, Sites: sites}
	m.groupTable.Groups(func(g *runtime.Group) {
		if c := g.Latest(); c != nil && c.Length > 0 {
			p.Leases = append(p.Leases, c.Length)
		}
	})
	slices.Sort(p.Leases)
	p.Leases = slices.Compact(p.Leases)
	p.Standing = p.Leases[len(p.Leases)-1]
	return p
}
