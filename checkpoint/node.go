package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	codes "github.com/regentproject/regent/checkpoint/code"
	"github.com/regentproject/regent/checkpoint/core"
	"github.com/regentproject/regent/view"
)

// A Peer is a member: its name in the council, and where its node listens.
type Peer struct{ Name, Addr string }

// Config is what a node is made from. All but Name, Dir, Founding and the functions is the same at all members.
type Config struct {
	Name    string
	Council []Peer // n of them
	// Data is k: how many shares give a state back. A small k survives more failures of small councils, and takes n/k of the space.
	Data int
	// Dir keeps the shares. Founding says that it is empty because the work has not begun; otherwise an empty one has lost its shares.
	Dir      string
	Founding bool
	// Secret authenticates messages. They are not encrypted.
	Secret []byte
	Keys   []string
	// Every is how many steps lie between two checkpoints of a key, and Last the step after which the work on a key is done.
	Every, Last uint64
	// Begin returns the state of a key before its first step. It is called only if no checkpoint of the key was ever complete.
	Begin func(key string) ([]byte, error)
	// Advance returns the state after a step. It must not change the one before, and must end soon after ctx does.
	Advance func(ctx context.Context, key string, step uint64, state []byte) ([]byte, error)
	// Client sends to the other members; nil: one of its own.
	Client *http.Client
	// OnEvent, if not nil, is called with what happens. It must not block.
	OnEvent func(Event)
}

// An Event is something that happened to a key, or to the view if Key is empty. What is begin, resume, complete, wait, view, recovered, founded or failed.
type Event struct {
	What string      `json:"what"`
	View core.Number `json:"view"`
	Key  string      `json:"key,omitempty"`
	Step uint64      `json:"step"`
	Text string      `json:"text,omitempty"`
	At   time.Time   `json:"at"`
}

// A Membership is a member's part in a group: a [regent.Membership].
type Membership interface {
	Views(ctx context.Context) iter.Seq[view.View]
	Recovered(ctx context.Context, v view.View) error
}

// A Node keeps the shares of this member, and works on the keys that it owns.
type Node struct {
	config  Config
	self    int
	core    core.Config
	storage sync.Mutex // guards vault
	vault   *core.Vault

	mu      sync.Mutex // guards present
	present *membership

	notes  sync.Mutex // guards recent
	recent []Event
}

// keepEvents is how many events a status shows.
const keepEvents = 60

// A membership is a node while it is in the group.
type membership struct {
	node    *Node
	ctx     context.Context
	group   Membership
	machine *core.Machine
	senders []*sender
	workers sync.WaitGroup
	tiles   map[string]*worker
	// asked is the view that asks to recover, until that was reported; recovered is the view that the core has recovered.
	asked     *view.View
	recovered core.Number
}

// A worker advances one key.
type worker struct {
	step, complete uint64
	completed      chan uint64 // holds the last
}

// tick is how often a node sends again what was not answered; scrub is how often it reads all its shares.
const (
	tick  = 150 * time.Millisecond
	scrub = 10 * time.Second
)

// Open makes a node from what is on the disk.
func Open(c Config) (*Node, error) {
	self := slices.IndexFunc(c.Council, func(p Peer) bool { return p.Name == c.Name })
	cfg := core.Config{Self: self, Members: len(c.Council), Data: c.Data, Keys: c.Keys}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if c.Every < 1 || len(c.Secret) == 0 || c.Begin == nil || c.Advance == nil {
		return nil, errors.New("checkpoint: missing Every, Secret, Begin or Advance")
	}
	rs, err := codes.New(c.Data, len(c.Council))
	if err != nil {
		return nil, err
	}
	cfg.Coder = rs
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	v, err := core.OpenVault(self, directory(c.Dir), c.Founding)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Dir, err)
	}
	if c.Client == nil {
		c.Client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	}
	return &Node{config: c, self: self, core: cfg, vault: v}, nil
}

