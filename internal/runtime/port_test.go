package runtime

import (
	"bytes"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
)

// A desk is two ports joined by queues, with one clock that a test moves.
type desk struct {
	now   protocol.Time
	ports [2]*NetPort
	lines [2]*line2
	logs  [2]bytes.Buffer
	got   [2][]string
}

// line2 is a socket of which the test is the network.
type line2 struct {
	in, out []transport.Packet
	// taken, if it is set, is called when packets have left the socket.
	taken func()
}

func (l *line2) Read([]transport.Packet) (int, error) { panic("a loop does not wait") }
func (l *line2) TryRead(ps []transport.Packet) (int, error) {
	n := min(len(ps), len(l.in))
	for i := range n {
		ps[i].Data = append(ps[i].Data[:0], l.in[i].Data...)
		ps[i].Addr = l.in[i].Addr
	}
	l.in = l.in[n:]
	if l.taken != nil {
		l.taken()
	}
	return n, nil
}
func (l *line2) Write(ps []transport.Packet) (int, error) {
	for _, p := range ps {
		l.out = append(l.out, transport.Packet{Data: bytes.Clone(p.Data), Addr: p.Addr})
	}
	return len(ps), nil
}
func (l *line2) LocalAddr() netip.AddrPort { return netip.AddrPort{} }
func (l *line2) Close() error              { return nil }

func addr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(i)}), 7400)
}

func newDesk(t *testing.T, summaries ...*wire.Summary) *desk {
	t.Helper()
	d := &desk{now: 1e9}
	for i := range d.ports {
		d.ports[i] = d.port(t, i, summaries[i])
	}
	return d
}

func judge(me protocol.Ident, summary *wire.Summary) datagram.Config {
	return datagram.Config{Self: me, Members: 2, Council: datagram.Council{Digest: summary.Digest()}, Rho: protocol.DefaultRho, Delta: 10 * time.Millisecond}
}

func (d *desk) port(t *testing.T, i int, summary *wire.Summary) *NetPort {
	t.Helper()
	me := protocol.Ident{Rank: protocol.Rank(i), Inc: 1}
	packets, err := wire.NewEndpoint(d.now, wire.Config{Config: judge(me, summary), Pairs: wiretest.Pairs(me.Rank, 2)})
	if err != nil {
		t.Fatal(err)
	}
	d.lines[i] = &line2{}
	return NewPort(PortOptions{Self: me.Rank, Socket: d.lines[i], Wire: packets, Names: []string{"a", "b"},
		Addrs: [][]netip.AddrPort{{addr(1)}, {addr(2), addr(3)}}, Summary: summary, Rates: clock.NewRates(2, protocol.DefaultRho), Recent: 50 * time.Millisecond,
		Clock: func() protocol.Time { d.now++; return d.now }, Log: slog.New(slog.NewTextHandler(&d.logs[i], nil))})
}

func summary(name, setting string) *wire.Summary {
	return wire.NewSummary(name).Set("setting", setting)
}

// pass carries what was sent, less what the test does not let through, and lets the receivers look.
func (d *desk) pass(let func(from int, p *transport.Packet) bool) {
	for i, l := range d.lines {
		for j := range l.out {
			if let == nil || let(i, &l.out[j]) {
				d.lines[1-i].in = append(d.lines[1-i].in, l.out[j])
			}
		}
		l.out = nil
	}
	d.now = d.now.Add(time.Millisecond)
	for i, p := range d.ports {
		p.Receive(func(_ protocol.Time, channel Channel, r *protocol.Receive) {
			d.got[i] = append(d.got[i], r.Message.Name())
		})
	}
}

// greet lets the two hear one another.
func (d *desk) greet() {
	for range 5 {
		d.now = d.now.Add(20 * time.Millisecond)
		for _, p := range d.ports {
			p.Flush()
		}
		d.pass(nil)
	}
}

// A host may send from another address than packets to it go to. It is shown where that is wrong: in a configuration with another port, say.
func TestPortKnowsWherePacketsOfAPeerComeFrom(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	for _, c := range []struct{ from, want netip.AddrPort }{{addr(2), netip.AddrPort{}}, {addr(9), addr(9)}, {addr(3), netip.AddrPort{}}} {
		for range 5 {
			d.now = d.now.Add(20 * time.Millisecond)
			for i, p := range d.ports {
				p.Send(d.now, protocol.Rank(1-i), 0, &rank.OK{Seq: 1})
				p.Flush()
			}
			d.pass(func(from int, p *transport.Packet) bool {
				p.Addr = addr(1)
				if from == 1 {
					p.Addr = c.from
				}
				return true
			})
		}
		if got := d.ports[0].Peer(d.now, 1).From; got != c.want {
			t.Errorf("packets of b come from %v, and %v is shown, want %v", c.from, got, c.want)
		}
	}
}

