package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/session"
)

// A client is the sender of a request: who it is, as it was when it connected, and what it may do.
type client struct {
	role role
	// local says that it came by the unix socket. pid, uid and gids are those of its process then; pid is 0 if unknown.
	local    bool
	pid, uid int
	gids     []int
	// token and cert name its credentials over TCP.
	token, cert string
	// from is its address over TCP.
	from string
	// right is what its request needs of a group.
	right right
}

// String names the client, for the audit log.
func (c *client) String() string {
	switch {
	case c.local && c.pid != 0:
		return fmt.Sprintf("uid %d", c.uid)
	case c.local:
		return "unknown user"
	case c.token != "":
		return "token " + c.token
	case c.cert != "":
		return "certificate " + c.cert
	}
	return "anonymous"
}

// origin says where the client is, for the audit log.
func (c *client) origin() string {
	if c.local {
		return fmt.Sprintf("socket, pid %d", c.pid)
	}
	return c.from
}

type clientKey struct{}

// clientOf returns the sender of the request that a context belongs to; an anonymous one if there is none.
func clientOf(ctx context.Context) *client {
	if c, ok := ctx.Value(clientKey{}).(*client); ok {
		return c
	}
	return &client{}
}

// A right is what a client may do with a group.
type right int

const (
	mayRead right = iota
	mayLead
	mayOperate
)

func (r right) String() string { return [...]string{"read", "lead", "operate"}[r] }

// A rule is a right of the configuration, with its clients resolved.
type rule struct {
	groups *config.Right
	// clients are by right; nil: every client that has the role.
	clients [3][]config.Principal
}

func newRules(file *config.File) ([]rule, error) {
	var out []rule
	for i := range file.Rights {
		r := rule{groups: &file.Rights[i]}
		for k, list := range [3][]string{mayRead: r.groups.Read, mayLead: r.groups.Lead, mayOperate: r.groups.Operate} {
			for _, text := range list {
				p, err := config.ParsePrincipal(text)
				if err != nil {
					return nil, fmt.Errorf("rights: %w", err)
				}
				r.clients[k] = append(r.clients[k], p)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// allows returns whether a client may do something with a group. The first rule that names the group decides.
func (a *access) allows(c *client, what right, group string) bool {
	for i := range a.rules {
		if a.rules[i].groups.Matches(group) {
			return a.rules[i].allows(c, what)
		}
	}
	return true
}

// allowsAll returns whether a client may do something with every group.
func (a *access) allowsAll(c *client, what right) bool {
	return !slices.ContainsFunc(a.rules, func(r rule) bool { return !r.allows(c, what) })
}

func (r *rule) allows(c *client, what right) bool {
	if c.isOperator() || r.clients[what] == nil || lists(r.clients[what], c) {
		return true
	}
	// Clients that may lead or operate may also look.
	return what == mayRead && (lists(r.clients[mayLead], c) || lists(r.clients[mayOperate], c))
}

// isOperator returns whether the client is root or the agent's own user. Both may do everything.
func (c *client) isOperator() bool {
	return c.local && c.pid != 0 && (c.uid == 0 || c.uid == os.Geteuid())
}

// lists returns whether a list names a client.
func lists(list []config.Principal, c *client) bool {
	for _, p := range list {
		switch p.Kind {
		case "anyone":
			return true
		case "uid":
			if c.local && c.pid != 0 && c.uid == p.ID {
				return true
			}
		case "gid":
			if c.local && slices.Contains(c.gids, p.ID) {
				return true
			}
		case "token":
			if c.token == p.Name {
				return true
			}
		case "cert":
			if c.cert == p.Name {
				return true
			}
		}
	}
	return false
}

// permit returns an error if a client may not do something with a group.
func (a *Agent) permit(c *client, what right, group string) error {
	if a.access.Load().allows(c, what, group) {
		return nil
	}
	return failf(http.StatusForbidden, "group %.40q: %s may not %s it (rights, in the agent's configuration)", group, c, what)
}

// readable returns which groups the sender of a request may look at.
func (a *Agent) readable(q *http.Request) func(group string) bool {
	c, rights := clientOf(q.Context()), a.access.Load()
	return func(group string) bool { return rights.allows(c, mayRead, group) }
}

// requestRights says what a request on the socket needs of its group. Requests about a candidacy of the same connection need
// nothing more.
var requestRights = map[string]right{session.Campaign: mayLead, session.View: mayRead, session.Watch: mayRead, session.Verify: mayRead}

// permitRequest returns an error, after it was written to the audit log, if the client may not make a request.
func (a *Agent) permitRequest(c *client, r *session.Request) error {
	what, ok := requestRights[r.Do]
	if !ok {
		return nil
	}
	err := a.permit(c, what, r.Group)
	if err != nil {
		a.audit.refusal(c, r.Do, r.Group, err)
	}
	return err
}

// errPartial refuses what shows all groups to clients that may not look at all of them.
var errPartial = &httpError{http.StatusForbidden, errors.New("this shows all groups, and this client may not read all of them (rights, in the agent's configuration): ask about a group")}

// permitAll returns an error if the sender of a request may not look at every group.
func (a *Agent) permitAll(q *http.Request) error {
	if a.access.Load().allowsAll(clientOf(q.Context()), mayRead) {
		return nil
	}
	return errPartial
}
