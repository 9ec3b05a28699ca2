package run

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent/internal/run/tree"
)

// Hooks are told of changes. None of them is given to a shell; commands are split at white space. A hook that fails or
// takes too long is logged and changes nothing.
type Hooks struct {
	// Elected runs before the program is started, while its lease is watched, and Lost when the program is gone, whatever
	// the reason was.
	Elected, Lost []string
	// Notify is called as keepalived calls its notify script, with four arguments: GROUP, the name of the group, the
	// state (MASTER, BACKUP, FAULT, STOP, or again MASTER as MASTER_RX_LOWER_PRI) and the priority of this member.
	Notify []string
	// Fifo gets the same as lines, if somebody reads it.
	Fifo string
	// Timeout is how long one may take.
	Timeout time.Duration
	// Nursery starts them.
	Nursery *tree.Nursery
	Log     func(format string, args ...any)
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
func (h *Hooks) elected(env []string, group string, over <-chan struct{}) {
	h.call(h.Elected, tree.Helper(env), over)
	h.notify(tree.Helper(env), group, hookMaster)
}

// lost tells of a leadership that has ended.
func (h *Hooks) lost(env []string, group string, why reason) {
	h.call(h.Lost, tree.Helper(append(env, "REGENT_REASON="+why.String())), nil)
	state := hookBackup
	if why == lost || why == unfit {
		state = hookFault
	}
	h.notify(tree.Helper(env), group, state)
	if state == hookFault {
		h.notify(tree.Helper(env), group, hookBackup)
	}
}

// String names the reason, for hooks.
func (r reason) String() string {
	return [...]string{byItself: "ended", asked: "resigned", unfit: "unhealthy", lost: "lost"}[r]
}

// notify tells whoever wants to hear of states.
func (h *Hooks) notify(env []string, group, state string) {
	priority := "100"
	for _, e := range env {
		if p, ok := strings.CutPrefix(e, "REGENT_PRIORITY="); ok {
			priority = p
		}
	}
	if len(h.Notify) > 0 {
		h.call(append(append([]string(nil), h.Notify...), "GROUP", group, state, priority), env, nil)
	}
	if h.Fifo == "" {
		return
	}
	// Without a reader it does not open, which must not hold anything up.
	f, err := os.OpenFile(h.Fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		_, err = fmt.Fprintf(f, "GROUP %s %s %s\n", strconv.Quote(group), state, priority)
		_ = f.Close()
	}
	if err != nil {
		h.Log("notify %s of %s: %v", h.Fifo, state, err)
	}
}

// call runs a command to its end, but no longer than the time-out, nor than over.
func (h *Hooks) call(args, env []string, over <-chan struct{}) {
	if len(args) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.Timeout)
	defer cancel()
	if over != nil {
		stop := context.AfterFunc(ctx, func() {})
		defer stop()
		go func() {
			select {
			case <-over:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	if _, err := execute(ctx, h.Nursery, args, env); err != nil {
		h.Log("hook %s: %v", args[0], err)
	}
}

// maxOutput is how much of a helper's output is kept for messages.
const maxOutput = 4 << 10

// execute runs a helper with its whole process group, and returns what it said.
func execute(ctx context.Context, n *tree.Nursery, args, env []string) (string, error) {
	var out limited
	c := exec.Command(args[0], args[1:]...)
	c.Env, c.Stdout, c.Stderr = env, &out, &out
	c.WaitDelay = time.Second // a child of the helper may keep its output open
	detach(c)
	if err := n.Start(c); err != nil {
		return "", err
	}
	done := make(chan error, 1)
	go func() { done <- n.Wait(c) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		killGroup(c)
		<-done
		err = fmt.Errorf("killed: it took too long")
	}
	if said := strings.TrimSpace(out.String()); err != nil && said != "" {
		err = fmt.Errorf("%w: %s", err, strings.ReplaceAll(said, "\n", "; "))
	}
	return out.String(), err
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxOutput - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
