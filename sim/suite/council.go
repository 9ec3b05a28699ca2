package suite

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/members"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/record"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// The rows of a council that changes.
const (
	stepChosen    = "configuration chosen"
	stepSkipped   = "configurations skipped"
	stepRestarted = "member started in a configuration that had not settled"
	askedBack     = "member without a record took part again"
	votedBlank    = "member without a record voted for what others had accepted"
	memberOut     = "member found out that it is none any more"
	memberJoined  = "member joined"
	changeRefused = "change refused while another was running"
	// A step while leases of another length than the council's are led.
	severalLengths = "configuration adopted by the leader of a long lease"
)

var councilRows = []string{LeaderCrashed, LeaderChanged, MessageLate, MessageLost, MessageTwice, ClockFast, ClockSlow, stepChosen, stepSkipped, stepRestarted,
	askedBack, memberOut, memberJoined, changeRefused, severalLengths, WentBack, GroupMoved, DeathReported, DeathBelieved}

const (
	councilSettle = 12 * time.Second
	// promisedLongest bounds what a promise of any run can stand for.
	promisedLongest = 2 * (nerioLongest + nerioLonger + nerioMixed)
)

// councilProtocol is quorum leases of a council whose members come and go.
func councilProtocol() *Protocol {
	groups := []protocol.Group{"blue"}
	return &Protocol{
		Name:       "council",
		About:      "at most one leader anywhere, while members come and go",
		Members:    5,
		MinMembers: 1,
		Rho:        protocol.DefaultRho,
		Spawn:      councilSetup{first: 3}.spawn,
		Messages: []string{"lease.Request", "lease.OK", "lease.Nack", "nerio.Recover", "nerio.Known", "nerio.Stale", "nerio.Handover",
			"nerio.Verify", "nerio.Remainder", "nerio.Who", "nerio.Leads", "nerio.Candidates", "nerio.Values", "nerio.Noted",
			"council.Prepare", "council.Promise", "council.Accept", "council.Accepted", "council.Refused", "council.Fetch", "council.Chosen",
			"council.Carry", "council.Recover", "council.Known"},
		Groups: groups,
		Configure: func(c *sim.Config) {
			c.Program.Reader = newStampReader
			c.Bound.Old = true
			c.Remember = remembersNerio
			c.Remember.Asks = councilAsks
			c.Change = councilSetup{}.change
		},
		Vary: func(c *sim.Config) {
			d := sim.NewDice(c.Seed, 0xc0c1)
			s := councilSetup{first: 1 + d.N(c.Members)}
			if d.N(3) == 0 {
				s.longer, c.Program.Lengths = nerioMixed, mixedLengths
			}
			if d.N(3) == 0 {
				c.Groups = append(slices.Clone(c.Groups), "gold", "green")
				s.perGroup = d.Between(2*time.Millisecond, 15*time.Millisecond)
			}
			guard(c)
			s.balanced = sim.NewDice(c.Seed, 0xba1b).N(2) == 0
			c.Spawn, c.Change = s.spawn, s.change
		},
		Checkers: func(t check.Truth) []check.Checker {
			return check.Council(t, check.CouncilSpec{Groups: groups, Settle: councilSettle - 2*time.Second, Seed: uint64(t.Clock(0).At(0)), Moves: stackMoves, Longest: promisedLongest,
				Travel: sim.Delay{Max: 2 * nerioLease, Tail: sim.Percent(5), TailStep: time.Second}})
		},
		Faults: []Weight{
			{sim.Change, 30}, {sim.Crash, 14}, {sim.Pause, 4}, {sim.Suspend, 3}, {sim.Cut, 6}, {sim.Partition, 4}, {sim.Slow, 6}, {sim.Lose, 4},
			{sim.Duplicate, 4}, {sim.Rate, 3}, {sim.SlowDisk, 4}, {sim.Resign, 3}, {sim.Leave, 2},
		},
		Disks:     []sim.Disk{sim.Kept, sim.Kept, sim.Kept, sim.Kept, sim.Lost, sim.Reboot},
		Backups:   true,
		Snapshots: true,
		Timely:    nerioTimely,
		Settle:    councilSettle,
		Core:      func(n int) int { return n },
		Rows:      councilRows,
		Least:     map[string]int{stepSkipped: 3, stepRestarted: 2, askedBack: 3, memberOut: 2, memberJoined: 2, LeaderChanged: 2},
		Watch:     func(_ check.Truth, hit func(string)) sim.Observer { return &councilWatch{hit: hit} },
	}
}

