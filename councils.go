package regent

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/record"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/roster"
)

// This file turns the list of members in a configuration file into the configuration that members agree on, and back.

// council returns the council that is in force.
func (m *Member) council() *council { return m.present.Load() }

// id returns the id of the council that is in force.
func (m *Member) id() protocol.CouncilID {
	if all := m.council(); all != nil && all.conf != nil {
		return all.conf.Council
	}
	return m.councilID
}

// fixed says why the council cannot change while it runs; empty if it can.
func (c *Config) fixed(all *council) string {
	roles := all.roles()
	switch {
	case c.Dir == "":
		return "this member has no directory, and could not keep what is agreed on"
	case roles.Votes != nil:
		return "its members have different votes: a quorum of the votes before a change and one of those after it need not have a member in common"
	case c.QuorumVotes != 0:
		return "it has a number of votes of its own for a quorum: a quorum before a change and one after it need not have a member in common"
	case len(c.first(all, protocol.CouncilID{}).Append(nil)) > agreed.MaxConfig/2:
		return "it is too large"
	}
	return ""
}

// first returns the configuration with number 0, which follows from the list.
func (c *Config) first(all *council, id protocol.CouncilID) *agreed.Config {
	first := &agreed.Config{Council: id, Terms: c.Timing.terms()}
	for r := range all.peers {
		p := &all.peers[r]
		m := agreed.Member{Seat: protocol.Rank(r), Name: p.Name, Birth: firstBirth(id, p.Name), Key: keyText(p.PublicKeys), Addrs: p.Addrs,
			Priority: p.Priority, Weight: weightOf(p), Role: agreedRole(p)}
		if own := c.ownKeyText(); p.Name == c.Name && own != "" {
			m.Key = own
		}
		first.Members = append(first.Members, m)
	}
	return first
}

// firstBirth is that of a member of the first list: the same at all members.
func firstBirth(id protocol.CouncilID, name string) agreed.Birth {
	sum := sha256.Sum256([]byte("regent birth 1" + string(id[:]) + name))
	return agreed.Birth(sum[:])
}

func keyText(keys []string) string { return strings.Join(keys, " ") }

// weightOf returns the weight of a member as members agree on it: zero stands for 1.
func weightOf(p *Peer) int {
	if p.Weight == 1 {
		return 0
	}
	return p.Weight
}

// agreedRole returns what a member does.
func agreedRole(p *Peer) agreed.Role {
	switch {
	case p.Observer:
		return agreed.Observer
	case p.Witness:
		return agreed.Witness
	}
	return agreed.Leader
}

// peer returns what a configuration says of a member.
func peer(m *agreed.Member) Peer {
	return Peer{Name: m.Name, Addrs: slices.Clone(m.Addrs), Priority: m.Priority, Weight: m.Weight, Witness: m.Role == agreed.Witness, Observer: m.Role == agreed.Observer,
		PublicKeys: strings.Fields(m.Key)}
}

// under returns the council of a configuration. In the first one the file counts for addresses and keys, as long as it lists the member.
// Later the addresses in the file are tried as well, and keys are those that members have agreed on. Ranks that no member has keep the names
// that they had.
func (c *Config) under(conf *agreed.Config, before *council) (*council, error) {
	all := &council{conf: conf, self: protocol.Nobody}
	seats := conf.Seats()
	if before != nil {
		seats = max(seats, len(before.peers))
	}
	all.peers, all.absent = make([]Peer, seats), protocol.Everyone(seats).Minus(conf.Present())
	for r := range all.peers {
		m := conf.At(protocol.Rank(r))
		if m == nil {
			if before != nil && r < len(before.peers) {
				all.peers[r].Name = before.peers[r].Name
			}
			continue
		}
		all.peers[r] = peer(m)
		if m.Name == c.Name {
			all.self = protocol.Rank(r)
		}
		c.hints(conf, m, &all.peers[r])
	}
	if all.self == protocol.Nobody {
		return nil, fmt.Errorf("config: name %q: no member of the council (number %d: %s)", c.Name, conf.Number, strings.Join(all.list(), ", "))
	}
	return all, nil
}

// hints adds what the file says of a member.
func (c *Config) hints(conf *agreed.Config, m *agreed.Member, p *Peer) {
	i := slices.IndexFunc(c.Council, func(q Peer) bool { return q.Name == m.Name })
	if i < 0 {
		return
	}
	file := &c.Council[i]
	original := m.Birth == firstBirth(conf.Founder(), m.Name)
	if conf.Number == 0 {
		p.Addrs, p.PublicKeys, p.Revoked = slices.Clone(file.Addrs), slices.Clone(file.PublicKeys), file.Revoked
		return
	}
	for _, a := range file.Addrs {
		if !slices.Contains(p.Addrs, a) && len(p.Addrs) < maxAddrs {
			p.Addrs = append(p.Addrs, a)
		}
	}
	// Which silences a member here, and agrees on nothing. A later member of the name is meant if the file has a key of it.
	p.Revoked = file.Revoked && (original || slices.ContainsFunc(file.PublicKeys, func(k string) bool { return slices.Contains(p.PublicKeys, k) }))
}