// Run works while the member is in the group: give it to [regent.ConsistentGroup.TakePart].
func (n *Node) Run(ctx context.Context, group Membership) error {
	ctx, cancel := context.WithCancel(ctx)
	m := &membership{node: n, ctx: ctx, group: group, machine: core.New(n.core), tiles: make(map[string]*worker)}
	var background sync.WaitGroup
	for to := range n.config.Council {
		s := newSender()
		m.senders = append(m.senders, s)
		background.Go(func() { m.deliver(to, s) })
	}
	n.mu.Lock()
	n.present = m
	n.mu.Unlock()
	background.Go(m.beat)
	for v := range group.Views(ctx) {
		if v.Agreement != nil {
			m.step(func() { m.view(v) })
		}
	}
	cancel()
	n.mu.Lock()
	n.present = nil
	n.mu.Unlock()
	m.workers.Wait()
	background.Wait()
	return nil
}

// beat sends again, and looks for damaged shares, until the membership ends.
func (m *membership) beat() {
	again, scrubs := time.NewTicker(tick), time.NewTicker(scrub)
	defer again.Stop()
	defer scrubs.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-again.C:
			m.step(m.machine.Tick)
		case <-scrubs.C:
			m.node.storage.Lock()
			keys := m.node.vault.Scrub()
			m.node.storage.Unlock()
			for _, s := range m.senders {
				if len(keys) > 0 {
					s.put(core.Message{Kind: core.Spoilt, Keys: keys})
				}
			}
		}
	}
}

// deliver sends messages to one member, which may be this one.
func (m *membership) deliver(to int, s *sender) {
	n := m.node
	for {
		select {
		case <-m.ctx.Done():
			return
		case msg := <-s.queue:
			var reply *core.Message
			var err error
			if to == n.self {
				reply, err = n.take(to, &msg)
			} else {
				reply, err = n.config.post(m.ctx, n.self, to, &msg)
			}
			s.done(&msg)
			if err == nil && reply != nil {
				m.step(func() { m.machine.Receive(to, reply) })
			}
		}
	}
}

// take takes a message of a member, and returns the answer of the vault if it is for that.
func (n *Node) take(from int, msg *core.Message) (*core.Message, error) {
	if msg.ToVault() {
		n.storage.Lock()
		defer n.storage.Unlock()
		reply, ok, err := n.vault.Receive(msg)
		if err != nil || !ok {
			return nil, err
		}
		return &reply, nil
	}
	n.mu.Lock()
	m := n.present
	n.mu.Unlock()
	if m != nil {
		m.step(func() { m.machine.Receive(from, msg) })
	}
	return nil, nil
}

// view takes a view of the group.
func (m *membership) view(v view.View) {
	r := core.Roster{Number: core.Number{Token: v.Token, Vid: v.Agreement.Number}, Manager: -1}
	for i, p := range m.node.config.Council {
		if slices.Contains(v.Agreement.Members, p.Name) {
			r.Members |= core.Of(i)
		}
		if p.Name == v.Leader {
			r.Manager = i
		}
	}
	if v.Agreement.Recover {
		m.asked = &v
	}
	if r.Number != m.machine.View().Number {
		m.event(Event{What: "view", View: r.Number, Text: v.String()})
	}
	m.machine.SetView(r)
}

// step lets the core take something, and does what it asks for. Of what comes after the end of the membership nothing is taken.
func (m *membership) step(do func()) {
	m.node.mu.Lock()
	defer m.node.mu.Unlock()
	if m.ctx.Err() != nil {
		return
	}
	do()
	m.effects(m.machine.Take())
	if m.asked != nil && m.recovered == (core.Number{Token: m.asked.Token, Vid: m.asked.Agreement.Number}) {
		v := *m.asked
		m.asked = nil
		number := m.recovered
		m.workers.Go(func() { m.report(v, number) })
	}
}

// report reports a view as recovered, and tries until there is a later one.
func (m *membership) report(v view.View, number core.Number) {
	for {
		err := m.group.Recovered(m.ctx, v)
		if err == nil || m.ctx.Err() != nil {
			return
		}
		m.event(Event{What: "failed", View: number, Text: err.Error()})
		select {
		case <-time.After(time.Second):
		case <-m.ctx.Done():
			return
		}
		m.node.mu.Lock()
		later := m.machine.View().Number != number
		m.node.mu.Unlock()
		if later {
			return
		}
	}
}

