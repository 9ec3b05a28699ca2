package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/view"
)

// A Conn is a program's connection to the agent of its host. All methods may be called from any goroutine.
type Conn struct {
	conn  net.Conn
	in    *party.Reader
	clock clock.Clock
	hello Event
	names party.Names
	// page is where the agent shows deadlines; nil: it tells them in messages.
	page  *page.Reader
	pulse pulse

	write sync.Mutex // held while a line is written
	mu    sync.Mutex
	next  uint64
	// answers are those who wait for an answer, candidacies the candidacies, watches the watches; all by their numbers.
	answers     map[uint64]chan Event
	candidacies map[uint64]*Candidacy
	watches     map[uint64]func(Event)

	gone   chan struct{} // closed when the connection is
	err    error         // why; set before
	closed atomic.Bool   // the program has closed it
}

// maxLine bounds what an agent may write on one line.
const maxLine = 1 << 20

// ErrGone says that the connection to the agent is lost. If the program has closed it, the error wraps [stamp.ErrClosed] as well.
var ErrGone = errors.New("the connection to the agent is lost")

// lost is the error of a connection that ended with err.
func (c *Conn) lost(err error) error {
	if c.closed.Load() {
		return fmt.Errorf("%w: %w", stamp.ErrClosed, ErrGone)
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

// Dial connects to the agent that listens at the path.
func Dial(ctx context.Context, path string) (*Conn, error) {
	c, err := clock.System()
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, unreachable(path, err)
	}
	return New(ctx, conn, c)
}

// unreachable says what to do about an agent that cannot be reached.
func unreachable(path string, err error) error {
	what := "is it running? start it with 'regent agent'"
	if errors.Is(err, fs.ErrPermission) {
		what = "be root, or of the group that owns the socket (socket.group in the configuration)"
	}
	return fmt.Errorf("agent at %s: %w: %s", path, err, what)
}

// New makes a connection of one that was opened already.
func New(ctx context.Context, conn net.Conn, own clock.Clock) (*Conn, error) {
	c := &Conn{conn: conn, in: party.NewReader(conn), clock: own, answers: make(map[uint64]chan Event),
		candidacies: make(map[uint64]*Candidacy), watches: make(map[uint64]func(Event)), gone: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	from := newIntake(conn, c.in)
	in := NewReader(from, maxLine)
	err := c.greet(in)
	if err == nil {
		err = c.fetchPage(from, in)
	}
	if !stop() && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("agent at %v: %w", conn.RemoteAddr(), err)
	}
	_ = conn.SetReadDeadline(time.Time{})
	go c.read(in)
	return c, nil
}

// greet speaks first, so that the agent knows which of its languages is spoken, and reads what the agent says of itself.
func (c *Conn) greet(in *Reader) error {
	before, err := clock.HostLow()
	if err != nil {
		return err
	}
	_, unheard := c.conn.Write([]byte("{\"do\":\"hello\"}\n"))
	line, err := in.Line() // also when nobody listens: an agent that refuses says why before it hangs up
	if err != nil {
		return cmp.Or(unheard, err)
	}
	if err := json.Unmarshal(line, &c.hello); err != nil || c.hello.Event != Hello {
		if c.hello.Event == Failed {
			return errors.New(c.hello.Error)
		}
		return fmt.Errorf("is no agent: it said %.60q", line)
	}
	if c.hello.Version != Version {
		return fmt.Errorf("speaks version %d, this program %d: upgrade the older of the two", c.hello.Version, Version)
	}
	after, err := clock.HostHigh()
	if err != nil {
		return err
	}
	return compareClocks(c.hello.Now, before, after)
}

// compareClocks refuses an agent whose clock read now between two readings of this process, and is another one.
func compareClocks(now, before, after protocol.Time) error {
	off, which := before.Sub(now), "before"
	if now > after {
		off, which = now.Sub(after), "after"
	}
	if off > Skew {
		return fmt.Errorf("its clock is %v %s that of this process: run both in one time namespace", off, which)
	}
	return nil
}

// Member returns the name of the member that the agent is.
func (c *Conn) Member() string { return c.hello.Member }

// Guard returns how long before the end of a lease programs are asked to stop.
func (c *Conn) Guard() time.Duration { return c.hello.Guard }

// Greeting returns all that the agent said of itself.
func (c *Conn) Greeting() Event { return c.hello }

// toLocal turns an instant of the clock of the host into one of this process's, rounded down.
func (c *Conn) toLocal(host protocol.Time) protocol.Time {
	mine := c.clock.Now()
	now, err := clock.HostHigh()
	if err != nil {
		return 0
	}
	return mine.Add(host.Sub(now))
}

// Clock returns the clock that ends of leases are announced on.
func (c *Conn) Clock() clock.Clock { return c.clock }

// Now reads it.
func (c *Conn) Now() protocol.Time { return c.clock.Now() }

// Late reads it cheaply, and possibly a little late.
func (c *Conn) Late() protocol.Time { return c.clock.Late() }

// Gone is closed when the connection is lost or closed.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Close says that everything that was begun here has stopped, and closes the connection: what was led is given up.
func (c *Conn) Close() error {
	c.closed.Store(true)
	_ = c.send(&Request{Do: Bye})
	select {
	case <-c.gone: // the agent hangs up when it has given everything up
	case <-time.After(byeLimit):
	}
	return c.conn.Close()
}

// byeLimit is how long Close waits for an agent that does not answer.
const byeLimit = 2 * time.Second

// send writes a line.
func (c *Conn) send(r *Request) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.writeLine(line)
}

