package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/why"
)

// Options is what an agent needs beside its configuration.
type Options struct {
	// Config is the path of the configuration, which is read again when the process gets SIGHUP.
	Config string
	// Version is shown in the status.
	Version string
	// Dashboard, if it is set, makes what serves the pages for people, below /ui/. MayWrite says of a request whether its
	// sender may do more than look.
	Dashboard func(*Agent) http.Handler
	// Log is where lines for the operator go; nil is the standard error.
	Log io.Writer
	// Ready, if it is set, is called with the address of the HTTP interface once the agent can be asked.
	Ready func(http string)
}

// Agent is a member of the council that elects for other programs.
type Agent struct {
	options Options
	log     *slog.Logger
	level   *slog.LevelVar
	name    string
	started time.Time
	timing  regent.Timing
	// ordinary says that the configuration allows no real-time threads.
	ordinary bool
	clock    clock.Clock
	// file is the configuration in force.
	file atomic.Pointer[config.File]
	// reloading is held while a configuration is put into force. putKeys, which it guards, does that with keys once there is a member.
	reloading sync.Mutex
	putKeys   func(regent.Config) error
	// keys tells the keys in force that are in files from others.
	keys atomic.Pointer[secretKeys]
	// access says who may do what; it is replaced by a reload.
	access atomic.Pointer[access]
	// admission bounds connections over TCP; nil if there are none.
	admission atomic.Pointer[admission]
	audit     *auditLog

	member atomic.Pointer[regent.Member]
	// joinedAt is when it took part first; nil: not yet.
	joinedAt atomic.Pointer[time.Time]
	// joining is the member before it takes part as well, for whoever asks what it waits for.
	joining atomic.Pointer[regent.Member]
	// founding is what the member does before that; nil: nothing is known.
	founding atomic.Pointer[founding]
	// joined is closed when the member takes part, failed when it will not.
	joined    chan struct{}
	failed    chan struct{}
	changes   *changeLog
	deadlines *deadlines
	// silence rings for programs that give no sign of life.
	silence         *party.Silence
	routes          http.Handler
	streams         atomic.Int64 // open event streams
	streamCampaigns streamCampaigns
	statusCache     statusCache
	localLeases     localLeases
	// switchovers are those that tools of Patroni have asked for, for later.
	switchovers switchovers
	verifySlots chan struct{}
	metrics     http.Handler
	orphans     orphanStore
	keepers     keepers
	runners     runners
	names       party.Names // of all members of the council, in causes
	// onStart is called once the member has its directory to itself.
	onStart func()

	mu         sync.Mutex
	nextID     uint64
	candidates map[uint64]*candidate
	groups     map[string]int        // candidates of each group
	leaders    map[string]*candidate // who leads here, by group
	closing    bool
}

// A founding is what is known of a member that waits for the id of its council.
type founding struct {
	waiting string
	counts  func() world.PacketCounts
}

// Run runs an agent until ctx ends, and then lets it leave in good order.
func Run(ctx context.Context, o Options) error {
	file, err := config.Load(o.Config)
	if err != nil {
		return err
	}
	a, err := newAgent(file, o)
	if err != nil {
		return err
	}
	thread.Spare() // for the member and for killers
	return a.run(ctx)
}

func newAgent(file *config.File, o Options) (*Agent, error) {
	c, err := file.Regent()
	if err != nil {
		return nil, err
	}
	clock, err := clock.System()
	if err != nil {
		return nil, err
	}
	a := &Agent{options: o, clock: clock, level: new(slog.LevelVar), name: file.Name, started: time.Now(), timing: c.Timing, ordinary: c.NoRealtime,
		joined: make(chan struct{}), failed: make(chan struct{}), changes: newChangeLog(),
		candidates: make(map[uint64]*candidate), groups: make(map[string]int),
		leaders: make(map[string]*candidate), streamCampaigns: streamCampaigns{all: make(map[string]*candidate)},
		localLeases: localLeases{all: make(map[string]*regent.LocalLease)}, verifySlots: make(chan struct{}, maxVerifications), keepers: keepers{all: make(map[string]*keeping)},
		runners: runners{last: make(map[tenure.Identity]*candidate)}}
	to := o.Log
	if to == nil {
		to = os.Stderr
	}
	for i := range c.Council {
		a.names.Enter(c.Council[i].Name)
	}
	a.log = slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: a.level}))
	a.audit = newAuditLog(a.log)
	adopt, err := a.prepare(file)
	if err != nil {
		return nil, err
	}
	adopt()
	a.deadlines = newDeadlines(a)
	a.silence = party.NewSilence()
	a.metrics = newMetrics(a)
	a.routes = a.handler()
	a.orphans = newOrphanStore(c.Dir)
	return a, nil
}

