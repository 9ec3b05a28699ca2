//go:build engines

package asengine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/enginetest"
	"github.com/regentproject/regent/internal/transport/fault"
	"github.com/regentproject/regent/internal/transport/relay"
)

// votes is the variable of the environment that makes a process the member that only votes, by the plan in a file.
const votes = "REGENT_ASENGINE_VOTER"

func TestMain(m *testing.M) {
	if file := os.Getenv(votes); file != "" {
		if err := vote(context.Background(), file); err != nil {
			fmt.Fprintln(os.Stderr, "voter:", err)
			os.Exit(1)
		}
		return
	}
	enginetest.Main(m, open)
}

// vote is the process of the member that only votes. It leaves when its input ends.
func vote(ctx context.Context, file string) error {
	p, err := readPlan(file)
	if err != nil {
		return err
	}
	m, err := p.join(ctx, "c")
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return m.Leave(ctx)
}

// A plan is what the members of the council know of it, in a file.
type plan struct {
	Dir     string
	Lease   time.Duration
	Council []regent.Peer
	Own     map[string]regent.OwnKeys
	Bind    map[string]string
}

func readPlan(file string) (p plan, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(b, &p)
}

// open returns the engine of a plan in a file.
func open(_ context.Context, file string) (engine.Engine, error) {
	p, err := readPlan(file)
	return &council{p}, err
}

// A council is an engine that is a member of one.
type council struct{ plan plan }

func (c *council) Name() string                                { return "council" }
func (c *council) Where() string                               { return c.plan.Dir }
func (c *council) Limits() engine.Limits                       { return engine.Limits{} }
func (c *council) Raise(context.Context, string, uint64) error { return engine.ErrUnsupported }

func (c *council) Open(ctx context.Context, h engine.Host) (engine.Session, error) {
	m, err := c.plan.join(ctx, h.Name)
	return &session{member: m, clock: h.Clock}, err
}

// join makes a member. The leases are those of the test, and all else is of a council over wide networks.
func (p *plan) join(ctx context.Context, name string) (*regent.Member, error) {
	t := regent.WAN
	t.Lease = p.Lease
	return regent.Join(ctx, regent.Config{Name: name, CouncilID: "c0ffee00c0ffee00c0ffee00c0ffee00", Council: p.Council, OwnKeys: p.Own[name], Bind: p.Bind[name], Dir: filepath.Join(p.Dir, name), Bootstrap: true, Timing: t, StopWithin: p.Lease, NoRealtime: true})
}

type session struct {
	member *regent.Member
	clock  engine.Clock
}

func (s *session) Campaign(ctx context.Context, name, _ string) (engine.Tenure, error) {
	g, err := s.member.Group(name)
	if err != nil {
		return nil, err
	}
	l, err := g.Campaign(ctx)
	if err != nil {
		return nil, err
	}
	t := &tenure{lease: l, clock: s.clock, lost: make(chan struct{}), moved: make(chan struct{})}
	t.look()
	go t.follow()
	return t, nil
}

func (s *session) Watch(context.Context, string) iter.Seq[engine.State] {
	return func(func(engine.State) bool) {}
}

func (s *session) Fault() error { return nil }

func (s *session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.member.Leave(ctx)
}

// A tenure looks at a lease from time to time.
type tenure struct {
	lease *regent.Lease
	clock engine.Clock
	lost  chan struct{}

	mu    sync.Mutex
	until engine.Instant
	moved chan struct{}
}

// look takes note of the end, if it has moved, and says whether the lease is valid.
func (t *tenure) look() bool {
	now := t.clock.Now()
	left := t.lease.Remaining()
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := now.Add(left); left > 0 && t.until.Before(until) {
		t.until = until
		close(t.moved)
		t.moved = make(chan struct{})
	}
	return t.lease.Valid()
}

// follow looks until the lease is over: Done comes a guard time before that.
func (t *tenure) follow() {
	defer close(t.lost)
	for t.look() {
		time.Sleep(50 * time.Millisecond) // wall clock: leases of processes
	}
}

func (t *tenure) Token() uint64         { return t.lease.Token() }
func (t *tenure) Lost() <-chan struct{} { return t.lost }
func (t *tenure) LetRunOut()            {}
func (t *tenure) Announce(string)       {}

func (t *tenure) Until() engine.Instant {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

func (t *tenure) Moved() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.moved
}

