//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// groups are those that all lead.
var groups = []string{"g", "h"}

// The timing leaves room for the pauses of a busy host: a program under regent run is killed a guard time before its lease ends.
const (
	lease = 2 * time.Second
	guard = time.Second
	grace = 300 * time.Millisecond
	// longestLease is what a member waits for that joins.
	longestLease = 5 * time.Second
)

// yaml is the same timing for agents.
var yaml = fmt.Sprintf("timing: {lease: %v, longest_lease: %v, guard: %v}\n", lease, longestLease, guard)

// timing is the same for members by the library.
func timing() regent.Timing {
	t := regent.LAN
	t.Lease, t.LongestLease, t.Guard = lease, longestLease, guard
	return t
}

// Files below the directory of the cluster.
const (
	binDir     = "bin"
	selfName   = "torture"
	regentName = "regent"
	setuidName = "torture-setuid"
	journals   = "journals"
	storeName  = "store.sock"
	hooksName  = "hooks"
)

// The users of runners without a cgroup, and of the children of their programs that change their user.
const (
	ordinaryUID = 65534
	setuidUID   = 65533
)

// openMode lets programs of all users write.
const openMode = 0o777

// arena is a run.
type arena struct {
	*cluster.Cluster
	rand  *rand.Rand
	out   io.Writer
	begin time.Time
	hosts []*host
	store *store
	tap   *tap
	mover *mover
	busy  []*exec.Cmd
	// stopTap ends what follows the agents.
	stopTap context.CancelFunc
	runners map[string]int // all that were started: their numbers
	struck  int
	done    map[string]int // how often each fault was applied
	downs   []down         // when guardians did not run
	ended   []string       // runners that ended without being asked to
	wrong   []error        // what could not be done or undone
}

// host is one of the cluster.
type host struct {
	name   string
	agent  bool // it has an agent and runners; otherwise a member
	runs   bool // its member runs, unless a fault ended it
	joins  bool // its member has lost its directory, and joins
	cgroup bool // its runners make cgroups
	seats  []*seat
	fault  repair
}

// seat is where a runner of a group runs on a host.
type seat struct {
	host  *host
	group string
	// runner is the process, and asked says that it was asked to stop or killed.
	runner *cluster.Process
	asked  bool
	starts int
	// repairs undo what was done to it.
	repairs []repair
}

// repair is what undoes a fault, and when.
type repair struct {
	undo func() error // nil: there is nothing to undo
	due  time.Time
}

// agents is how many hosts have an agent. Two more have a member by the library, of which one is in the council at a time: see mover.
const agents = 4

// open makes a cluster on which nothing runs yet.
func open(s settings, out io.Writer) (_ *arena, err error) {
	kind, clocks, err := choose(s.hosts, out)
	if err != nil {
		return nil, err
	}
	a := &arena{rand: rand.New(rand.NewPCG(s.seed, 0)), out: out, begin: time.Now(), done: make(map[string]int), runners: make(map[string]int), tap: newTap(), stopTap: func() {}}
	founders := strings.Fields("a b c d e")
	o := cluster.Options{Names: append(slices.Clone(founders), "f"), Founders: founders, Hosts: kind, Relay: true, Seed: s.seed, Clocks: clocks, Timing: timing(), Config: yaml,
		Command: cluster.Child(), Hold: true, SocketMode: "0666", Regent: a.regent}
	if s.logs {
		o.Log = func(process, line string) { fmt.Fprintf(out, "%s: %s\n", process, line) }
	}
	a.Cluster, err = cluster.New(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	go func() { // nothing here reads events: the journals have it
		for range a.Events() {
		}
	}()
	if err := a.install(s.regent); err != nil {
		return nil, err
	}
	a.store, err = openStore(a.Dir)
	if err != nil {
		return nil, err
	}
	return a, a.keepBusy(s.busy)
}

// install copies the programs to where every user may run them.
func (a *arena) install(regent string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Join(a.Dir, binDir)
	err = errors.Join(os.Chmod(a.Dir, 0o755), os.Mkdir(bin, 0o755), os.Chmod(filepath.Join(a.Dir, journals), openMode),
		copyProgram(filepath.Join(bin, regentName), regent), copyProgram(filepath.Join(bin, selfName), self), copyProgram(filepath.Join(bin, setuidName), self),
		os.WriteFile(filepath.Join(a.Dir, hooksName), nil, 0o666), os.Chmod(filepath.Join(a.Dir, hooksName), 0o666))
	if err == nil && root() {
		setuid := filepath.Join(bin, setuidName)
		err = errors.Join(os.Chown(setuid, setuidUID, setuidUID), os.Chmod(setuid, 0o755|os.ModeSetuid))
	}
	return err
}

func copyProgram(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}

// root says whether this process may be all users.
func root() bool { return os.Geteuid() == 0 }

// regent makes a command of the command line.
func (a *arena) regent(args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(a.Dir, binDir, regentName), args...)
}

// keepBusy starts processes that keep the processors busy.
func (a *arena) keepBusy(n int) error {
	for range n {
		c := exec.Command(filepath.Join(a.Dir, binDir, selfName), wordBusy)
		c.Env = append(os.Environ(), "GOMAXPROCS=1")
		if err := c.Start(); err != nil {
			return err
		}
		a.busy = append(a.busy, c)
	}
	return nil
}

