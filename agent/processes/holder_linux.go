package processes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Holder is regent vip as a child of this agent, with the agent's rights: it holds addresses for a user that may not change any. It stops when its standard
// input ends, so also with the agent.
type Holder struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	once sync.Once
}

// lastLines is how long lines are taken after the process has ended: its keeper may have some to print.
const lastLines = time.Second

// StartHolder starts the program of this very executable, and passes on what it prints.
func StartHolder(args []string, printed func(text string, log bool)) (*Holder, error) {
	c := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"regent", "vip", "--attached"}, args...), Env: withoutService(os.Environ()),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, WaitDelay: lastLines}
	c.Stdout = &lineWriter{take: func(text string) { printed(text, false) }}
	c.Stderr = &lineWriter{take: func(text string) { printed(text, true) }}
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	return &Holder{cmd: c, in: in}, nil
}

// withoutService leaves out what tells the agent about its own service.
func withoutService(env []string) []string {
	return slices.DeleteFunc(env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "NOTIFY_SOCKET" || name == "WATCHDOG_USEC" || name == "WATCHDOG_PID"
	})
}

// Stop asks the process to give the group up. The reason, if there is one, is why the host must not lead.
func (h *Holder) Stop(reason string) {
	h.once.Do(func() {
		if reason != "" {
			_, _ = h.in.Write([]byte(reason + "\n"))
		}
		_ = h.in.Close()
	})
}

// Kill ends a process that does not stop. Its keeper and the agent do the rest.
func (h *Holder) Kill() { _ = h.cmd.Process.Kill() }

// Wait waits until the process has ended, and returns its exit status; -1: a signal has ended it.
func (h *Holder) Wait() int {
	_ = h.cmd.Wait()
	return h.cmd.ProcessState.ExitCode()
}

// longestText is how much of a line is passed on.
const longestText = 4 << 10

// A lineWriter hands on lines.
type lineWriter struct {
	take func(string)
	rest []byte
}

func (w *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		line := append(w.rest, b[:i]...)
		w.take(strings.ToValidUTF8(string(line[:min(len(line), longestText)]), "?"))
		w.rest, b = w.rest[:0], b[i+1:]
	}
	w.rest = append(w.rest, b...)
	w.rest = w.rest[:min(len(w.rest), longestText)]
	return n, nil
}

// ErrNoHolder says that the agent may not change addresses.
var ErrNoHolder = errors.New("the agent lacks CAP_NET_ADMIN: give it CAP_NET_ADMIN and CAP_NET_RAW (systemctl edit regent: CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW), or give them to the command")
