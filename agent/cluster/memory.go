package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/runtime/inmemory"
	"github.com/regentproject/regent/internal/runtime/world"
)

// residence is a member that lives in this process.
type residence struct {
	member *regent.Member
	crash  func()
}

// MemberConfig returns the configuration of a member that joins in this process: see Join. Change what the test is about. Its
// directory is that of the host, so a member that joins again finds its record.
func (c *Cluster) MemberConfig(name string) (regent.Config, error) {
	council, err := c.Council()
	if err != nil {
		return regent.Config{}, err
	}
	dir := filepath.Join(c.Dir, name)
	config := regent.Config{Name: name, CouncilID: CouncilID, Key: c.key(), OwnKeys: c.own[name], Bootstrap: true, Dir: dir, Bind: c.Bind(name), Council: council, Timing: c.Timing,
		NoRealtime: c.NoRealtime, Logger: slog.New(slog.NewTextHandler((*logs)(c), &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if c.joins(name) {
		config.Bootstrap, config.Council, config.Join = false, nil, council
	}
	return config, os.MkdirAll(dir, 0o700)
}

// Join makes a member join in this process: on the network in memory, or on a socket of this host. Inside a bubble of
// testing/synctest the cluster must be made there, and be in memory.
func (c *Cluster) Join(ctx context.Context, config regent.Config) (*regent.Member, error) {
	r := &residence{}
	switch {
	case c.network != nil:
		w := inmemory.World(c.network, config.Name)
		if c.World != nil {
			c.World(config.Name, &w)
		}
		w.Started = func(kill func()) { r.crash = kill }
		ctx = world.Into(ctx, w)
	case c.Hosts != Loopback:
		return nil, fmt.Errorf("%s: a member in this process cannot live on a host that is a namespace", config.Name)
	}
	m, err := regent.Join(ctx, config)
	if err != nil {
		return nil, err
	}
	r.member = m
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[config.Name] = r
	return m, nil
}

// JoinAll makes the members of hosts join in this process, all at once.
func (c *Cluster) JoinAll(ctx context.Context, names ...string) error {
	errs := make(chan error, len(names))
	for _, name := range names {
		go func() {
			config, err := c.MemberConfig(name)
			if err == nil {
				_, err = c.Join(ctx, config)
			}
			errs <- err
		}()
	}
	for range names {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// Member returns a member that joined in this process; nil if there is none.
func (c *Cluster) Member(name string) *regent.Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.members[name]; r != nil {
		return r.member
	}
	return nil
}

// crashMember ends a member in memory as kill -9 does.
func (c *Cluster) crashMember(name string) error {
	c.mu.Lock()
	r := c.members[name]
	delete(c.members, name)
	c.mu.Unlock()
	if r == nil {
		return fmt.Errorf("%s does not run", name)
	}
	r.crash()
	return nil
}

// leavePatience is how long members in this process have to leave when the cluster is closed.
const leavePatience = 10 * time.Second

// leaveAll makes all members in this process leave.
func (c *Cluster) leaveAll() {
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	var all sync.WaitGroup
	c.mu.Lock()
	for _, r := range c.members {
		all.Go(func() { _ = r.member.Leave(ctx) })
	}
	c.mu.Unlock()
	all.Wait()
}

// logs takes what members in this process log.
type logs Cluster

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logs.Write(b)
}
