package core

import (
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

// leaseOf returns the length of the leases of programs that campaign in a group and ask for none; zero: the council's.
func (a *Agent) leaseOf(group string) time.Duration {
	file := a.Config()
	length := file.LeaseOf(group)
	if length == 0 && a.noRealtime != nil {
		length = file.OrdinaryLease()
	}
	return length
}

// ProgramTiming returns the constants of programs that ask for no length, in groups that no rule names.
func (a *Agent) ProgramTiming() regent.Timing { return a.Timing.ForLease(a.leaseOf("")) }

func (a *Agent) timingInfo() api.TimingInfo {
	t := a.ProgramTiming()
	out := api.TimingInfo{Lease: t.Lease, Renew: t.Renew, CouncilLease: a.Timing.Lease, Tolerates: t.Tolerates(), Guard: t.Guard, RoundTrip: t.RoundTrip, Delay: t.Delay, Drift: t.Drift}
	if voters, leaders := a.Config().Votes(); voters > 2 && leaders > 1 {
		out.FailOver = t.FailOver(leaders)
	}
	if a.Config().Engine != nil { // a holder's lease, a look at the entry, and a claim
		out.FailOver = t.Lease + t.Renew + t.RoundTrip
	}
	return out
}
