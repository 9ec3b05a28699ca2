// Scheduler runs a job every second, on one of several hosts: whichever leads. Start it on each of them with the same
// council, a key that 'regent keygen key' has drawn, and another name. Each has a key pair, and the public keys of the others:
//
//	regent keys exchange --dir /var/lib/scheduler --name a > a.pub
//	regent keys exchange --dir /var/lib/scheduler a.pub b.pub c.pub
//	scheduler -name a -council a=10.0.0.1:7400,b=10.0.0.2:7400,c=10.0.0.3:7400 -key-file key -dir /var/lib/scheduler
//
// or three times on one host, without -key-file, on 127.0.0.1. Stop one, kill one, unplug one: the job goes on, and never
// runs twice at once.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent"
)

func main() {
	name := flag.String("name", "", "which member of the council this is")
	council := flag.String("council", "", "all members, as name=host:port,...")
	keyFile := flag.String("key-file", "", "file with the cluster key, as 'regent keygen' writes it")
	dir := flag.String("dir", "", "directory for the member's record and the keys, as 'regent keys exchange --dir' fills it")
	every := flag.Duration("every", time.Second, "how often the job runs")
	flag.Parse()
	if err := run(*name, *council, *keyFile, *dir, *every); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler:", err)
		os.Exit(1)
	}
}

func run(name, council, keyFile, dir string, every time.Duration) error {
	c := regent.Config{Name: name, Dir: dir, Bootstrap: true}
	for member := range strings.SplitSeq(council, ",") {
		name, addr, ok := strings.Cut(member, "=")
		if !ok {
			return fmt.Errorf("council %q: must be a list such as a=host:port,b=host:port", council)
		}
		c.Council = append(c.Council, regent.Peer{Name: name, Addrs: []string{addr}})
	}
	if keyFile != "" {
		var err error
		c.Key, err = regent.ReadKey(keyFile)
		if err != nil {
			return err
		}
	}

	// The first signal asks to stop; then the context ends, the job stops, and another host takes over at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.ReadKeys(dir); err != nil {
		return err
	}
	m, err := regent.Join(ctx, c)
	if err != nil {
		return err
	}
	defer func() {
		within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Leave(within); err != nil {
			fmt.Fprintln(os.Stderr, "scheduler:", err)
		}
	}()

	g, err := m.Group("scheduler")
	if err != nil {
		return err
	}
	return g.Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				job(ctx, name, l)
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// job is what must run on one host only. A real one would use the context for everything that takes time.
func job(_ context.Context, name string, l *regent.Lease) {
	fmt.Printf("%s: job runs, token %d\n", name, l.Token())
}
