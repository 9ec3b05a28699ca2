package fractal

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/checkpoint"
)

// Group is the group of the demonstration.
const Group = "fractal"

const (
	frames = 6000
	every  = 8
	pace   = 40 * time.Millisecond
	seed   = 1997
)

// data is k: 4, or a majority of a small council.
func data(members int) int { return min(4, members/2+1) }

// local is the configuration of all members in a directory. They reach each other by unix sockets.
func local(dir string, names []string) checkpoint.Config {
	c := checkpoint.Config{Data: data(len(names)), Secret: []byte("one host"), Keys: Keys(), Every: every, Last: frames,
		Client: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			host, _, _ := net.SplitHostPort(addr)
			return new(net.Dialer).DialContext(ctx, "unix", socket(dir, host))
		}}}}
	for _, n := range names {
		c.Council = append(c.Council, checkpoint.Peer{Name: n, Addr: n})
	}
	return c
}

func socket(dir, name string) string { return filepath.Join(dir, name+".shares") }

// Run is a member of the demonstration, until ctx ends: dir has a directory for each member.
func Run(ctx context.Context, m *regent.Member, dir, name string, names []string) error {
	c := local(dir, names)
	c.Name, c.Dir = name, filepath.Join(dir, name, "shares")
	_, err := os.Stat(c.Dir)
	c.Founding = errors.Is(err, os.ErrNotExist)
	var forgotten atomic.Bool
	forgotten.Store(!c.Founding)
	c.Begin = func(key string) ([]byte, error) {
		if forgotten.Load() {
			return nil, errors.New("the seed is forgotten")
		}
		return Begin(key, seed), nil
	}
	c.Advance = func(ctx context.Context, key string, frame uint64, state []byte) ([]byte, error) {
		select {
		case <-time.After(pace):
		case <-ctx.Done():
		}
		return Next(key, frame, state), ctx.Err()
	}
	c.OnEvent = func(e checkpoint.Event) {
		if e.What == "founded" {
			forgotten.Store(true)
		}
	}
	node, err := checkpoint.Open(c)
	if err != nil {
		return err
	}
	_ = os.Remove(socket(dir, name))
	l, err := net.Listen("unix", socket(dir, name))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: node, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l)
	defer server.Close()
	g, err := m.ConsistentGroup(Group)
	if err != nil {
		return err
	}
	return g.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error { return node.Run(ctx, l) })
}
