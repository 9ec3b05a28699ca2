package relay

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/transport/fault"
)

// council starts a relay between members with real sockets.
func council(t testing.TB, names ...string) (*Relay, map[string]transport.Conn) {
	t.Helper()
	conns := make(map[string]transport.Conn)
	var c Config
	for _, name := range names {
		conn, err := transport.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conns[name] = conn
		c.Members = append(c.Members, Member{name, conn.LocalAddr()})
	}
	c.Limit = 64
	r, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, conns
}

func say(t testing.TB, r *Relay, conn transport.Conn, to, text string) {
	t.Helper()
	addr, err := r.Addr(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]transport.Packet{{Data: []byte(text), Addr: addr}}); err != nil {
		t.Fatal(err)
	}
}

// patience is how long a test waits for what should happen.
const patience = 10 * time.Second

// hear waits for the next datagram.
func hear(t testing.TB, conn transport.Conn) string {
	t.Helper()
	defer time.AfterFunc(patience, func() { conn.Close() }).Stop()
	ps := transport.NewPackets(1)
	if _, err := conn.Read(ps); err != nil {
		t.Fatal(err)
	}
	return string(ps[0].Data)
}

// until waits for the relay to have done something.
func until(t testing.TB, r *Relay, from, to string, what func(Stats) bool) {
	t.Helper()
	// wall clock: these are real sockets; it only polls, and how long it takes does not matter
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s, err := r.Stats(from, to)
		if err != nil {
			t.Fatal(err)
		}
		if what(s) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s to %s is still at %+v", from, to, s)
		}
	}
}

func TestEveryPairHasItsOwnWay(t *testing.T) {
	names := []string{"a", "b", "c"}
	r, conns := council(t, names...)
	for _, from := range names {
		for _, to := range names {
			if from == to {
				continue
			}
			say(t, r, conns[from], to, from+to)
			if got := hear(t, conns[to]); got != from+to {
				t.Errorf("%s heard %q from %s", to, got, from)
			}
		}
	}
	for _, name := range names {
		for to := range conns {
			if s, err := r.Stats(name, to); name != to && (err != nil || s.Forwarded != 1) {
				t.Errorf("from %s to %s: %+v, %v", name, to, s, err)
			}
		}
	}
}

