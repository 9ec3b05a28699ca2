package regent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/roster"
)

// A Peer is a member of the council as everybody knows it. Package roster lists its fields.
type Peer = roster.Peer

// OwnKeys are the keys that a member alone has.
type OwnKeys struct {
	// PrivateKeys has one key, or two with the oldest first while it is being replaced. Their public halves are in [Peer.PublicKeys] of the
	// others.
	PrivateKeys []string
	// TagKey proves to the member what it did in earlier lives. It is drawn with the first private key, and stays when that is replaced: a member
	// that goes on from an old copy of its directory notices it by this key.
	TagKey string
}

// Config is what a member needs to know. Its fields stand in three parts: what a member needs, what programs often set, and what is best
// left alone.
type Config struct {
	// Name says which member of the council this is.
	Name string
	// Council lists all members, this one among them, for the first start of the council. It is the same at every member. Once the council
	// has begun, members agree on who they are: they keep that in Dir, and change it with [Member.Change]. Then addresses and keys in this
	// list are only tried besides those agreed on.
	Council []Peer
	// Join lists some members of a council that this one is to join, in place of Council: their addresses, and their public keys, of
	// which one is enough. The member asks them for the council, and waits until that lists it ([roster.Change.Add]). It needs Bind and Dir.
	// Once it has taken part, Dir tells it of the council, and Join is not looked at.
	Join []Peer
	// Key is the cluster key: 16 to 128 secret bytes, the same at every member. Packets that are not sealed with it
	// are dropped. [ReadKey] reads it from a file. It may be left out only if all addresses are of the loopback interface.
	Key []byte
	// OwnKeys are those that no other member has. [Config.ReadKeys] reads them from a directory. [DrawKeys] draws keys for tests. A council
	// of one needs none.
	OwnKeys
	// Dir is where the member keeps its durable record: a directory of its own, on a disk that survives a restart. A
	// member without one forgets everything when it stops. After each start it waits for Timing.LongestLease. It then asks the others what it may have
	// promised, and in a council of three both must answer. If all members restart, tokens start again at 1.
	Dir string
	// Bootstrap allows a council to begin in which no member has a record. It is acted upon only if every member says
	// that it has none, so it may stay set; without it a council that lost all its records waits for an operator.
	Bootstrap bool

	// Programs often set the following.

	// Timing is all that has to do with time; the zero value is [LAN].
	Timing Timing
	// Health, if it is set, is called every [Timing.Heartbeat] and returns what is wrong with this member, or with the program around
	// it. An unhealthy member resigns its groups and stops campaigning, but keeps voting ([Member.SetHealth]). Health must
	// return when its context ends: a member whose check does not is unhealthy.
	Health func(ctx context.Context) error
	// Logger gets what an operator should know; nil is slog.Default.
	Logger *slog.Logger
	// OnChange, if it is set, is called with every change of every quorum group, in order. It must return soon: the next
	// changes wait for it, and so does [Member.Leave], which it must therefore not call itself.
	OnChange func(View)
	// OnCouncil, if it is set, is called when the council has changed, or a change of it has got on: with what [Member.Council]
	// returns. It must return soon, as OnChange must.
	OnCouncil func(roster.Council)
	// Consistent lets the council have groups in which all agree on exactly who failed ([Member.ConsistentGroup]). Every pair of
	// members then exchanges a packet each [Timing.Renew]. It is the same at every member.
	Consistent bool
	// StopWithin is how long a program may take to stop, once Done is closed, while its lease is renewed; zero is
	// 30 s. The lease of a program that has not stopped by then is renewed no more: it runs out, and another member
	// may lead while the program still runs.
	StopWithin time.Duration
	// Prefer, if not zero, makes a leader hand its groups over to a member that goes before it, once a program has been waiting
	// there for so long, behind a link that is fast enough. Otherwise leaders stay. It is the same at every member.
	Prefer time.Duration
	// Balance spreads the groups over the members, in proportion to [Peer.Weight]. Each group has a place: of the members with the
	// highest [Peer.Priority], the one that a hash of the names of group and member chooses. A group that has no leader goes
	// straight there, if a program campaigns there. A leader is moved only to a member that has joined since, or was undrained
	// ([Member.Undrain]), when a program first campaigns there, a few groups at once; it is asked to stop with the cause
	// why.Balanced. It goes with no Prefer, and is the same at every member. [Member.Change] gives members other weights, which moves no group
	// that is led; a member that it adds joins once it may lead.
	Balance bool

	// The following is best left alone, unless its comment describes your case.

	// CouncilID tells this council from all others: 32 hexadecimal digits, drawn at random once and the same at every member. Packets of
	// another council cannot be opened, even if it has the same key. If it is empty, the members agree on one when the council
	// begins and keep it in their directories; members without a directory need it here.
	CouncilID string
	// OldKeys are accepted too, so that a key can be changed while the council runs.
	OldKeys [][]byte
	// Elector says who tries first to lead a group that has no leader; the default is [elector.Stable]. It has no bearing on
	// safety, and little on how soon a dead leader is replaced. It is the same at every member.
	Elector elector.Kind
	// Calm, if not zero, keeps a member that comes and goes from deposing good local leaders: in local groups a member that led
	// and fell silent counts again only when it has been heard for so long without a break. [Status.Kappa] grows with it.
	// It is the same at every member.
	Calm time.Duration
	// LocalMajority lets a local group have a leader only where more than half of the members that may lead support it. There is
	// then at most one local leader anywhere, and none in a part without a majority. It is the same at every member.
	LocalMajority bool
	// LocalTurns, if not zero, makes a local leader hand over to the next member in rank that supports it, after so many renewals.
	// The program of the leader is asked to stop for that. [Status.Kappa] grows with it. It is the same at every member.
	LocalTurns int
	// LocalTree, if not zero, makes requests and replies of local groups travel along a tree in which every node has so many
	// children. It is for groups of some 64 members and more, whose leader would otherwise exchange a packet with each in every
	// renewal. [Status.Kappa] and the leases of local leaders grow with the depth of the tree. It is the same at every member.
	LocalTree int
	// ElectorFaults is f of [elector.TimeFree], [elector.FSource] and [elector.Hybrid]: how many members may be down or unreachable
	// at the same time. Zero is a minority. A lower one makes fewer mistakes. If more members are down, no leader is
	// replaced. It is at most the number of members less two, and the same at every member.
	ElectorFaults int
	// ElectorPatience is h of [elector.TimeFree] and [elector.Hybrid]: a member is suspected if its answers were late in so many
	// rounds in a row. Zero is 4. A higher one makes mistakes rarer, and a dead leader is replaced that many rounds later.
	// It is the same at every member.
	ElectorPatience int
	// QuorumVotes is how many votes ([Peer.Votes]) a leader of a quorum group needs; zero is more than half of all. Any two sets
	// of members with so many votes must have a member in common. It is the same at every member.
	QuorumVotes int
	// Guardian starts a small process beside the member, which outlives it and reports its death to the voters at once (docs/guardian.md). When this
	// program is killed or crashes, another member then leads without waiting for the lease to expire. It needs Linux.
	//
	// All groups that programs lead here count as dead with this process. If something outside of the process acts for a leader, such as children
	// that the program starts, leave it off: a child that survives the process could still act while another member leads.
	//
	// The guardian is this program's own executable, started once more. It ends in an init function of this module and never reaches main, so the
	// program has nothing to call. Initialisers that Go runs before those of this module run in it, too.
	Guardian bool
	// Bind is the address to receive packets on; empty is the member's own first address in Council.
	Bind string
	// NoRealtime leaves the scheduling of the member's thread as it is. Otherwise it is made a real-time thread if the
	// process may do that (CAP_SYS_NICE), so that a busy machine does not delay it. It runs for some microseconds at a time.
	NoRealtime bool
}

