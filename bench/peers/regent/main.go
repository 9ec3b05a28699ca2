// Regent is a candidate by Regent, for make bench-peers: a member of the library, or with -socket a program at an agent.
//
// A member reads who it is as the first line of its input, in JSON: an Order of package cluster.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/bench/peers/candidate"
)

func main() {
	journals := flag.String("journals", "", "the directory of journals")
	name := flag.String("name", "", "the name of the candidate")
	socket := flag.String("socket", "", "the socket of the agent; empty: be a member")
	lease := flag.Duration("lease", 0, "the lease to ask for; 0: the default")
	heartbeat := flag.Duration("heartbeat", 0, "after what silence the agent treats this program as hung; 0: the default")
	flag.Parse()
	if err := run(*journals, *name, *socket, *lease, *heartbeat); err != nil {
		fmt.Fprintln(os.Stderr, "peer regent:", err)
		os.Exit(1)
	}
}

func run(journals, name, socket string, lease, heartbeat time.Duration) error {
	p, err := candidate.New(journals, name)
	if err != nil {
		return err
	}
	ctx := context.Background()
	group, err := enter(ctx, socket, heartbeat)
	if err != nil {
		return err
	}
	if lease > 0 {
		group = group.WithLease(lease)
	}
	var held atomic.Pointer[regent.Lease]
	go p.Serve(candidate.Belief{
		Leads:  func() bool { l := held.Load(); return l != nil && l.Valid() },
		Verify: func(ctx context.Context) error { _, err := group.Verify(ctx); return err },
		Resign: func(ctx context.Context) error {
			if l := held.Load(); l != nil {
				return l.Resign(ctx)
			}
			return errors.New("it does not lead")
		},
	})
	p.Ready()
	for {
		err := group.Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
			held.Store(l)
			p.Led(l.Token())
			<-ctx.Done()
			p.Lost(context.Cause(ctx))
			held.Store(nil)
			return nil
		})
		if errors.Is(err, regent.ErrClosed) {
			return err
		}
	}
}

// enter joins the council, or reaches the agent.
func enter(ctx context.Context, socket string, heartbeat time.Duration) (*regent.Group, error) {
	if socket != "" {
		var options []regent.DialOption
		if heartbeat > 0 {
			options = append(options, regent.Heartbeat(heartbeat))
		}
		c, err := regent.Dial(ctx, socket, options...)
		if err != nil {
			return nil, err
		}
		return c.Group(candidate.Group)
	}
	config, err := read(os.Stdin)
	if err != nil {
		return nil, err
	}
	m, err := regent.Join(ctx, config)
	if err != nil {
		return nil, err
	}
	return m.Group(candidate.Group)
}

// councilID is that of every council that is measured.
const councilID = "c0ffee00c0ffee00c0ffee00c0ffee00"

// read reads the order. It takes single bytes, because the commands that follow are not its own.
func read(in io.Reader) (regent.Config, error) {
	line, err := bufio.NewReaderSize(oneByte{in}, 16).ReadBytes('\n')
	if err != nil {
		return regent.Config{}, fmt.Errorf("order: %w", err)
	}
	var o struct {
		Name, Dir, Bind string
		Council         []regent.Peer
		Bootstrap       bool
		Key             []byte
		OwnKeys         regent.OwnKeys
		Timing          regent.Timing
		NoRealtime      bool
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return regent.Config{}, fmt.Errorf("order: %w", err)
	}
	return regent.Config{Name: o.Name, Dir: o.Dir, Bind: o.Bind, Council: o.Council, CouncilID: councilID, Bootstrap: o.Bootstrap, Key: o.Key, OwnKeys: o.OwnKeys,
		Timing: o.Timing, NoRealtime: o.NoRealtime, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}, nil
}

// oneByte reads no more than one byte at a time.
type oneByte struct{ io.Reader }

func (r oneByte) Read(b []byte) (int, error) { return r.Reader.Read(b[:min(1, len(b))]) }
