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
	// chosen is the row of the table that is chosen now.
	chosen int
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
func (c *command) run(t *cluster.Cluster, m *model) (string, error) {
	if c.verb == "" {
		return "", nil
	}
	if !slices.ContainsFunc(verbs, func(v struct{ verb, help string }) bool { return v.verb == c.verb }) {
		return "", fmt.Errorf("%q: no such command: say crash, start, pause, resume, cut, slow, heal, transfer or resign and a member, or quit", c.verb)
	}
	if c.member == "leader" {
		c.member = m.leader()
		if c.member == "" {
			return "", fmt.Errorf("%s leader: nobody leads %s now: name a member, or try again when one leads", c.verb, m.elections[0].name)
		}
	}
	if !slices.Contains(t.Names, c.member) {
		return "", fmt.Errorf("%s %q: no such member: there are %s, and leader", c.verb, c.member, strings.Join(t.Names, ", "))
	}
	if err := act(t, m, web.Command{Verb: c.verb, Members: []string{c.member}, To: c.member, Group: m.elections[0].name}); err != nil {
		return "", fmt.Errorf("%s %s: %w", c.verb, c.member, err)
	}
	return fmt.Sprintf("you: %s %s", c.verb, c.member), nil
}

// act does something to members, links or groups, in a terminal or on a page.
func act(t *cluster.Cluster, m *model, c web.Command) error {
	switch c.Verb {
	case "resign", "transfer":
		return handOver(t, m, c)
	case "part":
		return t.Part(c.Members...)
	case "mend":
		return mend(t, m)
	}
	var errs []error
	for _, n := range c.Members {
		errs = append(errs, actOn(t, m, c.Verb, n))
	}
	return errors.Join(errs...)
}

// actOn does something to one member.
func actOn(t *cluster.Cluster, m *model, verb, member string) error {
	switch verb {
	case "crash":
		return t.Crash(member)
	case "start":
		return t.Start(member)
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
func mend(t *cluster.Cluster, m *model) error {
	errs := []error{t.HealAll()}
	for _, n := range t.Names {
		switch state, _ := t.State(n); state {
		case "gone":
			errs = append(errs, t.Start(n))
		case "paused":
			errs = append(errs, actOn(t, m, "resume", n))
		}
	}
	return errors.Join(errs...)
}
