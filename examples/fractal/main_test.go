//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/checkpoint"
	"github.com/regentproject/regent/checkpoint/fractal"
)

// The test binary is also the program: with this variable set it is a member that computes as many frames.
const programEnv = "FRACTAL_TEST_FRAMES"

// With this one it is an agent, with the configuration in that file.
const agentEnv = "FRACTAL_TEST_AGENT"

const (
	seed  = 7
	every = 8
)

// secret authenticates shares.
const secret = "secret"

func TestMain(m *testing.M) {
	if config := os.Getenv(agentEnv); config != "" {
		if err := agent.Run(context.Background(), agent.Options{Config: config}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	if frames, err := strconv.ParseUint(os.Getenv(programEnv), 10, 64); err == nil {
		err := serve(frames)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs the program as the member that the first line of input names, until the input ends.
func serve(frames uint64) error {
	os.Stdout = os.Stderr // the cluster takes the other for its own
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o cluster.Order
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	dir := filepath.Dir(o.Dir)
	p := options{dir: o.Dir, secret: []byte(secret), frames: frames, every: every, data: 4, pace: time.Millisecond,
		regent: regent.Config{Name: o.Name, Dir: o.Dir, Bind: o.Bind, Council: o.Council, OwnKeys: o.OwnKeys, Bootstrap: true, Timing: o.Timing, Consistent: true,
			Logger: slog.New(slog.DiscardHandler)}}
	p.shares = sharePeers(o.Council)
	// The first start has the seed. Later ones do not.
	if _, err := os.Stat(filepath.Join(o.Dir, "shares")); errors.Is(err, os.ErrNotExist) {
		p.seed = seed
	}
	client = testClient(dir, o.Name)
	listen = func(addr string) (net.Listener, error) {
		_ = os.Remove(socketFile(dir, addr))
		return net.Listen("unix", socketFile(dir, addr))
	}
	gate = func(ctx context.Context, frame uint64, pace time.Duration) { await(ctx, dir, frame, pace) }
	if err := run(ctx, p); ctx.Err() == nil {
		return err
	}
	return nil
}

func sharePeers(council []regent.Peer) []checkpoint.Peer {
	var all []checkpoint.Peer
	for _, p := range council {
		all = append(all, checkpoint.Peer{Name: p.Name, Addr: p.Name})
	}
	return all
}

func socketFile(dir, name string) string { return filepath.Join(dir, name+".shares") }

// testClient reaches members by unix sockets, unless one of the ends is cut off.
func testClient(dir, self string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(addr)
		for _, end := range []string{self, host} {
			if _, err := os.Stat(filepath.Join(dir, "cut-"+end)); err == nil && self != host {
				return nil, errors.New("cut off")
			}
		}
		return new(net.Dialer).DialContext(ctx, "unix", socketFile(dir, host))
	}}}
}

// await waits before a frame that the test does not allow yet.
func await(ctx context.Context, dir string, frame uint64, pace time.Duration) {
	for ctx.Err() == nil {
		b, _ := os.ReadFile(filepath.Join(dir, "limit"))
		limit, _ := strconv.ParseUint(string(b), 10, 64)
		if frame > 0 && frame <= limit {
			return
		}
		select {
		case <-time.After(max(pace, 50*time.Millisecond)):
		case <-ctx.Done():
		}
		if frame == 0 {
			return
		}
	}
}

// A show is a cluster of seven members that compute.
type show struct {
	*cluster.Cluster
	t      testing.TB
	frames uint64
	// patience is for how long it waits for what should happen.
	patience time.Duration
	mu       sync.Mutex
	events   []entry
	// onRecovery, if not nil, is called with a manager that has to recover.
	onRecovery func(manager string)
}

// An entry is an event of a member, in the order in which they came.
type entry struct {
	member string
	checkpoint.Event
}

func open(t *testing.T) *show {
	t.Helper()
	timing := regent.LAN
	timing.Renew, timing.Lease = 100*time.Millisecond, 600*time.Millisecond // survive pauses of a busy machine
	s := prepare(t, 400, cluster.Options{Timing: timing})
	s.each(s.Start, s.Names...)
	s.until("all tiles have a checkpoint of all seven", func(e []entry) bool { return safe(e, s.Names...) })
	return s
}

// prepare makes the cluster without starting a member.
func prepare(t testing.TB, frames uint64, o cluster.Options) *show {
	t.Helper()
	s := &show{t: t, frames: frames, patience: cluster.Patience}
	self := cluster.Self()
	o.Names, o.Relay, o.Log = []string{"a", "b", "c", "d", "e", "f", "g"}, true, s.log
	o.Command = func() *exec.Cmd {
		c := self()
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", programEnv, frames))
		return c
	}
	s.Cluster = cluster.OpenCrash(t, o)
	s.allow(0)
	return s
}

func (s *show) log(member, line string) {
	var e entry
	if json.Unmarshal([]byte(line), &e.Event) != nil {
		s.t.Logf("%s: %s", member, line)
		return
	}
	e.member = member
	s.mu.Lock()
	s.events = append(s.events, e)
	seen := s.onRecovery
	s.mu.Unlock()
	if e.What != "complete" {
		s.t.Logf("%s: %s %v %s %d %s", member, e.What, e.View, e.Key, e.Step, e.Text)
	}
	if e.What == "view" && seen != nil && strings.Contains(e.Text, "managed by "+member+";") && strings.Contains(e.Text, "failed:") {
		seen(member)
	}
}

func (s *show) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *show) each(do func(string) error, names ...string) {
	s.t.Helper()
	for _, n := range names {
		s.must(do(n))
	}
}

