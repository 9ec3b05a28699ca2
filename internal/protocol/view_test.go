package protocol_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestEveryCauseAndDomainHasItsName(t *testing.T) {
	for code, want := range map[protocol.CauseCode]string{
		protocol.Unexplained: "unexplained", protocol.Started: "started", protocol.Elected: "elected",
		protocol.Suspected: "suspected", protocol.Returned: "returned", protocol.LeaseExpired: "lease expired",
		protocol.Resigned: "resigned", protocol.Transferred: "transferred", protocol.SlowLink: "slow link",
		protocol.Merged: "merged", protocol.NoQuorum: "no quorum", protocol.Restarted: "restarted",
		protocol.ClockFault: "clock fault", protocol.Unhealthy: "unhealthy", protocol.Closed: "closed",
		protocol.Doubted: "doubted", protocol.NoAccess: "nobody accessible",
		protocol.AllAgree: "all agree", protocol.Excluded: "excluded", protocol.Stalled: "stalled", protocol.TooMany: "too many groups",
		protocol.Announced: "announced",
	} {
		if got := code.String(); got != want {
			t.Errorf("cause %d is called %q, want %q", code, got, want)
		}
	}
	for d, want := range map[protocol.Domain]string{
		protocol.Elector: "elector", protocol.Quorum: "quorum", protocol.Local: "local", protocol.Consistent: "consistent",
	} {
		if got := d.String(); got != want {
			t.Errorf("domain %d is called %q, want %q", d, got, want)
		}
	}
	if got := protocol.CauseCode(200).String(); got != "#200" {
		t.Errorf("a cause of a newer peer is called %q", got)
	}
}

func TestCauseReadsAsASentence(t *testing.T) {
	for _, c := range []struct {
		cause protocol.Cause
		want  string
	}{
		{protocol.Cause{Code: protocol.Suspected, Peer: 1, Bound: 150 * time.Millisecond}, "suspected b (silent for 150ms)"},
		{protocol.Cause{Code: protocol.SlowLink, Peer: 2, Bound: time.Second}, "slow link c (bound 1s)"},
		{protocol.Cause{Code: protocol.NoQuorum, Peer: protocol.Nobody}, "no quorum"},
		{protocol.Cause{Code: protocol.Transferred, Peer: 30}, "transferred m30"},
	} {
		if got := c.cause.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestMembersAreNamedByTheirRank(t *testing.T) {
	for r, want := range map[protocol.Rank]string{0: "a", 25: "z", 26: "m26", 999: "m999", protocol.Nobody: "nobody"} {
		if got := r.String(); got != want {
			t.Errorf("rank %d is called %q, want %q", uint16(r), got, want)
		}
	}
	if got := (protocol.Ident{Rank: 0, Inc: 3}).String(); got != "a/3" {
		t.Errorf("the third a is called %q", got)
	}
	if got := protocol.NoIdent.String(); got != "nobody" {
		t.Errorf("NoIdent is called %q", got)
	}
}
