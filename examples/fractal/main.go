// Fractal computes a zoom into the Mandelbrot set on several members, each its tiles, and survives the loss of members: RAIN's demonstration. Start
// it on each of seven hosts, or seven times on one, with the same council, the same shares and another name:
//
//	fractal -name a -council a=127.0.0.1:7401,b=… -shares a=127.0.0.1:7501,b=… -dir /tmp/fractal/a -secret /tmp/fractal/secret -seed 7
//
// Kill up to three (kill -9), stop them (kill -STOP), unplug them: the others go on with their tiles. Start them again without -seed: they come back with
// their disks. At the end every member writes the same picture to DIR/picture.png, the one that a run without faults gives.
//
// Tiles are carried from frame to frame, and begin from a seed that members forget once all tiles have a checkpoint: a tile cannot be computed again.
// Package checkpoint keeps the states on the members' disks, any four of which are enough.
//
// With -agent SOCKET the program takes part through the agent of its host, whose configuration lists the consistent group fractal. Then -council is not needed.
// fractal.py is a member in Python, which takes part so.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/checkpoint"
	"github.com/regentproject/regent/checkpoint/fractal"
)

// options are what the program is started with.
type options struct {
	regent regent.Config
	agent  string // socket; empty: the program is the member
	shares []checkpoint.Peer
	dir    string
	secret []byte
	seed   uint64 // 0: the work has begun
	frames uint64
	every  uint64
	data   int
	pace   time.Duration
}

func main() {
	o := options{}
	flag.StringVar(&o.regent.Name, "name", "", "which member of the council this is")
	council := flag.String("council", "", "all members, as name=host:port,...")
	flag.StringVar(&o.agent, "agent", "", "take part through the agent with this socket")
	shares := flag.String("shares", "", "where all members exchange shares, as name=host:port,...")
	flag.StringVar(&o.dir, "dir", "", "directory for the member's record, the keys ('regent keys exchange --dir') and the shares")
	secret := flag.String("secret", "", "file with what members authenticate shares by")
	flag.Uint64Var(&o.seed, "seed", 0, "begin the work with this seed; 0: it has begun")
	flag.Uint64Var(&o.frames, "frames", 1000, "how many frames to compute")
	flag.Uint64Var(&o.every, "every", 8, "how many frames between two checkpoints")
	flag.IntVar(&o.data, "data", 4, "how many shares give a state back")
	flag.DurationVar(&o.pace, "pace", 20*time.Millisecond, "how long a frame takes at least")
	flag.Parse()
	for _, p := range pairs(*shares) {
		o.shares = append(o.shares, checkpoint.Peer{Name: p[0], Addr: p[1]})
	}
	for _, p := range pairs(*council) {
		o.regent.Council = append(o.regent.Council, regent.Peer{Name: p[0], Addrs: []string{p[1]}})
	}
	var err error
	o.secret, err = os.ReadFile(*secret)
	if err == nil && o.agent == "" {
		o.regent.Dir, o.regent.Bootstrap, o.regent.Consistent = o.dir, true, true
		err = o.regent.ReadKeys(o.dir)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fractal:", err)
		os.Exit(1)
	}
}

// pairs splits name=value,...
func pairs(list string) [][2]string {
	var all [][2]string
	for word := range strings.SplitSeq(list, ",") {
		if name, value, ok := strings.Cut(word, "="); ok {
			all = append(all, [2]string{name, value})
		}
	}
	return all
}

// What tests replace: how a program listens and sends, and what it waits for before a frame.
var (
	listen = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	client *http.Client
	gate   = func(ctx context.Context, _ uint64, pace time.Duration) {
		select {
		case <-time.After(pace):
		case <-ctx.Done():
		}
	}
)

func run(ctx context.Context, o options) error {
	var seed atomic.Uint64
	seed.Store(o.seed)
	c := checkpoint.Config{Name: o.regent.Name, Council: o.shares, Data: o.data, Dir: filepath.Join(o.dir, "shares"), Founding: o.seed != 0, Secret: o.secret,
		Keys: fractal.Keys(), Every: o.every, Last: o.frames, Client: client,
		Begin: func(key string) ([]byte, error) {
			if s := seed.Load(); s != 0 {
				return fractal.Begin(key, s), nil
			}
			return nil, errors.New(key + ": the seed is forgotten")
		},
		Advance: func(ctx context.Context, key string, frame uint64, state []byte) ([]byte, error) {
			gate(ctx, frame, o.pace)
			return fractal.Next(key, frame, state), nil
		},
		OnEvent: func(e checkpoint.Event) {
			if e.What == "founded" {
				seed.Store(0)
			}
			line, _ := json.Marshal(e)
			fmt.Println(string(line))
		}}
	node, err := checkpoint.Open(c)
	if err != nil {
		return err
	}
	var addr string
	for _, p := range o.shares {
		if p.Name == c.Name {
			addr = p.Addr
		}
	}
	l, err := listen(addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: node, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l)
	defer server.Close()
	group, leave, err := join(ctx, o)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go finish(ctx, c, filepath.Join(o.dir, "picture.png"))
	return group.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error { return node.Run(ctx, l) })
}

// join takes part by the library, or through an agent.
func join(ctx context.Context, o options) (*regent.ConsistentGroup, func(), error) {
	const name = "fractal"
	if o.agent != "" {
		c, err := regent.Dial(ctx, o.agent)
		if err != nil {
			return nil, nil, err
		}
		g, err := c.ConsistentGroup(name)
		return g, func() { c.Close() }, err
	}
	m, err := regent.Join(ctx, o.regent)
	if err != nil {
		return nil, nil, err
	}
	g, err := m.ConsistentGroup(name)
	return g, func() { m.Leave(context.Background()) }, err
}

// finish writes the picture once all tiles are done. The member stays: others may need its shares.
func finish(ctx context.Context, c checkpoint.Config, file string) {
	for ctx.Err() == nil {
		if states, err := collect(ctx, c); err == nil {
			var b bytes.Buffer
			if err := fractal.Draw(&b, states); err == nil && replace(file, b.Bytes()) == nil {
				fmt.Println(`{"what":"picture"}`)
				return
			}
		}
		gate(ctx, 0, time.Second)
	}
}

// replace writes a file as a whole: a reader finds all of it, or no file.
func replace(file string, data []byte) error {
	if err := os.WriteFile(file+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// collect reads the last states of all tiles.
func collect(ctx context.Context, c checkpoint.Config) (map[string][]byte, error) {
	states := make(map[string][]byte)
	for _, key := range c.Keys {
		step, state, err := checkpoint.Read(ctx, c, key)
		if err == nil && step < c.Last {
			err = fmt.Errorf("%s: at frame %d of %d", key, step, c.Last)
		}
		if err != nil {
			return nil, err
		}
		states[key] = state
	}
	return states, nil
}