// councilName is what a host is called.
func councilName(r protocol.Rank) string { return r.String() }

// A councilSetup is in what the councils of two runs differ.
type councilSetup struct {
	// first is how many hosts begin the council. The others join it.
	first int
	// mourn is for how long members must be silent before the others give them up; zero: they do not.
	mourn time.Duration
	// longer is by how much promises may be longer, where programs want leases of several lengths.
	longer, perGroup time.Duration
	// balanced says that groups spread over the members, by weights that changes set.
	balanced bool
}

// terms are those of the council, in one of its variants: the longest promise and the bound on drift rise and fall. Clocks are within the
// lowest bound.
func (s councilSetup) terms(variant int) council.Terms {
	return council.Terms{Longest: s.longer + nerioLongest + time.Duration(variant)*nerioLonger/2, Rho: protocol.DefaultRho * protocol.Rho(1+9*(variant%2)),
		Settings: fmt.Sprint(variant)}
}

// change is what an operator asks for: the members in Side vote in the end. Amount draws their roles and the terms: in the
// variants from 4 on the last of them is a witness, and others that exist stay as observers. For is how long a newcomer may be silent; zero: without end.
func (s councilSetup) change(f *sim.Fault) protocol.Event {
	c := council.Change{}
	if !f.Side.Empty() {
		g := council.Goal{Terms: s.terms(int(f.Amount) % 3), Within: f.For}
		n := 0
		for r := range f.Side.All() {
			n++
			w := council.Wish{Name: councilName(r), Role: council.Leader, Seat: r, Priority: int(f.Amount) % 2 * n}
			if s.balanced {
				w.Weight = (int(f.Amount) + int(r)) % 4
			}
			if f.Amount >= 4 && n == f.Side.Len() && n > 1 {
				w.Role = council.Witness
			}
			g.Wishes = append(g.Wishes, w)
		}
		c.Goal = &g
	}
	return protocol.Reconfigure{Record: c.Append(nil)}
}

// spawn makes a member.
func (s councilSetup) spawn(b sim.Boot) (protocol.Machine, error) { return s.member(b, nil) }

// member makes a member that settles when all is carried. A host that was removed is wiped when it starts again.
func (s councilSetup) member(b sim.Boot, carried func(uint64) bool) (*members.Machine, error) {
	o := council.Options{Name: councilName(b.Self), Peers: protocol.Everyone(b.Members), RoundTrip: nerioTrip, Renew: nerioRenew,
		Dead: 3 * time.Second, Quiet: time.Second, Patience: time.Second, Mourn: s.mourn}
	first := &council.Config{Terms: s.terms(0)}
	for r := range protocol.Rank(min(s.first, b.Members)) {
		first.Members = append(first.Members, council.Member{Seat: r, Name: councilName(r), Birth: council.Birth{byte(r + 1)}, Role: council.Leader})
	}
	if int(b.Self) < s.first {
		o.First = first
	}
	rec := b.Record
	if wiped(rec) {
		rec, o.First = nil, nil
	}
	leases := func(*council.Config) nerio.Config {
		c := NerioConfig(b)
		c.PerGroup = s.perGroup
		if s.balanced {
			c.Balance, c.Moves = balance.Order{}, stackMoves
		}
		return c
	}
	return members.New(members.Config{Council: o, Leases: leases, Carried: carried}, rec, b.Seed)
}

