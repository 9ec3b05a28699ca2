package runtime

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
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
		n.mismatch(1, mine, &wire.Packet{Summary: wire.NewSummary("a").Set("members", c.members)}, from)
		if got := n.problem(0, 0); !strings.Contains(got, c.want) {
			t.Errorf("a lists %q: %q, want %q", c.members, got, c.want)
		}
	}
	n := newDiagnostics([]string{"a", "b", "c"}, slog.New(slog.DiscardHandler))
	for range 100 {
		n.mismatch(1, wire.NewSummary("a").Set("members", "a b c"), &wire.Packet{Summary: mine}, from)
	}
	if len(n.unlisted) != 1 || n.unlisted[0] != (Unlisted{"d", from, 1}) {
		t.Errorf("unlisted %v", n.unlisted)
	}
	for i := range 100 {
		n.unlistedHost(1, strings.Repeat("x", i+1), from)
	}
	if len(n.unlisted) != maxUnlistedEach {
		t.Errorf("%d hosts with one address are remembered", len(n.unlisted))
	}
	for i := range 100 {
		n.unlistedHost(1, strings.Repeat("y", i+1), netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}), 7400))
	}
	if len(n.unlisted) != maxUnlisted {
		t.Errorf("%d hosts are remembered", len(n.unlisted))
	}
	n.unlistedHost(protocol.Time(unlistedFor)+1, "z", from) // the others have been silent for long
	if len(n.unlisted) != 1 || n.unlisted[0].Name != "z" {
		t.Errorf("after a while %v are shown", n.unlisted)
	}
}

// A host with the cluster key sends introductions under any name. They say nothing of a member that is heard, and take no room from
// what is said of members.
func TestIntroductionsDoNoHarm(t *testing.T) {
	n := newDiagnostics([]string{"a", "b"}, slog.New(slog.DiscardHandler))
	mine, now := wire.NewSummary("a").Set("x", "1"), protocol.Time(1e9)
	n.heard(now, protocol.Ident{Rank: 1, Inc: 1})
	for i := range 10 * maxLogged {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 7400)
		n.mismatch(now, mine, &wire.Packet{Summary: wire.NewSummary("b").Set("x", "2")}, from)
		p := &wire.Packet{Summary: wire.NewSummary("b").Set("x", "3")}
		p.Council.Digest[0], p.Council.Digest[1] = byte(i), byte(i>>8)
		n.mismatch(now, mine, p, addr(9))
	}
	if got := n.problem(now, 1); got != "" {
		t.Errorf("b is heard, and its problem is %q", got)
	}
	if each := n.foreignFrom[addr(9).Addr()]; len(n.logged) > 0 || len(n.foreign) > maxForeign || each != maxForeignEach {
		t.Errorf("%d oddities and %d configurations are remembered, %d of one address", len(n.logged), len(n.foreign), each)
	}
	n.mismatch(now.Add(Quiet), mine, &wire.Packet{Summary: wire.NewSummary("b").Set("x", "2")}, addr(2))
	if got := n.problem(now.Add(Quiet), 1); !strings.Contains(got, "another configuration") {
		t.Errorf("b is silent, and its problem is %q", got)
	}
}

// A revoked member cannot make itself heard by another configuration either.
func TestRevokedMemberWithAnotherConfigurationIsIgnored(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "y"))
	if err := d.ports[0].SetKeys(keysOf(t, 0, []identity.Private{wiretest.Private(wiretest.Name(0))}, nil)); err != nil {
		t.Fatal(err)
	}
	d.greet()
	if counts := d.ports[0].Counts(); counts.Packets[datagram.Mismatch] == 0 {
		t.Fatal("b did not introduce itself")
	}
	if d.ports[0].diagnostics.problems[1] != "" || len(d.ports[0].diagnostics.foreign) > 0 || strings.Contains(d.logs[0].String(), "another configuration") {
		t.Errorf("problem %q, log:\n%s", d.ports[0].diagnostics.problems[1], d.logs[0].String())
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

// After a pause of this member the others are not called silent for it: the member was paused, and says that.
func TestLogSaysThatThisMemberWasPaused(t *testing.T) {
	var out bytes.Buffer
	n := newDiagnostics([]string{"a", "b"}, slog.New(slog.NewTextHandler(&out, nil)))
	start := protocol.Time(time.Hour)
	n.heard(start, protocol.Ident{Rank: 1, Inc: 1})
	n.listen(start)
	out.Reset()
	back := start.Add(2 * Quiet)
	n.paused(back, 2*Quiet)
	n.listen(back)
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "this member was paused") || !strings.Contains(got, "for=10s") {
		t.Errorf("the member was paused, and the log has %s", got)
	}
	out.Reset()
	n.paused(back.Add(Quiet/2), 20*time.Millisecond) // which is no excuse
	n.listen(back.Add(Quiet))
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "fallen silent") {
		t.Errorf("b is silent, and the log has %s", got)
	}
}

// The log has one line when members fall silent, however many, and one when they are heard again.
func TestLogNamesMembersThatFallSilent(t *testing.T) {
	var out bytes.Buffer
	n := newDiagnostics([]string{"a", "b", "c", "d"}, slog.New(slog.NewTextHandler(&out, nil)))
	lines := func() string {
		defer out.Reset()
		return out.String()
	}
	hear := func(now protocol.Time, ranks ...protocol.Rank) {
		for _, r := range ranks {
			n.heard(now, protocol.Ident{Rank: r, Inc: 1})
		}
	}
	start := protocol.Time(time.Hour)
	hear(start, 1, 2) // d is never heard, and a is the member itself
	lines()
	for at := range Quiet {
		if at%time.Second == 0 {
			n.listen(start.Add(at))
		}
	}
	if got := lines(); got != "" {
		t.Errorf("nobody is silent, and the log has %s", got)
	}
	silent := start.Add(Quiet)
	n.listen(silent)
	n.listen(silent.Add(time.Second))
	if got := lines(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `peers="b, c"`) {
		t.Errorf("b and c are silent, and the log has %s", got)
	}
	hear(silent.Add(2*time.Second), 2)
	n.adopt([]string{"a", "b", "c", "d"}, protocol.NewSet(0, 1, 2, 3)) // the council changes
	n.listen(silent.Add(2 * time.Second))
	n.listen(silent.Add(3 * time.Second))
	if got := lines(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "heard again") || !strings.Contains(got, "peers=c") {
		t.Errorf("c is heard again, and the log has %s", got)
	}
}
