package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/regentproject/regent/internal/town"
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
func (c *command) run(t *town.Town, m *model) (string, error) {
	if c.verb == "" {
		return "", nil
	}
	if !slices.ContainsFunc(verbs, func(v struct{ verb, help string }) bool { return v.verb == c.verb }) {
		return "", fmt.Errorf("%q: no such command: say crash, start, pause, resume, cut, heal, transfer or resign and a member, or quit", c.verb)
	}
	if c.member == "leader" {
		c.member = m.leader()
	}
	if !slices.Contains(t.Names, c.member) {
		return "", fmt.Errorf("%s %q: no such member: there are %s, and leader", c.verb, c.member, strings.Join(t.Names, ", "))
	}
	var err error
	switch c.verb {
	case "crash":
		err = t.Crash(c.member)
	case "start":
		err = t.Start(c.member)
	case "pause":
		err = t.Pause(c.member)
	case "resume":
		err = t.Resume(c.member)
	case "cut":
		err = t.Cut(c.member)
	case "heal":
		err = t.Heal(c.member)
	case "resign":
		err = t.Say(c.member, "resign")
	case "transfer":
		err = t.Say(m.leader(), "transfer "+c.member)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", c.verb, c.member, err)
	}
	return fmt.Sprintf("you: %s %s", c.verb, c.member), nil
}
