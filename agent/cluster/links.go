package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cut cuts a member off from all others; Heal connects it again.
func (t *Cluster) Cut(name string) error {
	if err := t.change([]string{name}, t.others(name), "cut=true"); err != nil {
		return err
	}
	t.alone(name, true)
	return nil
}

// Heal makes all links of a member as good as new, except for those to members that are themselves cut off.
func (t *Cluster) Heal(name string) error {
	t.alone(name, false)
	t.mu.Lock()
	whole := slices.DeleteFunc(t.others(name), func(n string) bool { return t.cut[n] })
	t.mu.Unlock()
	return t.change([]string{name}, whole, "perfect")
}

// HealAll makes all links as good as new.
func (t *Cluster) HealAll() error {
	for _, n := range t.Names {
		t.alone(n, false)
	}
	return t.change(t.Names, t.Names, "perfect")
}

// alone notes that a member was cut off from all others, or is no longer.
func (t *Cluster) alone(name string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut[name] = cut
}

// Slow delays everything that goes to and from a member.
func (t *Cluster) Slow(name string, by time.Duration) error {
	return t.change([]string{name}, t.others(name), "delay="+by.String())
}

// Part cuts members off from all that are not among them, and leaves the links between them as they are.
func (t *Cluster) Part(names ...string) error { return t.change(names, t.others(names...), "cut=true") }

// CutLink cuts the link between two members, both ways; HealLink makes it as good as new.
func (t *Cluster) CutLink(a, b string) error { return t.change([]string{a}, []string{b}, "cut=true") }

// HealLink makes the link between two members as good as new.
func (t *Cluster) HealLink(a, b string) error { return t.change([]string{a}, []string{b}, "perfect") }

// SlowLink delays everything between two members.
func (t *Cluster) SlowLink(a, b string, by time.Duration) error {
	return t.change([]string{a}, []string{b}, "delay="+by.String())
}

// others returns the members that are not among names.
func (t *Cluster) others(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(t.Names), func(n string) bool { return slices.Contains(names, n) })
}

// change changes the links between members, both ways.
func (t *Cluster) change(from, to []string, words string) error {
	if t.relay == nil {
		return errors.New("there is no relay between the members")
	}
	for _, n := range from {
		if !slices.Contains(t.Names, n) {
			return fmt.Errorf("no member %q: there are %s", n, strings.Join(t.Names, " "))
		}
	}
	for _, a := range from {
		for _, b := range to {
			if a == b {
				continue
			}
			if _, err := t.relay.Do("link " + a + " " + b + " " + words + " both"); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fault returns what was done to the link from one member to another.
func (t *Cluster) Fault(from, to string) (cut bool, delay time.Duration) {
	if t.relay == nil {
		return false, 0
	}
	b := t.relay.Board()
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
func (t *Cluster) cutOff(name string) bool {
	others := t.others(name)
	return len(others) > 0 && !slices.ContainsFunc(others, func(o string) bool { cut, _ := t.Fault(o, name); return !cut })
}
