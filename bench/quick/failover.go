package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// experiment is a council under measurement.
type experiment struct {
	settings
	cluster *cluster.Cluster
	dir     string
	// leader is who leads, since when and with which token.
	leader   cluster.Event
	changes  int
	causes   map[string]int
	counted  map[string]int
	statuses map[string]cluster.Event
	// stopped has the token of the last leadership of each member that was asked to stop.
	stopped map[string]uint64
	// recorded is a packet to the leader.
	recorded []byte
}

// open starts a council and waits until it has a leader.
func open(ctx context.Context, s settings, o cluster.Options, members int) (*experiment, error) {
	dir, err := os.MkdirTemp("", "regent-bench-")
	if err != nil {
		return nil, err
	}
	for i := range members {
		o.Names = append(o.Names, string(rune('a'+i)))
	}
	o.Dir, o.Timing, o.Command = dir, s.timing, cluster.Self("member")
	if s.verbose {
		o.Log = func(member, line string) { fmt.Fprintf(os.Stderr, "%s: %s\n", member, line) }
	}
	t, err := cluster.New(o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &experiment{settings: s, cluster: t, dir: dir, causes: make(map[string]int), counted: make(map[string]int), statuses: make(map[string]cluster.Event),
		stopped: make(map[string]uint64)}
	for _, name := range o.Names {
		if err := t.Start(name); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	joined := 0
	err = c.await(ctx, 30*time.Second, func(e *cluster.Event) bool {
		if e.What == cluster.Joined {
			joined++
		}
		return joined == members && (c.leader.Member != "" || o.Hold || o.Groups[0].Mode != regent.Quorum)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the council does not begin: %w", err), c.close())
	}
	return c, nil
}

func (c *experiment) close() error {
	return errors.Join(c.cluster.Close(), os.RemoveAll(c.dir))
}

// await takes events until one is what is waited for.
func (c *experiment) await(ctx context.Context, limit time.Duration, match func(*cluster.Event) bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case e := <-c.cluster.Events():
			c.record(&e)
			if match(&e) {
				return nil
			}
		case <-timer.C:
			return fmt.Errorf("nothing came of it in %v", limit)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *experiment) record(e *cluster.Event) {
	switch e.What {
	case cluster.Leads:
		c.leader = *e
		c.changes++
	case cluster.Stops:
		c.causes[e.Text]++
		c.stopped[e.Member] = e.Token
	case cluster.Counted:
		c.counted[e.Member] = e.Leading
	case cluster.Said:
		c.statuses[e.Member] = *e
	case cluster.Gone:
		delete(c.counted, e.Member)
	}
}

// sleep lets time pass, and takes what happens meanwhile.
func (c *experiment) sleep(ctx context.Context, d time.Duration) error {
	end := time.NewTimer(d)
	defer end.Stop()
	for {
		select {
		case e := <-c.cluster.Events():
			c.record(&e)
		case <-end.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// failover measures how long a council is without a leader that goes in the given way.
func failover(ctx context.Context, s settings, members int, kind string, realtime bool, out io.Writer) error {
	c, err := open(ctx, s, cluster.Options{Relay: kind == "cut", NoRealtime: !realtime, Poll: pollEvery, Groups: cluster.OneGroup}, members)
	if err != nil {
		return err
	}
	times, void, stopped := c.series(ctx, kind, out)
	rep, wrong := c.cluster.Check(cluster.Rules{})
	if len(times) > 0 {
		fmt.Fprintf(out, "%-7s %d members, %-8s %v   bound %s   both %v%s%s\n", kind, members, named(realtime), times, ms(c.bound(members, kind)), rep.Both,
			voided(void), short(len(times), s.trials))
	}
	return errors.Join(stopped, wrong, c.close())
}

// series makes leaders go as often as was asked for. If something fails it returns what it has.
func (c *experiment) series(ctx context.Context, kind string, out io.Writer) (times sample, void int, err error) {
	for len(times) < c.trials {
		old := c.leader.Member
		d, err := c.trial(ctx, kind)
		if errors.Is(err, errVoid) && void < c.trials {
			void++
			continue
		}
		if err != nil {
			return times, void, err
		}
		times = append(times, d)
		if c.verbose {
			fmt.Fprintf(out, "%s %s, %s leads after %v\n", kind, old, c.leader.Member, d)
		}
	}
	return times, void, nil
}

// bound is what the profile promises while all is well but for the leader: the rest of the lease, turns of up to all
// members, and a round trip. A leader that resigns is replaced within two.
func (c *experiment) bound(members int, kind string) time.Duration {
	if kind == "resign" {
		return 2 * c.timing.RoundTrip
	}
	return time.Duration(float64(c.timing.Lease)*(1+c.timing.Drift)/(1-c.timing.Drift)) + time.Duration(members+1)*c.timing.RoundTrip
}

// trial makes the leader go and waits for the next, and then makes the council whole again.
func (c *experiment) trial(ctx context.Context, kind string) (time.Duration, error) {
	// At a random point of the interval between renewals.
	if err := c.sleep(ctx, c.timing.Lease+time.Duration(rand.Int64N(int64(4*c.timing.Renew)))); err != nil {
		return 0, err
	}
	old := c.leader
	begin, err := c.remove(old.Member, kind)
	if err != nil {
		return 0, err
	}
	void := false
	err = c.await(ctx, 20*time.Second, func(e *cluster.Event) bool {
		if e.Member == old.Member {
			switch {
			case e.What == cluster.Did:
				begin = e.At.Add(-e.Took) // the program's own reading of when it began to resign
			case e.What == cluster.Failed, e.What == cluster.Held && e.Token == old.Token && e.At < begin:
				void = true
			}
		}
		return void && kind == "resign" || c.leader.Token > old.Token && (c.leader.Member != old.Member || kind == "resign")
	})
	if err != nil {
		return 0, fmt.Errorf("after %s went: %w", old.Member, err)
	}
	next := c.leader
	if kind == "kill" {
		r, err := c.cluster.LastSpan(old.Member, old.Group)
		if err != nil {
			return 0, err
		}
		void = void || r.Token != old.Token
	}
	if err := c.restore(ctx, old, kind); err != nil {
		return 0, err
	}
	if void || next.At < begin {
		return 0, errVoid
	}
	return next.At.Sub(begin), nil
}

// pollEvery is how often a leading program asks whether it leads.
const pollEvery = time.Millisecond

// ways are how leaders go.
var ways = []string{"kill", "stop", "resign", "cut"}

// errVoid says that a trial measured nothing: the leader had lost its lease before it was made to go.
var errVoid = errors.New("the leader had gone by itself")

func voided(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("   (%d more were void: the leader had gone by itself)", n)
}

// short names the trials that are missing.
func short(have, want int) string {
	if have == want {
		return ""
	}
	return fmt.Sprintf("   (%d of %d trials)", have, want)
}

// remove makes a leader go, and says when that began.
func (c *experiment) remove(name, kind string) (cluster.Time, error) {
	begin := cluster.Now()
	switch kind {
	case "kill":
		return begin, c.cluster.Crash(name)
	case "stop":
		return begin, c.cluster.Pause(name)
	case "resign":
		return begin, c.cluster.Say(name, "resign")
	case "cut":
		return begin, c.cluster.Cut(name)
	}
	return 0, fmt.Errorf("kind %q: there are %s", kind, strings.Join(ways, ", "))
}

// restore makes the council whole again.
func (c *experiment) restore(ctx context.Context, old cluster.Event, kind string) error {
	name := old.Member
	switch kind {
	case "kill":
		if err := c.cluster.Start(name); err != nil {
			return err
		}
		if err := c.await(ctx, 20*time.Second, func(e *cluster.Event) bool { return e.What == cluster.Joined && e.Member == name }); err != nil {
			return fmt.Errorf("%s does not come back: %w", name, err)
		}
		// It votes again when the longest lease that it may have granted is over.
		return c.sleep(ctx, c.timing.Restart())
	case "stop":
		if err := c.sleep(ctx, c.timing.Lease); err != nil {
			return err
		}
		if err := c.cluster.Resume(name); err != nil {
			return err
		}
		if c.stopped[name] >= old.Token {
			return nil // it had lost its lease before it was paused
		}
		return c.await(ctx, 20*time.Second, func(e *cluster.Event) bool { return c.stopped[name] >= old.Token })
	case "cut":
		if err := c.sleep(ctx, c.timing.Lease); err != nil {
			return err
		}
		return c.cluster.Heal(name)
	}
	return nil
}
