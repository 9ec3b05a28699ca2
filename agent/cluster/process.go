package cluster

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/regentproject/regent/internal/runtime/parent"
)

// A Process is one that the cluster has started. It dies with the cluster.
type Process struct {
	// Name is that of the process in the cluster, and Host where it runs.
	Name, Host string
	cmd        *exec.Cmd
	stdin      io.WriteCloser
	gone       chan struct{} // closed when it has ended and all that it wrote was read
	ask        func()        // asks it to stop
	out        []io.Closer   // the ends from which what it writes is read

	mu     sync.Mutex
	paused bool
	log    bytes.Buffer
}

// logKept is how much of what a process logs is kept.
const logKept = 1 << 20

// start starts a command on a host. line is called with each line of its output, and ended when it has ended.
func (c *Cluster) start(name, host string, cmd *exec.Cmd, line func(string), ended func(*Process)) (*Process, error) {
	if c.hosts == nil {
		return nil, fmt.Errorf("%s: hosts in memory run no processes", name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.processes[name]; p != nil && !p.Ended() {
		return nil, fmt.Errorf("%s runs already", name)
	}
	if by := c.Clocks[host]; by != 0 {
		if err := shift(cmd, by); err != nil {
			return nil, err
		}
	}
	if err := c.hosts.place(host, cmd); err != nil {
		return nil, err
	}
	p := &Process{Name: name, Host: host, cmd: cmd, gone: make(chan struct{})}
	isolate(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := parent.Start(cmd); err != nil {
		return nil, err
	}
	p.stdin, p.ask = stdin, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }
	p.out = []io.Closer{stdout, stderr}
	c.processes[name] = p
	var read sync.WaitGroup
	read.Go(func() { scan(stdout, line) })
	read.Go(func() { scan(stderr, func(text string) { c.take(p, text) }) })
	go func() {
		read.Wait()
		_ = cmd.Wait()
		close(p.gone)
		if ended != nil {
			ended(p)
		}
	}()
	return p, nil
}

// take keeps a line of a process's log.
func (c *Cluster) take(p *Process, text string) {
	p.mu.Lock()
	if p.log.Len() < logKept {
		p.log.WriteString(text + "\n")
	}
	p.mu.Unlock()
	if c.Log != nil {
		c.Log(p.Name, text)
	}
}

// maxLine is the length of the longest line that a process writes.
const maxLine = 1 << 20

func scan(from io.Reader, line func(string)) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		if line != nil {
			line(in.Text())
		}
	}
	_, _ = io.Copy(io.Discard, from) // after a line that is too long the process must not hang
}

// Pid returns the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Gone is closed when the process has ended and all that it wrote was read.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Ended says whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// ExitCode returns the status of a process that has ended; -1 if a signal ended it, or if it runs.
func (p *Process) ExitCode() int {
	if !p.Ended() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// State says how a process that has ended did: "exit status 1", "signal: killed".
func (p *Process) State() string {
	if !p.Ended() {
		return "running"
	}
	return p.cmd.ProcessState.String()
}

// Log returns what the process wrote to its standard error.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// heirsPatience is how long children of a process that was killed may go on to write where it wrote.
const heirsPatience = 10 * time.Second

// Kill ends the process without warning, as kill -9 does, and waits until it is gone. It waits for what its children
// write only for a while: a child that is stopped never ends.
func (p *Process) Kill() error { return p.kill(heirsPatience) }

func (p *Process) kill(patience time.Duration) error {
	if err := p.cmd.Process.Kill(); err != nil && !p.Ended() {
		return err
	}
	select {
	case <-p.gone:
		return nil
	case <-time.After(patience):
	}
	for _, r := range p.out {
		_ = r.Close()
	}
	<-p.gone
	return nil
}

// Pause stops the process in its tracks (SIGSTOP).
func (p *Process) Pause() error { return p.suspend(true) }

// Resume lets a process go on that was paused (SIGCONT).
func (p *Process) Resume() error { return p.suspend(false) }

func (p *Process) suspend(pause bool) error {
	if err := suspend(p.cmd.Process, pause); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = pause
	return nil
}

// Stop asks the process to stop: a member by the end of its input, all others by SIGTERM. It kills the process after the
// patience.
func (p *Process) Stop(patience time.Duration) {
	_ = p.Resume()
	p.ask()
	select {
	case <-p.gone:
	case <-time.After(patience):
		_ = p.Kill()
	}
}

func (p *Process) isPaused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}
