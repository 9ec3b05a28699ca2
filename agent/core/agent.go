package core

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/councillog"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
)

// A Agent is a member of the council that elects for other programs.
type Agent struct {
	Log     *slog.Logger
	Name    string
	Version string
	started time.Time
	Timing  regent.Timing
	// Ordinary says that the configuration allows no real-time threads.
	Ordinary bool
	// noRealtime is why this process has none; nil: it may.
	noRealtime error
	clock      clock.Clock
	// File is the configuration in force.
	File atomic.Pointer[config.File]

	member atomic.Pointer[regent.Member]
	// joinedAt is when it took part first; nil: not yet.
	joinedAt atomic.Pointer[time.Time]
	// joining is the member before it takes part as well, for requests that ask what it waits for.
	joining atomic.Pointer[regent.Member]
	// founding is what the member does before that; nil: nothing is known.
	founding atomic.Pointer[founding]
	// joined is closed when the member takes part, failed when it will not.
	joined chan struct{}
	failed chan struct{}
	// present ends, by left, when the member has left, or could not in time. Its leases run out from then on, whatever still acts under them.
	present   context.Context
	left      context.CancelFunc
	ChangeLog *ChangeLog
	deadlines *deadlines
	// Silence rings for programs that give no sign of life.
	Silence     *party.Silence
	streams     atomic.Int64 // open event streams
	statusCache statusCache
	seats       map[string]*seat // of the groups that hosts lead
	consistent  map[string]bool  // the consistent groups that were configured at the start
	verifySlots chan struct{}
	Trees       *processes.Trees
	// onStart is called once the member has its directory to itself.
	onStart      func()
	runners      runners
	Names        party.Names // of all members of the council, in causes
	councilTrack councillog.Track
	// Removed is closed when the council has removed this host. The member leaves by itself then.
	Removed    chan struct{}
	removeOnce sync.Once
	// execute carries out orders of other hosts; send sends them some, once there is a member.
	execute func(ctx context.Context, from string, body []byte) (answer []byte)
	send    atomic.Pointer[world.SendOrder]

	mu      sync.Mutex
	nextID  uint64
	books   map[uint64]*Candidate
	groups  map[string]int        // candidates of each group
	leaders map[string]*Candidate // who leads here, by group
	closing bool
}

// A founding is what is known of a member that waits for the id of its council.
type founding struct {
	waiting string
	counts  func() world.PacketCounts
}

// New makes an agent that is no member yet, of a configuration and what that makes of the library's.
func New(file *config.File, c *regent.Config, version string, log *slog.Logger) (*Agent, error) {
	clock, err := clock.System()
	if err != nil {
		return nil, err
	}
	a := &Agent{Log: log, clock: clock, Name: file.Name, Version: version, started: time.Now(), Timing: c.Timing, Ordinary: c.NoRealtime,
		joined: make(chan struct{}), failed: make(chan struct{}), Removed: make(chan struct{}),
		books: make(map[uint64]*Candidate), groups: make(map[string]int), leaders: make(map[string]*Candidate),
		verifySlots: make(chan struct{}, maxVerifications),
		runners:     runners{last: make(map[tenure.Identity]*Candidate)}, Silence: party.NewSilence()}
	a.noRealtime = probeRealtime(c.NoRealtime)
	a.warnOfShortLeases(file)
	a.ChangeLog = NewChangeLog(a.TakesPart)
	for _, p := range slices.Concat(c.Council, c.Join) {
		a.Names.Enter(p.Name)
	}
	a.Names.Enter(a.Name)
	a.present, a.left = context.WithCancel(context.Background())
	a.File.Store(file)
	a.seats, a.consistent = newSeats(a), consistentGroups(file)
	a.deadlines = newDeadlines(a)
	a.Trees = &processes.Trees{Log: log, Ordinary: a.Ordinary, Guard: a.Timing.Guard, Longest: max(a.Timing.Lease, a.Timing.LongestLease),
		Clock: agentClock{a}, Self: a.Names.Rank(a.Name), Notes: processes.NewNotes(c.Dir)}
	return a, nil
}

// About is what an agent is. Only what the members agree on of its timing ever changes.
type About struct {
	Name, Version string
	Timing        regent.Timing
	// Ordinary says that the configuration allows no real-time threads.
	Ordinary bool
	Log      *slog.Logger
}

// InForce returns the constants of the council: those of the file, but for what the members have agreed on.
func (a *Agent) InForce() regent.Timing {
	if m := a.speaking(); m != nil {
		return m.Timing()
	}
	return a.Timing
}

// About returns what the agent is.
func (a *Agent) About() About {
	return About{Name: a.Name, Version: a.Version, Timing: a.InForce(), Ordinary: a.Ordinary, Log: a.Log}
}

