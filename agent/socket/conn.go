package socket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// A Server serves the programs on the unix socket.
type Server struct {
	core    Agent
	gate    *access.Gate
	keepers keepers
	// holdings are what the agent does for programs that have it hold addresses.
	holdings holdings
}

func New(a Agent, g *access.Gate) *Server {
	return &Server{core: a, gate: g, keepers: keepers{all: make(map[string]*keeping)}, holdings: holdings{all: make(map[netip.Addr]*holding)}}
}

// A conn is a program on the unix socket.
type conn struct {
	agent *Server
	net   net.Conn
	peer  *processes.Peer
	// client is who opened the connection.
	client *access.Client
	// out are lines to write; renewals says that there are later ends to announce.
	out      *outbox
	renewals chan struct{}
	// pages has the number of a request for the page, and mapped says that the program has it.
	pages  chan uint64
	mapped atomic.Bool
	// signs are the signs of life of the program.
	signs *core.LifeSigns
	// closed ends everything that goes on for the program.
	closed context.Context
	cancel context.CancelFunc
	// busy bounds how many requests are under way.
	busy chan struct{}

	mu         sync.Mutex
	candidates map[uint64]*core.Candidate
	// keeps are the candidacies of a runner for which this is the keeper, and runner the last candidate of this one if it is a runner.
	keeps   map[uint64]*keeping
	runner  *core.Candidate
	watches map[uint64]context.CancelFunc
	holds   map[uint64]*holding
	tasks   sync.WaitGroup
}

const (
	// maxBusy is how many requests of one program may be under way, beside its candidacies and watches.
	maxBusy = 64
	// linesPerCandidate is how many lines about one candidacy may wait: leads, stop, healed and over.
	linesPerCandidate = 4
	// MaxWatches is how many groups one program may watch.
	MaxWatches = 1024
)

// Serve speaks with a program until it hangs up. It greets once the program has written: the program reads the clock before that, and takes
// an agent whose clock was read earlier for one of another time namespace.
func (a *Server) Serve(nc net.Conn, from io.Reader) {
	in := bufio.NewReader(from)
	_, _ = in.Peek(1) // the error comes again with the first line
	c := &conn{agent: a, net: nc, signs: a.core.Signs(), out: newOutbox(linesPerCandidate*a.core.Config().Limits.Candidates + maxBusy), renewals: make(chan struct{}, 1), pages: make(chan uint64, 1),
		busy: make(chan struct{}, maxBusy), candidates: make(map[uint64]*core.Candidate), keeps: make(map[uint64]*keeping), watches: make(map[uint64]context.CancelFunc), holds: make(map[uint64]*holding)}
	c.closed, c.cancel = context.WithCancel(context.Background())
	if p, err := processes.PeerOf(nc); err == nil {
		c.peer = p
	}
	defer c.peer.Close()
	c.client = access.Local(nc)
	processes.LimitSendBuffer(nc)
	var writer sync.WaitGroup
	writer.Go(c.write)
	host, err := clock.HostLow()
	if err != nil {
		c.send(&session.Event{Event: session.Failed, Error: err.Error()})
	}
	about := a.core.About()
	t := a.core.ProgramTiming()
	c.send(&session.Event{Event: session.Hello, Version: session.Version, Member: about.Name, Now: host, Lease: t.Lease, Guard: t.Guard, Renew: t.Renew, RoundTrip: t.RoundTrip,
		Priority: a.core.Priority(), Ordinary: about.Ordinary, Page: a.core.PageIdentity()})
	c.finish(c.read(in))
	c.cancel()
	c.tasks.Wait()
	_ = nc.SetWriteDeadline(time.Now().Add(flushLimit)) // for what was said last
	writer.Wait()
	_ = nc.Close()
}

// send queues a line. A program that lets too many wait is cut off.
func (c *conn) send(e *session.Event) {
	if !c.out.put(e) {
		c.agent.core.About().Log.Warn("a program does not read what the agent sends: it is cut off", "pid", c.pid())
		_ = c.net.Close()
	}
}

func (c *conn) pid() int {
	if c.peer == nil {
		return 0
	}
	return c.peer.Pid
}

// write writes lines until the connection is closed.
func (c *conn) write() {
	batch := bufio.NewWriter(c.net)
	to := json.NewEncoder(batch)
	for {
		var err error
		select {
		case <-c.out.ready:
			err = c.out.flush(to)
		case <-c.renewals:
			err = c.writeEnds(to)
		case id := <-c.pages:
			err = errors.Join(c.out.flush(to), batch.Flush(), c.writePage(id))
		case <-c.closed.Done():
			_ = c.out.flush(to)
			_ = batch.Flush()
			return
		}
		if err == nil {
			err = batch.Flush()
		}
		if err != nil {
			_ = c.net.Close() // the reader finds out
			<-c.closed.Done()
			return
		}
	}
}

// flushLimit is how long a program may take to read what is said last.
const flushLimit = 100 * time.Millisecond

