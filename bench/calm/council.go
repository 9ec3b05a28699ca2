package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// A council is three members of the library at a profile.
type council struct {
	settings
	profile  string
	timing   regent.Timing
	ordinary bool
	cluster  *cluster.Cluster
	dir      string
	done     chan struct{}
	taking   sync.WaitGroup
	news     chan struct{} // has a word when something happened

	mu     sync.Mutex
	count  int
	joined int
	leader cluster.Event
}

func newCouncil(s settings, profile string, ordinary bool) *council {
	return &council{settings: s, profile: profile, timing: timings[profile], ordinary: ordinary, done: make(chan struct{}), news: make(chan struct{}, 1)}
}

func (c *council) name() string {
	scheduling := "real-time"
	if c.ordinary {
		scheduling = "ordinary"
	}
	return fmt.Sprintf("library, %s, lease %v, %s", c.profile, c.timing.Lease, scheduling)
}

func (c *council) start(ctx context.Context) (err error) {
	c.dir, err = os.MkdirTemp("", "regent-calm-")
	if err != nil {
		return err
	}
	o := cluster.Options{Names: []string{"a", "b", "c"}, Dir: c.dir, Timing: c.timing, Command: cluster.Self("member"), Groups: cluster.OneGroup, NoRealtime: c.ordinary}
	c.cluster, err = cluster.New(o)
	if err != nil {
		return err
	}
	c.taking.Go(c.take)
	for _, name := range o.Names {
		if err := c.cluster.Start(name); err != nil {
			return err
		}
	}
	return c.await(ctx, func() bool { return c.joined == members && c.leader.Member != "" })
}

// take records what happens.
func (c *council) take() {
	for {
		select {
		case e := <-c.cluster.Events():
			c.mu.Lock()
			switch e.What {
			case cluster.Joined:
				c.joined++
			case cluster.Leads:
				c.count++
				c.leader = e
			}
			c.mu.Unlock()
			select {
			case c.news <- struct{}{}:
			default:
			}
		case <-c.done:
			return
		}
	}
}

// await waits until something is so.
func (c *council) await(ctx context.Context, so func() bool) error {
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		c.mu.Lock()
		yes := so()
		c.mu.Unlock()
		if yes {
			return nil
		}
		select {
		case <-c.news:
		case <-limit.C:
			return errors.New("nothing came of it within a minute")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *council) changes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

func (c *council) kill(ctx context.Context) (time.Duration, error) {
	if err := sleep(ctx, 2*c.timing.Lease); err != nil {
		return 0, err
	}
	c.mu.Lock()
	old, joined := c.leader, c.joined
	c.mu.Unlock()
	begin := cluster.Now()
	if err := c.cluster.Crash(old.Member); err != nil {
		return 0, err
	}
	var took time.Duration
	err := c.await(ctx, func() bool {
		took = c.leader.At.Sub(begin)
		return c.leader.Token > old.Token && c.leader.Member != old.Member
	})
	if err != nil {
		return 0, err
	}
	if err := c.cluster.Start(old.Member); err != nil {
		return 0, err
	}
	if err := c.await(ctx, func() bool { return c.joined > joined }); err != nil || took > 0 {
		return took, err
	}
	return c.kill(ctx) // another led already when the member was killed
}

func (c *council) stop() error {
	if c.cluster == nil {
		return os.RemoveAll(c.dir)
	}
	err := c.cluster.Close()
	close(c.done)
	c.taking.Wait()
	return errors.Join(err, os.RemoveAll(c.dir))
}
