package council

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Config is one configuration of a council. It is a value that members agree on and never change. Members that have the same
// number have the same configuration.
type Config struct {
	Council protocol.CouncilID
	// Number counts the configurations of the council. The first one has number 0.
	Number uint64
	// Members are in ascending order of their seats.
	Members []Member
	// Goal is what the council is being changed to; nil if no change is running.
	Goal *Goal
	// Ended says how the last change ended if it has not reached its goal: it was cancelled, or given up (R13). It is for people.
	Ended string `json:",omitempty"`
	// Terms are what all members must share besides their list.
	Terms Terms
	// Floor is a term above which all terms of this configuration lie.
	Floor uint64
	// Before has the seats of the voters of the configuration before this one.
	Before protocol.Set
	// Former are the last members that steps have removed, the latest at the end.
	Former []Former
	// Parents are the councils that were given up before this one, the last one last; none if the council was begun.
	Parents []Parent `json:",omitempty"`
	// Acknowledged says that a person has taken note of what can no longer be promised since the last of Parents was given up.
	Acknowledged bool `json:",omitempty"`
}

// A Former is a member that a step has removed. Agreements of consistent groups still name it, by its seat.
type Former struct {
	Seat protocol.Rank
	// Since and Until are the numbers of the first configuration that had the member, and of the first that had it no more.
	Since, Until uint64
	Name         string
}

// MaxWeight is the greatest weight of a member.
const MaxWeight = 1_000_000

// maxFormer is how many members that were removed a configuration lists.
const maxFormer = 32

// Terms are the settings that all members share.
type Terms struct {
	// Longest is the longest promise that a voter makes, in terms of the time that was asked for.
	Longest time.Duration
	// Rho bounds the drift of clocks.
	Rho protocol.Rho
	// Settings is everything else, in a form that this package does not interpret.
	Settings string
}

// Wait returns how long, on its own clock, a voter waits for a promise under these terms to be over.
func (t *Terms) Wait() time.Duration { return t.Rho.WaitAtLeast(t.Longest) }

// A Member has a seat in a configuration.
type Member struct {
	// Seat is the member's rank. Invariant: a member keeps its seat as long as it is one (C2).
	Seat protocol.Rank
	Name string
	// Since is the number of the configuration that gave the member its seat. A seat was given to one member only since then.
	Since uint64
	// Birth tells members apart that had the same name or seat one after the other (C3).
	Birth Birth
	// Key is the public key of the member; empty if the council has none.
	Key string
	// Addrs are hints (C4).
	Addrs    []string
	Priority int
	// Weight is the member's share of the groups in a balanced council; zero is 1.
	Weight int
	Role   Role
	// Guest says that the member came for the change that is running. A cancelled change leaves no guests without a vote.
	Guest bool
}

// Birth is drawn by the member that proposes a newcomer.
type Birth [8]byte

// Role is what a member does.
type Role uint8

const (
	Observer Role = iota // learns and has no vote
	Witness              // votes and never leads
	Leader               // votes and may lead
)

var roles = [...]string{"observer", "witness", "leader"}

func (r Role) String() string {
	if int(r) < len(roles) {
		return roles[r]
	}
	return "unknown"
}

// votes says whether a member with that role has a vote.
func (r Role) votes() bool { return r == Witness || r == Leader }

// A Goal is a list of members, and terms, that a change ends with.
type Goal struct {
	Wishes []Wish
	Terms  Terms
	// By is the member at which the change was asked for, and Asked when, in nanoseconds of the wall clock there. They are for people: goals
	// are the same without them.
	By    string
	Asked int64
	// Within is how long a newcomer may be silent before the change is given up (R13); zero: for ever.
	Within time.Duration
}

// A Wish is a member that the council shall have in the end.
type Wish struct {
	Name     string
	Key      string
	Addrs    []string
	Priority int
	Weight   int
	Role     Role
	// Not is the birth of a member of the same name that the newcomer replaces; zero if it replaces none.
	Not Birth
	// Seat is the one that a newcomer gets if it is free; Nobody: the first that is.
	Seat protocol.Rank
}

// is says whether a member is the one that is wished for.
func (w *Wish) is(m *Member) bool {
	return m.Name == w.Name && (w.Not == Birth{} || m.Birth != w.Not)
}