// A stamp from before the packet came would make it seem younger than it is, and a grant earlier.
func TestReceiveStampIsTakenAfterThePacketLeftTheSocket(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	d.ports[0].Send(d.now, 1, 0, &rank.OK{Seq: 1})
	d.ports[0].Flush()
	d.lines[1].in = append(d.lines[1].in, d.lines[0].out...)
	var left protocol.Time
	d.lines[1].taken = func() {
		d.now = d.now.Add(time.Second) // the loop is held up in the system call
		left = d.now
	}
	n := 0
	d.ports[1].Receive(func(now protocol.Time, _ Channel, r *protocol.Receive) {
		n++
		if now <= left || r.Delay < time.Second {
			t.Errorf("%s is stamped %v with a delay of %v: it left the socket at %v", r.Message.Name(), now, r.Delay, left)
		}
	})
	if n == 0 {
		t.Error("nothing was received")
	}
}

func TestMessagesOfOneRoundShareAPacket(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	before := d.ports[0].Traffic().PacketsOut.Load()
	for i := range 10 {
		d.ports[0].Send(d.now, 1, Channel(i%2), &rank.OK{Seq: uint64(i)})
	}
	d.ports[0].Flush()
	if n := len(d.lines[0].out); n != 1 && n != 2 { // by both ways, or by the one that is proven
		t.Errorf("%d packets", n)
	}
	d.pass(nil)
	if len(d.got[1])%10 != 0 || len(d.got[1]) == 0 || d.got[1][0] != "rank.OK" {
		t.Errorf("got %v", d.got[1])
	}
	if d.ports[0].Traffic().PacketsOut.Load() == before || d.ports[1].Traffic().PacketsIn.Load() == 0 {
		t.Error("packets are not counted")
	}
	r := d.ports[1].Peer(d.now, 0)
	if r.Inc != 1 || r.Seen == 0 || r.Problem != "" || r.RTT == 0 || r.Bound == protocol.Unknown {
		t.Errorf("the report is %+v", r)
	}
}

func TestOtherConfigurationIsNamedOnBothSidesAndNotDelivered(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "y"))
	d.greet()
	d.ports[0].Send(d.now, 1, 0, &rank.OK{})
	d.ports[0].Flush()
	d.pass(nil)
	if len(d.got[1]) != 0 {
		t.Errorf("delivered %v", d.got[1])
	}
	for i, want := range []string{"setting: x here, y there", "setting: y here, x there"} {
		if r := d.ports[i].Peer(d.now, protocol.Rank(1-i)); !strings.Contains(r.Problem, want) {
			t.Errorf("port %d says %q, want %q", i, r.Problem, want)
		}
		if n := strings.Count(d.logs[i].String(), "another configuration"); n != 1 {
			t.Errorf("port %d says so %d times in the log", i, n)
		}
		if counts := d.ports[i].Counts(); counts.Packets[datagram.Mismatch] == 0 {
			t.Errorf("port %d counts none", i)
		}
	}
}

func TestStrangersAreCountedAndNamedOnce(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	for range 100 {
		d.lines[1].in = append(d.lines[1].in, transport.Packet{Data: bytes.Repeat([]byte{7}, 200), Addr: addr(66)})
		d.pass(nil)
	}
	if n := strings.Count(d.logs[1].String(), "127.0.0.66"); n != 1 {
		t.Errorf("named %d times", n)
	}
	if counts := d.ports[1].Counts(); counts.Packets[datagram.Foreign] != 100 {
		t.Errorf("counted %d", counts.Packets[datagram.Foreign])
	}
	for i := range 5000 { // who decides what is remembered must not fill the memory
		d.ports[1].diagnostics.stranger(datagram.Foreign, netip.AddrPortFrom(addr(9).Addr(), uint16(i)))
	}
	if len(d.ports[1].diagnostics.logged) > maxLogged {
		t.Errorf("%d oddities are remembered", len(d.ports[1].diagnostics.logged))
	}
}