// prepare checks what can change while the agent runs, and returns how to put it into force.
func (a *Agent) prepare(file *config.File) (adopt func(), err error) {
	level, err := file.Level()
	if err != nil {
		return nil, err
	}
	rights, err := newAccess(file)
	if err != nil {
		return nil, err
	}
	if err := checkOpenFiles(&file.Limits); err != nil {
		return nil, err
	}
	return func() {
		a.level.Set(level)
		a.access.Store(rights)
		a.audit.setPath(file.Audit)
		a.file.Store(file)
	}, nil
}

func (a *Agent) run(ctx context.Context) error {
	s, err := a.listen()
	if err != nil {
		return err
	}
	defer s.close()
	defer a.switchovers.cancelAll()
	background, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	defer func() { cancel(); tasks.Wait() }()
	old, void := a.orphans.load() // before anybody can add to them
	a.onStart = func() {
		for _, path := range void {
			_ = os.Remove(path)
		}
		tasks.Go(func() { a.killOrphans(background, old) })
	}
	tasks.Go(func() { a.pushRenewals(background) })
	tasks.Go(func() { a.audit.run(background) })
	tasks.Go(func() { s.serve(background) })
	tasks.Go(func() { a.reloads(background, s) })
	tasks.Go(func() { a.watchdog(background) })
	if a.options.Ready != nil {
		a.options.Ready(s.address())
	}
	notify("READY=1", "STATUS=waiting for the council")
	a.log.Info("the agent listens", "socket", a.file.Load().Socket.Path, "http", s.address())
	m, err := a.join(ctx)
	if err != nil {
		close(a.failed)
		notify("STOPPING=1")
		if ctx.Err() != nil {
			a.log.Info("stopped before the member took part", "waiting", err)
			return nil
		}
		return err
	}
	notify("STATUS=takes part as " + a.name)
	here, leave := context.WithCancel(ctx)
	defer leave()
	a.openGroups(here, m, &tasks)
	tasks.Go(func() { a.watchRejoins(here) })
	<-ctx.Done()
	return a.stop(m, s)
}

// join makes the agent a member.
func (a *Agent) join(ctx context.Context) (*regent.Member, error) {
	c, err := a.file.Load().Regent()
	if err != nil {
		return nil, err
	}
	a.keys.Store(digestKeys(&c))
	c.Logger, c.OnChange = a.log, a.changes.addView
	started := world.WithStart(ctx, func(m *regent.Member) {
		a.joining.Store(m)
		a.onStart()
	})
	reported := world.WithReport(started, func(waiting string, counts func() world.PacketCounts) { a.founding.Store(&founding{waiting, counts}) })
	in := world.WithRekey(world.WithClock(reported, a.clock), a.takeRekey)
	m, err := regent.Join(world.WithMirror(in, a.deadlines), c)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: is another agent running? stop it, or change the member's address, or bind", err)
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	a.joinedAt.Store(&now)
	a.member.Store(m)
	close(a.joined)
	a.log.Info("the member takes part", "member", a.name, "incarnation", m.Status().Incarnation)
	return m, nil
}

// errJoining says that there is no member yet.
var errJoining = errors.New("the member does not take part in the council yet: 'regent status' says what it waits for")