// Known returns what is known about all groups.
func (a *Agent) Known() *ChangeLog { return a.ChangeLog }

// Signs returns the signs of life of a connection.
func (a *Agent) Signs() *LifeSigns { return a.Silence.Signs() }

// ClaimTree returns the tree that a runner claims in a campaign, or says why it is not the runner's.
func (a *Agent) ClaimTree(r *session.Candidate, p *processes.Peer) (*processes.Tree, error) {
	return a.Trees.Claim(r, p)
}

// Config returns the configuration in force.
func (a *Agent) Config() *config.File { return a.File.Load() }

// SetConfig puts a configuration into force.
func (a *Agent) SetConfig(file *config.File) { a.File.Store(file) }

// Start finds what an earlier start has left, before anybody can add to it, and begins what goes on until ctx ends.
func (a *Agent) Start(ctx context.Context, tasks *sync.WaitGroup) {
	old, void := a.Trees.Notes.Load()
	a.onStart = func() { // nobody else uses the directory
		for _, path := range void {
			_ = os.Remove(path)
		}
		tasks.Go(func() { a.Trees.KillOrphans(ctx, old) })
	}
	tasks.Go(func() { a.pushRenewals(ctx) })
}

// TakePart has the agent take part in the groups that the configuration lists, and look for members that are back, until ctx ends.
func (a *Agent) TakePart(ctx context.Context, tasks *sync.WaitGroup) {
	a.openGroups(ctx, tasks)
	tasks.Go(func() { a.watchRejoins(ctx) })
	tasks.Go(func() { a.reportPart(ctx) })
}

// Fail says that there will be no member.
func (a *Agent) Fail() { close(a.failed) }

// An Elector is what elects for the agent.
type Elector struct {
	// Join makes the member.
	Join func(context.Context, regent.Config) (*regent.Member, error)
	// See, if it is set, gets the token of each change.
	See func(token uint64)
}

// Join makes the agent a member of its council, after start. rekey gets how to put keys into force.
func (a *Agent) Join(ctx context.Context, c regent.Config, rekey func(put func(regent.Config) error)) error {
	return a.JoinBy(ctx, c, Elector{Join: regent.Join}, rekey)
}

// JoinBy is Join with another elector than a council.
func (a *Agent) JoinBy(ctx context.Context, c regent.Config, e Elector, rekey func(put func(regent.Config) error)) error {
	c.Logger, c.OnCouncil = a.Log, a.FollowCouncil
	c.OnChange = func(v regent.View) {
		if e.See != nil {
			e.See(v.Token)
		}
		a.ChangeLog.AddView(v)
	}
	started := world.WithStart(ctx, func(m *regent.Member) {
		a.joining.Store(m)
		a.onStart()
	})
	reported := world.WithReport(started, func(waiting string, counts func() world.PacketCounts) { a.founding.Store(&founding{waiting, counts}) })
	in := world.WithRekey(world.WithClock(reported, a.clock), rekey)
	if a.execute != nil {
		in = world.WithOrders(in, a.orders())
	}
	m, err := e.Join(world.WithMirror(in, a.deadlines), c)
	if err != nil {
		return err
	}
	now := time.Now()
	a.joinedAt.Store(&now)
	a.member.Store(m)
	close(a.joined)
	s := m.Status()
	joined := a.Log.With("member", a.Name, "incarnation", s.Incarnation)
	if s.Waiting != "" {
		joined.Info("the member has joined the council", "waiting", s.Waiting)
	} else {
		joined.Info("the member has joined the council")
	}
	return nil
}

// ErrJoining says that there is no member yet.
var ErrJoining = errors.New("the member does not take part in the council yet: 'regent status' says what it waits for")

