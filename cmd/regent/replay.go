package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regentproject/regent/internal/web"
	"github.com/regentproject/regent/internal/web/replay"
)

// page is how a page is served, and whether a browser shows it.
type page struct {
	addr         string
	open, noOpen bool
}

// flags adds what there is to say about a page to a command.
func (p *page) flags(c *cobra.Command) {
	c.Flags().StringVar(&p.addr, "addr", "127.0.0.1:0", "where to serve the page; loopback only, port 0 is any free one")
	c.Flags().BoolVar(&p.open, "open", false, "open a browser (default: if there is a screen and a terminal)")
	c.Flags().BoolVar(&p.noOpen, "no-open", false, "never open a browser")
	c.MarkFlagsMutuallyExclusive("open", "no-open")
}

// browse opens a browser if that was asked for, or if a person seems to sit in front of one.
func (p *page) browse(ctx context.Context, url string, out io.Writer) error {
	if p.noOpen {
		return nil
	}
	f, ok := out.(*os.File)
	if !p.open && (!ok || !term.IsTerminal(int(f.Fd()))) {
		return nil
	}
	if err := web.Browse(ctx, url); err != nil && p.open {
		return fmt.Errorf("--open: %w: open %s yourself", err, url)
	}
	return nil
}

func replayCommand() *cobra.Command {
	var p page
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Watch a run of the simulator in the browser, forwards and backwards",
		Long: `Replay serves a page on this host that plays a trace, as regent sim run and regent sim
fuzz write it with --trace: who led when, who supported whom, what went wrong. It plays
forwards and backwards, at any speed, or line by line, and can be sought in.

It serves until it is interrupted.`,
		Example: `  regent sim fuzz --protocol nerio --seed 42 --trace trace.jsonl && regent replay trace.jsonl
  regent sim run story.txt --trace trace.jsonl && regent replay trace.jsonl --no-open`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("replay takes one file, the trace; it was given %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runReplay(c, &p, args[0]) },
	}
	p.flags(c)
	return c
}

func runReplay(c *cobra.Command, p *page, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return failf("regent replay: %w", err)
	}
	defer f.Close()
	tape, err := replay.Read(f)
	if err != nil {
		return failf("regent replay: %s: %w", name, err)
	}
	player := replay.NewPlayer(filepath.Base(name), tape)
	server, err := web.Serve(p.addr, web.Handler(player, web.Options{Do: player.Do, Load: player.Load}))
	if err != nil {
		return failf("regent replay: --addr: %w", err)
	}
	defer server.Close()
	fmt.Fprintf(c.OutOrStdout(), "%d lines, %v: %s\n", tape.Steps(), tape.End(), server.URL)
	if err := p.browse(c.Context(), server.URL, c.OutOrStdout()); err != nil {
		return failf("regent replay: %w", err)
	}
	player.Run(c.Context())
	return nil
}
