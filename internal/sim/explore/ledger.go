package explore

import (
	"encoding/binary"
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
)

// A ledger is the truth about one group that the members' facts add up to, and the invariants that it must keep: a
// shorter form of those of package check, for exact clocks, that can be copied and compared.
type ledger struct {
	quorums protocol.Quorums
	origin  protocol.Time // the instant at which the exploration began; zero before it
	leases  []held        // by rank
	grants  []grant
	token   uint64 // the highest of any leadership
	tenures int    // how many there were
}

// A held lease is a leadership of a member's present incarnation; none if tenure is zero.
type held struct {
	inc     protocol.Inc
	tenure  uint64
	token   uint64
	horizon uint64
	until   protocol.Time
}

// A grant is a voter's promise to a holder. A ghost is one whose voter has crashed since.
type grant struct {
	voter, to protocol.Ident
	gen       uint64
	until     protocol.Time
	assigned  bool
	ghost     bool
}

func newLedger(o *Options) ledger {
	return ledger{quorums: o.Quorums, leases: make([]held, o.Members)}
}

func (l *ledger) clone() ledger {
	c := *l
	c.leases = append([]held(nil), l.leases...)
	c.grants = append(make([]grant, 0, len(l.grants)+1), l.grants...)
	return c
}

// append encodes what can still matter at now.
func (l *ledger) append(b []byte, now protocol.Time) []byte {
	b = binary.AppendUvarint(b, l.token)
	for i, x := range l.leases {
		if x.tenure != 0 && x.until > now {
			b = append(b, byte(i))
			b = binary.AppendUvarint(b, x.tenure)
			b = binary.AppendVarint(b, int64(x.until-now))
		}
	}
	b = append(b, 0xff)
	for _, g := range l.grants {
		if g.ghost && g.assigned && g.until > now {
			b = append(b, byte(g.voter.Rank), byte(g.to.Rank))
			b = binary.AppendUvarint(b, uint64(g.to.Inc))
			b = binary.AppendVarint(b, int64(g.until-now))
		}
	}
	return b
}

// led says whether somebody leads.
func (l *ledger) led(now protocol.Time) bool {
	for _, x := range l.leases {
		if x.tenure != 0 && now < x.until {
			return true
		}
	}
	return false
}

// crash ends a member's lease and makes ghosts of its promises.
func (l *ledger) crash(r protocol.Rank) {
	l.leases[r] = held{}
	for i := range l.grants {
		if l.grants[i].voter.Rank == r {
			l.grants[i].ghost = true
		}
	}
}

// take notes a fact of a member, and says what it breaks.
func (l *ledger) take(w *world, me protocol.Ident, f *protocol.Fact) error {
	if f.Dom != protocol.Quorum || f.Group != "" && f.Group != w.options.Group {
		return nil
	}
	now := w.now()
	switch f.Ev {
	case protocol.EvLease, protocol.EvHorizon:
		return l.extend(now, me, f)
	case protocol.EvStepdown:
		l.leases[me.Rank] = held{}
	case protocol.EvPromise:
		return l.promise(now, me, f)
	case protocol.EvBreak:
		if g := l.find(me, f.Peer, f.Gen); g != nil {
			g.assigned = false
		}
		return l.backed(now)
	case protocol.EvAssign:
		return l.assign(now, me, f)
	case protocol.EvUnassign:
		for i := range l.grants {
			if g := &l.grants[i]; g.voter == me && g.to == f.Peer && !g.ghost {
				g.assigned = false
			}
		}
		return l.backed(now)
	}
	return nil
}

func (l *ledger) extend(now protocol.Time, me protocol.Ident, f *protocol.Fact) error {
	x := &l.leases[me.Rank]
	if f.Ev == protocol.EvHorizon {
		if x.tenure == 0 || x.horizon != f.Seq || f.Until <= x.until {
			return nil
		}
		x.until = f.Until
		return l.alone(now, me)
	}
	if x.tenure != f.Tenure || x.inc != me.Inc {
		*x = held{inc: me.Inc, tenure: f.Tenure, token: f.Term}
		if f.Term <= l.token {
			return fmt.Errorf("N-TOK violated: %v leads with token %d after one with %d", me, f.Term, l.token)
		}
		l.token = f.Term
		l.tenures++
	}
	x.until, x.horizon = max(x.until, f.Until), f.Seq
	return l.alone(now, me)
}

