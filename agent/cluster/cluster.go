package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster/journal"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/transport/fault"
	"github.com/regentproject/regent/internal/transport/memory"
	"github.com/regentproject/regent/internal/transport/relay"
)

// The journal's words, for callers that check journals and do not write them.
type (
	Time   = journal.Time
	Span   = journal.Span
	Rules  = journal.Rules
	Report = journal.Report
)

// Now reads the clock that all processes of the host share.
func Now() Time { return journal.Now() }

// Options is what a cluster is made of.
type Options struct {
	// Names are the hosts. Each has at most one member or agent, of the same name.
	Names []string
	// Founders are the hosts whose members the council begins with, if it does not begin with all. The others join once the council has added them.
	Founders []string
	// Hosts is the kind of the hosts.
	Hosts Hosts
	// Dir holds a directory for each member, and the journals. Empty: a temporary directory, which Close removes.
	Dir    string
	Timing regent.Timing
	// Relay puts a relay between the members, so that links can be broken. Seed decides what chance decides there.
	Relay bool
	Seed  uint64
	// Clocks are by how much the clocks of a host are ahead, in whole seconds: its processes run in a time namespace. See CanClocks.
	Clocks map[string]time.Duration
	// Log gets what processes write to their standard error, line by line; nil: only Process.Log has it.
	Log func(process, line string)

	// World changes the world of a member in memory before it joins; nil: nothing is.
	World func(name string, w *world.World)
	// Command makes the command that runs Serve: a member by the library.
	Command func() *exec.Cmd
	// Groups are those that a program of every member leads.
	Groups []Group
	// Hold keeps programs from campaigning before an order lets them.
	Hold bool
	// NoRealtime leaves the members' threads as they are.
	NoRealtime bool
	// Guardian gives each member in a process of its own a guardian.
	Guardian bool
	// Stubborn, if it is not zero, has programs that poll go on when they are asked to stop, until their leases are over. The library
	// gives them so long to stop (Config.StopWithin).
	Stubborn time.Duration
	// Poll is how often a leading program asks its lease whether it leads, and writes the answer into its journal; zero: never.
	Poll time.Duration
	// Status is how often a member reports how it is; zero: only when asked.
	Status time.Duration

	// Regent makes a command of the command line: it is given "agent" or "run" and the arguments that follow.
	Regent func(args ...string) *exec.Cmd
	// Config is added to the configuration of every agent.
	Config string
	// SocketMode is that of the agents' sockets, in octal; empty: theirs.
	SocketMode string
}

// A Cluster is a set of hosts with members, agents and programs.
type Cluster struct {
	Options
	hosts   hosts           // nil in memory
	relay   *relay.Relay    // nil if there is none
	network *memory.Network // in memory only
	links   *fault.Links    // of the relay or of the network; nil if there is neither
	events  chan Event
	made    bool // the directory was made by New
	janitor *janitor

	mu        sync.Mutex
	processes map[string]*Process
	members   map[string]*residence // in this process
	cut       map[string]bool       // from all others
	http      map[string]string     // addresses of agents
	logs      strings.Builder       // of members in this process
	// public are the members' public keys, and own those that they keep to themselves, by name.
	public map[string][]string
	own    map[string]regent.OwnKeys
}

// eventDepth is how many events may wait to be read. Members wait when it is full.
const eventDepth = 1 << 14

