package roster

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Running says that a change is running, or has not settled.
func (c *Council) Running() bool { return c.Goal != nil || c.Phase != Idle }

// Progress says in words how far the council has got: "number 7 to 8: adding d; learning: d knows 40 of 212 groups; waits for d".
func (c *Council) Progress() string {
	text := fmt.Sprintf("number %d", c.Number)
	if c.Settled && c.Running() {
		text += fmt.Sprintf(" to %d", c.Number+1)
	}
	if plan := c.Plan(); plan != "" {
		text += ": " + plan
	}
	if c.Phase != Idle {
		text += "; " + string(c.Phase) + c.learnt()
	}
	if len(c.WaitsFor) > 0 {
		text += "; waits for " + strings.Join(c.WaitsFor, ", ")
	}
	return text
}

// Troubles says in words what keeps the members from going on that the running change waits for: what is wrong, what is unchanged, and what to do.
func (c *Council) Troubles() (all []string) {
	for i := range c.Members {
		m := &c.Members[i]
		var text string
		switch {
		case !slices.Contains(c.WaitsFor, m.Name):
			continue
		case m.Problem != "":
			text = m.Name + " " + m.Problem
		case m.Silent > 0 && m.New:
			text = fmt.Sprintf("%s does not answer at %s for %v: start its agent, and let UDP to there and back pass", m.Name, strings.Join(m.Addrs, " "), m.Silent.Round(time.Second))
		case m.Silent > 0:
			text = fmt.Sprintf("%s is silent for %v: start its agent, or let UDP to %s pass", m.Name, m.Silent.Round(time.Second), strings.Join(m.Addrs, " "))
		default:
			continue
		}
		if m.New {
			text += " (nothing has changed for the others; 'regent members cancel' ends the change)"
		}
		all = append(all, text)
	}
	return all
}

// learnt says how much the newcomers know that have told.
func (c *Council) learnt() string {
	if c.Phase != Learning || c.Groups == 0 {
		return ""
	}
	var all []string
	for i := range c.Members {
		if m := &c.Members[i]; m.New && slices.Contains(c.WaitsFor, m.Name) {
			all = append(all, fmt.Sprintf("%s knows %d of %d groups", m.Name, min(m.Learnt, c.Groups), c.Groups))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

// Plan says in words what the running change does: "adding d, removing c". It is empty if none is running.
func (c *Council) Plan() string {
	if c.Goal == nil {
		return ""
	}
	var adding, removing, changing []string
	for i := range c.Goal {
		p := &c.Goal[i]
		at := c.find(p.Name)
		switch {
		case at < 0 || c.Members[at].New:
			adding = append(adding, p.Name)
		case c.Members[at].Leaving && !p.Observer: // its own wish would keep its vote
			adding = append(adding, p.Name+" in place of the host of that name")
		case differ(&c.Members[at].Peer, p):
			changing = append(changing, p.Name)
		}
	}
	for i := range c.Members {
		name := c.Members[i].Name
		if !slices.ContainsFunc(c.Goal, func(p Peer) bool { return p.Name == name }) {
			removing = append(removing, name)
		}
	}
	var timing []string
	if c.GoalTiming != nil {
		timing = c.GoalTiming.since(&c.Timing, " to ")
	}
	return phrases([]string{"adding", "removing", "changing", "changing"}, adding, removing, changing, timing)
}

// String words the timing as the keys of files and commands: "longest_lease 20s, drift 0.001". What is zero is left out.
func (t Timing) String() string {
	var all []string
	if t.LongestLease != 0 {
		all = append(all, "longest_lease "+t.LongestLease.String())
	}
	if t.Drift != 0 {
		all = append(all, fmt.Sprintf("drift %v", t.Drift))
	}
	return strings.Join(all, ", ")
}

// Over returns the timing with that of a change in the place of its own.
func (t Timing) Over(change *Timing) Timing {
	if change != nil && change.LongestLease != 0 {
		t.LongestLease = change.LongestLease
	}
	if change != nil && change.Drift != 0 {
		t.Drift = change.Drift
	}
	return t
}

// since says what has become of another timing: each value that differs, with a word between its name and itself.
func (t *Timing) since(before *Timing, word string) []string {
	var all []string
	if t.LongestLease != before.LongestLease {
		all = append(all, "longest_lease"+word+t.LongestLease.String())
	}
	if t.Drift != before.Drift {
		all = append(all, fmt.Sprintf("drift%s%v", word, t.Drift))
	}
	return all
}

// Difference says in words what became of the council since it was as before: "member d added, longest_lease became 20s". It is empty if that is nothing.
func (c *Council) Difference(before *Council) string {
	var added, replaced, removed, changed []string
	for i := range c.Members {
		m := &c.Members[i]
		at := before.find(m.Name)
		switch {
		case at < 0:
			added = append(added, m.Name)
		case before.Members[at].Joined != m.Joined:
			replaced = append(replaced, m.Name)
		case differ(&before.Members[at].Peer, &m.Peer):
			changed = append(changed, m.Name+becomes(&before.Members[at].Peer, &m.Peer))
		}
	}
	for i := range before.Members {
		if name := before.Members[i].Name; c.find(name) < 0 {
			removed = append(removed, name)
		}
	}
	var all []string
	for _, x := range []struct {
		names []string
		what  string
	}{{added, " added"}, {replaced, " replaced by a new host"}, {removed, " removed"}, {changed, ""}} {
		for _, name := range x.names {
			all = append(all, "member "+name+x.what)
		}
	}
	return strings.Join(append(all, c.Timing.since(&before.Timing, " became ")...), ", ")
}

// find returns the place of a member; -1 if there is none of that name.
func (c *Council) find(name string) int {
	return slices.IndexFunc(c.Members, func(m Member) bool { return m.Name == name })
}

// weight returns the weight of a member.
func weight(p *Peer) int { return max(1, p.Weight) }

// differ says whether a list says something of a member that another one does not. Members add the addresses and keys of their own files.
func differ(known, p *Peer) bool {
	return role(known) != role(p) || known.Priority != p.Priority || weight(known) != weight(p) || !within(p.Addrs, known.Addrs) || !within(p.PublicKeys, known.PublicKeys)
}

// within says whether all of some are among others.
func within(some, others []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
}

// becomes says what changed of a member.
func becomes(from, to *Peer) string {
	switch {
	case role(from) != role(to):
		return strings.Replace(" became a "+role(to), " a observer", " an observer", 1)
	case from.Priority != to.Priority:
		return fmt.Sprintf(" has priority %d", to.Priority)
	case weight(from) != weight(to):
		return fmt.Sprintf(" has weight %d", weight(to))
	case !within(to.Addrs, from.Addrs):
		return " has another address"
	}
	return " has another key"
}

// role returns what a member does.
func role(p *Peer) string {
	switch {
	case p.Witness:
		return "witness"
	case p.Observer:
		return "observer"
	}
	return "voter"
}

// phrases joins verbs with what they are about, and leaves out those without.
func phrases(verbs []string, of ...[]string) string {
	var all []string
	for i, names := range of {
		if len(names) > 0 {
			all = append(all, verbs[i]+" "+strings.Join(names, " "))
		}
	}
	return strings.Join(all, ", ")
}
