package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// ByAgent has the agent run the runner of addresses, for a user that may not change addresses: a process like this one, whose parent and rights are the
// agent's. Checks run here, as this user. The process ends with this one, by its connection to the agent.
func ByAgent(ctx context.Context, socket string, o Options) (int, error) {
	reaper, err := tree.ProcessReaper()
	if err != nil {
		return StatusFailed, err
	}
	r := &runner{Options: o, reaper: reaper}
	for {
		b := &byAgent{r: r, over: make(chan session.Event, 1), runs: make(chan struct{})}
		status, again, err := b.once(ctx, socket)
		if err != nil || !again {
			return status, err
		}
		if err := r.pause(ctx, cmp.Or(o.Delay, retryInterval)); err != nil {
			return 0, nil
		}
	}
}

// A byAgent is one process that the agent runs.
type byAgent struct {
	r *runner
	// over gets how it ended, and runs is closed when the host has an address.
	over chan session.Event
	runs chan struct{}
	held bool
}

// once has the agent run a process to its end. It says whether to do so again.
func (b *byAgent) once(ctx context.Context, socket string) (status int, again bool, err error) {
	r := b.r
	conn, err := session.Dial(ctx, socket)
	if err != nil {
		return b.lost(err)
	}
	defer conn.Close()
	h := conn.Greeting()
	r.terms = Terms{Member: h.Member, Socket: socket, Lease: h.Lease, Guard: h.Guard, Priority: h.Priority}
	if err := r.awaitReady(ctx); err != nil {
		status, err = r.ended(err)
		return status, false, err
	}
	k, err := conn.Hold(session.Holding{Group: r.Group, Addresses: r.Addresses, Lease: r.Lease, Wait: r.Wait, Quiet: r.Quiet,
		Once: len(r.Ready.Command)+len(r.Health.Command) > 0}, b.take)
	if err != nil {
		return b.lost(err)
	}
	b.await(ctx, k)
	e := <-b.over
	switch closed := e.Cause != nil && e.Cause.Why == why.Closed; {
	case r.stop != nil:
		return 0, false, nil
	case e.Event == session.Gone || closed:
		return b.lost(errors.New("the agent has gone"))
	case e.Event == session.Failed:
		return StatusFailed, false, errors.New(e.Error)
	case e.Status == 0 || e.Status == StatusLost || e.Status < 0: // it is to campaign again
		r.accepted = true
		return 0, true, nil
	}
	return e.Status, false, nil // it has printed why
}

// lost says what to do without an agent: to wait for another if there was one before.
func (b *byAgent) lost(err error) (status int, again bool, _ error) {
	if !b.r.accepted {
		return StatusFailed, false, err
	}
	if text := err.Error(); text != b.r.retried {
		b.r.Log("%s; trying again every second", text)
		b.r.retried = text
	}
	return 0, true, nil
}

// await waits for the end, and asks for it if the host is not fit to lead or this process is to stop.
func (b *byAgent) await(ctx context.Context, k *session.Candidacy) {
	r := b.r
	sick, cancel := r.Health.watch(r.reaper, r.hookEnv(0), b.runs)
	defer cancel()
	done := ctx.Done()
	stop := func(s os.Signal) {
		r.stop = s
		_ = k.Stopped(why.Cause{Why: why.Resigned})
	}
	for {
		select {
		case e := <-b.over:
			b.over <- e
			return
		case text := <-sick:
			r.Log("%s", text)
			_ = k.Stopped(why.Cause{Why: why.Unhealthy})
		case s := <-r.Signals:
			if isStopSignal(s) {
				stop(s)
			}
		case <-done:
			done = nil
			stop(os.Interrupt)
		}
	}
}

// take takes what the agent sends.
func (b *byAgent) take(e *session.Event) {
	r := b.r
	switch e.Event {
	case session.Printed:
		r.accepted, r.retried = true, ""
		b.print(e)
	case session.Over, session.Failed, session.Gone:
		select {
		case b.over <- *e:
		default:
		}
	}
}

// print prints a line of the process.
func (b *byAgent) print(e *session.Event) {
	r := b.r
	var what address.Event
	if e.Log || json.Unmarshal([]byte(e.Text), &what) != nil {
		fmt.Fprintln(r.Files[2], e.Text)
		return
	}
	if what.Event == address.Held && !b.held {
		b.held = true
		close(b.runs)
	}
	report(r.Files[1], r.Files[2], r.JSON, what)
}