// AwaitMember waits for the member.
func (a *Agent) AwaitMember(ctx context.Context) (*regent.Member, error) {
	select {
	case <-a.joined:
		return a.member.Load(), nil
	case <-a.failed:
		return nil, regent.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// HasJoined says whether the member has taken part.
func (a *Agent) HasJoined() bool { return a.member.Load() != nil }

// currentMember returns the member, or says that there is none yet.
func (a *Agent) currentMember() (*regent.Member, error) {
	if m := a.member.Load(); m != nil {
		return m, nil
	}
	return nil, ErrJoining
}

// Now reads the clock of the agent, which is also the member's.
func (a *Agent) Now() protocol.Time { return a.clock.Now() }

// Leave lets programs stop, gives everything up, and leaves the council. It calls finish after that, with what is left of the time.
func (a *Agent) Leave(finish func(context.Context)) error {
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	a.Log.Info("leaving: programs that lead are asked to stop")
	// Programs have their grace, then the ends that were announced to them must pass, then what was promised to others.
	t := a.InForce()
	limit := a.Config().StopGrace + t.Lease + 2*t.LongestLease + OrderTimeout
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := a.member.Load().Leave(ctx)
	for _, c := range a.Candidates() {
		select {
		case <-c.Ended:
		case <-ctx.Done():
		}
	}
	a.left()
	finish(ctx)
	if err == nil {
		a.Log.Info("left the council in good order")
	}
	return err
}

// ErrStopping says that the agent takes no more candidates.
var ErrStopping = errors.New("the agent is stopping: campaign at another member's, or later")

// register takes a candidate into the books. What can never change is refused at once: campaigning again would not help.
func (a *Agent) register(c *Candidate) error {
	file := a.Config()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch mode, want := a.ModeOf(c.Group), cmp.Or(c.Mode, regent.Quorum); {
	case mode != want && mode == regent.Quorum:
		return api.Errorf(http.StatusConflict, "group %.40q is no %s group here (list it under groups in the configuration of every member)", c.Group, want)
	case mode != want && mode == regent.Consistent:
		return api.Errorf(http.StatusConflict, "group %.40q is consistent here (take part with mode consistent on the unix socket, or with Dial)", c.Group)
	case mode != want:
		return api.Errorf(http.StatusConflict, "group %.40q is %s here: hosts lead it (campaign with mode %s, as regent run --mode %s does)", c.Group, mode, mode, mode)
	case mode != regent.Quorum && a.seats[c.Group] == nil && !a.consistent[c.Group]:
		return api.Errorf(http.StatusConflict, "group %.40q is new in the configuration (restart the agent)", c.Group)
	case mode != regent.Quorum && c.Lease != 0:
		return api.Errorf(http.StatusConflict, "group %.40q is %s: no program there asks for the length of a lease", c.Group, mode)
	case mode != regent.Quorum && c.Value != "":
		return api.Errorf(http.StatusConflict, "group %.40q is %s: its leaders announce no value", c.Group, mode)
	case a.seats[c.Group] != nil && c.guard() > a.longestGuard(c, mode):
		return api.Errorf(http.StatusConflict, "group %.40q is %s: guard %v does not fit the lease of a host there, of which a program can keep back at most %v (give a shorter --guard, or set a shorter timing.guard)",
			c.Group, mode, c.guard(), a.longestGuard(c, mode))
	case c.checkGuard() != nil:
		return c.checkGuard()
	case file.Self().Role() != "":
		return api.Errorf(http.StatusConflict, "member %s is a %s and leads nothing: campaign at a member that may lead", a.Name, file.Self().Role())
	case a.closing:
		return ErrStopping
	case a.groups[c.Group] == 0 && len(a.groups) >= file.Limits.Groups:
		return api.Errorf(http.StatusServiceUnavailable, "group %.40q: programs here take part in %d groups already, which is the limit (limits.groups)", c.Group, len(a.groups))
	}
	a.nextID++
	c.id = a.nextID
	a.books[c.id] = c
	a.groups[c.Group]++
	return nil
}

// unregister takes a candidate out of the books.
func (a *Agent) unregister(c *Candidate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.books, c.id)
	if a.leaders[c.Group] == c {
		delete(a.leaders, c.Group)
	}
	a.groups[c.Group]--
	if a.groups[c.Group] == 0 {
		delete(a.groups, c.Group)
	}
}

// setLeader takes note that a program leads.
func (a *Agent) setLeader(c *Candidate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leaders[c.Group] = c
}

// logElection writes that a program leads into the log. The program learnt it before: a log may be slow.
func (a *Agent) logElection(c *Candidate) {
	a.Log.Info("a program leads", "group", c.Group, "program", c.Name, "pid", c.Pid, "token", c.Token())
}

// Candidates returns all candidates, in the order in which they came.
func (a *Agent) Candidates() []*Candidate {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*Candidate, 0, len(a.books))
	for _, c := range a.books {
		out = append(out, c)
	}
	slices.SortFunc(out, func(x, y *Candidate) int { return int(x.id) - int(y.id) })
	return out
}

// Leader returns the candidate that leads a group here; nil if none does.
func (a *Agent) Leader(group string) *Candidate {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaders[group]
}

// maxGrace bounds how long a program may ask to be waited for.
const maxGrace = time.Hour

// GraceFor returns how long a program may take to stop.
func (a *Agent) GraceFor(c *Candidate, cause regent.Cause) time.Duration {
	own := a.Config().StopGrace
	grace := min(c.Grace, maxGrace)
	if grace == 0 {
		grace = own
	}
	if cause.Why == why.Closed {
		grace = min(grace, own)
	}
	return grace
}