// writeEnds tells the later ends of all leases of the program, those with the same end on one line.
func (c *conn) writeEnds(to *json.Encoder) error {
	ends := make(map[protocol.Time][]uint64)
	c.mu.Lock()
	candidates, keeps := maps.Clone(c.candidates), maps.Clone(c.keeps)
	c.mu.Unlock()
	for id, k := range candidates {
		if _, number := k.OnPage(); number != 0 {
			continue
		}
		before := k.Announced()
		if end := k.AnnounceEnd(); before != 0 && end > before {
			ends[end] = append(ends[end], id)
		}
	}
	for id, k := range keeps {
		if end, later := k.laterEnd(); later {
			ends[end] = append(ends[end], id)
		}
	}
	for end, ids := range ends {
		if err := to.Encode(c.agent.withEnd(&session.Event{Event: session.Until, IDs: ids}, end)); err != nil {
			return err
		}
	}
	return nil
}

// read takes requests until there are no more, and says whether the program said goodbye.
func (c *conn) read(from io.Reader) (goodbye bool) {
	in := session.NewReader(from, int(c.agent.core.Config().Limits.Body))
	for {
		line, err := in.Line()
		if err != nil {
			if errors.Is(err, session.ErrLong) {
				c.send(&session.Event{Event: session.Failed, Error: err.Error()})
			}
			return false
		}
		if bytes.Equal(line, signOfLife) { // most lines are: not worth a decoder
			c.pulse()
			continue
		}
		r, err := session.Decode(line)
		switch {
		case err != nil:
			c.send(&session.Event{Event: session.Failed, ID: r.ID, Error: err.Error()})
		case r.Do == session.Bye:
			return true
		case r.Do == session.Greet:
		case r.Do == session.Alive && r.ID == 0:
			c.pulse()
		default:
			c.handle(&r)
		}
	}
}

// finish ends all that the program began.
func (c *conn) finish(goodbye bool) {
	c.mu.Lock()
	for _, stop := range c.watches {
		stop()
	}
	left := slices.Collect(maps.Values(c.candidates))
	if c.runner != nil && !slices.Contains(left, c.runner) {
		left = append(left, c.runner) // what it left may still be looked for
	}
	keeps := slices.Collect(maps.Values(c.keeps))
	c.mu.Unlock()
	dead := c.peer.IsDying()
	for _, k := range keeps {
		k.lost()
	}
	if len(left) == 0 {
		return
	}
	ended := goodbye || dead
	for _, k := range left {
		switch {
		case goodbye:
			k.Goodbye()
		case !dead:
			k.Disconnect()
		}
		if dead {
			k.MarkDead()
		}
	}
	if !dead {
		ctx, cancel := context.WithCancel(context.Background())
		var proof sync.WaitGroup
		proof.Go(func() {
			if c.peer.AwaitDeath(ctx) {
				for _, k := range left {
					k.MarkDead()
				}
			}
		})
		defer proof.Wait()
		defer cancel()
	}
	for _, k := range left {
		k.Await(ended)
	}
}

// fail answers a request with an error.
func (c *conn) fail(r *session.Request, err error) {
	e := &session.Event{Event: session.Failed, ID: r.ID, Error: err.Error()}
	if errors.Is(err, core.ErrStopping) {
		e.Cause = &why.Cause{Why: why.Closed, Member: c.agent.core.About().Name}
	}
	c.send(e)
}

// handle carries out a request. What may take long is done aside.
func (c *conn) handle(r *session.Request) {
	if err := c.agent.gate.PermitRequest(c.client, r); err != nil {
		c.fail(r, err)
		return
	}
	switch r.Do {
	case session.Campaign:
		c.campaign(r)
	case session.Keep:
		c.keep(r)
	case session.Hold:
		c.hold(r)
	case session.View:
		v := c.agent.view(r.Group)
		c.send(&session.Event{Event: session.Saw, ID: r.ID, View: &v})
	case session.Watch:
		c.watch(r)
	case session.Unwatch:
		c.mu.Lock()
		stop := c.watches[r.Of]
		c.mu.Unlock()
		if stop != nil {
			stop()
		}
		c.send(&session.Event{Event: session.Done, ID: r.ID})
	case session.Page:
		select {
		case c.pages <- r.ID:
		default:
			c.fail(r, errors.New("page: another request for it is under way"))
		}
	case session.Verify:
		c.inBackground(r, func() { c.verify(r) })
	default:
		c.mu.Lock()
		k, kept, held := c.candidates[r.Of], c.keeps[r.Of], c.holds[r.Of]
		if k == nil && c.runner != nil && c.runner.Session == r.Of {
			k = c.runner // its causes may be corrected after the end
		}
		c.mu.Unlock()
		if held != nil && r.Do == session.Resign {
			c.endHolding(r, held)
			return
		}
		if kept != nil && r.Do == session.Resign {
			kept.reported(c.cause(r))
			return
		}
		if kept != nil && r.Do == session.Freeze {
			kept.left()
			return
		}
		c.handleCandidacy(r, k)
	}
}

