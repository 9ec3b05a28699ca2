package register

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lessee"
)

// An Entry is what a store has of one group. The zero value is an absent one: its token is zero.
type Entry = lessee.Entry

// A Store keeps one entry for each group.
type Store interface {
	// Name, Where, Limits and Raise are those of the engine.
	Name() string
	Where() string
	Limits() engine.Limits
	Raise(ctx context.Context, group string, above uint64) error
	// Check says why the store cannot be used: it cannot be reached, is too old, lacks a right, or keeps entries of another version.
	Check(ctx context.Context) error
	// Read returns the entry of a group.
	Read(ctx context.Context, group string) (Entry, error)
	// Swap replaces the entry if its token and beat are those of old, and returns the entry as it is afterwards. A new entry without a token gets
	// one that is above all that the group ever had, also after its entry was deleted. It is one atomic operation, and durable when it returns.
	Swap(ctx context.Context, group string, old, new Entry) (now Entry, swapped bool, err error)
}

// A Hinter is a store that can say which entries have changed. Hints may be lost: entries are read all the same.
type Hinter interface {
	// Hints calls f with the groups whose entries have changed, until ctx ends.
	Hints(ctx context.Context, f func(group string)) error
}

// New returns the engine that a store makes.
func New(s Store) engine.Engine { return &maker{s} }

type maker struct{ Store }

// ErrBusy says that this process campaigns for the group already, or leads it.
var ErrBusy = errors.New("this process campaigns for the group already, or leads it")

// ErrClosed says that the session is closed.
var ErrClosed = errors.New("the session is closed")

// Open checks the lengths of time and the store.
func (e *maker) Open(ctx context.Context, h engine.Host) (engine.Session, error) {
	limits := e.Limits()
	switch {
	case h.Lease < limits.Shortest:
		return nil, fmt.Errorf("engine %s: lease %v: the shortest is %v", e.Name(), h.Lease, limits.Shortest)
	case limits.Step > 0 && h.Lease%limits.Step != 0:
		return nil, fmt.Errorf("engine %s: lease %v: must be a multiple of %v", e.Name(), h.Lease, limits.Step)
	case h.Drift <= 0 || h.Drift >= 0.5:
		return nil, fmt.Errorf("engine %s: drift %v: must be above 0 and below 0.5", e.Name(), h.Drift)
	}
	s := &session{store: e.Store, host: h, groups: make(map[string]*group), empty: make(chan struct{})}
	// drift: the bound is rounded up
	s.config = lessee.Config{Holder: h.Name, TTL: h.Lease, Renew: h.Renew, Poll: h.Renew, Rho: protocol.Rho(h.Drift*1e9) + 1}
	if err := s.config.Check(); err != nil {
		return nil, fmt.Errorf("engine %s: %w", e.Name(), err)
	}
	if err := e.Check(ctx); err != nil {
		return nil, fmt.Errorf("engine %s: %w", e.Name(), err)
	}
	s.ctx, s.quit = context.WithCancel(context.WithoutCancel(ctx))
	if hinter, ok := e.Store.(Hinter); ok {
		s.tasks.Go(func() { s.hints(hinter) })
	}
	return s, nil
}

// A session is how this process takes part.
type session struct {
	store  Store
	host   engine.Host
	config lessee.Config
	ctx    context.Context
	quit   context.CancelFunc
	tasks  sync.WaitGroup

	mu     sync.Mutex
	groups map[string]*group
	fault  error
	logged time.Time // when a fault was logged last
	closed bool
	// empty is closed when the session is closed and nothing is left to give back.
	empty chan struct{}
}

// hints reads entries that have changed at once. A store that gives no hints is asked again after a while.
func (s *session) hints(h Hinter) {
	for s.ctx.Err() == nil {
		err := h.Hints(s.ctx, func(name string) {
			if g := s.find(name); g != nil {
				g.step((*lessee.Machine).Hint)
			}
		})
		if err != nil && s.ctx.Err() == nil {
			s.host.Log.Debug("the store gives no hints: entries are read as often as leases are renewed", "engine", s.store.Name(), "err", err)
		}
		select {
		case <-time.After(s.host.Lease):
		case <-s.ctx.Done():
		}
	}
}

func (s *session) find(name string) *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups[name]
}

// use returns a group, until done is called.
func (s *session) use(name string) (*group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	g := s.groups[name]
	if g == nil {
		m, err := lessee.New(s.config)
		if err != nil {
			return nil, err
		}
		g = &group{session: s, name: name, machine: m, changed: make(chan struct{})}
		s.groups[name] = g
	}
	g.users++
	return g, nil
}

// done ends a use. A group without users goes when nothing is left to give back.
func (s *session) done(g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.users--
	s.remove(g)
}

// remove removes a group that has no user and nothing left to give back.
func (s *session) remove(g *group) {
	if g.users > 0 || s.groups[g.name] != g || !g.retire() {
		return
	}
	delete(s.groups, g.name)
	if s.closed && len(s.groups) == 0 {
		close(s.empty)
	}
}

// setFault takes note of whether the store answers. It logs a fault at most once in a while: each group finds out by itself.
func (s *session) setFault(err error) {
	if err != nil {
		err = errors.New(strings.Join(strings.Fields(err.Error()), " ")) // in one line
	}
	s.mu.Lock()
	s.fault = err
	log := err != nil && time.Since(s.logged) > faultEvery
	if log {
		s.logged = time.Now()
	}
	s.mu.Unlock()
	if log {
		s.host.Log.Warn("the store of the engine does not answer", "engine", s.store.Name(), "where", s.store.Where(), "err", err)
	}
}

// faultEvery is how often a fault is logged.
const faultEvery = 10 * time.Second

func (s *session) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// Close waits for what was released to be given back, but not for longer than between two renewals.
func (s *session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	wait := len(s.groups) > 0
	s.mu.Unlock()
	if wait {
		select {
		case <-s.empty:
		case <-time.After(s.host.Renew):
		}
	}
	s.quit()
	s.mu.Lock()
	groups := s.groups
	s.groups = nil
	s.mu.Unlock()
	for _, g := range groups {
		g.stop()
	}
	s.tasks.Wait()
	return nil
}

func (s *session) Campaign(ctx context.Context, name, value string) (engine.Tenure, error) {
	g, err := s.use(name)
	if err != nil {
		return nil, err
	}
	c := &campaign{session: rand.Text(), won: make(chan *tenure, 1)}
	if !g.enter(c, value) {
		s.done(g)
		return nil, fmt.Errorf("engine %s: group %s: %w", s.store.Name(), name, ErrBusy)
	}
	select {
	case t := <-c.won:
		return t, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.ctx.Done():
		err = ErrClosed
	}
	g.leave(c)
	return nil, err
}

func (s *session) Watch(ctx context.Context, name string) iter.Seq[engine.State] {
	return func(yield func(engine.State) bool) {
		g, err := s.use(name)
		if err != nil {
			return
		}
		defer s.done(g)
		g.step((*lessee.Machine).Hint)
		for last, first := (engine.State{}), true; ; first = false {
			now, changed := g.state()
			if (first || now != last) && !yield(now) {
				return
			}
			last = now
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-s.ctx.Done():
				return
			}
		}
	}
}
