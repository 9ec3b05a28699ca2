package config

import (
	"fmt"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/plan"
)

// The names of the profiles.
const (
	fast = "fast"
	lan  = "lan"
	wan  = "wan"
)

// A Profile is constants to start from. What its leases tolerate and what they give follows from them.
type Profile struct {
	Name, Where string
	Timing      regent.Timing
}

// Profiles are all, with the shortest leases first.
var Profiles = []Profile{
	{fast, "one rack, real-time threads, a processor to spare", regent.Fast},
	{lan, "a data centre", regent.LAN},
	{wan, "several continents", regent.WAN},
}

// profile returns the profile of a name, or nil.
func profile(name string) *Profile {
	for i := range Profiles {
		if Profiles[i].Name == name {
			return &Profiles[i]
		}
	}
	return nil
}

// Programs returns the constants of programs under an agent that has the profile and nothing else.
func (p *Profile) Programs() regent.Timing {
	f := File{Profile: p.Name}
	return p.Timing.ForLease(f.ProgramLease())
}

// String says what the profile tolerates and what it gives.
func (p *Profile) String() string {
	t := p.Programs()
	return fmt.Sprintf("%s: round trips of %v and pauses of %v cost nothing; a dead host is replaced after about %v", p.Where, t.RoundTrip, Rounded(t.Tolerates()), t.Lease)
}

// Rounded returns a length of time in three digits, rounded down: what is tolerated must not be exaggerated.
func Rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for unit*1000 <= d {
		unit *= 10
	}
	return d.Truncate(unit)
}

// OrdinaryLease returns the length of leases of programs under an agent without a real-time thread, where the council's own length would not
// survive its ordinary pauses and the file names no other; zero: the council's length will do, or no other is possible. Profile fast changed
// leaders dozens of times in a minute under such agents.
func (f *File) OrdinaryLease() time.Duration {
	t, err := f.timing()
	if err != nil || t.Tolerates() >= plan.OrdinaryPause || t.LongestLease < regent.LAN.Lease || t.CheckLease(regent.LAN.Lease) != nil {
		return 0
	}
	return regent.LAN.Lease
}

// Votes returns how many members vote, and how many of them may lead.
func (f *File) Votes() (voters, leaders int) {
	for i := range f.Council {
		switch f.Council[i].Role() {
		case "":
			voters++
			leaders++
		case "witness":
			voters++
		}
	}
	return voters, leaders
}