// A member with another key is not heard; what it is called can be told only by where its packets come from. Somebody else may
// send from there as well, so a member that is heard is not blamed.
func TestMemberThatIsNotHeardIsNamedWithWhatItSends(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	other, err := wire.NewKeyring(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	packets, err := wire.NewEndpoint(d.now, wire.Config{Config: judge(protocol.Ident{Rank: 1, Inc: 1}, summary("b", "x")), Pairs: wiretest.PairsOf(1, 2, other)})
	if err != nil {
		t.Fatal(err)
	}
	send := func() {
		h := packets.Stamp(d.now, d.now, 0)
		packet, err := packets.Seal(nil, &h, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		d.lines[0].in = append(d.lines[0].in, transport.Packet{Data: packet, Addr: addr(3)})
		d.pass(nil)
	}
	send()
	send()
	want := `seems to have another key (packets from its address that were dropped: 2, the last for "unknown key"): compare the key files of the two`
	if r := d.ports[0].Peer(d.now, 1); r.Problem != want {
		t.Errorf("it is said to be in trouble because of %q", r.Problem)
	}
	d.greet()
	send()
	if r := d.ports[0].Peer(d.now, 1); r.Problem != "" {
		t.Errorf("a member that is heard has trouble: %q", r.Problem)
	}
	d.now = d.now.Add(Quiet)
	if r := d.ports[0].Peer(d.now, 1); !strings.Contains(r.Problem, "dropped: 1,") {
		t.Errorf("a member that came back with another key is in trouble because of %q", r.Problem)
	}
	d.ports[0].SetAddrs(1, []netip.AddrPort{addr(4)})
	d.greet()
	send() // no address of its any more
	d.now = d.now.Add(Quiet)
	if d.ports[0].Peer(d.now, 1).Problem != "" {
		t.Error("packets from another address are held against it")
	}
}

func TestPacketsGoByTheWayThatIsProven(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	second := func(from int, p *transport.Packet) bool { return from == 1 || p.Addr == addr(3) }
	talk := func(rounds int, let func(int, *transport.Packet) bool) (by map[netip.AddrPort]int) {
		by = make(map[netip.AddrPort]int)
		for range rounds {
			d.now = d.now.Add(10 * time.Millisecond)
			for i, p := range d.ports {
				p.Send(d.now, protocol.Rank(1-i), 0, &rank.OK{})
				p.Flush()
			}
			for _, p := range d.lines[0].out {
				by[p.Addr]++
			}
			d.pass(let)
		}
		return by
	}
	talk(5, second)
	by := talk(100, second)
	if by[addr(3)] != 100 || by[addr(2)] > 5 {
		t.Errorf("packets went by %v: only the second way works", by)
	}
	if r := d.ports[0].Peer(d.now, 1); r.Addr != addr(3) {
		t.Errorf("the report names %v", r.Addr)
	}
	first := func(from int, p *transport.Packet) bool { return from == 1 || p.Addr == addr(2) }
	before := len(d.got[1])
	talk(20, first) // the second way dies, and the first lives
	if n := len(d.got[1]) - before; n < 13 {
		t.Errorf("only %d of 20 messages came by after the way had died", n)
	}
	d.ports[0].SetAddrs(1, []netip.AddrPort{addr(4)})
	if by := talk(3, nil); by[addr(4)] != 3 {
		t.Errorf("packets went by %v after the address had changed", by)
	}
}

// The machine of a answers a packet of an outdated start of b, and the answer counts at b though it is meant for the later one.
func TestOutdatedStartIsAnswered(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.ports[1].Rename(9)
	d.greet()                                    // a has heard b as 9
	d.ports[1] = d.port(t, 1, summary("b", "x")) // b comes back from a backup, as 1
	d.ports[0].Outdated = func() protocol.Message { return &nerio.Outdated{} }
	d.greet()
	if !slices.Contains(d.got[0], "nerio.Outdated") {
		t.Error("the machine did not hear of the outdated start")
	}
	d.ports[0].Send(d.now, 1, 0, &rank.OK{Seq: 7})
	d.ports[0].Send(d.now, 1, 0, &nerio.Stale{Heard: protocol.Life{Inc: 9}})
	d.ports[0].Flush()
	d.pass(nil)
	if !slices.Contains(d.got[1], "nerio.Stale") || slices.Contains(d.got[1], "rank.OK") {
		t.Errorf("the outdated start received %v, want the proof alone", d.got[1])
	}
}

// After a snapshot was restored, what the member did before it is unknown: numbers would be used twice under the same random bits.
func TestNothingLeavesUnderAStartThatIsOver(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	before := d.ports[0].Wire.Stamp(d.now, d.now, 1).Start
	d.ports[0].Send(d.now, 1, 0, &rank.OK{Seq: 7})
	next := protocol.StartBits{1, 2, 3, 4, 5, 6, 7, 8, 9}
	d.ports[0].Restart(d.now, next)
	d.lines[0].out = nil
	d.now = d.now.Add(time.Second)
	d.ports[0].Flush()
	if len(d.lines[0].out) == 0 {
		t.Fatal("the next start greets nobody")
	}
	for _, p := range d.lines[0].out {
		if bytes.Contains(p.Data, before[:]) || !bytes.Contains(p.Data, next[:]) {
			t.Error("a packet left under the start that is over")
		}
	}
	got := len(d.got[1])
	d.pass(nil)
	if len(d.got[1]) != got {
		t.Errorf("received %v, of the start that is over", d.got[1][got:])
	}
	d.greet()
	d.ports[0].Rename(9)
	d.greet()
	d.ports[0].Send(d.now, 1, 0, &rank.OK{Seq: 8})
	d.ports[0].Flush()
	d.pass(nil)
	if n := len(d.got[1]); n == got || d.got[1][n-1] != "rank.OK" {
		t.Error("the next start is not heard")
	}
}

func TestSteadyStateOfAPortDoesNotAllocate(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.ports[0].SetAddrs(1, []netip.AddrPort{addr(2)})
	d.greet()
	quiet := &sink{}
	d.ports[0].Socket = quiet
	m := &rank.OK{Seq: 1}
	n := testing.AllocsPerRun(1000, func() {
		d.ports[0].Send(d.now, 1, 0, m)
		d.ports[0].Flush()
	})
	if n > 0 {
		t.Errorf("sending a message allocates %v times", n)
	}
}

// sink is a socket that takes everything and keeps nothing.
type sink struct{ line2 }

func (s *sink) Write(ps []transport.Packet) (int, error) { return len(ps), nil }

// A message is of the incarnation that the member spoke as when the machine sent it, though its packet is sealed later.
func TestMessagesLeaveUnderTheIncarnationThatSentThem(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.greet()
	d.ports[0].Send(d.now, 1, 0, &rank.OK{Seq: 7})
	d.ports[0].Rename(2)
	d.ports[0].Flush()
	d.lines[1].in = append(d.lines[1].in, d.lines[0].out...)
	d.now = d.now.Add(time.Millisecond)
	got := make(map[protocol.Inc]bool)
	d.ports[1].Receive(func(_ protocol.Time, _ Channel, r *protocol.Receive) { got[r.From.Inc] = true })
	if len(got) != 1 || !got[1] {
		t.Errorf("messages came from the incarnations %v: want 1", got)
	}
}

// A packet from before a member knew its incarnation, which comes late or again, does not make two processes of it.
func TestLateWordOfANamelessStartIsNoRival(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	d.ports[1].Rename(0)
	d.lines[1].out = nil // what left before
	d.now = d.now.Add(time.Second)
	d.ports[1].Flush()
	recorded := append([]transport.Packet(nil), d.lines[1].out...)
	if len(recorded) == 0 {
		t.Fatal("nothing was sent")
	}
	d.ports[1].Rename(2)
	d.greet()
	d.lines[0].in = append(d.lines[0].in, recorded...)
	d.pass(nil)
	d.ports[1].Send(d.now, 0, 0, &rank.OK{})
	d.ports[1].Flush()
	d.pass(nil)
	if r := d.ports[0].Peer(d.now, 1); r.Inc != 2 || r.Problem != "" {
		t.Errorf("the peer is %+v", r)
	}
}

// The clocks of the others have gone on since the snapshot: to the member they seem to have jumped.
func TestRestoredMemberDoesNotDoubtItsClock(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	p := d.ports[0]
	now, b := d.now, protocol.Ident{Rank: 1, Inc: 1}
	jump := func() {
		for _, ahead := range []time.Duration{0, time.Hour} {
			for range 2 {
				now = now.Add(50 * time.Millisecond)
				peer := now.Add(ahead)
				p.Rates.Observe(b, now.Add(-time.Millisecond), peer, peer, now)
			}
			now = now.Add(time.Minute)
		}
	}
	jump()
	if !p.Rates.Alarm(now.Add(-time.Minute)) {
		t.Fatal("a clock that jumps by an hour raises no alarm")
	}
	p.Restart(now, protocol.StartBits{1})
	if p.Rates.Alarm(now.Add(-time.Minute)) {
		t.Error("after the restart the member judges its clock by what it saw before the snapshot")
	}
	for range 3 {
		now = now.Add(time.Minute)
		peer := now.Add(time.Hour)
		p.Rates.Observe(b, now.Add(-time.Millisecond), peer, peer, now)
		if p.Rates.Alarm(now) {
			t.Error("a point from before the snapshot counts")
		}
	}
}
