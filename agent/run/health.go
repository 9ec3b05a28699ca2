package run

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
)

// A Check is a command that says by its exit status whether all is well.
type Check struct {
	Command []string
	// Every is how often it runs, Timeout how long it may take, and Failures how many in a row count.
	Every, Timeout time.Duration
	Failures       int
}

// once runs the check. The error says why all is not well.
func (c *Check) once(ctx context.Context, n *tree.Reaper, env []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var out limited
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
	err := execute(ctx, n, n.Start, cmd)
	if said := strings.TrimSpace(out.String()); err != nil && said != "" {
		err = fmt.Errorf("%w: %s", err, strings.ReplaceAll(said, "\n", "; "))
	}
	return err
}

// watch runs the check, once the program runs, until it has failed often enough in a row, and then says why.
func (c *Check) watch(n *tree.Reaper, env []string, runs <-chan struct{}) (sick <-chan string, cancel context.CancelFunc) {
	if len(c.Command) == 0 {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	out := make(chan string, 1)
	go func() {
		select {
		case <-runs:
		case <-ctx.Done():
			return
		}
		for failed := 0; ; {
			select {
			case <-time.After(c.Every):
			case <-ctx.Done():
				return
			}
			err := c.once(ctx, n, env)
			if err == nil || ctx.Err() != nil {
				failed = 0
				continue
			}
			failed++
			if failed >= c.Failures {
				out <- fmt.Sprintf("not healthy: %s failed %d times: %v", commandText(c.Command), failed, err)
				return
			}
		}
	}()
	return out, cancel
}

// awaitReady waits until this host is fit to campaign.
func (r *runner) awaitReady(ctx context.Context) error {
	if len(r.Ready.Command) == 0 {
		return nil
	}
	for said := false; ; said = true {
		err := r.Ready.once(ctx, r.reaper, r.hookEnv(0))
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return cause(ctx)
		}
		if !said {
			r.Log("does not campaign for %s: %s: %v", r.Group, commandText(r.Ready.Command), err)
			r.Hooks.notify(ctx, r.hookEnv(0), r.Group, hookFault)
		}
		if err := r.pause(ctx, r.Ready.Every); err != nil {
			return err
		}
	}
}
