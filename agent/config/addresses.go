package config

import (
	"net/netip"

	vip "github.com/regentproject/regent/agent/run/address"
)

// An Address is one that this agent adds to an interface while the host leads, for users that may not change addresses themselves.
type Address struct {
	// Address has the form ADDRESS/LENGTH@INTERFACE.
	Address string `yaml:"address"`
	// Groups are names; one that ends with * stands for all that begin so.
	Groups []string `yaml:"groups"`
	// Lead lists the clients that may lead these groups with the address: uid:USER, gid:GROUP or anyone.
	Lead []string `yaml:"lead"`
}

// Matches returns whether the address is listed for a group.
func (a *Address) Matches(group string) bool { return matches(a.Groups, group) }

// checkAddresses looks at the addresses that the agent adds.
func (f *File) checkAddresses(fail failer) {
	seen := make(map[netip.Addr]bool)
	for i := range f.Addresses {
		a := &f.Addresses[i]
		parsed, err := vip.Parse(a.Address)
		switch ip := parsed.Prefix.Addr(); {
		case err != nil:
			fail("addresses: rule %d: %w", i+1, err)
		case seen[ip]:
			fail("addresses: rule %d: %s is there twice: list its groups and clients in one rule", i+1, a.Address)
		default:
			seen[ip] = true
		}
		if len(a.Groups) == 0 {
			fail("addresses: rule %d names no groups: list them in groups; * stands for all", i+1)
		}
		if len(a.Lead) == 0 {
			fail("addresses: rule %d names no clients: list them in lead (uid:USER, gid:GROUP or anyone)", i+1)
		}
		for _, text := range a.Lead {
			p, err := ParsePrincipal(text)
			switch {
			case err != nil:
				fail("addresses: rule %d: lead: %w", i+1, err)
			case p.Kind == "token" || p.Kind == "cert":
				fail("addresses: rule %d: lead: %q: only programs of this host have addresses: must be uid:USER, gid:GROUP or anyone", i+1, text)
			}
		}
	}
}
