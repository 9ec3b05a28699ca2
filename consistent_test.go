package regent

import (
	"testing"
)

func TestProfilesSatisfyWhatConsistentGroupsNeed(t *testing.T) {
	for name, p := range map[string]Timing{"fast": Fast, "lan": LAN, "wan": WAN} {
		c := p.consistent()
		if c.Stay <= 2*c.Renew+p.RoundTrip || c.Tin <= c.Ping+p.RoundTrip || c.Tout <= 2*c.Ping {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