func (m *membership) effects(e core.Effects) {
	now := m.machine.View().Number
	for _, i := range e.Inherit {
		w := &worker{step: i.Seq, complete: i.Complete, completed: make(chan uint64, 1)}
		m.tiles[i.Key] = w
		what := "resume"
		if i.Begin {
			what = "begin"
		}
		m.event(Event{What: what, View: now, Key: i.Key, Step: i.Seq})
		m.workers.Go(func() {
			if err := m.work(i, w); err != nil && m.ctx.Err() == nil {
				m.event(Event{What: "failed", View: now, Key: i.Key, Step: i.Seq, Text: err.Error()})
			}
		})
	}
	for _, c := range e.Complete {
		w := m.tiles[c.Key]
		w.complete = c.ID.Seq
		select {
		case <-w.completed:
		default:
		}
		w.completed <- c.ID.Seq
		m.event(Event{What: "complete", View: c.ID.View, Key: c.Key, Step: c.ID.Seq})
	}
	for _, w := range e.Waiting {
		m.event(Event{What: "wait", View: now, Key: w.Key, Step: w.ID.Seq})
	}
	for _, s := range e.Send {
		m.senders[s.To].put(s.Message)
	}
	if e.Founded {
		m.event(Event{What: "founded", View: now})
		m.workers.Go(func() {
			m.node.storage.Lock()
			defer m.node.storage.Unlock()
			if err := m.node.vault.Recovered(now); err != nil {
				m.event(Event{What: "failed", View: now, Text: err.Error()})
			}
		})
	}
	if e.Recovered {
		m.recovered = now
		m.event(Event{What: "recovered", View: now})
	}
}

func (m *membership) event(e Event) {
	e.At = time.Now()
	n := m.node
	if e.What != "complete" {
		n.notes.Lock()
		n.recent = append(n.recent[max(0, len(n.recent)+1-keepEvents):], e)
		n.notes.Unlock()
	}
	if f := n.config.OnEvent; f != nil {
		f(e)
	}
}

// work advances a key to its last step, never more than an interval beyond what is complete.
func (m *membership) work(i core.Inheritance, w *worker) error {
	c, state, complete := &m.node.config, i.State, i.Complete
	if i.Begin {
		var err error
		state, err = c.Begin(i.Key)
		if err != nil {
			return err
		}
		m.step(func() { m.machine.Save(i.Key, 0, state) })
	}
	for step := i.Seq; step < c.Last; {
		for step >= complete+c.Every {
			select {
			case complete = <-w.completed:
			case <-m.ctx.Done():
				return nil
			}
		}
		next, err := c.Advance(m.ctx, i.Key, step+1, state)
		if err != nil || m.ctx.Err() != nil {
			return err
		}
		step, state = step+1, next
		m.step(func() {
			w.step = step
			if step%c.Every == 0 || step == c.Last {
				m.machine.Save(i.Key, step, state)
			}
		})
	}
	return nil
}

// A Status is what a node does at the moment.
type Status struct {
	Name  string      `json:"name"`
	In    bool        `json:"in"` // the group
	View  core.Number `json:"view"`
	Owned []Tile      `json:"owned"`
	// Kept are the checkpoints of which the node has shares, by key.
	Kept map[string][]core.ID `json:"kept"`
	// Recent are the last events but completions, oldest first.
	Recent []Event `json:"recent"`
}

// A Tile is a key that a node owns: how far it is, and which step is complete.
type Tile struct {
	Key      string `json:"key"`
	Step     uint64 `json:"step"`
	Complete uint64 `json:"complete"`
}

// Status returns what the node does.
func (n *Node) Status() Status {
	s := Status{Name: n.config.Name, Kept: make(map[string][]core.ID)}
	n.mu.Lock()
	if m := n.present; m != nil {
		s.In, s.View = true, m.machine.View().Number
		for _, key := range m.machine.Owned() {
			w := m.tiles[key]
			s.Owned = append(s.Owned, Tile{key, w.step, w.complete})
		}
	}
	n.mu.Unlock()
	n.notes.Lock()
	s.Recent = slices.Clone(n.recent)
	n.notes.Unlock()
	n.storage.Lock()
	defer n.storage.Unlock()
	for _, key := range n.config.Keys {
		s.Kept[key] = slices.Clone(n.vault.Kept(key))
	}
	return s
}