// New returns a cluster on which nothing runs yet.
func New(o Options) (_ *Cluster, err error) {
	c := &Cluster{Options: o, events: make(chan Event, eventDepth), processes: make(map[string]*Process),
		members: make(map[string]*residence), cut: make(map[string]bool), http: make(map[string]string)}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	c.drawKeys()
	if c.Dir == "" {
		// The path must be short enough for the sockets of agents.
		c.Dir, err = os.MkdirTemp("", "regent-")
		if err != nil {
			return nil, err
		}
		c.made, c.janitor = true, newJanitor(c.Dir)
	}
	if err := os.MkdirAll(c.journals(), 0o755); err != nil {
		return nil, err
	}
	switch o.Hosts {
	case Memory:
		c.network = memory.New(o.Seed, o.Names...)
		c.links = c.network.Links()
		return c, nil
	case Namespaces:
		c.hosts, err = newNamespaces(o.Names)
	default:
		c.hosts, err = newLoopback(o.Names)
	}
	if err != nil || !o.Relay {
		return c, err
	}
	var ends []relay.Member
	for _, name := range o.Names {
		ends = append(ends, relay.Member{Name: name, Addr: c.hosts.addr(name)})
	}
	c.relay, err = c.hosts.relay(relay.Config{Members: ends, Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	c.links = c.relay.Links()
	return c, nil
}

// Events tells what happens to members that run Serve, in the order in which it is heard of.
func (c *Cluster) Events() <-chan Event { return c.events }

// journals is the directory of all journals.
func (c *Cluster) journals() string { return filepath.Join(c.Dir, "journals") }

// JournalDir returns where programs of the cluster write their journals: see journal.Open.
func (c *Cluster) JournalDir() string { return c.journals() }

// Spans returns what is in all journals, also of processes that were killed.
func (c *Cluster) Spans() ([]Span, error) { return journal.Read(c.journals()) }

// Check reads all journals and checks them against the rules.
func (c *Cluster) Check(r Rules) (Report, error) {
	spans, err := c.Spans()
	if err != nil {
		return Report{}, err
	}
	return journal.Check(spans, r)
}

// LastSpan returns the last leadership of a holder in a group.
func (c *Cluster) LastSpan(holder, group string) (last Span, err error) {
	spans, err := c.Spans()
	for _, s := range spans {
		if s.Holder == holder && s.Group == group && !s.Local && s.Since >= last.Since {
			last = s
		}
	}
	if err == nil && last.Since == 0 {
		err = fmt.Errorf("the journals tell of no leadership of %s in group %s", holder, group)
	}
	return last, err
}

// Council returns the members that the council begins with.
func (c *Cluster) Council() ([]regent.Peer, error) {
	names := c.Founders
	if len(names) == 0 {
		names = c.Names
	}
	var all []regent.Peer
	for _, name := range names {
		p, err := c.Peer(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Peer returns a member as the others have to address it.
func (c *Cluster) Peer(name string) (regent.Peer, error) {
	addr := name + ":7400" // in memory
	if c.hosts != nil {
		addr = c.hosts.addr(name).String()
	}
	if c.relay != nil {
		way, err := c.relay.Addr(name)
		if err != nil {
			return regent.Peer{}, err
		}
		addr = way.String()
	}
	return regent.Peer{Name: name, Addrs: []string{addr}, PublicKeys: c.public[name]}, nil
}

// joins says whether the member of a host is none of those that the council begins with.
func (c *Cluster) joins(name string) bool {
	return len(c.Founders) > 0 && !slices.Contains(c.Founders, name)
}

// drawKeys draws the members' own keys.
func (c *Cluster) drawKeys() {
	c.public = make(map[string][]string)
	council := make([]regent.Peer, len(c.Names))
	for i, name := range c.Names {
		council[i].Name = name
	}
	c.own = regent.DrawKeys(council)
	for _, p := range council {
		c.public[p.Name] = p.PublicKeys
	}
}

// Order returns what a member reads when it starts.
func (c *Cluster) Order(name string) (Order, error) {
	council, err := c.Council()
	return Order{Name: name, Dir: filepath.Join(c.Dir, name), Bind: c.Bind(name), Council: council, Joins: c.joins(name), Bootstrap: !c.joins(name), Key: c.key(), OwnKeys: c.own[name], Timing: c.Timing, Groups: c.Groups,
		NoRealtime: c.NoRealtime, Guardian: c.Guardian, Hold: c.Hold, Stubborn: c.Stubborn, Poll: c.Poll, Status: c.Options.Status, Journals: c.journals()}, err
}

// key is that of the council. On loopback there is none: members in this process and of other keys are for tests that want them.
func (c *Cluster) key() []byte {
	if c.Hosts == Loopback {
		return nil
	}
	return []byte("0123456789abcdef0123456789abcdef")
}

// Bind returns the address on which the member of a host receives packets; empty in memory. A relay is another address to the others: see Peer.
func (c *Cluster) Bind(name string) string {
	if c.hosts == nil {
		return ""
	}
	return c.hosts.addr(name).String()
}

// Start starts the member of a host that does not run.
func (c *Cluster) Start(name string) error {
	o, err := c.Order(name)
	if err != nil {
		return err
	}
	return c.StartAs(name, o)
}

// StartAs starts a process under a name of the caller's choice: it need not be that of the order. It runs on the host of the order.
func (c *Cluster) StartAs(name string, o Order) error {
	if c.Command == nil {
		return fmt.Errorf("%s: the cluster has no command for members", name)
	}
	p, err := c.start(name, o.Name, c.Command(), func(text string) {
		var e Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			e = Event{What: Failed, Text: "its output cannot be understood: " + text}
		}
		e.Member, e.Heard = name, Now()
		c.events <- e
	}, func(*Process) { c.events <- Event{Member: name, What: Gone, At: Now()} })
	if err != nil {
		return err
	}
	p.ask = func() { _ = p.stdin.Close() }
	if err := json.NewEncoder(p.stdin).Encode(o); err != nil {
		return errors.Join(err, p.Kill())
	}
	return nil
}

// Spawn starts any command on a host. It is stopped by SIGTERM.
func (c *Cluster) Spawn(name, host string, cmd *exec.Cmd, line func(string)) (*Process, error) {
	return c.start(name, host, cmd, line, nil)
}

// Process returns the process of a name, which may have ended; nil if there was none.
func (c *Cluster) Process(name string) *Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[name]
}

// find returns a process that runs.
func (c *Cluster) find(name string) (*Process, error) {
	if p := c.Process(name); p != nil && !p.Ended() {
		return p, nil
	}
	return nil, fmt.Errorf("%s does not run", name)
}

// Crash ends a process without warning, as a power failure does (kill -9), and waits until it is gone. In memory it does the same
// to a member.
func (c *Cluster) Crash(name string) error {
	if c.network != nil {
		return c.crashMember(name)
	}
	p, err := c.find(name)
	if err != nil {
		return err
	}
	return p.Kill()
}

// Pause stops a process in its tracks; Resume lets it go on.
func (c *Cluster) Pause(name string) error {
	p, err := c.find(name)
	if err != nil {
		return err
	}
	return p.Pause()
}

// Resume lets a process go on that was paused.
func (c *Cluster) Resume(name string) error {
	p, err := c.find(name)
	if err != nil {
		return err
	}
	return p.Resume()
}

// Say gives a member a command: see Serve.
func (c *Cluster) Say(name, command string) error {
	p, err := c.find(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.stdin, command+"\n")
	return err
}

// State says how a member is: running, paused or gone, and cut off or not.
func (c *Cluster) State(name string) (state string, cut bool) {
	p := c.Process(name)
	switch {
	case p == nil || p.Ended():
		state = "gone"
	case p.isPaused():
		state = "paused"
	default:
		state = "running"
	}
	return state, c.cutOff(name)
}

// Pid returns the number of a process; zero if it does not run.
func (c *Cluster) Pid(name string) int {
	p, err := c.find(name)
	if err != nil {
		return 0
	}
	return p.Pid()
}

// Stop lets a process stop in good order, and kills it if it has not after the patience.
func (c *Cluster) Stop(name string, patience time.Duration) {
	if p, err := c.find(name); err == nil {
		p.Stop(patience)
	}
}

// closePatience is how long processes have to stop when the cluster is closed.
const closePatience = 5 * time.Second

// Close stops everything and removes what the cluster has made. It reads the events that are left: no other reader may.
func (c *Cluster) Close() error {
	done := make(chan struct{})
	go func() {
		// Programs go before the agents that serve them.
		c.stopAll(func(p *Process) bool { return p.Name != p.Host })
		c.stopAll(func(*Process) bool { return true })
		close(done)
	}()
	for stopped := false; !stopped; {
		select {
		case <-c.events:
		case <-done:
			stopped = true
		}
	}
	c.leaveAll()
	var errs []error
	if c.relay != nil {
		errs = append(errs, c.relay.Close())
	}
	if c.network != nil {
		c.network.Close()
	}
	if c.hosts != nil {
		errs = append(errs, c.hosts.close())
	}
	if c.made {
		c.janitor.dismiss()
		errs = append(errs, os.RemoveAll(c.Dir))
	}
	return errors.Join(errs...)
}

// stopAll stops the processes that are chosen, at the same time.
func (c *Cluster) stopAll(chosen func(*Process) bool) {
	var stop sync.WaitGroup
	c.mu.Lock()
	for _, p := range c.processes {
		if !p.Ended() && chosen(p) {
			stop.Go(func() { p.Stop(closePatience) })
		}
	}
	c.mu.Unlock()
	stop.Wait()
}

// Logs returns what all processes and members logged.
func (c *Cluster) Logs() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.processes)) {
		fmt.Fprintf(&b, "--- %s\n%s", name, c.processes[name].Log())
	}
	b.WriteString(c.logs.String())
	return b.String()
}

// Self returns a command that runs this very program, with the arguments.
func Self(args ...string) func() *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return func() *exec.Cmd { return exec.Command(path, args...) }
}