func (c *Conn) writeLine(line []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	if _, err := c.conn.Write(append(line, '\n')); err != nil {
		return c.lost(err)
	}
	return nil
}

// begin registers a request under a new number and sends it.
func (c *Conn) begin(r *Request, register func(id uint64)) error {
	c.mu.Lock()
	c.next++
	r.ID = c.next
	register(r.ID)
	c.mu.Unlock()
	return c.send(r)
}

// ask sends a request and waits for its answer.
func (c *Conn) ask(ctx context.Context, r *Request) (Event, error) {
	answer := make(chan Event, 1)
	err := c.begin(r, func(id uint64) { c.answers[id] = answer })
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.answers, r.ID)
	}()
	if err != nil {
		return Event{}, err
	}
	select {
	case e := <-answer:
		return e, nil
	case <-c.gone:
		return Event{}, c.err
	case <-ctx.Done():
		return Event{}, context.Cause(ctx)
	}
}

// read takes what the agent says until it says no more.
func (c *Conn) read(in *Reader) {
	for {
		line, err := in.Line()
		if err == nil {
			var e Event
			if err = json.Unmarshal(line, &e); err == nil {
				c.dispatch(e)
				continue
			}
		}
		c.err = c.lost(err)
		close(c.gone)
		_ = c.conn.Close()
		c.in.Done()
		c.mu.Lock()
		left := c.candidacies
		c.candidacies = make(map[uint64]*Candidacy)
		c.mu.Unlock()
		for _, k := range left {
			k.give(&Event{Event: Gone})
		}
		return
	}
}

// dispatch hands an event to the candidacy, watch or question that it is about.
func (c *Conn) dispatch(e Event) {
	c.mu.Lock()
	answer, watch := c.answers[e.ID], c.watches[e.ID]
	about := e.IDs
	if e.ID != 0 {
		about = append(about, e.ID)
	}
	candidacies := make([]*Candidacy, 0, len(about))
	for _, id := range about {
		if k := c.candidacies[id]; k != nil {
			candidacies = append(candidacies, k)
		}
	}
	c.mu.Unlock()
	for _, k := range candidacies {
		k.give(&e)
	}
	if watch != nil {
		watch(e)
	}
	if answer != nil {
		select {
		case answer <- e:
		default:
		}
	}
}

// failure is the error that an event bears.
func failure(e *Event) error {
	switch {
	case e.Event != Failed:
		return nil
	case e.Error == stamp.ErrNotLeader.Error():
		return stamp.ErrNotLeader
	}
	return errors.New(e.Error)
}

// View returns what the agent believes about a group.
func (c *Conn) View(ctx context.Context, group string) (view.View, error) {
	e, err := c.ask(ctx, &Request{Do: View, Group: group})
	if err := errors.Join(err, failure(&e)); err != nil {
		return view.View{}, err
	}
	if e.View == nil {
		return view.View{}, fmt.Errorf("group %s: the agent answered without a view", group)
	}
	return *e.View, nil
}

// Watch calls f with the view of a group, and with every change of it, until ctx ends. It returns why.
func (c *Conn) Watch(ctx context.Context, group string, f func(view.View) bool) error {
	views := make(chan Event, watchDepth)
	lost := make(chan struct{})
	once := sync.OnceFunc(func() { close(lost) })
	r := &Request{Do: Watch, Group: group}
	err := c.begin(r, func(id uint64) {
		c.watches[id] = func(e Event) {
			select {
			case views <- e:
			default:
				once()
			}
		}
	})
	defer func() {
		c.mu.Lock()
		delete(c.watches, r.ID)
		c.mu.Unlock()
		_ = c.begin(&Request{Do: Unwatch, Of: r.ID}, func(uint64) {})
	}()
	if err != nil {
		return err
	}
	for {
		select {
		case e := <-views:
			if err := failure(&e); err != nil {
				return err
			}
			if e.Event == Over || e.View != nil && !f(*e.View) {
				return nil
			}
		case <-lost:
			return ErrSlow
		case <-c.gone:
			return c.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ErrSlow says that a watcher did not take views in time, and that some were lost.
var ErrSlow = errors.New("watching is too slow: views were lost")

// watchDepth is how many views may wait for a slow watcher.
const watchDepth = 256

// A Confirmation says who leads a group, proven until an instant of this process's lease clock.
type Confirmation struct {
	Leader string
	Token  uint64
	Value  string
	Until  protocol.Time
}

// ErrNoLeader says that nobody could be proven to lead.
var ErrNoLeader = errors.New("no leader")

// Verify asks who leads a group, with proof.
func (c *Conn) Verify(ctx context.Context, group string) (Confirmation, error) {
	e, err := c.ask(ctx, &Request{Do: Verify, Group: group})
	if err != nil {
		return Confirmation{}, err
	}
	if e.NoLeader {
		return Confirmation{}, fmt.Errorf("%w: %s", ErrNoLeader, e.Error)
	}
	return Confirmation{Leader: e.Leader, Token: e.Token, Value: e.Value, Until: c.toLocal(e.Until)}, failure(&e)
}
