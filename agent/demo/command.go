package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/web"
)

// A command is something to do to a member.
type command struct {
	verb   string
	member string
	// key says that it came as a key, which is about the chosen member. It may choose another one: the one in a row, counted from 1, or by rows down.
	key     bool
	row, by int
}

// verbs says what each command does, in the order in which they are explained.
var verbs = []struct{ verb, help string }{
	{"crash", "end its process without a word (kill -9)"},
	{"start", "start its process again"},
	{"pause", "stop its process in its tracks (SIGSTOP)"},
	{"resume", "let its process go on (SIGCONT)"},
	{"cut", "cut it off from all others"},
	{"slow", "delay all that goes to and from it"},
	{"heal", "connect it again"},
	{"transfer", "hand the group over to it"},
	{"resign", "make it give the group up"},
	{"add", "start another process, and add it to the council"},
	{"remove", "remove it from the council"},
	{"cancel", "end the running change of the council"},
	{"quit", "end the demonstration"},
}

// parse reads a line such as "crash a". The member may be "leader".
func parse(line string) command {
	words := strings.Fields(line)
	switch len(words) {
	case 0:
		return command{}
	case 1:
		return command{verb: words[0]}
	}
	return command{verb: words[0], member: strings.Join(words[1:], " ")}
}

// run carries the command out and says what was done.
func (c *command) run(s *demonstration) (string, error) {
	m := s.model
	switch c.verb {
	case "":
		return "", nil
	case "add":
		return s.add(c.member)
	case "cancel":
		return s.cancel()
	}
	if !slices.ContainsFunc(verbs, func(v struct{ verb, help string }) bool { return v.verb == c.verb }) {
		return "", fmt.Errorf("%q: no such command: say crash, start, pause, resume, cut, slow, heal, transfer, resign or remove and a member, or add, cancel or quit", c.verb)
	}
	if c.member == "leader" {
		c.member = m.leader()
		if c.member == "" {
			return "", fmt.Errorf("%s leader: nobody leads %s now: name a member, or try again when one leads", c.verb, m.elections[0].name)
		}
	}
	if names := strings.Fields(c.member); c.verb == "remove" && len(names) > 0 {
		return s.remove(names)
	}
	if !slices.Contains(m.names, c.member) {
		return "", fmt.Errorf("%s %q: no such member: there are %s, and leader", c.verb, c.member, strings.Join(m.names, ", "))
	}
	if err := s.act(web.Command{Verb: c.verb, Members: []string{c.member}, To: c.member, Group: m.elections[0].name}); err != nil {
		return "", fmt.Errorf("%s %s: %w", c.verb, c.member, err)
	}
	return fmt.Sprintf("you: %s %s", c.verb, c.member), nil
}

// act does something to members, links or groups, in a terminal or on a page.
func (s *demonstration) act(c web.Command) error {
	t, m := s.cluster, s.model
	switch c.Verb {
	case "resign", "transfer":
		return handOver(t, m, c)
	case "part":
		return t.Part(c.Members...)
	case "mend":
		return s.mend()
	}
	var errs []error
	for _, n := range c.Members {
		errs = append(errs, s.actOn(c.Verb, n))
	}
	return errors.Join(errs...)
}

// actOn does something to one member.
func (s *demonstration) actOn(verb, member string) error {
	t, m := s.cluster, s.model
	switch verb {
	case "crash":
		return t.Crash(member)
	case "start":
		if _, removed := m.council.removed[member]; removed {
			return fmt.Errorf("%s was removed from the council: add it", member)
		}
		return s.start(member)
	case "pause":
		if err := t.Pause(member); err != nil {
			return err
		}
		m.members[member].paused = m.now()
		return nil
	case "resume":
		m.members[member].paused = 0
		return t.Resume(member)
	case "cut":
		return t.Cut(member)
	case "slow":
		return t.Slow(member, slowness(t))
	case "heal":
		return t.Heal(member)
	}
	return fmt.Errorf("%q cannot be done to a member", verb)
}

// actOnLink does something to a link.
func actOnLink(t *cluster.Cluster, verb, a, b string) error {
	switch verb {
	case "cut":
		return t.CutLink(a, b)
	case "slow":
		return t.SlowLink(a, b, slowness(t))
	case "heal":
		return t.HealLink(a, b)
	}
	return fmt.Errorf("%q cannot be done to a link", verb)
}

// slowness is by how much links are slowed down: no packet is fast any more, though nothing is lost, and a leader can still
// renew its lease.
func slowness(t *cluster.Cluster) time.Duration { return t.Timing.Delay * 5 / 4 }

// handOver makes the leader of a group give it up, or hand it over. The member that is asked to resign need not lead.
func handOver(t *cluster.Cluster, m *model, c web.Command) error {
	g := m.election(c.Group, web.Quorum)
	if g == nil {
		return fmt.Errorf("group %q: there is no quorum group of that name", c.Group)
	}
	r := g.currentLeadership()
	if r == nil {
		return fmt.Errorf("nobody leads %s: %s", g.name, g.cause)
	}
	if c.Verb == "resign" {
		who := r.member
		if len(c.Members) > 0 {
			who = c.Members[0]
		}
		return t.Say(who, "resign "+g.name)
	}
	return t.Say(r.member, "transfer "+c.To+" "+g.name)
}

// mend heals all links, and lets all members run.
func (s *demonstration) mend() error {
	errs := []error{s.cluster.HealAll()}
	for _, n := range s.model.names {
		if !s.model.council.has(n) {
			continue
		}
		switch state, _ := s.cluster.State(n); state {
		case "gone":
			errs = append(errs, s.start(n))
		case "paused":
			errs = append(errs, s.actOn("resume", n))
		}
	}
	return errors.Join(errs...)
}