// handleCandidacy carries out a request that is about a candidacy.
func (c *conn) handleCandidacy(r *session.Request, k *core.Candidate) {
	switch {
	case k == nil && (r.Do == session.Resign || r.Do == session.Freeze || r.Do == session.Started || r.Do == session.Duplicates):
		c.send(&session.Event{Event: session.Done, ID: r.ID}) // it is over already
	case k == nil:
		c.fail(r, regent.ErrNotLeader)
	case r.Do == session.Alive:
		k.RecordHeartbeat()
		end := k.AnnounceEnd()
		c.send(c.agent.withEnd(&session.Event{Event: session.Until, ID: r.ID, IDs: []uint64{r.Of}}, end))
	case r.Do == session.Announce:
		c.announce(r, k)
	case r.Do == session.Edict:
		l := k.CurrentLease()
		if l == nil || !k.LeadsNow() {
			c.fail(r, regent.ErrNotLeader)
			return
		}
		e, err := l.Edict(context.Background())
		if err != nil {
			c.fail(r, err)
			return
		}
		c.send(&session.Event{Event: session.Stamped, ID: r.ID, Token: e.Token(), Stamp: e.String()})
	case r.Do == session.Recovered:
		if err := k.Recovered(context.Background(), r.Token, r.Number); err != nil {
			c.fail(r, err)
			return
		}
		c.send(&session.Event{Event: session.Done, ID: r.ID})
	case r.Do == session.Started:
		if err := k.Learn(r.First); err != nil {
			c.fail(r, err)
			return
		}
		c.send(&session.Event{Event: session.Done, ID: r.ID})
	case r.Do == session.Duplicates:
		k.SetDuplicates(r.Duplicates)
		c.send(&session.Event{Event: session.Done, ID: r.ID})
	case r.Do == session.Freeze:
		k.ReportFreeze(c.cause(r))
		c.send(&session.Event{Event: session.Done, ID: r.ID})
	case r.Do == session.Resign:
		c.agent.gate.Audit.Order(c.client, access.AuditLine{Action: "resign", Group: k.Group, Outcome: "asked", Detail: "by the program itself"})
		o := core.NewOrder(regent.Cause{Why: why.Resigned, Member: c.agent.core.About().Name}, "")
		k.ReportStopped(c.cause(r), o) // now: what ends the connection comes after it
		c.inBackground(r, func() { c.awaitGivenUp(r, k, o) })
	case r.Do == session.Transfer:
		if !r.Ask {
			c.agent.gate.Audit.Order(c.client, access.AuditLine{Action: "transfer", Group: k.Group, To: r.To, Outcome: "asked", Detail: "by the program itself"})
		}
		c.inBackground(r, func() { c.transfer(r, k) })
	}
}

// inBackground does what may take long, unless too much of it is under way.
func (c *conn) inBackground(r *session.Request, f func()) {
	select {
	case c.busy <- struct{}{}:
		c.tasks.Go(func() { f(); <-c.busy })
	default:
		c.send(&session.Event{Event: session.Failed, ID: r.ID, Error: "too many requests at once: wait for answers", NoLeader: r.Do == session.Verify})
	}
}

// mayCampaign says why the connection takes no candidacy with this id. Only its reader adds some, so the answer holds until then.
func (c *conn) mayCampaign(id uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inUse(id) {
		return errIDInUse
	}
	if len(c.candidates) >= c.agent.core.Config().Limits.Candidates {
		return errors.New("too many candidacies on one connection (limits.candidates)")
	}
	return nil
}

var errIDInUse = errors.New("the id is in use: choose another")

// inUse says whether something on the connection has the id. It is called with c.mu held.
func (c *conn) inUse(id uint64) bool {
	return c.candidates[id] != nil || c.watches[id] != nil || c.keeps[id] != nil || c.holds[id] != nil
}

// campaign lets the program be a candidate. It does not hold c.mu while it enters one: a refusal ends the keeper's part, on a connection
// that has a mutex of its own.
func (c *conn) campaign(r *session.Request) {
	if err := c.mayCampaign(r.ID); err != nil {
		c.fail(r, err)
		return
	}
	asked := r.Candidate()
	tree, err := c.agent.core.ClaimTree(&asked, c.peer)
	if err != nil {
		c.fail(r, err)
		return
	}
	asked.Page, err = c.readsPage(r)
	if err != nil {
		c.fail(r, err)
		return
	}
	keeper, err := c.agent.findKeeper(asked.Secret, c)
	if err != nil {
		c.fail(r, err)
		return
	}
	p := core.Candidacy{Candidate: asked, Session: r.ID, Via: "socket", Pid: c.pid(), Margin: session.Skew, Notifier: &socketNotifier{conn: c, id: r.ID}, Tree: tree, Keeper: keeper}
	if p.Page && tree == nil && keeper == nil {
		p.Signs = c.signs
	}
	k, err := c.agent.core.AddCandidate(p)
	if err != nil {
		c.fail(r, err)
		return
	}
	c.mu.Lock()
	c.candidates[r.ID] = k
	if tree != nil {
		c.runner = k
	}
	c.mu.Unlock()
	c.send(&session.Event{Event: session.Waiting, ID: r.ID, Lease: k.LeaseLength()})
	c.tasks.Go(k.Run)
}