// close ends everything.
func (a *arena) close() error {
	a.stopTap()
	for _, c := range a.busy {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	if a.store != nil {
		for _, p := range a.store.left() {
			p.signal(syscall.SIGKILL)
		}
	}
	for _, pid := range a.keepersLeft() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	err := a.Cluster.Close()
	if a.store != nil {
		err = errors.Join(err, a.store.listener.Close())
	}
	return err
}

// start starts everything and waits until a program leads each group.
func (a *arena) start() error {
	for i, name := range a.Names {
		h := &host{name: name, agent: i < agents, cgroup: root() && i%2 == 0}
		a.hosts = append(a.hosts, h)
		switch {
		case i == agents:
			if err := a.startMember(h); err != nil {
				return err
			}
			continue
		case !h.agent:
			h.joins, a.mover = true, &mover{arena: a, wanted: h}
			continue
		}
		for _, g := range groups {
			h.seats = append(h.seats, &seat{host: h, group: g})
		}
		if _, err := a.StartAgent(name); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.stopTap = cancel
	for _, h := range a.hosts {
		if !h.agent {
			continue
		}
		if err := a.AwaitAgents(h.name); err != nil {
			return err
		}
		go a.tap.follow(ctx, h.name, a.Socket(h.name))
		for _, s := range h.seats {
			if err := a.startRunner(s); err != nil {
				return err
			}
		}
	}
	for _, g := range groups {
		if err := a.led("at first", g, 0); err != nil {
			return err
		}
	}
	return nil
}

// startRunner starts the runner of a seat. Each has a name of its own: what the one before started may still hold its output.
func (a *arena) startRunner(s *seat) (err error) {
	self := filepath.Join(a.Dir, binDir, selfName)
	hook := func(name string) string { return strings.Join([]string{"exec", self, wordHook, a.Dir, name}, " ") }
	args := []string{"run", s.group, "--socket", a.Socket(s.host.name), "--restart", "--delay", "100ms", "--grace", grace.String(), "--guard", guard.String(),
		"--on-elected", hook(hookElected), "--on-lost", hook(hookLost), "--", self, wordAct, a.Dir, strconv.Itoa(os.Getpid()), string(roleMain)}
	c := a.regent(args...)
	if root() && !s.host.cgroup {
		// A change of the user clears the signal at the parent's death. It stays one process.
		id := strconv.Itoa(ordinaryUID)
		c = exec.Command("setpriv", append([]string{"--reuid", id, "--regid", id, "--clear-groups", "--pdeathsig", "KILL", "--", c.Path}, args...)...)
		c.Dir = "/"
	}
	s.starts++
	s.asked = false
	s.runner, err = a.Spawn(fmt.Sprintf("run-%s-%s-%d", s.host.name, s.group, s.starts), s.host.name, c, nil)
	if err == nil {
		a.runners[s.runner.Name] = s.runner.Pid()
	}
	return err
}

// led waits until a program has led a group after a reading of the clock.
func (a *arena) led(when, group string, after cluster.Time) error {
	return cluster.Wait(cluster.Patience, "a program leads "+group+" "+when, func() bool {
		spans, err := a.Spans()
		for _, s := range spans {
			if err == nil && s.Group == group && s.Seen > after {
				return true
			}
		}
		return false
	})
}

// dead says whether a process has ended, also if others hold its output.
func dead(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err != nil || strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// keepers returns the keepers of a runner.
func keepers(runner int) (found []*os.Process) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", runner))
	for _, task := range tasks {
		b, _ := os.ReadFile(task)
		for word := range strings.FieldsSeq(string(b)) {
			pid, _ := strconv.Atoi(word)
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.HasPrefix(string(name), keeperName+"\x00") {
				if p, err := os.FindProcess(pid); err == nil {
					found = append(found, p)
				}
			}
		}
	}
	return found
}

// keeperName is what keepers call themselves.
const keeperName = "regent-keep"

// stopRunners has all runners stop, and waits until nothing of their programs is left that a guardian could end.
func (a *arena) stopRunners() {
	var runners []*cluster.Process
	for _, h := range a.hosts {
		for _, s := range h.seats {
			s.asked = true
			runners = append(runners, s.runner)
			_ = s.runner.Signal(syscall.SIGTERM)
		}
	}
	for _, r := range runners {
		a.try("stop", cluster.Wait(cluster.Patience, r.Name+" stops", func() bool { a.store.sweep(); return dead(r.Pid()) }))
	}
	// Keepers of runners that were killed may still have hooks to run.
	a.try("stop", cluster.Wait(cluster.Patience, "keepers end", func() bool { a.store.sweep(); return len(a.keepersLeft()) == 0 }))
}

// keepersLeft returns the keepers that run, of any runner of the arena.
func (a *arena) keepersLeft() (found []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		exe, _ := os.Readlink(name)
		cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.TrimSuffix(exe, " (deleted)") == filepath.Join(a.Dir, binDir, regentName) && strings.HasPrefix(string(cmd), keeperName+"\x00") && !dead(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// try keeps what could not be done: the run is worth nothing then.
func (a *arena) try(what string, err error) {
	if err != nil {
		a.wrong = append(a.wrong, fmt.Errorf("%s: %w", what, err))
	}
}
