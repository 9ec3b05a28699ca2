package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// split cuts a council of five in two with the relay, again and again, and measures how long it takes until each part
// has a local leader whose support is exactly that part; and, healed, until one leader has the support of all.
func split(ctx context.Context, s settings, realtime bool, out io.Writer) error {
	if s.splits == 0 {
		return nil
	}
	c, err := open(ctx, s, cluster.Options{NoRealtime: !realtime, Relay: true, Groups: []cluster.Group{{Name: "hall", Mode: regent.Local}}}, 5)
	if err != nil {
		return err
	}
	apart, whole, stopped := c.partings(ctx)
	kappa := s.timing.Kappa()
	for _, row := range []struct {
		name, what string
		took       sample
	}{{"split", "a local leader in each of two parts", apart}, {"merge", "one local leader of all", whole}} {
		if len(row.took) > 0 {
			fmt.Fprintf(out, "%s   5 members, %-8s %v   bound %s   %s%s\n", row.name, named(realtime), row.took, ms(kappa), row.what, short(len(row.took), s.splits))
		}
	}
	return errors.Join(stopped, c.close())
}

// partings cuts and heals the council as often as was asked for. If something fails it returns what it has.
func (c *experiment) partings(ctx context.Context) (apart, whole sample, err error) {
	near, far, all := []string{"a", "b"}, []string{"c", "d", "e"}, []string{"a", "b", "c", "d", "e"}
	parts := newParts()
	for range c.splits {
		if err := c.settle(ctx, parts, all); err != nil {
			return apart, whole, err
		}
		if err := c.sleep(ctx, time.Duration(rand.Int64N(int64(4*c.timing.Renew)))); err != nil {
			return apart, whole, err
		}
		begin := cluster.Now()
		if err := c.cluster.Part(near...); err != nil {
			return apart, whole, err
		}
		if err := c.settle(ctx, parts, near, far); err != nil {
			return apart, whole, err
		}
		apart = append(apart, parts.latest(near, far).Sub(begin))
		begin = cluster.Now()
		if err := c.cluster.HealAll(); err != nil {
			return apart, whole, err
		}
		if err := c.settle(ctx, parts, all); err != nil {
			return apart, whole, err
		}
		whole = append(whole, parts.latest(all).Sub(begin))
	}
	return apart, whole, nil
}

// parts is what leaders last said about their own logical partitions, and when.
type parts struct{ led map[string]part }

type part struct {
	support []string
	at      cluster.Time
}

func newParts() *parts { return &parts{led: make(map[string]part)} }

// take notes what a member saw of the local group.
func (p *parts) take(e *cluster.Event) {
	if e.What != cluster.Saw || e.View == nil || !e.Local {
		return
	}
	if !e.View.Mine {
		delete(p.led, e.Member)
		return
	}
	support := slices.Sorted(slices.Values(e.Support))
	if old, ok := p.led[e.Member]; !ok || !slices.Equal(old.support, support) {
		p.led[e.Member] = part{support, e.At}
	}
}

// are says whether the logical partitions are exactly these, each led by its first member.
func (p *parts) are(want ...[]string) bool {
	if len(p.led) != len(want) {
		return false
	}
	for _, w := range want {
		if got, ok := p.led[w[0]]; !ok || !slices.Equal(got.support, w) {
			return false
		}
	}
	return true
}

// latest returns when the last of the partitions came to be.
func (p *parts) latest(of ...[]string) cluster.Time {
	var at cluster.Time
	for _, w := range of {
		at = max(at, p.led[w[0]].at)
	}
	return at
}

// settle waits until the logical partitions are these.
func (c *experiment) settle(ctx context.Context, p *parts, want ...[]string) error {
	if p.are(want...) {
		return nil
	}
	err := c.await(ctx, 20*time.Second, func(e *cluster.Event) bool { p.take(e); return p.are(want...) })
	if err != nil {
		return fmt.Errorf("partitions %v, want %v: %w", p.led, want, err)
	}
	return nil
}
