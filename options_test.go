package regent

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/wire"
)

// prepared returns a member of a council of five, of which w is a witness and o an observer.
func prepared(t *testing.T, change func(*Config)) (*Member, error) {
	t.Helper()
	c := Config{Name: "a", CouncilID: strings.Repeat("5a", 16), Council: peers("a", "b", "c", "d", "e", "w", "o"), Timing: LAN}
	c.Council[5].Witness, c.Council[6].Observer = true, true
	c.OwnKeys = DrawKeys(c.Council)["a"]
	change(&c)
	m, err := prepare(c, world.World{})
	if err == nil {
		t.Cleanup(m.release)
	}
	return m, err
}

func TestOptionsOfLocalGroupsReachTheMachine(t *testing.T) {
	plain, err := prepared(t, func(*Config) {})
	if err != nil {
		t.Fatal(err)
	}
	base := plain.localConfig(1)
	m, err := prepared(t, func(c *Config) { c.LocalMajority, c.LocalTurns, c.LocalTree = true, 30, 2 })
	if err != nil {
		t.Fatal(err)
	}
	h := m.localConfig(1)
	// Five of the seven may lead; the others take no part.
	if h.Supporters != 3 || h.Rotate != 30 || h.Arity != 2 {
		t.Errorf("the machine has %+v", h)
	}
	if h.Lock <= base.Lock || h.Window() <= base.Window() || h.Kappa() <= base.Kappa() || h.Check() != nil {
		t.Errorf("lock %v, window %d, κ %v: must be longer than %v, %d, %v without a tree (%v)", h.Lock, h.Window(), h.Kappa(), base.Lock, base.Window(), base.Kappa(), h.Check())
	}
	if c := m.config; c.Kappa() != h.Kappa() {
		t.Errorf("κ is %v, want %v", c.Kappa(), h.Kappa())
	}
	if base.Supporters != 0 || base.Rotate != 0 || base.Arity != 0 || base.Timing != LAN.local() {
		t.Errorf("without options the machine has %+v", base)
	}
	if base.Kappa() != LAN.Kappa() {
		t.Errorf("without options κ is %v, want %v", base.Kappa(), LAN.Kappa())
	}
	if _, err := hall.New(h); err != nil {
		t.Error(err)
	}
}

func TestFaultsAndPatienceReachTheElectors(t *testing.T) {
	for _, c := range []struct{ faults, patience, f, h int }{{0, 0, 2, 4}, {1, 7, 1, 7}, {4, 1, 4, 1}} {
		m, err := prepared(t, func(k *Config) {
			k.Elector, k.ElectorFaults, k.ElectorPatience = elector.Hybrid, c.faults, c.patience
		})
		if err != nil {
			t.Fatal(err)
		}
		p := m.councilTiming(1, m.council().shape())
		q, err := p.timefree(elector.TimeFree)
		if err != nil || q.F != c.f || q.Patience != c.h {
			t.Errorf("faults %d, patience %d: f is %d, h is %d (%v), want %d and %d", c.faults, c.patience, q.F, q.Patience, err, c.f, c.h)
		}
		if a, err := p.fsource(elector.FSource); err != nil || a.F != c.f {
			t.Errorf("faults %d: f of fsource is %d (%v), want %d", c.faults, a.F, err, c.f)
		}
	}
	c := Config{}
	if m, err := prepared(t, func(k *Config) { k.Elector, k.ElectorFaults = elector.TimeFree, 5; c = *k }); err == nil {
		// Six members vote.
		_, err = m.machine(c.summary(m.council(), m.councilID), nil)
		if err == nil || !strings.Contains(err.Error(), "must be between 1 and 4") {
			t.Errorf("f of 5 with six voters: %v", err)
		}
	}
}

