package regent

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/members"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/store"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/why"
)

// ErrClosed says that the member was closed.
var ErrClosed = stamp.ErrClosed

// A Member is this program's place in the council: it votes, and programs here may lead groups. All its methods may be
// called from any goroutine.
type Member struct {
	config Config
	// present is the council in force, and file the one that the configuration lists; nil if this member joins one.
	present atomic.Pointer[council]
	file    *council
	// fixed says why the council cannot change; authority is the machine that changes it otherwise.
	fixed     string
	authority *members.Machine
	instance  *runtime.Instance
	changing  changing
	world     world.World
	// councilID tells the council from all others.
	councilID protocol.CouncilID
	record    bool // there was one at the start
	// distrusted is why the member does not go by its record, and asks; nil: it does.
	distrusted atomic.Pointer[distrust]
	accused    accusations // a peer said so without proof, or another process speaks for the member
	keys       memberKeys
	// startBits tell this start of the member from all others.
	startBits protocol.StartBits
	// access is which electors find nobody with good links to all others.
	access accessFaults
	dir    *store.Dir
	// longestLock is the longest lock of a local group that any start of this member may have given. It is for the loop's
	// own goroutine, once the member speaks.
	longestLock func() time.Duration
	// termsLeft returns how many changes of leaders the record on disk allows. Only the loop may call it.
	termsLeft  func() uint64
	log        *slog.Logger
	logQueue   *runtime.Log
	started    protocol.Time
	loop       *runtime.Loop
	groupTable *runtime.GroupTable
	port       *runtime.NetPort
	// clockBad says that the clock runs at the wrong rate.
	clockBad atomic.Bool
	// healthProblem is why the member is not fit to lead; nil if it is.
	healthProblem atomic.Pointer[string]
	// drained says that an operator keeps the member from leading. draining serialises the orders.
	drained  atomic.Bool
	draining sync.Mutex
	// unfit is who else is not fit to lead, and who is drained, for the loop's own goroutine.
	unfit func() (barred, drained protocol.Set)
	// causes counts the changes by cause.
	causes [maxCauses]atomic.Uint64

	onDemand onDemandGroups
	// outside is the engine; nil: the council elects.
	outside *outside
	// alive is where members find out who is alive.
	alive *runtime.OnDemand
	// guardian reports the death of this process; nil: nothing does.
	guardian   *guarded
	background sync.WaitGroup
	quit       context.CancelFunc
	closing    sync.Once
	closed     chan struct{}
	// leaveErr is what came of it that somebody would not wait until the member had left in good order; nil if nobody was in a
	// hurry.
	leaveErr atomic.Pointer[error]
}

// maxCauses is how many kinds of causes are counted apart; package why has fewer.
const maxCauses = 64

// Join makes this program a member of the council. It returns when the member takes part; if ctx ends before, the error
// says what the member was waiting for, and the log has said so meanwhile. Afterwards ctx no longer matters: a member
// stays until [Member.Leave].
//
// A council begins when all its members are there and each may begin it ([Config.Bootstrap]). From then on a majority is
// enough.
func Join(ctx context.Context, c Config) (*Member, error) {
	w, err := worldOf(ctx)
	if err != nil {
		return nil, err
	}
	m, err := prepare(c, w)
	if err != nil {
		return nil, err
	}
	if err := c.checkCouncilID(); err != nil {
		m.release()
		return nil, err
	}
	if err := m.start(ctx); err != nil {
		m.release()
		return nil, err
	}
	if w.Started != nil {
		w.Started(func() { m.closing.Do(m.end) })
	}
	world.Start(ctx, m)
	if err := m.await(ctx); err != nil {
		m.closing.Do(m.end) // unless a caller that learnt of the start has closed it
		return nil, err
	}
	return m, nil
}

// await waits until the member speaks.
func (m *Member) await(ctx context.Context) error {
	const patience = 5 * time.Second
	look, tell := time.NewTicker(50*time.Millisecond), time.NewTicker(patience)
	defer look.Stop()
	defer tell.Stop()
	for {
		named := m.loop.Named()
		if m.loop.Stats().Inc() != 0 {
			return nil
		}
		select {
		case <-named:
		case <-m.loop.Ended():
			if why := m.changing.left.Load(); why != nil {
				return fmt.Errorf("join as %s: %w", m.config.Name, *why)
			}
			return fmt.Errorf("join as %s: %w", m.config.Name, ErrClosed)
		case <-look.C:
			if err := m.loop.DiskFault(); err != nil {
				return fmt.Errorf("join as %s: %w", m.config.Name, err)
			}
		case <-tell.C:
			m.log.Warn("the member does not take part yet", "waiting", m.waiting(ctx))
		case <-ctx.Done():
			return fmt.Errorf("join as %s: %w: %s", m.config.Name, context.Cause(ctx), m.waiting(context.WithoutCancel(ctx)))
		}
	}
}

// Name returns the member's name.
func (m *Member) Name() string { return m.config.Name }

