package relay_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/transport/relay"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
)

// The fail-aware layer on real clocks and sockets: two processes exchange sealed datagrams over a relay whose delays change. Each
// tells what it knows of each datagram, and when it left or came on the one clock of the host; the test compares.

// The variables that make a process of this test one of the two members.
const (
	roleVar = "REGENT_TEST_MEMBER"
	peerVar = "REGENT_TEST_PEER"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := speak(role, os.Getenv(peerVar)); err != nil {
			fmt.Fprintln(os.Stderr, role, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// hostClock reads the clock that all processes of the host share.
func hostClock() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

const bounded = 20 * time.Millisecond // Δ

// A speaker is one of the two processes.
type speaker struct {
	mu    sync.Mutex
	clock clock.Clock
	wire  *wire.Endpoint
	conn  transport.Conn
	out   *bufio.Writer
	peer  protocol.Rank
	addr  netip.AddrPort
	buf   []byte
}

// speak is a member's process: it says where it listens, sends a datagram every few milliseconds, and ends with its input.
func speak(role, peer string) error {
	rank, err := strconv.Atoi(role)
	if err != nil {
		return err
	}
	s := &speaker{out: bufio.NewWriter(os.Stdout), peer: protocol.Rank(1 - rank)}
	s.addr, err = netip.ParseAddrPort(peer)
	if err != nil {
		return err
	}
	s.conn, err = transport.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		return err
	}
	s.clock, err = clock.System()
	if err != nil {
		return err
	}
	me := protocol.Ident{Rank: protocol.Rank(rank), Inc: protocol.Inc(3 + rank)}
	judge := datagram.Config{Self: me, Members: 2, Rho: protocol.DefaultRho, Delta: bounded}
	s.wire, err = wire.NewEndpoint(s.clock.Now(), wire.Config{Config: judge, Pairs: wiretest.Pairs(me.Rank, 2)})
	if err != nil {
		return err
	}
	fmt.Printf("listens %v\n", s.conn.LocalAddr())
	go s.listen()
	go s.talk()
	_, err = io.Copy(io.Discard, os.Stdin)
	s.mu.Lock() // for good: nothing is to be written after the flush
	return errors.Join(err, s.out.Flush())
}

func (s *speaker) talk() {
	for range time.Tick(2 * time.Millisecond) {
		s.mu.Lock()
		now := s.clock.Now()
		left := hostClock() // after the stamp: what is measured is never more than the true delay
		h := s.wire.Stamp(now, now, s.peer)
		packet, err := s.wire.Seal(s.buf[:0], &h, 0, nil)
		if err != nil {
			panic(err)
		}
		s.buf = packet
		fmt.Fprintf(s.out, "sent %d %d\n", h.Seq, left)
		s.mu.Unlock()
		s.conn.Write([]transport.Packet{{Data: packet, Addr: s.addr}})
	}
}

func (s *speaker) listen() {
	in := transport.NewPackets(16)
	var p wire.Packet
	for {
		n, err := s.conn.Read(in)
		if err != nil {
			return
		}
		s.mu.Lock()
		for _, q := range in[:n] {
			came := hostClock() // before the stamp
			now := s.clock.Now()
			if v := s.wire.Open(now, q.Data, &p); v.Reason == datagram.Accepted && v.Delay != protocol.Unknown {
				fmt.Fprintf(s.out, "got %d %d %d\n", p.Seq, came, v.Delay)
			}
		}
		s.mu.Unlock()
	}
}

// A process is a speaker as the test sees it.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	addr  netip.AddrPort
	sent  map[uint64]int64
	got   []receipt
}

type receipt struct {
	seq  uint64
	came int64
	most time.Duration
}

func startSpeaker(t *testing.T, rank int, peer netip.AddrPort) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), sent: map[uint64]int64{}}
	p.cmd.Env = append(os.Environ(), roleVar+"="+strconv.Itoa(rank), peerVar+"="+peer.String())
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin, err = p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	p.lines = bufio.NewScanner(out)
	if !p.lines.Scan() {
		t.Fatal("a member does not start")
	}
	p.addr, err = netip.ParseAddrPort(strings.TrimPrefix(p.lines.Text(), "listens "))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read takes what the process has to tell until it ends.
func (p *process) read(t *testing.T) {
	for p.lines.Scan() {
		var seq uint64
		var at, most int64
		line := p.lines.Text()
		if n, _ := fmt.Sscanf(line, "sent %d %d", &seq, &at); n == 2 {
			p.sent[seq] = at
		} else if n, _ := fmt.Sscanf(line, "got %d %d %d", &seq, &at, &most); n == 3 {
			p.got = append(p.got, receipt{seq, at, time.Duration(most)})
		} else {
			t.Errorf("a member says %q", line)
		}
	}
}

func TestBoundIsNeverBelowTheTrueDelayBetweenProcesses(t *testing.T) {
	nowhere := netip.MustParseAddrPort("127.0.0.1:9")
	r, err := relay.Start(relay.Config{Members: []relay.Member{{Name: "a", Addr: nowhere}, {Name: "b", Addr: nowhere}}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var ps [2]*process
	names := [2]string{"a", "b"}
	for i := range ps {
		peer, err := r.Addr(names[1-i])
		if err != nil {
			t.Fatal(err)
		}
		ps[i] = startSpeaker(t, i, peer)
		if err := r.SetAddr(names[i], ps[i].addr); err != nil {
			t.Fatal(err)
		}
	}
	var done sync.WaitGroup
	for _, p := range ps {
		done.Go(func() { p.read(t) })
	}
	for _, line := range []string{
		"link a b perfect both",
		"link a b delay=5ms jitter=2ms",
		"link b a delay=30ms jitter=20ms",
		"link a b delay=0s jitter=15ms reorder=0.3 duplicate=0.2 drop=0.2 both",
		"link a b delay=50ms jitter=0s reorder=0 drop=0 duplicate=0",
		"link a b perfect both",
	} {
		if _, err := r.Do(line); err != nil {
			t.Fatal(err)
		}
		// wall clock: real processes talk over real sockets meanwhile
		time.Sleep(250 * time.Millisecond)
	}
	for _, p := range ps {
		p.stdin.Close()
	}
	done.Wait()
	for i := range ps {
		compare(t, names[1-i]+" to "+names[i], ps[1-i].sent, ps[i].got)
	}
}

// compare holds the bounds of one direction against the truth.
func compare(t *testing.T, way string, sent map[uint64]int64, got []receipt) {
	t.Helper()
	fast, slowest, least := 0, time.Duration(0), time.Hour
	for _, g := range got {
		left, ok := sent[g.seq]
		if !ok {
			t.Fatalf("%s: %d came and was never sent", way, g.seq)
		}
		took := time.Duration(g.came - left)
		if g.most < took {
			t.Fatalf("%s: datagram %d took %v, and is said to have taken at most %v", way, g.seq, took, g.most)
		}
		if g.most <= bounded {
			fast++
		}
		slowest, least = max(slowest, took), min(least, g.most-took)
	}
	t.Logf("%s: %d datagrams with a bound, %d of them fast; the slowest took %v, the tightest bound is %v above the truth", way,
		len(got), fast, slowest, least)
	if len(got) < 100 || fast < 20 || slowest < 15*time.Millisecond {
		t.Errorf("%s: %d datagrams with a bound, %d fast, the slowest %v: too little to prove anything", way, len(got), fast, slowest)
	}
}