// awaitMember waits for the member.
func (a *Agent) awaitMember(ctx context.Context) (*regent.Member, error) {
	select {
	case <-a.joined:
		return a.member.Load(), nil
	case <-a.failed:
		return nil, regent.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// currentMember returns the member, or says that there is none yet.
func (a *Agent) currentMember() (*regent.Member, error) {
	if m := a.member.Load(); m != nil {
		return m, nil
	}
	return nil, errJoining
}

// now reads the clock of the agent, which is also the member's.
func (a *Agent) now() regent.Instant { return regent.Instant(a.clock.Now()) }

// stop lets programs stop, gives everything up, and leaves the council.
func (a *Agent) stop(m *regent.Member, s *server) error {
	notify("STOPPING=1", "STATUS=programs are asked to stop")
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	a.log.Info("leaving: programs that lead are asked to stop")
	// Programs have their grace, then the ends that they were told must pass, then what was promised to others.
	limit := a.file.Load().StopGrace + a.timing.Lease + 2*a.timing.LongestLease + orderTimeout
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err := m.Leave(ctx)
	for _, c := range a.candidateList() {
		select {
		case <-c.ended:
		case <-ctx.Done():
		}
	}
	s.drain(ctx)
	if err == nil {
		a.log.Info("left the council in good order")
	}
	return err
}

// errStopping says that the agent takes no more candidates.
var errStopping = errors.New("the agent is stopping: campaign at another member's, or later")

// register takes a candidate into the books. What can never change is refused at once: campaigning again would not help.
func (a *Agent) register(c *candidate) error {
	file := a.file.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch mode := a.modeOf(c.group); {
	case mode != regent.Quorum:
		return failf(http.StatusConflict, "group %.40q is %s here (groups, in the configuration): hosts lead it, not programs", c.group, mode)
	case file.Self().Role() != "":
		return failf(http.StatusConflict, "member %s is a %s and leads nothing: campaign at a member that may lead", a.name, file.Self().Role())
	case a.closing:
		return errStopping
	case a.groups[c.group] == 0 && len(a.groups) >= file.Limits.Groups:
		return failf(http.StatusServiceUnavailable, "group %.40q: programs here take part in %d groups already, which is the limit (limits.groups)", c.group, len(a.groups))
	}
	a.nextID++
	c.id = a.nextID
	a.candidates[c.id] = c
	a.groups[c.group]++
	return nil
}

// unregister takes a candidate out of the books.
func (a *Agent) unregister(c *candidate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.candidates, c.id)
	if a.leaders[c.group] == c {
		delete(a.leaders, c.group)
	}
	a.groups[c.group]--
	if a.groups[c.group] == 0 {
		delete(a.groups, c.group)
	}
}

// setLeader takes note that a program leads.
func (a *Agent) setLeader(c *candidate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leaders[c.group] = c
}

// logElection writes that a program leads into the log. It was told before: a log may be slow.
func (a *Agent) logElection(c *candidate) {
	a.log.Info("a program leads", "group", c.group, "program", c.program, "pid", c.pid, "token", c.currentLease().Token())
}

// candidateList returns all candidates, in the order in which they came.
func (a *Agent) candidateList() []*candidate {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*candidate, 0, len(a.candidates))
	for _, c := range a.candidates {
		out = append(out, c)
	}
	slices.SortFunc(out, func(x, y *candidate) int { return int(x.id) - int(y.id) })
	return out
}

// leader returns the candidate that leads a group here; nil if none does.
func (a *Agent) leader(group string) *candidate {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.leaders[group]
}

// maxGrace bounds how long a program may ask to be waited for.
const maxGrace = time.Hour

// graceFor returns how long a program may take to stop.
func (a *Agent) graceFor(c *candidate, cause regent.Cause) time.Duration {
	own := a.file.Load().StopGrace
	grace := min(c.grace, maxGrace)
	if grace == 0 {
		grace = own
	}
	if cause.Why == why.Closed {
		grace = min(grace, own)
	}
	return grace
}

// reloads reads the configuration again whenever the process is asked to.
func (a *Agent) reloads(ctx context.Context, s *server) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-hup:
			a.reload(s)
		case <-ctx.Done():
			return
		}
	}
}
