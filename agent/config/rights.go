package config

import (
	"fmt"
	"os/user"
	"strconv"
	"strings"
)

// A Right says who may do what with some groups. Groups that no right names, and what a right leaves out, are open to every client
// that has the role for it.
type Right struct {
	// Groups are names; one that ends with * stands for all that begin so.
	Groups []string `yaml:"groups"`
	// Lead, Operate, Read and Remote list clients: uid:USER, gid:GROUP, token:NAME, cert:NAME or anyone.
	Lead    []string `yaml:"lead"`
	Operate []string `yaml:"operate"`
	Read    []string `yaml:"read"`
	// Remote lists clients whose orders are passed on to the host that leads.
	Remote []string `yaml:"remote"`
}

// Matches returns whether the right is about a group.
func (r *Right) Matches(group string) bool { return matches(r.Groups, group) }

// matches returns whether names, of which those that end with * stand for all that begin so, name a group.
func matches(names []string, group string) bool {
	for _, g := range names {
		if prefix, ok := strings.CutSuffix(g, "*"); g == group || ok && strings.HasPrefix(group, prefix) {
			return true
		}
	}
	return false
}

// A Principal is a client that rights are given to.
type Principal struct {
	// Kind is uid, gid, token, cert or anyone.
	Kind string
	// ID is of a user or a group of the host, Name of a token or a certificate.
	ID   int
	Name string
}

// ParsePrincipal reads a client.
func ParsePrincipal(text string) (Principal, error) {
	kind, name, _ := strings.Cut(text, ":")
	p := Principal{Kind: kind, Name: name}
	switch {
	case text == "anyone":
		return p, nil
	case name == "":
	case kind == "token", kind == "cert":
		return p, nil
	case kind == "uid", kind == "gid":
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			p.ID = n
			return p, nil
		}
		var id string
		if kind == "uid" {
			u, err := user.Lookup(name)
			if err != nil {
				return p, err
			}
			id = u.Uid
		} else {
			g, err := user.LookupGroup(name)
			if err != nil {
				return p, err
			}
			id = g.Gid
		}
		n, err := strconv.Atoi(id)
		p.ID = n
		return p, err
	}
	return p, fmt.Errorf("%q: must be uid:USER, gid:GROUP, token:NAME, cert:NAME or anyone", text)
}

// checkRights looks at the rights.
func (f *File) checkRights(fail failer) {
	tokens := make(map[string]bool)
	for i := range f.HTTP.Tokens {
		tokens[f.HTTP.Tokens[i].Name] = true
	}
	for i := range f.Rights {
		r := &f.Rights[i]
		if len(r.Groups) == 0 {
			fail("rights: rule %d names no groups: list them in groups; * stands for all", i+1)
		}
		lists := map[string][]string{"lead": r.Lead, "operate": r.Operate, "read": r.Read, "remote": r.Remote}
		for _, key := range []string{"lead", "operate", "read", "remote"} {
			if list := lists[key]; list != nil && len(list) == 0 {
				fail("rights: rule %d: %s is empty: list clients (uid:0 for root alone), or leave the key out", i+1, key)
			}
			for _, text := range lists[key] {
				p, err := ParsePrincipal(text)
				if err != nil {
					fail("rights: rule %d: %s: %w", i+1, key, err)
				} else if p.Kind == "token" && !tokens[p.Name] {
					fail("rights: rule %d: %s: token %q is not in http.tokens", i+1, key, p.Name)
				}
			}
		}
	}
}
