package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/councillog"
	"github.com/regentproject/regent/roster"
)

// council is what the members say of the council, put together.
type council struct {
	// now is what the member says that has got furthest; nil: none has said anything.
	now   *roster.Council
	since time.Duration
	track councillog.Track
	// invited are processes that were started and are not members yet, by whether the change that adds them was asked for and is not over.
	invited map[string]bool
	// removed are members that were removed, with when that was seen. They are shown for a while.
	removed map[string]time.Duration
}

// removedFor is how long a member is shown that was removed.
const removedFor = 8 * time.Second

// follow puts together what members say of the council. It returns the change that is over with that; nil if none is.
func (m *model) follow(at time.Duration) *councillog.Change {
	var best *roster.Council
	for _, name := range m.names {
		if c := m.members[name].council; c != nil && !c.Removed && (best == nil || further(c, best)) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	c := &m.council
	if c.now == nil || c.now.Number != best.Number {
		c.since = at
	}
	c.now = best
	for _, name := range m.names {
		if slices.ContainsFunc(best.Members, func(x roster.Member) bool { return x.Name == name }) {
			delete(c.invited, name)
			delete(c.removed, name)
		} else if _, ok := c.removed[name]; !ok && !c.isInvited(name) {
			c.removed[name] = at
		}
	}
	return c.track.See(time.Unix(0, 0).Add(at), best)
}

// further says whether a member with one council has got further than one with another: it has a later number, or hears enough of the others.
func further(a, b *roster.Council) bool {
	if a.Number != b.Number {
		return a.Number > b.Number
	}
	if blocked := b.Phase == roster.Blocked; blocked != (a.Phase == roster.Blocked) {
		return blocked
	}
	return a.Running() && !b.Running() || len(a.WaitsFor) > len(b.WaitsFor)
}

func (c *council) isInvited(name string) bool {
	_, ok := c.invited[name]
	return ok
}

// has says whether a member is one of the council, as far as is known.
func (c *council) has(name string) bool {
	return c.now == nil && !c.isInvited(name) || c.now != nil && slices.ContainsFunc(c.now.Members, func(m roster.Member) bool { return m.Name == name })
}

// enter shows a member.
func (m *model) enter(name string) {
	m.members[name] = &row{}
	if !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
}

// drop shows a member no more.
func (m *model) drop(name string) {
	m.names = slices.DeleteFunc(m.names, func(n string) bool { return n == name })
	delete(m.council.invited, name)
	delete(m.council.removed, name)
	m.chosen = min(m.chosen, len(m.names)-1)
}

// tidy ends what is no member any more: processes that were invited in vain, and what is shown of members that were removed.
func (s *demonstration) tidy() {
	c, now := &s.model.council, s.since(cluster.Now())
	if c.now == nil {
		return
	}
	for _, name := range slices.Clone(s.model.names) {
		state, _ := s.cluster.State(name)
		asked, invited := c.invited[name]
		seen, removed := c.removed[name]
		switch {
		case invited && !asked && !c.now.Running():
			_ = s.cluster.Crash(name)
			s.model.drop(name)
		case removed && now-seen > removedFor && state == "gone":
			s.model.drop(name)
		case removed && now-seen > removedFor: // it was cut off or paused, and has not heard of it
			_ = s.cluster.Crash(name)
		}
	}
}

// started is the order of a member's process: one that does not begin the council joins the members that there are.
func (s *demonstration) start(name string) error {
	o, err := s.cluster.Order(name)
	if err != nil {
		return err
	}
	if s.joiners[name] {
		o.Joins, o.Bootstrap, o.Council = true, false, nil
		for _, other := range s.model.names {
			if other == name || !s.model.council.has(other) {
				continue
			}
			p, err := s.cluster.Peer(other)
			if err != nil {
				return err
			}
			o.Council = append(o.Council, p)
		}
	}
	return s.cluster.StartAs(name, o)
}

// errFixed is why no member comes or goes.
func (s *demonstration) errFixed() error {
	if c := s.model.council.now; c != nil && c.Fixed != "" {
		return errors.New(c.Fixed)
	}
	if s.Page != nil {
		return errors.New("the program beside runs on the members that it began with")
	}
	return nil
}

// add starts another process, and asks the council to take it as a member.
func (s *demonstration) add(name string) (string, error) {
	if err := s.errFixed(); err != nil {
		return "", fmt.Errorf("add: %w", err)
	}
	c := &s.model.council
	free := func(n string) bool {
		state, _ := s.cluster.State(n)
		_, removed := c.removed[n]
		return state == "gone" && (removed || !slices.Contains(s.model.names, n))
	}
	if name == "" {
		i := slices.IndexFunc(s.cluster.Names, free)
		if i < 0 {
			return "", fmt.Errorf("add: there are %d members, which is the most", len(s.model.names))
		}
		name = s.cluster.Names[i]
	}
	switch {
	case !slices.Contains(s.cluster.Names, name):
		return "", fmt.Errorf("add %s: must be one of %s", name, strings.Join(s.cluster.Names, " "))
	case !free(name):
		return "", fmt.Errorf("add %s: is there already", name)
	}
	p, err := s.cluster.Peer(name)
	if err != nil {
		return "", err
	}
	o, err := s.cluster.Order(name)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(o.Dir); err != nil { // a member that was removed begins anew
		return "", err
	}
	if err := s.change(&roster.Change{Add: []regent.Peer{p}}); err != nil {
		return "", fmt.Errorf("add %s: %w", name, err)
	}
	s.joiners[name] = true
	s.model.drop(name)
	s.model.enter(name)
	c.invited[name] = true
	return "you: add " + name, s.start(name)
}

// remove asks the council to remove members, whether they run or not.
func (s *demonstration) remove(names []string) (string, error) {
	if err := s.errFixed(); err != nil {
		return "", fmt.Errorf("remove: %w", err)
	}
	for _, n := range names {
		if !s.model.council.has(n) {
			return "", fmt.Errorf("remove %s: no member of the council", n)
		}
	}
	if err := s.change(&roster.Change{Remove: names}); err != nil {
		return "", fmt.Errorf("remove %s: %w", strings.Join(names, " "), err)
	}
	return "you: remove " + strings.Join(names, " "), nil
}

// cancel asks the council to end the running change.
func (s *demonstration) cancel() (string, error) {
	if err := s.change(&roster.Change{Cancel: true}); err != nil {
		return "", fmt.Errorf("cancel: %w", err)
	}
	return "you: cancel the change of the council", nil
}

// change asks a member that can be reached for a change. The member tells what became of it.
func (s *demonstration) change(c *roster.Change) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	var at string
	for _, n := range s.model.names {
		state, cut := s.cluster.State(n)
		if state != "running" || !s.model.members[n].joined || !s.model.council.has(n) {
			continue
		}
		if stays := !cut && !slices.Contains(c.Remove, n); at == "" || stays {
			at = n
			if stays {
				break
			}
		}
	}
	if at == "" {
		return errors.New("no member runs that could be asked (start one)")
	}
	return s.cluster.Say(at, "change "+string(text))
}
