package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
	machine "github.com/regentproject/regent/internal/tenure/address"
)

// A runner that has addresses instead of a command runs this very executable as its program: a process that holds them while this host leads, and
// asks the runner for the deadline on its standard input. It is the first process of the tree, so that runner, keeper and agent end it as they end every
// program, and delete the addresses after that.

// selfPath is this very executable, also if its file was replaced.
const selfPath = "/proc/self/exe"

// jsonFlag has the process print events as JSON.
const jsonFlag = "--json"

// holderCommand is the command that holds addresses.
func holderCommand(addresses []string, asJSON bool) []string {
	c := []string{address.ProcessName}
	if asJSON {
		c = append(c, jsonFlag)
	}
	return append(c, addresses...)
}

// program returns the path of a program.
func program(name string) (string, error) {
	if name == address.ProcessName {
		return selfPath, nil
	}
	return exec.LookPath(name)
}

// tooShort says that addresses cannot be held under leases of a length.
func (r *runner) tooShort(lease time.Duration) error {
	if len(r.Addresses) == 0 {
		return nil
	}
	if err := CheckLease(r.Group, lease); err != nil {
		return &exitError{err, StatusFailed}
	}
	return nil
}

// name is what the runner calls itself at the agent.
func (r *runner) name() string {
	if len(r.Addresses) > 0 {
		return "regent vip"
	}
	return "regent run"
}

// CheckLease says that addresses cannot be held under leases of a length; zero stands for one that is not known yet.
func CheckLease(group string, lease time.Duration) error {
	if lease == 0 || lease >= machine.ShortestLease {
		return nil
	}
	return fmt.Errorf("leases of %s last %v, and an address needs %v or more, because the kernel counts its lifetime in whole seconds: use --lease %v, or set that in the agent's configuration (leases)",
		group, lease, machine.ShortestLease, machine.ShortestLease)
}

// start starts the first process. One that holds addresses gets its runner's answers.
func (l *life) start(o tree.Options) error {
	if len(l.r.Addresses) == 0 {
		return l.tree.Start(o)
	}
	mine, its, err := pair()
	if err != nil {
		return err
	}
	defer its.Close()
	o.Files = []*os.File{its, o.Files[1], o.Files[2]}
	if err := l.tree.Start(o); err != nil {
		_ = mine.Close()
		return err
	}
	go func() {
		defer mine.Close()
		var before map[string]string
		address.Serve(mine, func(q address.Question) address.Answer {
			if !maps.Equal(q.Duplicates, before) {
				before = q.Duplicates
				l.upper.Duplicates(before)
			}
			return address.Answer{Remaining: l.remaining(), Healed: int(l.heals.Load())}
		})
	}()
	return nil
}

// remaining returns how long the program may run if nothing is renewed.
func (l *life) remaining() time.Duration {
	announced, _ := l.party.Announced()
	if until, shown := l.shown(); shown {
		announced = max(announced, until)
	}
	return announced.Add(-l.r.Guard).Sub(l.agent.Clock().Now())
}

// holdAddresses is what the process does.
func holdAddresses(args []string) int {
	asJSON := len(args) > 0 && args[0] == jsonFlag
	if asJSON {
		args = args[1:]
	}
	addresses, err := address.ParseAll(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "regent vip: %v\n", err)
		return StatusFailed
	}
	c, err := clock.System()
	if err != nil {
		fmt.Fprintf(os.Stderr, "regent vip: %v\n", err)
		return StatusFailed
	}
	signal.Ignore(Signals()...) // those that mean nothing to it
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	h := address.Holder{Clock: c, Kernel: &address.Own{Newer: tree.Successors()}, Runner: os.Stdin, Report: func(e address.Event) { report(os.Stdout, os.Stderr, asJSON, e) }}
	h.Hold(ctx, addresses)
	return 0
}

// report prints an event of a process that holds addresses.
func report(out, log io.Writer, asJSON bool, e address.Event) {
	if asJSON {
		_ = json.NewEncoder(out).Encode(e)
		return
	}
	fmt.Fprintf(log, "regent vip: %v\n", e)
}