// otherKeys names the members for which a file lists other keys than members have agreed on. The file counts for nobody.
func (c *council) otherKeys(file []Peer) (names []string) {
	for i := range file {
		x := &file[i]
		if at := slices.IndexFunc(c.peers, func(p Peer) bool { return p.Name == x.Name }); c.changed() && at >= 0 && len(x.PublicKeys) > 0 &&
			!slices.Equal(x.PublicKeys, c.peers[at].PublicKeys) {
			names = append(names, x.Name)
		}
	}
	return names
}

// list returns the names of the members that there are.
func (c *council) list() []string { return c.set(protocol.Everyone(len(c.peers)).Minus(c.absent)) }

// nameAt returns the name of the member that had a rank in the configuration with a number.
func (c *council) nameAt(r protocol.Rank, number uint64) string {
	if c.conf == nil {
		return c.name(r)
	}
	return c.conf.NameAt(r, number)
}

// setAt returns the names of members in the configuration with a number, in the order of their ranks.
func (c *council) setAt(s protocol.Set, number uint64) []string {
	names := make([]string, 0, s.Len())
	for r := range s.All() {
		names = append(names, c.nameAt(r, number))
	}
	return names
}

// changed says that the council is not the first one.
func (c *council) changed() bool { return c.conf != nil && c.conf.Number > 0 }

// voters and leaders are the ranks of members that vote, and that may lead.
func (c *council) voters() protocol.Set {
	if c.changed() {
		return c.conf.Voters()
	}
	roles := c.roles()
	return protocol.Everyone(roles.Voters())
}

func (c *council) leaders() protocol.Set {
	if c.changed() {
		return c.conf.Leaders()
	}
	roles := c.roles()
	return roles.Leaders()
}

// quorums is the quorum system.
func (c *council) quorums() protocol.Quorums {
	if c.changed() {
		return protocol.MajorityOf(len(c.peers), c.conf.Voters())
	}
	roles := c.roles()
	return roles.Quorums()
}

// seats returns how many ranks there are in the configuration.
func (c *council) seats() int {
	if c.changed() {
		return c.conf.Seats()
	}
	return len(c.peers)
}

// shape returns the council as electors see it.
func (c *council) shape() *stack.Shape {
	return &stack.Shape{Self: c.self, Members: len(c.peers), Present: protocol.Everyone(len(c.peers)).Minus(c.absent), Voters: c.voters(), Leaders: c.leaders()}
}

// part returns what a record says of the council; nil if that is nothing.
func part(encoded []byte) (*agreed.Record, error) {
	if encoded == nil {
		return nil, nil
	}
	r, err := record.Decode(encoded)
	switch {
	case errors.Is(err, record.ErrDamaged):
		return nil, nil // a damaged one is a lost one
	case err != nil:
		return nil, err
	case r.Inc == 0 || len(r.Wedge) == 0:
		return nil, nil
	}
	return agreed.DecodeRecord(r.Wedge)
}

// differs says in what a file differs from the council: in its list of members, and in what it says of the terms. It is empty if that is
// nothing, or if there is no list.
func (c *council) differs(source *Config) string {
	file := source.Council
	if len(file) == 0 {
		return ""
	}
	var all []string
	if text := c.listDiffers(file); text != "" {
		all = append(all, text)
	}
	if own := &source.complete().Timing; c.conf != nil && own.terms() != c.conf.Terms {
		mine, theirs := rosterTiming(&c.conf.Terms), roster.Timing{LongestLease: own.LongestLease, Drift: own.Drift}
		all = append(all, fmt.Sprintf("the file has %v, and the council %v (number %d)", theirs, mine, c.number()))
	}
	return strings.Join(all, "; ")
}

// listDiffers is differs for the list of members.
func (c *council) listDiffers(file []Peer) string {
	mine, theirs := c.list(), make([]string, len(file))
	for i := range file {
		theirs[i] = file[i].Name
	}
	slices.Sort(mine)
	slices.Sort(theirs)
	if slices.Equal(mine, theirs) {
		return ""
	}
	return fmt.Sprintf("the file lists %s, and the council is %s (number %d)", strings.Join(theirs, " "), strings.Join(mine, " "), c.number())
}

// number returns the number of the configuration.
func (c *council) number() uint64 {
	if c.conf == nil {
		return 0
	}
	return c.conf.Number
}

// ownKeyText returns the text form of the member's own public keys.
func (c *Config) ownKeyText() string {
	var keys []string
	for _, text := range c.PrivateKeys {
		if k, err := identity.ParsePrivate(text); err == nil {
			keys = append(keys, k.Public().String())
		}
	}
	return keyText(keys)
}
