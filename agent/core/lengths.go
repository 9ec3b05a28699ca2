package core

import (
	"cmp"
	"errors"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// probeRealtime returns why threads of this process have no real-time scheduling; nil: they may have it.
func probeRealtime(ordinary bool) error {
	if ordinary {
		return errors.New("realtime is false in the configuration")
	}
	probe := make(chan error)
	go func() { // it is never unlocked, and its thread ends with it
		_, err := thread.Claim(true)
		probe <- err
	}()
	return <-probe
}

// warnOfShortLeases logs that programs get longer leases than those of the council.
func (a *Agent) warnOfShortLeases(file *config.File) {
	if length := file.OrdinaryLease(); a.noRealtime != nil && length != 0 && file.ProgramLease() == 0 {
		a.Log.Warn("programs that ask for no length get longer leases than the council's: without real-time scheduling an ordinary pause would end those (permit it, or set lease)",
			"council", a.Timing.Lease, "survives", a.Timing.Tolerates(), "lease", length, "reason", a.noRealtime)
	}
}

// leaseOf returns the length of the leases of programs that campaign in a group and ask for none; zero: the council's. The file may have
// longer ones than the members have agreed on since it was written: then it is the longest that there may be.
func (a *Agent) leaseOf(group string) time.Duration {
	file := a.Config()
	length := file.LeaseOf(group)
	if length == 0 && a.noRealtime != nil {
		length = file.OrdinaryLease()
	}
	if longest := a.InForce().LongestLease; longest > 0 {
		length = min(length, longest)
	}
	return length
}

// TimingOf returns the constants of programs that campaign in a group and ask for no length.
func (a *Agent) TimingOf(group string) regent.Timing { return a.InForce().ForLease(a.leaseOf(group)) }

// ProgramTiming returns the constants of programs that ask for no length, in groups that no rule names.
func (a *Agent) ProgramTiming() regent.Timing { return a.TimingOf("") }

func (a *Agent) timingInfo() api.TimingInfo {
	t := a.ProgramTiming()
	out := api.TimingInfo{Lease: t.Lease, Renew: t.Renew, CouncilLease: a.Timing.Lease, Tolerates: t.Tolerates(), Guard: t.Guard, RoundTrip: t.RoundTrip, Delay: t.Delay, Drift: t.Drift}
	out.Survives = out.Tolerates
	if shortest := a.shortestLease(); shortest != 0 && shortest < t.Lease {
		of := a.Timing.ForLease(shortest)
		out.ShortestLease, out.Survives = shortest, of.Tolerates()
	}
	if voters, leaders := a.Config().Votes(); voters > 2 && leaders > 1 {
		out.FailOver = t.FailOver(leaders)
	}
	if a.Config().Engine != nil { // a holder's lease, a look at the entry, and a claim
		out.FailOver = t.Lease + t.Renew + t.RoundTrip
	}
	return out
}

// shortestLease returns the shortest lease in a quorum group that a program here has or waits for; zero: there is no program.
func (a *Agent) shortestLease() (shortest time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	// order does not matter: it is a minimum
	for _, c := range a.books {
		if cmp.Or(c.Mode, regent.Quorum) != regent.Quorum {
			continue
		}
		if l := c.LeaseLength(); shortest == 0 || l < shortest {
			shortest = l
		}
	}
	return shortest
}
