package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/session"
)

// A Client is the sender of a request: who it is, as it was when it connected, and what it may do.
type Client struct {
	Role Role
	// Local says that it came by the unix socket. pid, uid and gids are those of its process then; pid is 0 if unknown.
	Local    bool
	pid, uid int
	gids     []int
	// token and cert name its credentials over TCP.
	token, cert string
	// login is what it logged in with on the dashboard, nil if it did not.
	login *Login
	// member is the one whose agent passed its order on. If that names no credentials the member itself speaks, which has judged its client.
	member string
	// from is its address over TCP.
	from string
	// Right is what its request needs of a group.
	Right Right
	// Wait is how long its source must wait before a token of it is looked at: it has named too many that are unknown.
	Wait time.Duration
}

// String names the client, for the audit log.
func (c *Client) String() string {
	switch {
	case c.member != "" && c.token != "":
		return "member " + c.member + " for token " + c.token
	case c.member != "" && c.cert != "":
		return "member " + c.member + " for certificate " + c.cert
	case c.member != "":
		return "member " + c.member
	case c.Local && c.pid != 0:
		return fmt.Sprintf("uid %d", c.uid)
	case c.Local:
		return "unknown user"
	case c.token != "":
		return "token " + c.token
	case c.cert != "":
		return "certificate " + c.cert
	}
	return "anonymous"
}

// origin says where the client is, for the audit log.
func (c *Client) origin() string {
	switch {
	case c.Local:
		return fmt.Sprintf("socket, pid %d", c.pid)
	case c.member != "":
		return "host " + c.member
	}
	return c.from
}

type ClientKey struct{}

// ClientOf returns the sender of the request that a context belongs to; an anonymous one if there is none.
func ClientOf(ctx context.Context) *Client {
	if c, ok := ctx.Value(ClientKey{}).(*Client); ok {
		return c
	}
	return &Client{}
}

// A Right is what a client may do with a group.
type Right int

const (
	mayRead Right = iota
	MayLead
	MayOperate
	mayRemote
)

func (r Right) String() string {
	return [...]string{"read", "lead", "operate", "operate from another host"}[r]
}

// A rule is a right of the configuration, with its clients resolved.
type rule struct {
	groups *config.Right
	// clients are by right; nil: every client that has the role.
	clients [4][]config.Principal
}

