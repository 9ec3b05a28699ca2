package plan

import (
	"fmt"
	"time"
)

// sleepy is how many times later than a busy host an idle one wakes up before it is worth a word.
const sleepy = 2

const (
	// enough is how long a host must have been watched for a plan without a word of caution.
	enough = 30 * time.Second
	// long is a lease that deserves one.
	long = time.Minute
)

// advice says what would help.
func (m *Measured) advice(p *Plan) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if p.Assumed {
		say("the round trip of %s is an assumption: measure it (run this beside an agent, or name --peers that run 'regent plan probe'), or set --round-trip", Length(p.Timing.RoundTrip))
	}
	if _, watched := m.longest(MemberThread, p.Awake); watched > 0 && watched < enough {
		say("the host was watched for %s only, which shows little: measure for a minute at least, and longer for a rate that you can rely on", Length(watched))
	}
	if p.Timing.Lease > long {
		say("leases of %s are long: after the death of a host its groups have no leader for so long, and a member that was killed waits for as long before it votes", Length(p.Timing.Lease))
	}
	for _, t := range m.Trips {
		if t.Count == 0 {
			say("%s did not answer %d probes: is 'regent plan probe' running there, and does UDP pass?", t.Peer, t.Lost)
		}
	}
	asIs, busy, awake := m.find(MemberThread, AsIs), m.find(MemberThread, Busy), m.find(MemberThread, Awake)
	if asIs != nil && !asIs.Realtime {
		say("the member's thread has no real-time scheduling: give the agent CAP_SYS_NICE, and pauses of a busy host become shorter; without it an agent gives programs no leases that survive less than %s", Length(OrdinaryPause))
	}
	late := asIs != nil && busy != nil && asIs.Longest > sleepy*busy.Longest
	switch {
	case late && awake != nil && sleepy*awake.Longest < asIs.Longest:
		say("this host wakes up later when it is idle (up to %s) than when it is busy (%s); with /dev/cpu_dma_latency held it was %s. An agent whose leases survive less than %s holds it",
			Length(asIs.Longest), Length(busy.Longest), Length(awake.Longest), Length(wakeful))
	case late && awake != nil:
		say("this host wakes up later when it is idle (up to %s) than when it is busy (%s), and holding /dev/cpu_dma_latency does not change that (%s): the host of the virtual machine is late",
			Length(asIs.Longest), Length(busy.Longest), Length(awake.Longest))
	case late:
		say("this host wakes up later when it is idle (up to %s) than when it is busy (%s): let the agent open /dev/cpu_dma_latency", Length(asIs.Longest), Length(busy.Longest))
	}
	if late {
		out = append(out, m.Hints...)
	}
	for _, s := range m.Steal {
		if s.Share > 0.01 {
			say("%s: the virtual machine's host gave %.1f %% of the processors to others (steal); pauses come from there", s.Load, 100*s.Share)
		}
	}
	for _, s := range m.Syncs {
		if s.Longest > p.Timing.Lease {
			say("%s: a sync of %s took up to %s, longer than a lease: fail-overs do not wait for the disk, but a member that starts does", s.Load, s.Dir, Length(s.Longest))
		}
	}
	return out
}

// find returns the pauses of a thread under a load; nil if they were not measured.
func (m *Measured) find(thread Thread, load Load) *Pauses {
	for i := range m.Pauses {
		if p := &m.Pauses[i]; p.Thread == thread && p.Load == load && p.For > 0 {
			return p
		}
	}
	return nil
}