// wiped says whether the record is of a member that was removed.
func wiped(rec []byte) bool {
	c := councilPart(rec)
	return c != nil && c.Removed
}

// councilPart returns what a record says of the council; nil if that is nothing.
func councilPart(rec []byte) *council.Record {
	if rec == nil {
		return nil
	}
	r, err := record.Decode(rec)
	if err != nil || len(r.Wedge) == 0 {
		return nil
	}
	c, err := council.DecodeRecord(r.Wedge)
	if err != nil {
		return nil
	}
	return c
}

// councilAsks says whether a member that starts from a record knows another one, and waits for it. A copy of a record from before a member
// joined is outside every promise: nobody that it asks can tell. So is a copy by which it is the only voter: that one waits for nobody.
func councilAsks(rec []byte, who protocol.Rank) bool {
	c := councilPart(rec)
	if c == nil || c.Removed || c.Conf.At(who) == nil {
		return false
	}
	voters := c.Conf.Voters()
	return voters.Len() > 1 || voters.Has(who)
}

// councilWatch counts the rows of a council that changes.
type councilWatch struct {
	hit func(string)
	at  map[protocol.Rank]uint64
	// moving are groups that their leaders hand over to balance the council, with their heirs.
	moving map[protocol.Group]protocol.Rank
	// long are members that lead with another length than the council's.
	long protocol.Set
}

// Observe looks at configurations.
func (w *councilWatch) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvLease:
		if r.Length != 0 {
			w.long.Add(r.Node)
		}
	case sim.EvCrash, sim.EvClose, protocol.EvStepdown:
		w.long.Remove(r.Node)
	case sim.EvReport:
		w.hit(DeathReported)
	case protocol.EvUnassign:
		if r.Why == "died" {
			w.hit(DeathBelieved)
		}
	case sim.EvView:
		w.view(r)
	case sim.EvHeal:
		if f, ok := r.Detail.(sim.Fault); ok && f.Kind == sim.Snapshot {
			w.hit(WentBack)
		}
	case protocol.EvChosen:
		w.hit(stepChosen)
	case protocol.EvOut:
		w.hit(memberOut)
	case protocol.EvVote:
		if r.Why != "accepted" {
			w.hit(votedBlank)
		}
	case protocol.EvAsked:
		if r.Why == council.ErrChanging.Error() {
			w.hit(changeRefused)
		}
	case protocol.EvAdopt:
		w.adopt(r)
	}
	return nil
}

// view looks at groups that are moved.
func (w *councilWatch) view(r *sim.Record) {
	v := r.Detail.(*protocol.View)
	switch {
	case v.Domain != protocol.Quorum || v.Leader.Rank != r.Node:
	case v.Stop && v.Cause.Code == protocol.Balanced:
		if w.moving == nil {
			w.moving = make(map[protocol.Group]protocol.Rank)
		}
		w.moving[v.Group] = v.Cause.Peer
	case !v.Stop:
		if to, ok := w.moving[v.Group]; ok && to == r.Node {
			w.hit(GroupMoved)
		}
		delete(w.moving, v.Group)
	}
}

func (w *councilWatch) adopt(r *sim.Record) {
	if w.at == nil {
		w.at = make(map[protocol.Rank]uint64)
	}
	last, was := w.at[r.Node]
	if r.Why == "chosen" && w.long.Has(r.Node) {
		w.hit(severalLengths)
	}
	switch {
	case r.Why == "chosen" && r.Seq > last+1:
		w.hit(stepSkipped)
	case r.Why == "recovered" && was:
		w.hit(askedBack)
	case r.Why == "recovered":
		w.hit(memberJoined)
	case r.Why == "record":
		w.hit(stepRestarted)
	}
	w.at[r.Node] = r.Seq
}