func TestVotesReachTheQuorumsAndTheGate(t *testing.T) {
	m, err := prepared(t, func(c *Config) { c.Council[0].Votes, c.Council[1].Votes = 3, 2 })
	if err != nil {
		t.Fatal(err)
	}
	roles := m.council().roles()
	// a 3, b 2, c d e w 1 each: nine votes.
	for _, q := range []protocol.Quorums{roles.Quorums(), roles.Gate()} {
		if !q.In(protocol.NewSet(0, 1)) || q.In(protocol.NewSet(1, 2, 3)) || !q.In(protocol.NewSet(1, 2, 3, 4)) || q.In(protocol.NewSet(0, 2)) {
			t.Errorf("quorums are %v", q)
		}
	}
	if roles.Quorums().Members() != 7 || roles.Gate().Members() != 6 || roles.Quorums().Voters() != protocol.Everyone(6) {
		t.Errorf("quorums %v, gate %v", roles.Quorums(), roles.Gate())
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"local turns -1: must not be negative":        func(c *Config) { c.LocalTurns = -1 },
		"local tree 1: must be at least 2":            func(c *Config) { c.LocalTree = 1 },
		"turns of 5 renewals with calm 1s: must be":   func(c *Config) { c.Calm, c.LocalTurns = time.Second, 5 },
		"elector faults -1: must not be negative":     func(c *Config) { c.ElectorFaults = -1 },
		"elector patience -2: must not be negative":   func(c *Config) { c.ElectorPatience = -2 },
		"member b has -1 votes: must not":             func(c *Config) { c.Council[1].Votes = -1 },
		"member o is an observer and has 2 votes":     func(c *Config) { c.Council[6].Votes = 2 },
		"without any of them: two members could lead": func(c *Config) { c.QuorumVotes = 3 },
		"needed weight 7: must be between 1 and the":  func(c *Config) { c.QuorumVotes = 7 },
		"total weight 65541: must be at most":         func(c *Config) { c.Council[0].Votes = 65536 },
	} {
		if _, err := prepared(t, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestDisjointQuorumsAreRefusedByName(t *testing.T) {
	c := Config{Name: "a1", QuorumVotes: 4, Council: peers("a1", "a2", "b1", "b2", "w")}
	for i := range 4 {
		c.Council[i].Votes = 2
	}
	_, err := c.council()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, name := range []string{"a1", "a2", "b1", "b2", "set at least 5"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
	c.QuorumVotes = 5
	if _, err := c.council(); err != nil {
		t.Error(err)
	}
}

// What a member reports as needed is what its quorums need: one vote less makes none.
func TestTheVotesThatAMemberReportsMakeAQuorum(t *testing.T) {
	for _, c := range []struct{ first, set, want int }{{0, 0, 3}, {0, 4, 4}, {3, 0, 4}, {3, 6, 6}} {
		cfg := Config{Name: "a", QuorumVotes: c.set, Council: peers("a", "b", "c", "d", "o")}
		cfg.Council[0].Votes, cfg.Council[4].Observer = c.first, true
		all, err := cfg.council()
		if err != nil {
			t.Fatal(err)
		}
		if got := all.quorumVotes(); got != c.want {
			t.Errorf("%+v: %d votes are needed", c, got)
		}
		roles := all.roles()
		for s := range 1 << len(all.peers) {
			var who protocol.Set
			votes := 0
			for i := range all.peers {
				if s>>i&1 == 1 {
					who.Add(protocol.Rank(i))
					votes += votesOf(&all.peers[i])
				}
			}
			if got := roles.Quorums().In(who); got != (votes >= c.want) {
				t.Errorf("%+v: %v with %d votes is a quorum: %v", c, who, votes, got)
			}
		}
	}
}

func TestMembersWithDifferentOptionsNameThem(t *testing.T) {
	of := func(change func(*Config)) *wire.Summary {
		c := Config{Name: "a", Council: peers("a", "b", "c"), Timing: LAN, Consistent: true, Balance: true}
		change(&c)
		all, err := c.council()
		if err != nil {
			t.Fatal(err)
		}
		s := c.summary(all, protocol.CouncilID{1})
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	base := of(func(*Config) {})
	for name, change := range map[string]func(*Config){
		"local options: ":   func(c *Config) { c.LocalMajority = true },
		"local options":     func(c *Config) { c.LocalTurns = 5 },
		"local lock":        func(c *Config) { c.LocalTree = 4 },
		"elector options: ": func(c *Config) { c.ElectorFaults = 1 },
		"elector options":   func(c *Config) { c.ElectorPatience = 5 },
		"quorums: ":         func(c *Config) { c.QuorumVotes = 3 },
		"quorums":           func(c *Config) { c.Council[0].Votes = 2 },
	} {
		other := of(change)
		if other.Digest() == base.Digest() {
			t.Errorf("%s: the digests are equal", name)
		}
		named := false
		for _, d := range base.Diff(other) {
			named = named || strings.HasPrefix(d.String(), name)
		}
		if !named {
			t.Errorf("%v does not name %s", base.Diff(other), name)
		}
	}
	of(func(c *Config) {
		c.LocalMajority, c.LocalTurns, c.LocalTree, c.ElectorFaults, c.ElectorPatience = true, 1000000, 1000000, 1, 1000000
	})
}

// A council with options that do not allow changes names the option.
func TestCouncilsThatCannotChangeNameTheReason(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"different votes":            func(c *Config) { c.Council[0].Votes = 2 },
		"number of votes of its own": func(c *Config) { c.QuorumVotes = 3 },
		"no directory":               func(c *Config) { c.Dir = "" },
	} {
		c := Config{Name: "a", Council: peers("a", "b", "c"), Dir: "d"}
		change(&c)
		all, err := c.council()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.fixed(all); !strings.Contains(got, want) {
			t.Errorf("%q does not name %s", got, want)
		}
	}
}

func TestVotesArePartOfWhatARecordIsFor(t *testing.T) {
	of := func(votes, need int) [32]byte {
		c := Config{Name: "a", Council: peers("a", "b", "c"), QuorumVotes: need}
		c.Council[0].Votes = votes
		all, err := c.council()
		if err != nil {
			t.Fatal(err)
		}
		return listing(all)
	}
	if of(0, 0) != of(1, 2) {
		t.Error("a vote for each member, written down, makes another listing")
	}
	if of(0, 0) == of(2, 0) || of(0, 0) == of(0, 3) {
		t.Error("other votes make the same listing")
	}
}
