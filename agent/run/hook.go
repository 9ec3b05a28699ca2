package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
)

// Hooks run at changes. What they print goes to the runner's standard error. A hook that fails or takes too long is
// logged and changes nothing.
type Hooks struct {
	// Elected runs before the program is started, while its lease is watched, and Lost when the program is gone, whatever
	// the reason was.
	Elected, Lost []string
	// Notify is called as keepalived calls its notify script, with four arguments: GROUP, the name of the group, the
	// state (MASTER, BACKUP, FAULT, STOP, or again MASTER as MASTER_RX_LOWER_PRI) and the priority of this member.
	Notify []string
	// Fifo is the name of a pipe that gets the same as lines. It is made if there is none.
	Fifo string
	// Timeout is how long one may take.
	Timeout time.Duration
	// Reaper starts them.
	Reaper *tree.Reaper
	Log    func(format string, args ...any)

	// out is where the output of hooks goes, and pipe is Fifo once it is open.
	out  *os.File
	pipe *fifo
	// tree is what they are part of; nil: none. look has the deadline looked at before each of them starts, and before Fifo gets a line; nil:
	// they do not act for the leader.
	tree *tree.Tree
	look func()
}

// within returns hooks that are part of a tree: they act for the leader, and must neither outlive the lease nor start after it. look
// ends their context if the deadline has passed.
func (h *Hooks) within(t *tree.Tree, look func()) *Hooks {
	inside := *h
	inside.tree, inside.look = t, look
	return &inside
}

// open opens what hooks need as long as the runner runs.
func (h *Hooks) open(out *os.File) (err error) {
	h.out = out
	if h.Fifo != "" {
		h.pipe, err = openFifo(h.Fifo)
	}
	return err
}

// close closes it.
func (h *Hooks) close() {
	if h.pipe != nil {
		h.pipe.close()
	}
}

// The states of keepalived.
const (
	hookMaster = "MASTER" // this host leads
	hookBackup = "BACKUP" // it does not, and would
	hookFault  = "FAULT"  // it cannot: too few members answer, or it is not fit
	hookStop   = "STOP"   // the runner ends
	// hookAgain says that this host still leads, and that a member which may not know is back. Keepalived says so when it
	// hears from another master of lower priority after a split has healed: announce it again.
	hookAgain = "MASTER_RX_LOWER_PRI"
)

// elected tells of a leadership that begins.
func (h *Hooks) elected(ctx context.Context, env []string, group string) {
	h.call(ctx, h.Elected, tree.Helper(env))
	if ctx.Err() == nil {
		h.notify(ctx, tree.Helper(env), group, hookMaster)
	}
}

// lost tells of a leadership that has ended.
func (h *Hooks) lost(ctx context.Context, env []string, group string, why reason) {
	h.call(ctx, h.Lost, tree.Helper(append(env, "REGENT_REASON="+why.String())))
	state := hookBackup
	if why == leaseLost || why == unhealthy {
		state = hookFault
	}
	h.notify(ctx, tree.Helper(env), group, state)
	if state == hookFault {
		h.notify(ctx, tree.Helper(env), group, hookBackup)
	}
}

// lostCalls is how many commands run one after the other when a leadership ends, at most: Lost, and Notify twice.
const lostCalls = 3

// bound is how long the hooks of one change may take together; zero: there are none.
func (h *Hooks) bound() time.Duration {
	if len(h.Elected) == 0 && len(h.Lost) == 0 && len(h.Notify) == 0 && h.Fifo == "" {
		return 0
	}
	return lostCalls*h.Timeout + hookMargin
}

// hookMargin lets the time-out of a single hook come first, which names the hook.
const hookMargin = time.Second

// String names the reason, for hooks.
func (r reason) String() string {
	return [...]string{programExited: "ended", stopRequested: "resigned", unhealthy: "unhealthy", leaseLost: "lost"}[r]
}

// notify passes states on to scripts and the fifo.
func (h *Hooks) notify(ctx context.Context, env []string, group, state string) {
	priority := "100"
	for _, e := range env {
		if p, ok := strings.CutPrefix(e, "REGENT_PRIORITY="); ok {
			priority = p
		}
	}
	if len(h.Notify) > 0 {
		h.call(ctx, append(append([]string(nil), h.Notify...), "GROUP", group, state, priority), env)
	}
	if h.pipe == nil {
		return
	}
	// That this host leads is written only while it does. That it does not lead is written in any case.
	if h.look != nil {
		h.look() // this runner may have been held up
		if ctx.Err() != nil {
			return
		}
	}
	if err := h.pipe.write(fmt.Sprintf("GROUP %s %s %s\n", strconv.Quote(group), state, priority)); err != nil {
		h.Log("%s did not get the state %s: %v", h.Fifo, state, err)
	}
}

// call runs a command to its end, but no longer than the time-out, nor than ctx.
func (h *Hooks) call(ctx context.Context, args, env []string) {
	if len(args) == 0 {
		return
	}
	if h.look != nil {
		h.look() // this runner may have been held up
	}
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	c := exec.Command(args[0], args[1:]...)
	c.Env = env
	if h.out != nil {
		c.Stdout, c.Stderr = h.out, h.out
	}
	start := h.Reaper.Start
	if h.tree != nil {
		start = h.tree.StartBeside
	}
	if err := execute(ctx, h.Reaper, start, c); err != nil {
		h.Log("hook %s: %v", commandText(args), err)
	}
}

// execute runs a helper with its whole process group. It dies with this process. Its exit status alone says whether all went well.
func execute(ctx context.Context, n *tree.Reaper, start func(*exec.Cmd) error, c *exec.Cmd) error {
	c.WaitDelay = time.Second // a child of the helper may keep its output open
	detach(c)
	bind(c)
	if err := start(c); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- n.Wait(c) }()
	select {
	case err := <-done:
		if errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		return err
	case <-ctx.Done():
		n.KillGroup(c)
		<-done
		return errors.New("killed: it took too long")
	}
}

// A shell runs the commands that are given as a line.
const shell = "/bin/sh"

// Shell returns the command that has a shell run the line; none if the line is empty. The error says that there is no
// shell.
func Shell(line string) ([]string, error) { return shellAt(shell, line) }

func shellAt(path, line string) ([]string, error) {
	if strings.TrimSpace(line) == "" {
		return nil, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%q is run by a shell, and there is none: %w", line, err)
	}
	return []string{path, "-c", line}, nil
}

// commandText is how messages call a command: by the line if a shell runs one.
func commandText(args []string) string {
	if len(args) == 3 && args[0] == shell && args[1] == "-c" {
		return args[2]
	}
	return args[0]
}

// maxOutput is how much of a check's output is kept for messages.
const maxOutput = 4 << 10

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