func (t *tenure) Release() { go func() { _ = t.lease.Resign(context.Background()) }() }

// names are those of the members: two contend, and the third only votes.
var names = []string{"a", "b", "c"}

// A link is all that passes between a contender and the others.
type link struct {
	*testing.T
	links *fault.Links
	name  string
	file  string
}

func (l *link) Address() string { return l.file }
func (l *link) Cut()            {}
func (l *link) Close()          {}

func (l *link) Set(delay time.Duration, mute, refuse bool) {
	if err := l.links.Set("*", l.name, fault.Link{Delay: delay, Cut: mute || refuse}); err != nil {
		l.Error(err)
	}
	if err := l.links.Set(l.name, "*", fault.Link{Cut: refuse}); err != nil {
		l.Error(err)
	}
}

// assemble makes a plan and the relay between its members.
func assemble(t *testing.T, lease time.Duration) (p plan, r *relay.Relay, file string) {
	t.Helper()
	p = plan{Dir: t.TempDir(), Lease: lease, Bind: make(map[string]string)}
	var ends []relay.Member
	for _, name := range names {
		p.Bind[name] = freeAddress(t)
		ends = append(ends, relay.Member{Name: name, Addr: netip.MustParseAddrPort(p.Bind[name])})
	}
	r, err := relay.Start(relay.Config{Members: ends})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	for _, name := range names {
		addr, err := r.Addr(name)
		if err != nil {
			t.Fatal(err)
		}
		p.Council = append(p.Council, regent.Peer{Name: name, Addrs: []string{addr.String()}, Witness: name == "c"})
	}
	p.Own = regent.DrawKeys(p.Council)
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(p.Dir, "plan.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return p, r, file
}

func freeAddress(t *testing.T) string {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().String()
}

// found has the council begin, for which all members must be there at once. Then c goes on, and contenders start from the directories of a and b.
func (p *plan) found(t *testing.T, c *voter) {
	t.Helper()
	members := make([]*regent.Member, 2)
	errs := make([]error, 2)
	var all sync.WaitGroup
	for i, name := range names[:2] {
		all.Go(func() { members[i], errs[i] = p.join(t.Context(), name) })
	}
	c.start(t)
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if err := m.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A voter is the process of the member that only votes.
type voter struct {
	file string
	cmd  *exec.Cmd
	// crashes counts its crashes.
	crashes int
}

// start starts the process, and returns when it is a member.
func (v *voter) start(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), votes+"="+v.file)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // it ends with this process
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.cmd = cmd
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("voter: %q, %v", line, err)
	}
}

// kill kills the process with SIGKILL.
func (v *voter) kill() {
	if v.cmd != nil {
		_ = v.cmd.Process.Kill()
		_ = v.cmd.Wait()
	}
}

// crash kills the voter, and starts it again, while the contenders do not reach each other. Who leads then leads by its promise, which must hold although it has died: it waits before it
// promises anything to the other. When it starts, one of the contenders, in turn, does not reach it either: if that one leads, the other would lead too early by a voter that had forgotten.
func (v *voter) crash(t *testing.T, links *fault.Links, lease time.Duration) {
	cut := func(from, to string, cut bool) {
		for _, way := range [][2]string{{from, to}, {to, from}} {
			if err := links.Set(way[0], way[1], fault.Link{Cut: cut}); err != nil {
				t.Error(err)
			}
		}
	}
	alone := names[v.crashes%2]
	v.crashes++
	cut("a", "b", true)
	time.Sleep(2 * lease) // wall clock: what a and b have promised each other runs out
	v.kill()
	cut(alone, "c", true)
	v.start(t)
	time.Sleep(lease) // wall clock: the wait after the start, and elections after it
	cut(alone, "c", false)
	cut("a", "b", false)
}

func TestTheCouncilPassesTheTestOfEngines(t *testing.T) {
	const lease = 4 * time.Second
	p, r, file := assemble(t, lease)
	c := &voter{file: file}
	t.Cleanup(c.kill)
	p.found(t, c)
	enginetest.Run(t, enginetest.Subject{Lease: lease, Slow: lease * 5 / 4,
		Link: func(t *testing.T, contender string) enginetest.Link {
			return &link{T: t, links: r.Links(), name: contender, file: file}
		},
		Crash: func(t *testing.T) { c.crash(t, r.Links(), lease) }})
}