// The relay knows senders by their addresses.
func TestDatagramsOfStrangersAreLost(t *testing.T) {
	r, conns := council(t, "a", "b")
	stranger, err := transport.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	say(t, r, stranger, "b", "stranger")
	say(t, r, conns["a"], "b", "member")
	if got := hear(t, conns["b"]); got != "member" {
		t.Errorf("b heard a %s", got)
	}
	if err := r.SetAddr("a", stranger.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	say(t, r, stranger, "b", "moved")
	if got := hear(t, conns["b"]); got != "moved" {
		t.Errorf("b heard a %s", got)
	}
}

func TestCutIsOneWayAndHeals(t *testing.T) {
	r, conns := council(t, "a", "b")
	if err := r.Links().Cut("a", "b"); err != nil {
		t.Fatal(err)
	}
	say(t, r, conns["a"], "b", "lost")
	until(t, r, "a", "b", func(s Stats) bool { return s.Lost == 1 })
	say(t, r, conns["b"], "a", "heard")
	if got := hear(t, conns["a"]); got != "heard" {
		t.Error(got)
	}
	if err := r.Links().Heal("a", "b"); err != nil {
		t.Fatal(err)
	}
	say(t, r, conns["a"], "b", "again")
	if got := hear(t, conns["b"]); got != "again" {
		t.Errorf("%q came through the cut", got)
	}
}

func TestWhatIsUnderWayIsLostWithACut(t *testing.T) {
	r, conns := council(t, "a", "b")
	if _, err := r.Do("link a b delay=50ms"); err != nil {
		t.Fatal(err)
	}
	say(t, r, conns["a"], "b", "under way")
	until(t, r, "a", "b", func(s Stats) bool { return s.Waiting == 1 })
	if _, err := r.Do("cut a b"); err != nil {
		t.Fatal(err)
	}
	until(t, r, "a", "b", func(s Stats) bool { return s.Lost == 1 && s.Waiting == 0 })
}

// Delays are never too short, and datagrams keep their order.
func TestDelaysAreAtLeastWhatWasAskedFor(t *testing.T) {
	r, conns := council(t, "a", "b")
	const delay = 5 * time.Millisecond
	if err := r.Links().Set("a", "b", fault.Link{Delay: delay, Jitter: 2 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	var sent []time.Time
	for i := range 20 {
		sent = append(sent, time.Now())
		say(t, r, conns["a"], "b", fmt.Sprint(i))
	}
	for i, at := range sent {
		got := hear(t, conns["b"])
		if got != fmt.Sprint(i) {
			t.Fatalf("%q came in place of %d", got, i)
		}
		if took := time.Since(at); took < delay {
			t.Errorf("%d took %v, want at least %v", i, took, delay)
		}
	}
}

func TestDuplicatesAndDisorder(t *testing.T) {
	r, conns := council(t, "a", "b")
	if _, err := r.Do("link a b duplicate=1"); err != nil {
		t.Fatal(err)
	}
	say(t, r, conns["a"], "b", "twice")
	if x, y := hear(t, conns["b"]), hear(t, conns["b"]); x != "twice" || y != "twice" {
		t.Errorf("%q and %q", x, y)
	}
	if _, err := r.Do("link a b perfect reorder=1"); err != nil {
		t.Fatal(err)
	}
	say(t, r, conns["a"], "b", "held back")
	until(t, r, "a", "b", func(s Stats) bool { return s.Received == 2 })
	if _, err := r.Do("link a b perfect"); err != nil {
		t.Fatal(err)
	}
	say(t, r, conns["a"], "b", "ahead")
	heard := map[string]bool{hear(t, conns["b"]): true, hear(t, conns["b"]): true}
	if !heard["held back"] || !heard["ahead"] {
		t.Errorf("heard %v", heard)
	}
}

// What waits is bounded, whatever is sent.
func TestOverflowIsLostAndCounted(t *testing.T) {
	r, conns := council(t, "a", "b")
	if _, err := r.Do("link a b delay=1h"); err != nil {
		t.Fatal(err)
	}
	for range 80 {
		say(t, r, conns["a"], "b", "x")
	}
	until(t, r, "a", "b", func(s Stats) bool { return s.Received == 80 && s.Waiting == 64 && s.Overflowed == 16 })
}

func TestMembersCanMove(t *testing.T) {
	r, conns := council(t, "a", "b")
	moved, err := transport.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer moved.Close()
	if _, err := r.Do("member b " + moved.LocalAddr().String()); err != nil {
		t.Fatal(err)
	}
	say(t, r, conns["a"], "b", "x")
	if got := hear(t, moved); got != "x" {
		t.Error(got)
	}
}

func TestStartRefusesDoubles(t *testing.T) {
	a := Member{"a", netip.MustParseAddrPort("127.0.0.1:9")}
	if r, err := Start(Config{Members: []Member{a, a}}); err == nil {
		r.Close()
		t.Error("two members of one name")
	}
}

// Another process scripts the relay over a socket.
func TestControlOverASocket(t *testing.T) {
	r, conns := council(t, "a", "b")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- r.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	ask := func(line string) string {
		t.Helper()
		if _, err := fmt.Fprintln(c, line); err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for {
			text, err := answers.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if all.WriteString(text); text == "ok\n" || strings.HasPrefix(text, "error: ") {
				return all.String()
			}
		}
	}
	addr, err := r.Addr("b")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"addr b":             addr.String() + "\nok\n",
		"addr z":             "error: member \"z\": there are a b\n",
		"link b a delay=1ms": "ok\n",
		"nonsense":           "error: \"nonsense\": say link FROM TO ..., cut FROM TO, heal FROM TO, partition, heal or show\n",
		"member a nowhere":   "error: not an ip:port\n",

		"member a " + conns["a"].LocalAddr().String(): "ok\n",
	} {
		if got := ask(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := ask("show"); got != "link b a perfect delay=1ms\nok\n" {
		t.Errorf("show: %q", got)
	}
	say(t, r, conns["a"], "b", "x")
	hear(t, conns["b"])
	if got := ask("stats a b"); !strings.HasPrefix(got, `{"Received":1,"Forwarded":1,`) {
		t.Errorf("stats: %q", got)
	}
	l.Close()
	if err := <-served; err == nil {
		t.Error("served on a closed listener")
	}
}

// A relay that is closed leaves nothing behind, with whatever under way.
func TestCloseWithDatagramsUnderWay(t *testing.T) {
	r, conns := council(t, "a", "b")
	if _, err := r.Do("link a b delay=1h"); err != nil {
		t.Fatal(err)
	}
	say(t, r, conns["a"], "b", "x")
	until(t, r, "a", "b", func(s Stats) bool { return s.Waiting == 1 })
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkRelay reports what the relay adds to a datagram's way: the time from send to receive, less that without a
// relay, and by how much a delay of 2 ms is too long.
func BenchmarkRelay(b *testing.B) {
	for _, c := range []struct {
		name  string
		delay time.Duration
	}{{"direct", -1}, {"relay", 0}, {"relay-2ms", 2 * time.Millisecond}} {
		b.Run(c.name, func(b *testing.B) {
			r, conns := council(b, "a", "b")
			to := conns["b"].LocalAddr()
			if c.delay >= 0 {
				if err := r.Links().Set("a", "b", fault.Link{Delay: c.delay}); err != nil {
					b.Fatal(err)
				}
				to, _ = r.Addr("b")
			}
			out, in := []transport.Packet{{Data: make([]byte, 100), Addr: to}}, transport.NewPackets(1)
			var sum, worst time.Duration
			best := time.Duration(math.MaxInt64)
			for b.Loop() {
				start := time.Now()
				if _, err := conns["a"].Write(out); err != nil {
					b.Fatal(err)
				}
				if _, err := conns["b"].Read(in); err != nil {
					b.Fatal(err)
				}
				took := time.Since(start) - max(0, c.delay)
				sum, worst, best = sum+took, max(worst, took), min(best, took)
			}
			b.ReportMetric(float64(best)/1e3, "min-µs")
			b.ReportMetric(float64(sum)/float64(b.N)/1e3, "mean-µs")
			b.ReportMetric(float64(worst)/1e3, "max-µs")
		})
	}
}

// What a member answers to the source of a datagram reaches its sender, and passes the link to it.
func TestAnswersToTheSourceGoThroughTheRelay(t *testing.T) {
	r, conns := council(t, "a", "b")
	say(t, r, conns["a"], "b", "question")
	in := transport.NewPackets(1)
	defer time.AfterFunc(patience, func() { conns["b"].Close() }).Stop()
	if _, err := conns["b"].Read(in); err != nil {
		t.Fatal(err)
	}
	if want, err := r.Addr("a"); err != nil || in[0].Addr != want {
		t.Errorf("b heard a from %v, and its address of a is %v: %v", in[0].Addr, want, err)
	}
	if _, err := conns["b"].Write([]transport.Packet{{Data: []byte("answer"), Addr: in[0].Addr}}); err != nil {
		t.Fatal(err)
	}
	if got := hear(t, conns["a"]); got != "answer" {
		t.Errorf("a heard %q", got)
	}
	until(t, r, "b", "a", func(s Stats) bool { return s.Forwarded == 1 })
}
