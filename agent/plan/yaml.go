package plan

import (
	"fmt"
	"strings"

	"github.com/regentproject/regent"
)

// YAML returns the constants as the configuration has them, the same at all members. Programs that ask for no length of lease get that of timing.
func YAML(t regent.Timing) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Put this in place of profile, timing, lease and leases, at all members, and check it with: regent config check")
	line("profile: lan")
	line("timing:")
	for _, c := range constants(t) {
		line("  %s: %v", c.Name, c.Length)
	}
	return b.String()
}

// constants lists the lengths of a timing by their keys.
func constants(t regent.Timing) []Term {
	return []Term{{"round_trip", t.RoundTrip}, {"renew", t.Renew}, {"lease", t.Lease}, {"longest_lease", t.LongestLease}, {"guard", t.Guard},
		{"heartbeat", t.Heartbeat}, {"suspect", t.Suspect}, {"delay", t.Delay}, {"evict", t.Evict}}
}