// defaultStopWithin is for how long the lease of a program that was asked to stop is renewed.
const defaultStopWithin = 30 * time.Second

// check says what is wrong with the configuration, apart from the council.
func (c *Config) check() error {
	if err := c.Elector.Check(); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if c.Prefer < 0 {
		return fmt.Errorf("config: prefer %v: must not be negative; zero lets leaders stay", c.Prefer)
	}
	if c.Balance && c.Prefer != 0 {
		return fmt.Errorf("config: prefer %v with balance: leave one out (balance moves groups to members of higher priority)", c.Prefer)
	}
	if c.CouncilID != "" {
		if _, err := protocol.ParseCouncilID(c.CouncilID); err != nil {
			return fmt.Errorf("config: %w", err)
		}
	}
	if c.Calm < 0 {
		return fmt.Errorf("config: calm %v: must not be negative; zero counts members at once", c.Calm)
	}
	if c.StopWithin < 0 {
		return fmt.Errorf("config: stop within %v: must not be negative; zero is %v", c.StopWithin, defaultStopWithin)
	}
	if err := c.checkGuardian(); err != nil {
		return err
	}
	if err := c.Timing.check(); err != nil || !c.Consistent {
		return err
	}
	return c.Timing.checkConsistent()
}

// checkCouncilID refuses a member that could not remember what the members agree on when the council begins.
func (c *Config) checkCouncilID() error {
	if c.Dir == "" && c.CouncilID == "" {
		return errors.New("config: no council id: a member without a directory needs one (draw it with 'regent init', or 32 hexadecimal digits at random)")
	}
	return nil
}

