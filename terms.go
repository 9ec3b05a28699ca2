package regent

import (
	"fmt"
	"strings"

	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/roster"
)

// This file has the constants that members agree on: the first configuration takes them from the list's own file, and a change of the
// council changes them.

// terms are those of the settings that all members share.
func (t *Timing) terms() agreed.Terms { return agreed.Terms{Longest: t.LongestLease, Rho: t.rho()} }

// rosterTiming returns what programs are told of terms.
func rosterTiming(t *agreed.Terms) roster.Timing {
	return roster.Timing{LongestLease: t.Longest, Drift: t.Rho.Fraction()}
}

// timing returns constants with what the members have agreed on in the place of one's own. A council that cannot change goes by the latter.
func (c *council) timing(own *Timing) *Timing {
	if c == nil || c.conf == nil {
		return own
	}
	t, terms := *own, &c.conf.Terms
	t.LongestLease, t.Drift = terms.Longest, terms.Rho.Fraction()
	t.Lease = min(t.Lease, t.LongestLease)
	return &t
}

// timing returns the constants in force.
func (m *Member) timing() *Timing { return m.council().timing(&m.config.Timing) }

// Timing returns the constants in force: those of the configuration, but for what the members have agreed on since the council began
// ([Member.Change]).
func (m *Member) Timing() Timing { return *m.timing() }

// terms returns those of a council after a change, or why that cannot be.
func (m *Member) terms(conf *agreed.Config, change *roster.Timing) (agreed.Terms, error) {
	if change == nil {
		return conf.Terms, nil
	}
	if change.LongestLease < 0 || change.Drift < 0 {
		return agreed.Terms{}, fmt.Errorf("timing %v: must not be negative", *change)
	}
	next := rosterTiming(&conf.Terms).Over(change)
	t := m.config.Timing
	t.LongestLease, t.Drift = next.LongestLease, next.Drift
	if err := t.check(); err != nil {
		return agreed.Terms{}, fmt.Errorf("timing: %s", strings.TrimPrefix(err.Error(), "config: "))
	}
	leases := nerio.Config{Quorums: protocol.Majority(1), RoundTrip: t.RoundTrip, Lease: t.Lease, Longest: t.LongestLease, PerGroup: t.PerGroup, Renew: t.Renew, Rho: t.rho()}
	if err := leases.Check(); err != nil {
		return agreed.Terms{}, fmt.Errorf("timing: %s", strings.TrimPrefix(err.Error(), "lease: "))
	}
	return t.terms(), m.longer(&t)
}

// named is how many groups an error names.
const named = 5

// longer refuses a longest lease that is shorter than leases under which groups are led.
func (m *Member) longer(t *Timing) error {
	all := m.council()
	var groups []string
	led := m.authority.Longer(t.LongestLease)
	for i := range led[:min(named, len(led))] {
		x := &led[i]
		groups = append(groups, fmt.Sprintf("%s has %s with leases of %v", all.name(x.Holder.Rank), x.Group, x.Length))
	}
	if more := len(led) - len(groups); more > 0 {
		groups = append(groups, fmt.Sprintf("%d more groups are led so", more))
	}
	if len(groups) == 0 {
		return nil
	}
	return fmt.Errorf("longest_lease %v: shorter than leases that are in force: %s (give these programs shorter leases first: lease and leases in the files of their agents, or --lease)",
		t.LongestLease, runtime.Enumerate(groups))
}

// warnOfShorter logs that this member's own leases are longer than what the members have agreed on.
func (m *Member) warnOfShorter(all *council) {
	if own, t := m.config.Timing.Lease, all.timing(&m.config.Timing); t.Lease < own {
		m.log.Warn("the longest lease that the members have agreed on is shorter than this member's leases: these are as long as that", "lease", own, "longest", t.LongestLease)
	}
}
