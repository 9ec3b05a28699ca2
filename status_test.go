package regent

import (
	"net/netip"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/runtime"
)

// A member counts as silent after a few seconds, and much sooner if it is not trusted, but not at once: one that has just come is not trusted yet.
func TestSilentMembers(t *testing.T) {
	for _, c := range []struct {
		silence time.Duration
		trusted bool
		want    bool
	}{
		{4 * time.Second, true, false}, {5 * time.Second, true, true}, {900 * time.Millisecond, false, false}, {time.Second, false, true},
	} {
		if got := silent(c.silence, c.trusted); got != c.want {
			t.Errorf("not heard for %v, trusted %v: silent is %v", c.silence, c.trusted, got)
		}
	}
}

// With the wrong port in the configuration a member is heard and does not hear. The status has the port that its packets come from.
func TestWrongPortIsShownWithTheRightOne(t *testing.T) {
	p := runtime.PeerReport{Addr: netip.MustParseAddrPort("10.0.0.2:7400")}
	if got := misaddressed(&p); got != "" {
		t.Errorf("its packets come from its address, and the status says %q", got)
	}
	p.From = netip.MustParseAddrPort("10.0.0.2:7401")
	if got, want := misaddressed(&p), "does not hear us: its packets come from 10.0.0.2:7401, and the configuration has 10.0.0.2:7400; correct it"; got != want {
		t.Errorf("the status says %q, want %q", got, want)
	}
}
