package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// A process prints lines, and ends when its input does or it gets SIGTERM.
type process struct {
	cmd   *exec.Cmd
	in    io.Closer
	ended chan struct{} // closed once all that it printed was read and it was waited for
}

// begin starts a process. Each line that it prints goes to line.
func begin(c *exec.Cmd, verbose bool, line func(string)) (*process, error) {
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if verbose {
		c.Stderr = os.Stderr
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: c, in: in, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			line(lines.Text())
		}
		_ = c.Wait()
	}()
	return p, nil
}

// patience is how long a process may take to end.
const patience = time.Minute

// end closes its input and asks it to end, and kills it if it does not.
func (p *process) end() {
	_ = p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.kill()
	}
}

// kill ends it at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.in.Close()
}

// burnAll keeps processors busy until it is stopped.
func burnAll(ctx context.Context, n int) (stop func(), err error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var all []*process
	stop = func() {
		for _, p := range all {
			p.kill()
		}
	}
	for range n {
		p, err := begin(exec.Command(path, "burn"), false, func(string) {})
		if err != nil {
			stop()
			return nil, fmt.Errorf("a busy process: %w", err)
		}
		all = append(all, p)
	}
	return stop, ctx.Err()
}

// burn is a process that keeps one processor busy until its input ends.
func burn() {
	runtime.GOMAXPROCS(2) // one to see the end of its input
	go untilInputEnds()
	for n := 0; ; n++ {
		_ = n
	}
}

// program is what regent run runs: it says that it was started.
func program() {
	fmt.Println("started")
	select {} // regent run ends it
}

func untilInputEnds() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
