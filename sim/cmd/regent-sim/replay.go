package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/sim/replay"
)

func replayCommand() *cobra.Command {
	var p cli.Page
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Watch a run of the simulator in the browser, forwards and backwards",
		Long: `Replay serves a page on this host that plays a trace, as regent-sim run and
regent-sim fuzz write it with --trace: who led when, who supported whom, what went wrong. It plays
forwards and backwards, at any speed, or line by line, and can be sought in.

It serves until it is interrupted.`,
		Example: `  regent-sim fuzz --protocol nerio --seed 42 --trace trace.jsonl && regent-sim replay trace.jsonl
  regent-sim run scenario.txt --trace trace.jsonl && regent-sim replay trace.jsonl --no-open`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("replay takes one file, the trace; it was given %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runReplay(c, &p, args[0]) },
	}
	p.Flags(c)
	return c
}

func runReplay(c *cobra.Command, p *cli.Page, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return cli.Failf("regent-sim replay: %w", err)
	}
	defer f.Close()
	recording, err := replay.Read(f)
	if err != nil {
		return cli.Failf("regent-sim replay: %s: %w", name, err)
	}
	player := replay.NewPlayer(filepath.Base(name), recording)
	server, err := web.Serve(p.Addr, web.Handler(player, web.Options{Do: player.Do, Load: player.Load}))
	if err != nil {
		return cli.Failf("regent-sim replay: --addr: %w", err)
	}
	defer server.Close()
	fmt.Fprintf(c.OutOrStdout(), "%d lines, %v: %s\n", recording.Steps(), recording.End(), server.URL)
	if err := p.Browse(c.Context(), server.URL, c.OutOrStdout()); err != nil {
		return cli.Failf("regent-sim replay: %w", err)
	}
	player.Run(c.Context())
	return nil
}