// council is a checked list of members, in rank order.
type council struct {
	peers []Peer
	self  protocol.Rank
	// need is how many votes make a quorum; zero: more than half.
	need int
	// outside has the names of leaders that an engine elects; nil: the council elects.
	outside *holders
	// conf is the configuration that members agree on; nil: the council cannot change. absent are the ranks that no member has in it.
	conf   *agreed.Config
	absent protocol.Set
}

func (c *council) names() []string {
	names := make([]string, len(c.peers))
	for i, p := range c.peers {
		names[i] = p.Name
	}
	return names
}

// rank finds a member by name.
func (c *council) rank(name string) (protocol.Rank, bool) {
	i := slices.IndexFunc(c.peers, func(p Peer) bool { return p.Name == name })
	return protocol.Rank(i), i >= 0
}

// name returns the name of a member, empty for nobody.
func (c *council) name(r protocol.Rank) string {
	switch {
	case c.outside != nil:
		return c.outside.name(r)
	case int(r) < len(c.peers):
		return c.peers[r].Name
	}
	return ""
}

// roles says who may do what.
func (c *council) roles() stack.Roles {
	r := stack.Roles{Members: len(c.peers), Need: c.need}
	if slices.ContainsFunc(c.peers, func(p Peer) bool { return p.Votes > 1 }) {
		r.Votes = make([]int, len(c.peers))
	}
	for i, p := range c.peers {
		if p.Observer {
			r.Observers++
		}
		if p.Witness {
			r.Witnesses.Add(protocol.Rank(i))
		}
		if r.Votes != nil {
			r.Votes[i] = votesOf(&p)
		}
	}
	return r
}

// me returns this member.
func (c *council) me() *Peer { return &c.peers[c.self] }

// set returns the names of members, in rank order.
func (c *council) set(s protocol.Set) []string {
	names := make([]string, 0, s.Len())
	for r := range s.All() {
		names = append(names, c.name(r))
	}
	return names
}

// maxName is what fits into the summary that members show one another.
const maxName = 64

func (c *Config) council() (*council, error) {
	peers := slices.Clone(c.Council)
	slices.SortFunc(peers, func(p, q Peer) int {
		return cmp.Or(compareBool(p.Observer, q.Observer), cmp.Compare(q.Priority, p.Priority), cmp.Compare(p.Name, q.Name))
	})
	if len(peers) == 0 || len(peers) > protocol.MaxMembers {
		return nil, fmt.Errorf("config: council of %d members: must have 1 to %d", len(peers), protocol.MaxMembers)
	}
	seen := make(map[string]bool)
	for _, p := range peers {
		switch {
		case p.Name == "" || len(p.Name) > maxName || strings.ContainsFunc(p.Name, func(r rune) bool { return r <= ' ' }):
			return nil, fmt.Errorf("config: member name %q: must have 1 to %d bytes without white space", p.Name, maxName)
		case names.Check(p.Name) != nil:
			return nil, fmt.Errorf("config: member name %q: %w", p.Name, names.Check(p.Name))
		case seen[p.Name]:
			return nil, fmt.Errorf("config: member %s is listed twice", p.Name)
		case p.Weight < 0 || p.Weight > agreed.MaxWeight:
			return nil, fmt.Errorf("config: member %s: weight %d: must be 0 to %d", p.Name, p.Weight, agreed.MaxWeight)
		case p.Witness && p.Observer:
			return nil, fmt.Errorf("config: member %s is a witness and an observer: a witness votes, an observer does not; choose one", p.Name)
		case len(p.Addrs) == 0:
			return nil, fmt.Errorf("config: member %s has no address: give it one as host:port", p.Name)
		case len(p.Addrs) > maxAddrs:
			return nil, fmt.Errorf("config: member %s has %d addresses: at most %d", p.Name, len(p.Addrs), maxAddrs)
		}
		seen[p.Name] = true
		for _, a := range p.Addrs {
			if err := checkAddr(a); err != nil {
				return nil, fmt.Errorf("config: member %s: %w", p.Name, err)
			}
		}
	}
	all := &council{peers: peers, need: c.QuorumVotes}
	if err := all.checkVotes(); err != nil {
		return nil, err
	}
	var ok bool
	all.self, ok = all.rank(c.Name)
	if !ok {
		return nil, fmt.Errorf("config: name %q: not in the council (%s)", c.Name, strings.Join(all.names(), ", "))
	}
	return all, nil
}

const maxAddrs = 8

// compareBool orders false before true.
func compareBool(p, q bool) int {
	switch {
	case p == q:
		return 0
	case q:
		return -1
	}
	return 1
}

