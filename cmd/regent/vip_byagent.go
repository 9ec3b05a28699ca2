package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	runner "github.com/regentproject/regent/agent/run"
	vip "github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/session"
)

// vipByAgent has the agent hold the addresses, for a user that may not change any.
func (f *runFlags) vipByAgent(c *cobra.Command, addresses []vip.Address, dryRun bool) error {
	conn, err := session.Dial(c.Context(), f.socket)
	if what := notThere(f.socket, err); what != "" {
		err = errors.New(what)
	}
	if err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	err = conn.MayHold(c.Context(), session.Holding{Group: f.Group, Addresses: f.Addresses, Lease: f.Lease})
	_ = conn.Close()
	if err != nil {
		return runFailed(c, err, runner.StatusFailed)
	}
	if dryRun {
		return f.dryRun(c, addresses)
	}
	f.Files, f.Env = []*os.File{nil, os.Stdout, os.Stderr}, os.Environ()
	f.Log = func(format string, args ...any) {
		if !f.Quiet {
			fmt.Fprintf(c.ErrOrStderr(), "regent "+c.Name()+": "+format+"\n", args...)
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	f.Signals = signals
	if c.Context().Err() != nil { // asked to stop before these were listened to
		return nil
	}
	// The signals end it by themselves, when the addresses are gone: not by way of the context.
	status, err := runner.ByAgent(context.WithoutCancel(c.Context()), f.socket, f.Options)
	if err != nil {
		return runFailed(c, err, status)
	}
	if status != 0 {
		return cli.Silently(status)
	}
	return nil
}

// attach reads what the agent writes to a process that it started: lines say why this host is not fit to lead, and the end has the process stop.
func attach(in io.Reader, signals chan<- os.Signal) (sick <-chan string) {
	out := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case out <- lines.Text():
			default:
			}
		}
		signals <- syscall.SIGTERM
	}()
	return out
}