// allow lets members compute up to a frame.
func (s *show) allow(frame uint64) {
	s.t.Helper()
	name := filepath.Join(s.Dir, "limit")
	s.must(os.WriteFile(name+".new", fmt.Append(nil, frame), 0o644))
	s.must(os.Rename(name+".new", name))
}

// until waits for what the events show.
func (s *show) until(what string, done func([]entry) bool) {
	s.t.Helper()
	s.must(cluster.Wait(s.patience, what, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return done(s.events)
	}))
}

// mark returns how many events there were.
func (s *show) mark() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// safe reports whether the latest view that is founded is one of exactly these members, of whom each has seen that.
func safe(events []entry, names ...string) bool {
	var last checkpoint.Event
	seen := make(map[string]bool)
	for _, e := range events {
		if e.What == "founded" && e.View.Compare(last.View) > 0 {
			last = e.Event
			clear(seen)
		}
		if e.What == "founded" && e.View == last.View {
			seen[e.member] = true
		}
	}
	for _, n := range names {
		if !seen[n] {
			return false
		}
	}
	return len(seen) == len(names)
}

// reached reports whether all tiles are complete at a frame.
func reached(events []entry, frame uint64) bool {
	done := make(map[string]bool)
	for _, e := range events {
		if e.What == "complete" && e.Step >= frame {
			done[e.Key] = true
		}
	}
	return len(done) == fractal.Side*fractal.Side
}

// loseManager kills a member, and then the manager as soon as it has to recover.
func (s *show) loseManager(frame uint64) {
	s.t.Helper()
	managers := make(chan string, 1)
	s.mu.Lock()
	s.onRecovery = func(manager string) {
		select {
		case managers <- manager:
		default:
		}
	}
	s.mu.Unlock()
	from := s.mark()
	s.allow(frame - every/2)
	s.must(s.Crash("d"))
	var manager string
	select {
	case manager = <-managers:
	case <-s.t.Context().Done():
	}
	s.mu.Lock()
	s.onRecovery = nil
	s.mu.Unlock()
	s.must(s.Crash(manager))
	s.t.Logf("%s was killed in its recovery", manager)
	rest := slices.DeleteFunc(slices.Clone(s.Names), func(n string) bool { return n == "d" || n == manager })
	s.until("the others recover from the loss of both", func(e []entry) bool { return safe(e[from:], rest...) })
	s.allow(frame)
	s.until("all tiles go on", func(e []entry) bool { return reached(e[from:], frame) })
	from = s.mark()
	s.each(s.Start, "d", manager)
	s.until("both are back", func(e []entry) bool { return safe(e[from:], s.Names...) })
}