// Group returns the group with the name, in which at most one program of all members leads at any instant. The error says what is
// wrong with the name, which has 1 to 255 bytes of UTF-8 without control characters. Groups of the other modes are made in the same
// way, by [Member.LocalGroup], [Member.EventualGroup] and [Member.ConsistentGroup].
func (m *Member) Group(name string) (*Group, error) {
	if err := checkGroup(name); err != nil {
		return nil, err
	}
	g := &hostedGroup{m, Quorum, m.groupTable.Group(protocol.Group(name))}
	if m.outside != nil {
		m.outside.follow(protocol.Group(name))
	}
	return &Group{seen: seen{g}, verifier: g}, nil
}

// Leave leaves the council in good order: programs that lead are asked to stop; when the last has, the member gives its
// groups up, and records for how long what it promised to others stands: its next start does not vote before that is
// over. If ctx ends before, the member is gone all the same: leases of
// programs that have not stopped run out, and the error says so, also to others that wait in Leave. Once the member
// is gone it does nothing.
func (m *Member) Leave(ctx context.Context) error {
	if m.gone() {
		<-m.closed
		return nil
	}
	_ = m.loop.Close()
	m.loop.Leave()
	select {
	case <-m.loop.Ended():
	case <-ctx.Done():
		if !m.gone() {
			err := fmt.Errorf("leave %s: %w: %s", m.config.Name, context.Cause(ctx), m.remaining())
			m.leaveErr.CompareAndSwap(nil, &err)
		}
	}
	m.closing.Do(m.end)
	if p := m.leaveErr.Load(); p != nil {
		return *p
	}
	return nil
}

// end ends the member, once.
func (m *Member) end() {
	m.stop()
	close(m.closed)
}

// remaining says what a member that could not leave in good order leaves behind.
func (m *Member) remaining() string {
	if n := m.groupTable.Leading(); n > 0 {
		return fmt.Sprintf("programs have not stopped in %d of its groups: their leases run out", n)
	}
	return "what it promised to others is not over: its next start has to wait"
}

// stop ends all goroutines of the member and gives back what it holds.
func (m *Member) stop() {
	m.loop.Stop()
	<-m.loop.Ended()
	m.quit()
	m.background.Wait()
	if m.outside != nil {
		m.outside.close()
	}
	m.release()
}

func (m *Member) release() {
	if err := m.guardian.close(); err != nil {
		m.log.Warn("closing the guardian failed", "err", err)
	}
	if m.dir != nil {
		if err := m.dir.Close(); err != nil {
			m.log.Warn("closing the directory failed", "err", err)
		}
	}
	m.logQueue.Close()
}

// observe tells log and hook of changes, apart from the loop, so that neither can hold it up.
func (m *Member) observe() {
	var seen uint64
	for closed := false; ; {
		changed := m.groupTable.Changed()
		changes, lost := m.groupTable.After(seen)
		seen += lost
		for _, c := range changes {
			seen = c.Serial
			if isConsistent(c.Group) {
				m.noteOther("consistent", c)
				continue
			}
			v := m.view(c)
			v.Missed, lost = int(lost), 0
			m.causes[v.Cause.Why%maxCauses].Add(1)
			m.note(&v)
			if m.config.OnChange != nil {
				m.config.OnChange(v)
			}
		}
		if closed {
			return
		}
		select {
		case <-changed:
		case <-m.loop.Ended():
			closed = true // the last changes may not have been seen yet
		}
	}
}

// noteOther logs a change of a group that is not a quorum's. It is called on the loop, and does not wait.
func (m *Member) noteOther(mode string, c *runtime.Change) {
	level := slog.LevelDebug
	if c.Leader.Rank == m.council().self || c.Cause.Peer == m.council().self {
		level = slog.LevelInfo
	}
	ctx := context.Background()
	if !m.log.Enabled(ctx, level) {
		return
	}
	attrs := []any{"mode", mode, "group", names.Label(plainName(c.Group)), "leader", m.council().name(c.Leader.Rank), "stopping", c.Stop, "cause", m.cause(c.Cause).String()}
	if mode != "eventual" && c.Support != nil {
		attrs = append(attrs, "support", m.council().set(*c.Support))
	}
	m.log.Log(ctx, level, "leader changed", attrs...)
}

// note logs a change: those of one's own leadership as news, others and values as detail.
func (m *Member) note(v *View) {
	level := slog.LevelDebug
	if v.Cause.Why != why.Announced && (v.Mine || v.Cause.Member == m.config.Name) { // values change as often as a program likes
		level = slog.LevelInfo
	}
	attrs := []any{"group", names.Label(v.Group), "leader", v.Leader, "token", v.Token, "mine", v.Mine, "stopping", v.Stopping, "cause", v.Cause.String()}
	if v.Value != "" {
		attrs = append(attrs, "value", names.Show(v.Value))
	}
	m.log.Log(context.Background(), level, "leader changed", attrs...)
}
