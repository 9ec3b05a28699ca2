package access

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/run/address"
)

// An addressRule is an address of the configuration, with its clients resolved.
type addressRule struct {
	address address.Address
	listed  *config.Address
	clients []config.Principal
}

func newAddressRules(file *config.File) ([]addressRule, error) {
	var out []addressRule
	for i := range file.Addresses {
		listed := &file.Addresses[i]
		a, err := address.Parse(listed.Address)
		if err != nil {
			return nil, fmt.Errorf("addresses: %w", err)
		}
		r := addressRule{address: a, listed: listed}
		for _, text := range listed.Lead {
			p, err := config.ParsePrincipal(text)
			if err != nil {
				return nil, fmt.Errorf("addresses: %w", err)
			}
			r.clients = append(r.clients, p)
		}
		out = append(out, r)
	}
	return out, nil
}

// PermitAddresses returns an error if the agent may not add addresses for a client while this host leads a group.
func (a *Gate) PermitAddresses(c *Client, group string, addresses []address.Address) error {
	rules := a.Access.Load().addresses
	for _, want := range addresses {
		if err := permitAddress(rules, c, group, want); err != nil {
			return err
		}
	}
	return nil
}

func permitAddress(rules []addressRule, c *Client, group string, want address.Address) error {
	for i := range rules {
		r := &rules[i]
		switch {
		case r.address != want:
		case !r.listed.Matches(group):
			return api.Errorf(http.StatusForbidden, "address %v: the agent's configuration lists it for other groups, %s: add %.40q to its groups under addresses, and reload the agent",
				want, strings.Join(r.listed.Groups, ", "), group)
		case !c.isOperator() && !lists(r.clients, c):
			return api.Errorf(http.StatusForbidden, "address %v: %s may not have it: add uid:%d to its lead under addresses in the agent's configuration, and reload the agent", want, c, c.uid)
		default:
			return nil
		}
	}
	return api.Errorf(http.StatusForbidden, "address %v: the agent's configuration does not list it: add '- {address: %v, groups: [%.40s], lead: [\"uid:%d\"]}' under addresses and reload the agent, or give the command CAP_NET_ADMIN and CAP_NET_RAW",
		want, want, group, c.uid)
}
