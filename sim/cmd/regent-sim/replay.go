package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/replay"
	"github.com/regentproject/regent/sim/script"
)

func replayCommand() *cobra.Command {
	var p cli.Page
	var text bool
	c := &cobra.Command{
		Use:   "replay TRACE",
		Short: "Watch a run of the simulator in the browser, forwards and backwards",
		Long: `Replay serves a page on this host that plays a trace, as regent-sim run and
regent-sim fuzz write it with --trace: which member led when, which members supported it, what went wrong. It plays
forwards and backwards, at any speed, or line by line, and can be sought in.

TRACE is a file, or the name of an embedded scenario, which replay runs first; regent-sim scenarios
lists these.

With --text it prints what happened instead: one line for each fact, with its time, and the result at the end.

It serves until it is interrupted.`,
		Example: `  regent-sim replay hall/fig1
  regent-sim replay hall/fig1 --text
  regent-sim fuzz --protocol nerio --seed 42 --trace trace.jsonl && regent-sim replay trace.jsonl
  regent-sim run scenario.txt --trace trace.jsonl && regent-sim replay trace.jsonl --no-open`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("replay takes one file, the trace; it was given %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if text {
				recording, err := readRecording(args[0])
				if err != nil {
					return cli.Failf("regent-sim replay: %w", err)
				}
				return recording.Write(c.OutOrStdout())
			}
			return runReplay(c, &p, args[0])
		},
	}
	c.Flags().BoolVar(&text, "text", false, "print what happened, and serve no page")
	p.Flags(c)
	return c
}

func runReplay(c *cobra.Command, p *cli.Page, name string) error {
	recording, err := readRecording(name)
	if err != nil {
		return cli.Failf("regent-sim replay: %w", err)
	}
	player := replay.NewPlayer(filepath.Base(name), recording)
	server, err := web.Serve(p.Addr, web.Handler(player, web.Options{Do: player.Do, Load: player.Load}))
	if err != nil {
		return cli.Failf("regent-sim replay: --addr: %w", err)
	}
	defer server.Close()
	fmt.Fprintf(c.OutOrStdout(), "%d lines, %v: %s\n", recording.Steps(), recording.End().Round(time.Millisecond), server.URL)
	if err := p.Browse(c.Context(), server.URL, c.OutOrStdout()); err != nil {
		return cli.Failf("regent-sim replay: %w", err)
	}
	player.Run(c.Context())
	return nil
}

// readRecording reads a trace from its file or, if there is no such file, records the embedded scenario of that name.
func readRecording(name string) (*replay.Recording, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		full, text, missing := script.Find(name)
		switch {
		case missing == nil:
			return record(full, text)
		case !errors.Is(missing, fs.ErrNotExist):
			return nil, missing
		}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	recording, err := replay.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return recording, nil
}

// record plays a scenario and keeps its trace. A scenario that does not meet its expectations can be watched, too.
func record(name string, text []byte) (*replay.Recording, error) {
	s, err := script.Parse(name, text)
	if err != nil {
		return nil, err
	}
	var trace bytes.Buffer
	t := sim.NewTrace(&trace)
	result, err := script.Play(s, script.Options{Observers: []sim.Observer{t}})
	if err != nil {
		return nil, err
	}
	if err := t.Flush(); err != nil {
		return nil, err
	}
	recording, err := replay.Read(&trace)
	if err != nil {
		return nil, err
	}
	recording.Explain(name+": "+about(text), outcome(result))
	return recording, nil
}

// about returns the comment that a scenario begins with.
func about(text []byte) string {
	var all []string
	for line := range strings.Lines(string(text)) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			break
		}
		all = append(all, strings.TrimSpace(comment))
	}
	return strings.Join(all, " ")
}

// outcome says whether a scenario went as it expects.
func outcome(r *script.Result) string {
	switch {
	case r.Violation != nil:
		return fmt.Sprintf("An invariant is violated: %v", r.Violation)
	case len(r.Failures) > 0:
		return fmt.Sprintf("%d of %d expectations are not met; the first: %s", len(r.Failures), r.Checks, r.Failures[0].Msg)
	}
	if r.Checks == 1 {
		return "The expectation is met, and no invariant is violated"
	}
	return fmt.Sprintf("All %d expectations are met, and no invariant is violated", r.Checks)
}
