package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cut cuts a member off from all others; Heal connects it again.
func (c *Cluster) Cut(name string) error {
	if err := c.change([]string{name}, c.others(name), "cut=true"); err != nil {
		return err
	}
	c.alone(name, true)
	return nil
}

// Heal makes all links of a member as good as new, except for those to members that are themselves cut off.
func (c *Cluster) Heal(name string) error {
	c.alone(name, false)
	c.mu.Lock()
	whole := slices.DeleteFunc(c.others(name), func(n string) bool { return c.cut[n] })
	c.mu.Unlock()
	return c.change([]string{name}, whole, "perfect")
}

// HealAll makes all links as good as new.
func (c *Cluster) HealAll() error {
	for _, n := range c.Names {
		c.alone(n, false)
	}
	return c.change(c.Names, c.Names, "perfect")
}

// alone notes that a member was cut off from all others, or is no longer.
func (c *Cluster) alone(name string, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut[name] = cut
}

// Slow delays everything that goes to and from a member.
func (c *Cluster) Slow(name string, by time.Duration) error {
	return c.change([]string{name}, c.others(name), "delay="+by.String())
}

// Part cuts members off from all that are not among them, and leaves the links between them as they are.
func (c *Cluster) Part(names ...string) error { return c.change(names, c.others(names...), "cut=true") }

// CutLink cuts the link between two members, both ways; HealLink makes it as good as new.
func (c *Cluster) CutLink(a, b string) error { return c.change([]string{a}, []string{b}, "cut=true") }

// HealLink makes the link between two members as good as new.
func (c *Cluster) HealLink(a, b string) error { return c.change([]string{a}, []string{b}, "perfect") }

// SlowLink delays everything between two members.
func (c *Cluster) SlowLink(a, b string, by time.Duration) error {
	return c.change([]string{a}, []string{b}, "delay="+by.String())
}

// CutOneWay cuts the link from one member to another: the first still hears the second.
func (c *Cluster) CutOneWay(from, to string) error {
	return c.Link("link " + from + " " + to + " cut=true")
}

// Unplug pulls the cable of a host in a namespace out: nothing reaches it by any way. Plug connects it again.
func (c *Cluster) Unplug(name string) error { return c.plug(name, false) }

// Plug connects the cable of a host again.
func (c *Cluster) Plug(name string) error { return c.plug(name, true) }

func (c *Cluster) plug(name string, in bool) error {
	if c.hosts == nil {
		return errors.New("hosts in memory have no cable: cut their links")
	}
	return c.hosts.plug(name, in)
}

// Link changes links by a line of the language of fault.Links, such as
//
//	link a b delay=5ms jitter=2ms drop=0.1 duplicate=0.1 late=2s reorder=0.1 both
//	cut a *
//	partition a b / c d e
//	heal
func (c *Cluster) Link(line string) error {
	if c.links == nil {
		return errors.New("there is no relay between the members")
	}
	_, err := c.links.Do(line)
	return err
}

// others returns the members that are not among names.
func (c *Cluster) others(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(c.Names), func(n string) bool { return slices.Contains(names, n) })
}

// change changes the links between members, both ways.
func (c *Cluster) change(from, to []string, words string) error {
	if c.links == nil {
		return errors.New("there is no relay between the members")
	}
	for _, n := range from {
		if !slices.Contains(c.Names, n) {
			return fmt.Errorf("no member %q: there are %s", n, strings.Join(c.Names, " "))
		}
	}
	for _, a := range from {
		for _, b := range to {
			if a == b {
				continue
			}
			if _, err := c.links.Do("link " + a + " " + b + " " + words + " both"); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fault returns what was done to the link from one member to another.
func (c *Cluster) Fault(from, to string) (cut bool, delay time.Duration) {
	if c.links == nil {
		return false, 0
	}
	b := c.links
	i, err := b.Index(from)
	if err != nil {
		return false, 0
	}
	j, err := b.Index(to)
	if err != nil {
		return false, 0
	}
	l := b.Link(i, j)
	return l.Cut, l.Delay
}

// cutOff says whether a member is cut off from all others.
func (c *Cluster) cutOff(name string) bool {
	others := c.others(name)
	return len(others) > 0 && !slices.ContainsFunc(others, func(o string) bool { cut, _ := c.Fault(o, name); return !cut })
}