// role names what a member is if it is not one that votes and may lead.
func roleOf(p *Peer) string {
	switch {
	case p.Witness:
		return "witness"
	case p.Observer:
		return "observer"
	}
	return ""
}

// mayLead says why programs of this member cannot lead.
func mayLead(p *Peer) error {
	if r := roleOf(p); r != "" {
		return fmt.Errorf("member %s is a %s and leads nothing: campaign at a member that may lead", p.Name, r)
	}
	return nil
}

func checkAddr(a string) error {
	host, port, err := net.SplitHostPort(a)
	switch {
	case err != nil && strings.Count(a, ":") > 1:
		return fmt.Errorf("address %q: must be host:port, with an IPv6 address in brackets, such as [fd00::1]:7400", a)
	case err != nil:
		return fmt.Errorf("address %q: must be host:port", a)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
		return fmt.Errorf("address %q: must have a host and a port from 1 to 65535", a)
	}
	return nil
}

// keyring returns the keys, or the public one if the council needs none.
func (c *Config) keyring(all *council) (wire.Keyring, error) {
	if c.Key != nil {
		ring, err := wire.NewKeyring(append([][]byte{c.Key}, c.OldKeys...)...)
		if err != nil {
			return ring, fmt.Errorf("config: %w", err)
		}
		return ring, nil
	}
	if len(c.OldKeys) > 0 {
		return wire.Keyring{}, errors.New("config: old keys without a key: set Key")
	}
	peers := c.Join // of a member that does not know the council yet
	if all != nil {
		peers = all.peers
	}
	for _, p := range peers {
		for _, a := range append([]string{c.Bind}, p.Addrs...) {
			if a != "" && !loopback(a) {
				return wire.Keyring{}, fmt.Errorf("config: no key: needed because %s is not an address of the loopback interface; "+
					"draw 32 random bytes and give them to every member", a)
			}
		}
	}
	return wire.PublicKeyring(), nil
}

// loopback says whether an address can be reached from this host only. A name that may resolve to anything is not.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}

// summary lists what all members must agree on.
func (c *Config) summary(all *council, id protocol.CouncilID) *wire.Summary {
	t := all.timing(&c.Timing)
	var order, priorities []string
	for i, p := range all.peers {
		if all.absent.Has(protocol.Rank(i)) {
			continue
		}
		name := p.Name
		if p.Priority != 0 {
			priorities = append(priorities, p.Name+"="+strconv.Itoa(p.Priority))
		}
		if r := roleOf(&p); r != "" {
			name += ":" + r
		}
		order = append(order, name)
	}
	quorums := all.quorums()
	if all.changed() {
		quorums = all.conf.Quorums()
	}
	s := wire.NewSummary(c.Name)
	s.Set("council", id.String())
	s.Set("members", strings.Join(order, " "))
	s.Set("priorities", cmp.Or(strings.Join(priorities, " "), "none"))
	s.Set("quorums", quorums.String())
	s.Set("longest lease", t.LongestLease.String())
	s.Set("drift", t.rho().String())
	s.Set("local lock", c.local(all, 1).Lock.String())
	s.Set("elector", string(c.Elector))
	s.Set("prefer", c.Prefer.String())
	s.Set("calm", c.Calm.String())
	if c.Balance { // councils without it have the digest that they always had
		s.Set("balance", all.shares())
	}
	c.options(s)
	modes := "quorum local eventual"
	if c.Consistent {
		modes += " consistent"
		s.Set("stay", t.consistent().Stay.String())
		s.Set("evict", t.Evict.String())
	}
	s.Set("modes", modes)
	return s
}

// order is in which order members have their turn in each group of a balanced council.
func (c *council) order() balance.Order {
	var o balance.Order
	for i := range c.peers {
		p := &c.peers[i]
		o = append(o, balance.Share{Seed: balance.Seed(p.Name), Weight: p.Weight, Class: p.Priority})
	}
	return o
}

// shares shows the weights of members, as all must agree on them.
func (c *council) shares() string {
	var shares []string
	for i := range c.peers {
		if w := c.peers[i].Weight; w > 1 {
			shares = append(shares, c.peers[i].Name+"="+strconv.Itoa(w))
		}
	}
	return cmp.Or(strings.Join(shares, " "), "even")
}

// listing is the digest of members, in rank order, and quorum system that the durable record keeps.
func listing(all *council) [32]byte {
	h := sha256.New()
	roles := all.roles()
	h.Write([]byte("regent council 1\n" + roles.Quorums().String()))
	for _, p := range all.peers {
		h.Write(binary.AppendUvarint(nil, uint64(len(p.Name))))
		h.Write([]byte(p.Name))
	}
	return [32]byte(h.Sum(nil))
}
