// Package cluster runs a council of real processes on one host: what the demonstration, the measurements and the tests of
// the library share. The processes are started from the program's own executable, find out by a word on their
// standard input who they are, and say on their standard output, line by line, what happens to them.
//
//	cluster.go     the council, and what can be done to it: crash, pause, cut
//	member.go   what a member process does
//	programs.go what it does for groups that have a name
//	links.go    what can be done to the links
//	diary.go    what a leading program was told, in a file that outlives it
//	message.go  what the two say to one another
package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/runtime/parent"
	"github.com/regentproject/regent/internal/transport/loopback"
	"github.com/regentproject/regent/internal/transport/relay"
)

// Options is what a cluster is made of.
type Options struct {
	Names []string
	// Dir holds a directory for each member.
	Dir    string
	Timing regent.Timing
	// Command makes the command that runs Serve.
	Command func() *exec.Cmd
	// Relay puts a relay between the members, so that they can be cut off from one another.
	Relay bool
	// Groups is how many groups every member campaigns for; at least one, unless there are Named ones.
	Groups int
	Named  []Named
	// Hold keeps programs from campaigning before they are told to.
	Hold bool
	// NoRealtime leaves the members' threads as they are.
	NoRealtime bool
	// Poll is how often a leading program asks its lease whether it leads, and writes down the answer; zero: never.
	Poll time.Duration
	// Status is how often a member says how it is; zero: only when asked.
	Status time.Duration
	// Log gets what members write to their standard error, line by line; nil: it is dropped.
	Log func(member, line string)
}

// A Cluster is a council of processes.
type Cluster struct {
	Options
	relay  *relay.Relay
	addrs  map[string]netip.AddrPort
	events chan Event

	mu      sync.Mutex
	members map[string]*member
	cut     map[string]bool // from all others
}

// member is one process.
type member struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	dead   atomic.Bool
	gone   chan struct{} // closed when that was said
	paused bool
}

// eventDepth is how many events may wait for whoever reads them. Members wait when it is full.
const eventDepth = 1 << 14

// New returns a cluster in which nobody runs yet.
func New(o Options) (*Cluster, error) {
	t := &Cluster{Options: o, addrs: make(map[string]netip.AddrPort), events: make(chan Event, eventDepth),
		members: make(map[string]*member), cut: make(map[string]bool)}
	var ends []relay.Member
	for _, name := range o.Names {
		addr, err := loopback.Free()
		if err != nil {
			return nil, err
		}
		t.addrs[name] = netip.MustParseAddrPort(addr)
		ends = append(ends, relay.Member{Name: name, Addr: t.addrs[name]})
	}
	if o.Relay {
		var err error
		if t.relay, err = relay.Start(relay.Config{Members: ends}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Events tells what happens, in the order in which it is heard of.
func (t *Cluster) Events() <-chan Event { return t.events }

// Order returns what a member is told when it starts.
func (t *Cluster) Order(name string) (Order, error) {
	o := Order{Name: name, Dir: filepath.Join(t.Dir, name), Bootstrap: true, Timing: t.Timing, Groups: t.Groups, Named: t.Named,
		NoRealtime: t.NoRealtime, Hold: t.Hold, Poll: t.Poll, Status: t.Options.Status, Bind: t.addrs[name].String(), Diary: filepath.Join(t.Dir, name+".diary")}
	if len(o.Named) == 0 {
		o.Groups = max(1, o.Groups)
	}
	for _, peer := range t.Names {
		addr := t.addrs[peer]
		if t.relay != nil && peer != name {
			var err error
			if addr, err = t.relay.Addr(name, peer); err != nil {
				return o, err
			}
		}
		o.Council = append(o.Council, regent.Peer{Name: peer, Addrs: []string{addr.String()}})
	}
	return o, nil
}

// Start starts a member that does not run.
func (t *Cluster) Start(name string) error {
	o, err := t.Order(name)
	if err != nil {
		return err
	}
	return t.StartAs(name, o)
}

// StartAs starts a process under a name of the cluster's own choice: it need not be that of the order.
func (t *Cluster) StartAs(name string, o Order) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[name]; m != nil && !m.ended() {
		return fmt.Errorf("%s runs already", name)
	}
	m := &member{cmd: t.Command(), gone: make(chan struct{})}
	isolate(m.cmd)
	stdin, err := m.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := m.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := m.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := parent.Start(m.cmd); err != nil {
		return err
	}
	m.stdin = stdin
	if err := json.NewEncoder(stdin).Encode(o); err != nil {
		_ = m.cmd.Process.Kill()
		return err
	}
	t.members[name] = m
	var read sync.WaitGroup
	read.Go(func() { t.listen(name, stdout) })
	read.Go(func() { t.grumble(name, stderr) })
	go func() {
		read.Wait()
		_ = m.cmd.Wait()
		m.dead.Store(true)
		t.events <- Event{Member: name, What: Gone, At: Reading()}
		close(m.gone)
	}()
	return nil
}

// listen passes on what a member says.
func (t *Cluster) listen(name string, from io.Reader) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var e Event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			e = Event{What: Failed, Text: "said something that cannot be understood: " + in.Text()}
		}
		e.Member, e.Heard = name, Reading()
		t.events <- e
	}
}