func newRules(file *config.File) ([]rule, error) {
	var out []rule
	for i := range file.Rights {
		r := rule{groups: &file.Rights[i]}
		for k, list := range [4][]string{mayRead: r.groups.Read, MayLead: r.groups.Lead, MayOperate: r.groups.Operate, mayRemote: r.groups.Remote} {
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
func (a *Rules) allows(c *Client, what Right, group string) bool {
	for i := range a.rules {
		if a.rules[i].groups.Matches(group) {
			return a.rules[i].allows(c, what)
		}
	}
	return unlisted(c, what)
}

// unlisted returns whether a client may do what no rule says anything about. Orders of local users stay on their host: a number of a user means
// nothing elsewhere.
func unlisted(c *Client, what Right) bool {
	return what != mayRemote || c.isOperator() || c.token != "" || c.cert != ""
}

// allowsAll returns whether a client may do something with every group.
func (a *Rules) allowsAll(c *Client, what Right) bool {
	return unlisted(c, what) && !slices.ContainsFunc(a.rules, func(r rule) bool { return !r.allows(c, what) })
}

func (r *rule) allows(c *Client, what Right) bool {
	if c.isOperator() || r.clients[what] == nil && unlisted(c, what) || lists(r.clients[what], c) {
		return true
	}
	// Clients that may lead or operate may also look.
	return what == mayRead && (lists(r.clients[MayLead], c) || lists(r.clients[MayOperate], c))
}

// isOperator returns whether the client is root or the agent's own user. Both may do everything. So may a member that speaks for itself: members trust one
// another, and it passes on the orders of its own root, and of users that it gives the right.
func (c *Client) isOperator() bool {
	if c.member != "" && c.token == "" && c.cert == "" {
		return true
	}
	return c.Local && c.pid != 0 && (c.uid == 0 || c.uid == os.Geteuid())
}

// lists returns whether a list names a client.
func lists(list []config.Principal, c *Client) bool {
	for _, p := range list {
		switch p.Kind {
		case "anyone":
			return true
		case "uid":
			if c.Local && c.pid != 0 && c.uid == p.ID {
				return true
			}
		case "gid":
			if c.Local && slices.Contains(c.gids, p.ID) {
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

// Permit returns an error if a client may not do something with a group.
func (a *Gate) Permit(c *Client, what Right, group string) error {
	if a.Access.Load().allows(c, what, group) {
		return nil
	}
	return api.Errorf(http.StatusForbidden, "group %.40q: %s may not %s it (rights, in the agent's configuration)", group, c, what)
}

// Readable returns which groups a client may look at, that of the request that a context belongs to.
func (a *Gate) Readable(ctx context.Context) func(group string) bool {
	c, rights := ClientOf(ctx), a.Access.Load()
	return func(group string) bool { return rights.allows(c, mayRead, group) }
}

// requestRights says what a request on the socket needs of its group. Requests about a candidacy of the same connection need
// nothing more.
var requestRights = map[string]Right{session.Campaign: MayLead, session.Hold: MayLead, session.View: mayRead, session.Watch: mayRead, session.Verify: mayRead}

// PermitRequest returns an error, after it was written to the audit log, if the client may not make a request.
func (a *Gate) PermitRequest(c *Client, r *session.Request) error {
	what, ok := requestRights[r.Do]
	if !ok {
		return nil
	}
	err := a.Permit(c, what, r.Group)
	if err != nil {
		a.Audit.Refusal(c, r.Do, r.Group, err)
	}
	return err
}

// errPartial refuses what shows all groups to clients that may not look at all of them, and errPartly what changes who leads any of them.
var errPartial = &api.Error{Status: http.StatusForbidden, Err: errors.New("this shows all groups, and this client may not read all of them (rights, in the agent's configuration): ask about a group")}

var errPartly = &api.Error{Status: http.StatusForbidden, Err: errors.New("this is about all groups, and this client may not operate all of them (rights, in the agent's configuration)")}

// PermitAll returns an error if the sender of a request may not do with every group what the request is about.
func (a *Gate) PermitAll(ctx context.Context) error {
	c := ClientOf(ctx)
	switch {
	case a.Access.Load().allowsAll(c, c.Right):
		return nil
	case c.Right == MayOperate:
		return errPartly
	}
	return errPartial
}

// PermitRemote returns an error if the order of a client about a group may not be passed on to another host, or taken from one. Without a group the
// order is about all.
func (a *Gate) PermitRemote(c *Client, group string) error {
	rights := a.Access.Load()
	switch {
	case group == "" && !rights.allowsAll(c, mayRemote):
		return api.Errorf(http.StatusForbidden, "%s may not operate all groups from another host: rights.remote in the agent's configuration", c)
	case group != "" && !rights.allows(c, mayRemote, group):
		return api.Errorf(http.StatusForbidden, "group %.40q: %s may not operate it from another host: rights.remote in the agent's configuration", group, c)
	}
	return nil
}

// Credentials returns the names of the token or the certificate of a client; empty if it has none.
func (c *Client) Credentials() (token, cert string) { return c.token, c.cert }

// OfMember returns the client whose order a member has passed on, by the names of its credentials. What it may do is what this host's configuration says of
// these names.
func (a *Gate) OfMember(member, token, cert string) *Client {
	c := &Client{member: member, token: token, cert: cert, Right: MayOperate}
	rights := a.Access.Load()
	switch {
	case token == "" && cert == "":
		c.Role = Writer
	case token != "":
		for i := range rights.tokens {
			if rights.tokens[i].name == token {
				c.Role = max(c.Role, rights.tokens[i].role)
			}
		}
	case slices.Contains(rights.writeNames, cert):
		c.Role = Writer
	}
	return c
}