// alone checks N-LU and N-14 of a lease that has begun or moved.
func (l *ledger) alone(now protocol.Time, me protocol.Ident) error {
	x := &l.leases[me.Rank]
	if now >= x.until {
		return nil
	}
	for r := range l.leases {
		if y := &l.leases[r]; protocol.Rank(r) != me.Rank && y.tenure != 0 && now < y.until {
			return fmt.Errorf("N-LU violated: %v leads (token %d), and so does %v/%d (token %d)", me, x.token, protocol.Rank(r), y.inc, y.token)
		}
	}
	return l.backed(now)
}

// backed checks N-14 of all leases: a quorum stands behind each to its end.
func (l *ledger) backed(now protocol.Time) error {
	for r := range l.leases {
		x := &l.leases[r]
		if x.tenure == 0 || now >= x.until {
			continue
		}
		p := protocol.Ident{Rank: protocol.Rank(r), Inc: x.inc}
		if set := l.backers(p, x.until); !l.quorums.In(set) {
			return fmt.Errorf("N-14 violated: %v leads (token %d) for %v more, but only %v back it", p, x.token, x.until.Sub(now), set)
		}
	}
	return nil
}

// backers returns who has assigned the group to p in a promise that ends at t or later.
func (l *ledger) backers(p protocol.Ident, t protocol.Time) protocol.Set {
	var s protocol.Set
	for _, g := range l.grants {
		if g.to == p && g.assigned && g.until >= t {
			s.Add(g.voter.Rank)
		}
	}
	return s
}

func (l *ledger) find(voter, to protocol.Ident, gen uint64) *grant {
	for i := range l.grants {
		if g := &l.grants[i]; g.voter == voter && g.to == to && g.gen == gen && !g.ghost {
			return g
		}
	}
	return nil
}

func (l *ledger) promise(now protocol.Time, me protocol.Ident, f *protocol.Fact) error {
	if g := l.find(me, f.Peer, f.Gen); g != nil {
		if f.Until < g.until {
			return fmt.Errorf("N-16' violated: %v shortens its promise to %v from %v to %v", me, f.Peer, g.until, f.Until)
		}
		revived := g.assigned && now >= g.until
		g.until = f.Until
		if revived {
			return l.oneQuorum(now)
		}
		return nil
	}
	// A promise that is over and not assigned says nothing any more.
	keep := l.grants[:0]
	for _, g := range l.grants {
		if g.assigned && (g.until > now || !g.ghost) {
			keep = append(keep, g)
		}
	}
	l.grants = append(keep, grant{voter: me, to: f.Peer, gen: f.Gen, until: f.Until})
	return nil
}

func (l *ledger) assign(now protocol.Time, me protocol.Ident, f *protocol.Fact) error {
	for i := range l.grants {
		if g := &l.grants[i]; g.voter == me && !g.ghost && g.assigned && (g.to != f.Peer || g.gen != f.Gen) {
			if g.to != f.Peer && now < g.until {
				return fmt.Errorf("N-16' violated: %v takes the group from %v before %v and gives it to %v", me, g.to, g.until, f.Peer)
			}
			g.assigned = false
		}
	}
	g := l.find(me, f.Peer, f.Gen)
	if g == nil {
		return fmt.Errorf("N-16' violated: %v assigns the group to %v without a promise", me, f.Peer)
	}
	g.assigned = true
	if err := l.oneQuorum(now); err != nil {
		return err
	}
	return l.backed(now)
}

// oneQuorum checks N-LU by promises: at most one holder has a quorum of them.
func (l *ledger) oneQuorum(now protocol.Time) error {
	first := protocol.NoIdent
	for _, g := range l.grants {
		if !g.assigned || g.until <= now || g.to == first || !l.quorums.In(l.backers(g.to, now+1)) {
			continue
		}
		if first != protocol.NoIdent {
			return fmt.Errorf("N-LU violated: %v back %v, and %v back %v", l.backers(first, now+1), first, l.backers(g.to, now+1), g.to)
		}
		first = g.to
	}
	return nil
}