// lose takes members away while tiles are computed up to a frame, waits until the others are there, and brings the members back.
func (s *show) lose(frame uint64, lost []string, lose, back func(names ...string)) {
	s.t.Helper()
	from := s.mark()
	s.allow(frame - every/2) // in the middle of an interval: there is work to repeat
	lose(lost...)
	rest := slices.DeleteFunc(slices.Clone(s.Names), func(n string) bool { return slices.Contains(lost, n) })
	s.until(fmt.Sprintf("%v recover from the loss of %v", rest, lost), func(e []entry) bool { return safe(e[from:], rest...) })
	s.allow(frame)
	s.until(fmt.Sprintf("all tiles are at frame %d", frame), func(e []entry) bool { return reached(e[from:], frame) })
	from = s.mark()
	back(lost...)
	s.until(fmt.Sprintf("%v are back", lost), func(e []entry) bool { return safe(e[from:], s.Names...) })
}

func TestThePictureIsTheOneWithoutFaults(t *testing.T) {
	s := open(t)
	kill, start := func(n ...string) { s.each(s.Crash, n...) }, func(n ...string) { s.each(s.Start, n...) }
	cut := func(names ...string) {
		for _, n := range names {
			s.must(os.WriteFile(filepath.Join(s.Dir, "cut-"+n), nil, 0o644))
		}
		s.must(s.Part(names...))
	}
	heal := func(names ...string) {
		for _, n := range names {
			s.must(os.Remove(filepath.Join(s.Dir, "cut-"+n)))
		}
		s.must(s.HealAll())
	}
	s.lose(64, []string{"a", "c", "e"}, kill, start)
	s.lose(128, []string{"b", "d"}, func(n ...string) { s.each(s.Pause, n...) }, func(n ...string) { s.each(s.Resume, n...) })
	s.lose(192, []string{"a", "f", "g"}, cut, heal)
	s.loseManager(256)
	s.damage("b")
	s.lose(320, []string{"e"}, kill, start)
	s.allow(s.frames)
	s.until("all tiles are done", func(e []entry) bool { return reached(e, s.frames) })
	cluster.Eventually(t, "every member has the picture", func() bool {
		for _, n := range s.Names {
			if _, err := os.Stat(filepath.Join(s.Dir, n, "picture.png")); err != nil {
				return false
			}
		}
		return true
	})
	want := s.judge()
	for _, n := range s.Names {
		if got, err := os.ReadFile(filepath.Join(s.Dir, n, "picture.png")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has another picture than a run without faults (%v)", n, err)
		}
	}
}

// damage flips a byte of a share of a member.
func (s *show) damage(name string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir, name, "shares", "share-*"))
	s.must(err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // replaced meanwhile
		}
		b[len(b)/2] ^= 1
		s.must(os.WriteFile(f, b, 0o600))
		return
	}
	s.t.Fatal(name + " has no share")
}

// judge judges what members did, and returns the picture of a run without faults.
func (s *show) judge() []byte {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	complete, begun, heirs := make(map[string]uint64), make(map[string]int), make(map[string]string)
	resumed := 0
	for _, e := range s.events {
		switch e.What {
		case "failed":
			s.t.Logf("%s: %s: %s", e.member, e.Key, e.Text)
		case "begin", "resume":
			slot := fmt.Sprint(e.View, e.Key)
			if heirs[slot] != "" {
				s.t.Errorf("%s and %s inherit %s in view %v", heirs[slot], e.member, e.Key, e.View)
			}
			heirs[slot] = e.member
			if e.What == "begin" {
				begun[e.Key]++
			} else {
				resumed++
			}
			if e.Step < complete[e.Key] {
				s.t.Errorf("%s goes on with %s from frame %d, and %d was complete", e.member, e.Key, e.Step, complete[e.Key])
			}
		case "complete":
			complete[e.Key] = max(complete[e.Key], e.Step)
		}
	}
	s.t.Logf("%d tiles were resumed from a checkpoint", resumed)
	if resumed == 0 {
		s.t.Error("no tile was resumed")
	}
	states := make(map[string][]byte)
	for _, key := range fractal.Keys() {
		state := fractal.Begin(key, seed)
		for frame := range s.frames {
			state = fractal.Next(key, frame+1, state)
		}
		states[key] = state
	}
	var b bytes.Buffer
	s.must(fractal.Draw(&b, states))
	return b.Bytes()
}
