package runtime

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
)

func TestPeerThatDoesNotListThisMemberIsNamed(t *testing.T) {
	mine := wire.NewSummary("d").Set("members", "a b c d")
	from := netip.MustParseAddrPort("10.0.0.1:7400")
	for _, c := range []struct{ members, want string }{
		{"a b c", "does not list this member, d, in its council: add it to the file of a"},
		{"a b c d:witness", "has another configuration: members: a b c d here, a b c d:witness there"},
		{strings.Repeat("x", 40) + " y…", "has another configuration"}, // cut: it may be listed
	} {
		n := newDiagnostics([]string{"a", "b", "c", "d"}, slog.New(slog.DiscardHandler))
		n.mismatch(mine, &wire.Packet{Summary: wire.NewSummary("a").Set("members", c.members)}, from)
		if got := n.problem(0, 0); !strings.Contains(got, c.want) {
			t.Errorf("a lists %q: %q, want %q", c.members, got, c.want)
		}
	}
	n := newDiagnostics([]string{"a", "b", "c"}, slog.New(slog.DiscardHandler))
	for range 100 {
		n.mismatch(wire.NewSummary("a").Set("members", "a b c"), &wire.Packet{Summary: mine}, from)
	}
	if len(n.unlisted) != 1 || n.unlisted[0] != (Unlisted{"d", from}) {
		t.Errorf("unlisted %v", n.unlisted)
	}
	for i := range 100 {
		n.unlistedHost(strings.Repeat("x", i+1), from)
	}
	if len(n.unlisted) != maxUnlisted {
		t.Errorf("%d hosts are remembered", len(n.unlisted))
	}
}

func TestConfirmationsAreOfThePresentIncarnation(t *testing.T) {
	n := newDiagnostics([]string{"a", "b"}, slog.New(slog.DiscardHandler))
	say := func(now protocol.Time, inc protocol.Inc, echo protocol.Time) protocol.Time {
		n.confirm(now, &datagram.Header{From: protocol.Ident{Rank: 1, Inc: inc}, Echo: datagram.Echo{Sent: echo, Received: 1}})
		return n.confirmed[1].last()
	}
	for i, c := range []struct {
		now  protocol.Time
		inc  protocol.Inc
		echo protocol.Time
		want protocol.Time
	}{{100, 1, 0, 100}, {110, 1, 105, 105}, {120, 1, 103, 105}, {130, 1, 0, 105}, {140, 2, 0, 140}, {150, 2, 999, 140}} {
		if got := say(c.now, c.inc, c.echo); got != c.want {
			t.Errorf("packet %d: confirmed until %v, want %v", i, got, c.want)
		}
	}
}