func (t *Cluster) grumble(name string, from io.Reader) {
	in := bufio.NewScanner(from)
	for in.Scan() {
		if t.Log != nil {
			t.Log(name, in.Text())
		}
	}
}

func (m *member) ended() bool { return m.dead.Load() }

// find returns a member that runs.
func (t *Cluster) find(name string) (*member, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.members[name]; m != nil && !m.ended() {
		return m, nil
	}
	return nil, fmt.Errorf("%s does not run", name)
}

// Crash ends a member without a word, as a power failure would, and waits until it is gone.
func (t *Cluster) Crash(name string) error {
	m, err := t.find(name)
	if err != nil {
		return err
	}
	if err := m.cmd.Process.Kill(); err != nil {
		return err
	}
	<-m.gone
	return nil
}

// Pause stops a member in its tracks; Resume lets it go on.
func (t *Cluster) Pause(name string) error { return t.signal(name, true) }

// Resume lets a member go on that was paused.
func (t *Cluster) Resume(name string) error { return t.signal(name, false) }

func (t *Cluster) signal(name string, pause bool) error {
	m, err := t.find(name)
	if err != nil {
		return err
	}
	if err := suspend(m.cmd.Process, pause); err != nil {
		return err
	}
	t.mu.Lock()
	m.paused = pause
	t.mu.Unlock()
	return nil
}

// Say gives a member a command: see Serve.
func (t *Cluster) Say(name, command string) error {
	m, err := t.find(name)
	if err != nil {
		return err
	}
	_, err = io.WriteString(m.stdin, command+"\n")
	return err
}

// Relay returns the relay between the members; nil if there is none.
func (t *Cluster) Relay() *relay.Relay { return t.relay }

// State says how a member is: running, paused or gone, and cut off or not.
func (t *Cluster) State(name string) (state string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.members[name]
	switch {
	case m == nil || m.ended():
		state = "gone"
	case m.paused:
		state = "paused"
	default:
		state = "running"
	}
	return state, t.cutOff(name)
}

// Pid returns the number of a member's process; zero if it does not run.
func (t *Cluster) Pid(name string) int {
	m, err := t.find(name)
	if err != nil {
		return 0
	}
	return m.cmd.Process.Pid
}

// Stop lets a member leave in good order, and kills it if it has not after the patience.
func (t *Cluster) Stop(name string, patience time.Duration) {
	m, err := t.find(name)
	if err != nil {
		return
	}
	_ = t.Resume(name)
	_ = m.stdin.Close()
	select {
	case <-m.gone:
	case <-time.After(patience):
		_ = m.cmd.Process.Kill()
		<-m.gone
	}
}

// Close stops all members and the relay. It reads the events that are left: nobody else may.
func (t *Cluster) Close() error {
	var stop sync.WaitGroup
	for _, name := range t.running() {
		stop.Go(func() { t.Stop(name, 5*time.Second) })
	}
	done := make(chan struct{})
	go func() { stop.Wait(); close(done) }()
	for {
		select {
		case <-t.events:
			continue
		case <-done:
		}
		break
	}
	if t.relay != nil {
		return t.relay.Close()
	}
	return nil
}

func (t *Cluster) running() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for name, m := range t.members {
		if !m.ended() {
			names = append(names, name)
		}
	}
	return names
}

// Self returns a command that runs this very program, with the arguments.
func Self(args ...string) func() *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return func() *exec.Cmd { return exec.Command(path, args...) }
}
