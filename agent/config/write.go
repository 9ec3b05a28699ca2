package config

import (
	"fmt"
	"strings"
)

// A Draft is what a new configuration is made of.
type Draft struct {
	// Name is the member that the file is for.
	Name string
	// Members are all, with their addresses, in the order in which they are to be listed.
	Members []Member
	// CouncilID is left out if it is empty.
	CouncilID string
	// KeyFile is left out if it is empty.
	KeyFile   string
	Dir       string
	Bootstrap bool
	// Join says that Members are those of a council that runs, which this host joins, and Bind is where it receives packets.
	Join    bool
	Bind    string
	Profile string
	Socket  string
	Listen  string
	// DefaultGroup is left out if it is empty.
	DefaultGroup string
}

// For returns the same draft for another member of the council.
func (d Draft) For(name string) Draft {
	d.Name = name
	return d
}

// page describes all keys.
const page = "https://github.com/regentproject/regent/blob/main/docs/configuration.md"

// YAML returns the text of a file, with comments that say what can be changed.
func (d Draft) YAML() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	d.council(line)
	d.member(line)
	d.interfaces(line)
	return b.String()
}

// council writes who there is.
func (d Draft) council(line func(string, ...any)) {
	line("# Regent agent on member %s. Check changes with: regent config check FILE", d.Name)
	line("# All keys, what they mean and when a change is in force: %s", page)
	line("")
	line("# Which member of the council this host is. The only line that differs between hosts.")
	line("name: %s", quote(d.Name))
	line("")
	if d.Join {
		line("# Members of the council that this host joins. Its record counts once it has joined.")
		line("join:")
	} else {
		line("# All members; the same on every host. A majority of them must be up. An odd number is best.")
		line("# It is for the first start: 'regent members' changes the council afterwards.")
		line("council:")
	}
	for i := range d.Members {
		m := &d.Members[i]
		line("  - name: %s", quote(m.Name))
		as := m.addresses()
		if len(as) == 1 {
			line("    address: %s", quote(as[0]))
		} else {
			line("    addresses: [%s]", strings.Join(quoteAll(as), ", "))
		}
		if m.Priority != 0 {
			line("    priority: %d", m.Priority)
		}
		if m.Weight != 0 {
			line("    weight: %d", m.Weight)
		}
		if m.Votes != 0 {
			line("    votes: %d", m.Votes)
		}
		if m.Witness {
			line("    witness: true")
		}
		if m.Observer {
			line("    observer: true")
		}
		if len(m.PublicKeys) > 0 {
			line("    public_keys: [%s]", strings.Join(quoteAll(m.PublicKeys), ", "))
		}
	}
	if d.Join {
		line("bind: %s", quote(d.Bind))
		line("")
		return
	}
	line("    # priority: 2      # higher goes first in elections; 0 if it is not set")
	line("    # witness: true    # votes and never leads")
	line("    # observer: true   # sees everything, has no vote")
	line("")
}

// member writes what the member needs.
func (d Draft) member(line func(string, ...any)) {
	if d.CouncilID != "" {
		line("# Tells this council from all others, drawn at random: the same on every host, and never that of another council.")
		line("council_id: %q", d.CouncilID)
		line("")
	}
	if d.KeyFile != "" {
		line("# The cluster key, the same on every host: regent keygen FILE")
		line("key_file: %s", quote(d.KeyFile))
		line("# old_key_files: []   # keys that are still accepted while the key is changed")
	} else {
		line("# No cluster key: every member is on this host, and the members' own keys are enough.")
		line("# key_file: /etc/regent/key")
	}
	line("# This member's own key is private.key in dir; it is drawn on this host and stays there.")
	line("# private_key_file: /etc/regent/private.key")
	line("")
	line("# A few bytes that must survive a restart. Not a network file system.")
	line("dir: %s", quote(or(d.Dir, DefaultDir)))
	line("")
	if !d.Join {
		line("# Lets a new council begin once every member is there and none has a record. May stay set.")
		line("bootstrap: %v", d.Bootstrap)
		line("")
	}
	line("# What the hosts tolerate, and what they give:")
	for i := range Profiles {
		line("#   %-5s %s", Profiles[i].Name, &Profiles[i])
	}
	line("profile: %s", or(d.Profile, lan))
	line("# timing: {round_trip: 40ms}   # sets single constants, the same on every host")
	line("")
	line("# How long leases of programs are. Longer ones survive longer pauses; a host that dies is replaced later.")
	line("# lease: %v", DefaultLease)
	line("# leases: [{groups: [\"batch-*\"], lease: 20s}]   # in some groups")
	line("")
}

// interfaces writes how programs and people reach the agent.
func (d Draft) interfaces(line func(string, ...any)) {
	line("# Where local programs find the agent. Who may open the socket may lead.")
	line("socket:")
	line("  path: %s", quote(or(d.Socket, DefaultSocket)))
	line("  mode: \"0660\"")
	line("  # group: regent")
	line("")
	line("# Off loopback this needs tls, and client_ca or tokens.")
	line("http:")
	line("  listen: %s", quote(or(d.Listen, DefaultListen)))
	line("  # anonymous: read    # on loopback, without a token: none, read or write")
	line("  # probes: \"10.0.0.1:8009\"   # /primary and the like for load balancers, without TLS")
	line("  # tls: {cert: /etc/regent/cert.pem, key: /etc/regent/key.pem}")
	line("  # tokens:")
	line("  #   - {name: deploy, role: write, file: /etc/regent/deploy.token}")
	line("")
	if d.DefaultGroup != "" {
		line("# The group that /primary, /leader and the like are about.")
		line("default_group: %s", quote(d.DefaultGroup))
	} else {
		line("# The group that /primary, /leader and the like are about, for load balancers.")
		line("# default_group: billing")
	}
	line("# tags: {datacenter: east}   # what a balancer may ask for; noloadbalance: true keeps readers away")
	line("")
	line("# How long programs may take to stop when the agent stops.")
	line("stop_grace: %v", DefaultStopGrace)
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// quote writes a string so that YAML reads it as one. Plain words stay plain.
func quote(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9')
	})
	if plain && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z' || s[0] == '/') && !reserved[strings.ToLower(s)] {
		return s
	}
	return fmt.Sprintf("%q", s)
}

// reserved are words that YAML takes for something else than text.
var reserved = map[string]bool{"true": true, "false": true, "yes": true, "no": true, "on": true, "off": true, "null": true, "y": true, "n": true}

func quoteAll(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = quote(s)
	}
	return out
}