// Fulfilled says whether a member is, in all that a wish says, the one that is wished for. Nil is not.
func (w *Wish) Fulfilled(m *Member) bool {
	return m != nil && w.is(m) && m.Role == w.Role && m.Priority == w.Priority && m.Weight == w.Weight && m.Key == w.Key && slices.Equal(m.Addrs, w.Addrs)
}

// Seats returns how many seats there are, empty ones included.
func (c *Config) Seats() int {
	if len(c.Members) == 0 {
		return 0
	}
	return int(c.Members[len(c.Members)-1].Seat) + 1
}

// Present returns the seats that have a member.
func (c *Config) Present() protocol.Set { return c.seats(func(*Member) bool { return true }) }

// Voters returns the seats with a vote.
func (c *Config) Voters() protocol.Set {
	return c.seats(func(m *Member) bool { return m.Role.votes() })
}

// Leaders returns the seats whose members may lead.
func (c *Config) Leaders() protocol.Set {
	return c.seats(func(m *Member) bool { return m.Role == Leader })
}

func (c *Config) seats(want func(*Member) bool) (s protocol.Set) {
	for i := range c.Members {
		if want(&c.Members[i]) {
			s.Add(c.Members[i].Seat)
		}
	}
	return s
}

// Quorums returns the quorum system: every majority of the voters.
func (c *Config) Quorums() protocol.Quorums { return protocol.MajorityOf(c.Seats(), c.Voters()) }

// majority says whether a set has more than half of the voters.
func (c *Config) majority(s protocol.Set) bool {
	voters := c.Voters()
	return majorityOf(voters, s)
}

func majorityOf(voters, s protocol.Set) bool {
	both := voters.Intersect(s)
	return 2*both.Len() > voters.Len()
}

// meetsAll says whether a set has a member other than me in every majority of the voters.
func meetsAll(voters, s protocol.Set, me protocol.Rank) bool {
	return !majorityOf(voters, voters.Minus(s).Union(protocol.NewSet(me).Intersect(voters)))
}

// At returns the member in a seat; nil if the seat is empty.
func (c *Config) At(seat protocol.Rank) *Member {
	i, ok := slices.BinarySearchFunc(c.Members, seat, func(m Member, s protocol.Rank) int { return int(m.Seat) - int(s) })
	if !ok {
		return nil
	}
	return &c.Members[i]
}

// NameAt returns the name of the member that had a seat in the configuration with a number, this one or one before it; empty if that is
// not known.
func (c *Config) NameAt(seat protocol.Rank, number uint64) string {
	if m := c.At(seat); m != nil && m.Since <= number {
		return m.Name
	}
	for i := range c.Former {
		if f := &c.Former[i]; f.Seat == seat && f.Since <= number && number < f.Until {
			return f.Name
		}
	}
	return ""
}

// precede sets what follows in the next configuration from this one: all but the floor.
func (c *Config) precede(next *Config) {
	next.Number, next.Before = c.Number+1, c.Voters()
	next.Former = c.former(next)
}

// former returns the members that have left by the step to a configuration, and those before them.
func (c *Config) former(to *Config) []Former {
	list := slices.Clip(c.Former)
	for i := range c.Members {
		if m := &c.Members[i]; !to.holds(m) {
			list = append(list, Former{Seat: m.Seat, Since: m.Since, Until: c.Number + 1, Name: m.Name})
		}
	}
	return list[max(0, len(list)-maxFormer):]
}

// Named returns the member of that name; nil if there is none.
func (c *Config) Named(name string) *Member {
	for i := range c.Members {
		if c.Members[i].Name == name {
			return &c.Members[i]
		}
	}
	return nil
}

// Order returns the seats from the best-ranked member to the last: those that vote first, then by priority, then by name.
func (c *Config) Order() []protocol.Rank {
	list := slices.Clone(c.Members)
	slices.SortFunc(list, func(a, b Member) int {
		switch {
		case a.Role.votes() != b.Role.votes():
			if a.Role.votes() {
				return -1
			}
			return 1
		case a.Priority != b.Priority:
			return b.Priority - a.Priority
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	seats := make([]protocol.Rank, len(list))
	for i := range list {
		seats[i] = list[i].Seat
	}
	return seats
}

// A Digest stands for a configuration.
type Digest [32]byte

// Digest returns the hash of the canonical encoding.
func (c *Config) Digest() Digest { return sha256.Sum256(c.Append(nil)) }

// clone returns a configuration that shares nothing with this one that a caller may change: its list of members.
func (c *Config) clone() Config {
	d := *c
	d.Members = slices.Clone(c.Members)
	return d
}
