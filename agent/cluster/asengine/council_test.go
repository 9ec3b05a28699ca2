//go:build engines

package asengine

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net"
	"net/netip"
	"os"
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

func TestMain(m *testing.M) { enginetest.Main(m, open) }

// A plan is what the members of the council know of it, in a file.
type plan struct {
	Dir     string
	Council []regent.Peer
	Own     map[string]regent.OwnKeys
	Bind    map[string]string
}

// open returns the engine of a plan in a file.
func open(_ context.Context, file string) (engine.Engine, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := new(council)
	return c, json.Unmarshal(b, &c.plan)
}

// A council is an engine that is a member of one.
type council struct{ plan plan }

func (c *council) Name() string                                { return "council" }
func (c *council) Where() string                               { return c.plan.Dir }
func (c *council) Limits() engine.Limits                       { return engine.Limits{} }
func (c *council) Raise(context.Context, string, uint64) error { return engine.ErrUnsupported }

func (c *council) Open(ctx context.Context, h engine.Host) (engine.Session, error) {
	m, err := c.plan.join(ctx, h.Name, h.Lease)
	return &session{member: m, clock: h.Clock}, err
}

// join makes a member. The leases are those of the test, and all else is of a council over wide networks.
func (p *plan) join(ctx context.Context, name string, lease time.Duration) (*regent.Member, error) {
	t := regent.WAN
	t.Lease = lease
	return regent.Join(ctx, regent.Config{Name: name, CouncilID: "c0ffee00c0ffee00c0ffee00c0ffee00", Council: p.Council, OwnKeys: p.Own[name], Bind: p.Bind[name], Dir: filepath.Join(p.Dir, name), Bootstrap: true, Timing: t, StopWithin: lease, NoRealtime: true})
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
func assemble(t *testing.T) (p plan, r *relay.Relay, file string) {
	t.Helper()
	p = plan{Dir: t.TempDir(), Bind: make(map[string]string)}
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
func (p *plan) found(t *testing.T, lease time.Duration) (voter *regent.Member) {
	t.Helper()
	members := make([]*regent.Member, len(names))
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { members[i], errs[i] = p.join(t.Context(), name, lease) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, m := range members[:2] {
		if err := m.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return members[2]
}

func TestTheCouncilPassesTheTestOfEngines(t *testing.T) {
	const lease = 4 * time.Second
	p, r, file := assemble(t)
	voter := p.found(t, lease)
	t.Cleanup(func() { _ = voter.Leave(context.Background()) })
	enginetest.Run(t, enginetest.Subject{Lease: lease, Slow: lease * 5 / 4,
		Link: func(t *testing.T, contender string) enginetest.Link {
			return &link{T: t, links: r.Links(), name: contender, file: file}
		},
		Crash: func(t *testing.T) { // the member that only votes starts again
			if err := voter.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			m, err := p.join(t.Context(), "c", lease)
			if err != nil {
				t.Fatal(err)
			}
			voter = m
		}})
}
