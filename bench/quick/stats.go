package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// sample is a set of lengths of time.
type sample []time.Duration

// at returns the smallest length that at least the share of all do not exceed.
func (s sample) at(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	i := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[max(0, i)]
}

func (s sample) String() string {
	return fmt.Sprintf("p50 %8s  p99 %8s  max %8s  (%d)", ms(s.at(0.5)), ms(s.at(0.99)), ms(s.at(1)), len(s))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2fms", float64(d)/1e6) }

// leadership is a time during which a program was told throughout that it leads, by its own readings of the host's clock.
type leadership struct {
	who          string
	token        uint64
	since, until int64
}

// overlapCheck is all leaderships so far, and how long two of them were at once.
type overlapCheck struct {
	leaderships []leadership
	overlap     time.Duration
	worst       string
}

func (c *overlapCheck) add(r leadership) {
	for _, o := range c.leaderships {
		if o.token == r.token && o.who == r.who {
			continue
		}
		if d := min(o.until, r.until) - max(o.since, r.since); d > 0 {
			c.overlap += time.Duration(d)
			c.worst = fmt.Sprintf("%s (token %d) and %s (token %d) for %v", o.who, o.token, r.who, r.token, time.Duration(d))
		}
	}
	c.leaderships = append(c.leaderships, r)
}

func (c *overlapCheck) record(e *cluster.Event) {
	if e.What == cluster.Held && e.Since != 0 {
		c.add(leadership{who: e.Member, token: e.Token, since: e.Since, until: e.Until})
	}
}
