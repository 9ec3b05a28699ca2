package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/ledger"
)

// HallSpec is what the invariants of local leaders are judged by.
type HallSpec struct {
	Group protocol.Group
	// Delta is Δ and OneWay is δ. Kappa is κ, for T and BI alike.
	Delta, OneWay, Kappa time.Duration
	// Supporters is the least size of a logical partition; above half of all members there is at most one leader.
	Supporters int
	// Touch, if not zero, is how long a member may be silent and is still in touch with another. Then BI is about members
	// that are: one that was lost and is back counts again only when it has been heard for a while.
	Touch time.Duration
	// Rotates says that the leader of a stable partition need not be its best-ranked member.
	Rotates bool
}

// Hall returns the checkers of local leaders, H-LS first: it keeps the state that the others look at. The world must record
// messages.
func Hall(t Truth, spec HallSpec) []Checker {
	s := newHallState(t, spec)
	all := []Checker{&SelfSupport{s}, &SupportOne{s}, &Inconsistency{s}, &Led{state: s}, &Locked{s}}
	if !spec.Rotates {
		all = append(all, &Minimum{s})
	}
	if spec.Supporters > t.Members()/2 {
		all = append(all, &MajorityOnly{s})
	}
	return all
}

// hallState is the ground truth of local leaders: which members lead with whose support, which pairs have been connected since when, and
// which members have received something fast from which others. connected and Δ-disconnected are those of HALL §III and §IV, judged by every
// message that was sent.
type hallState struct {
	*timedLedger
	spec HallSpec
	n    int

	// last is, by rank, the last instant at which the member led before the lease that it has now.
	last []sim.Real
	// timely is since when a member has been up, awake, and taking part in the group; Forever if it is not.
	timely []sim.Real
	// begun is when the member started last.
	begun []sim.Real
	// good, by sender and receiver, is since when every message was timely; fast when one that was proven fast last came,
	// and touch since when such messages have come without a break.
	good, fast, touch []sim.Real
	pending           [][]inFlight

	next  sim.Real // when to look again
	fresh bool     // this record is worth a look
}

// inFlight is a message on its way.
type inFlight struct {
	id   uint64
	sent sim.Real
}

// never is before every instant of a run.
const never = sim.Real(-1) << 62

// look is how far apart the instants are at which what time alone may break is judged.
const look = sim.Real(3 * time.Millisecond)

func newHallState(t Truth, spec HallSpec) *hallState {
	n := t.Members()
	s := &hallState{timedLedger: newTimedLedger(t), spec: spec, n: n, pending: make([][]inFlight, n*n)}
	for range n {
		s.last, s.timely, s.begun = append(s.last, never), append(s.timely, sim.Forever), append(s.begun, 0)
	}
	for range n * n {
		s.good, s.fast, s.touch = append(s.good, 0), append(s.fast, never), append(s.touch, never)
	}
	return s
}

func (s *hallState) way(from, to protocol.Rank) int { return int(from)*s.n + int(to) }

// follow takes a record in.
func (s *hallState) follow(r *sim.Record) {
	s.fresh = r.T >= s.next
	if s.fresh {
		s.next = r.T + look
		s.settle(r.T)
	}
	s.enter(r)
	for i := range s.did.Ended {
		if x := &s.did.Ended[i]; x.Domain == protocol.Local && x.Group == s.spec.Group {
			s.last[r.Node] = min(r.T, s.end(x, r.T))
		}
	}
	switch r.Ev {
	case sim.EvSend:
		w := s.way(r.Node, r.Peer.Rank)
		s.pending[w] = append(s.pending[w], inFlight{r.Seq, r.T})
	case sim.EvDeliver:
		s.delivered(r)
	case sim.EvDrop:
		s.dropped(r)
	case sim.EvStart, sim.EvRestart:
		s.begun[r.Node], s.timely[r.Node] = r.T, sim.Forever
	case sim.EvCrash, sim.EvClose:
		s.timely[r.Node] = sim.Forever
	case sim.EvCommand:
		s.commanded(r)
	case sim.EvFault, sim.EvHeal:
		if f, ok := r.Detail.(sim.Fault); ok && (f.Kind == sim.Pause || f.Kind == sim.Suspend || f.Kind == sim.Halt) {
			s.disturbed(f.A, r.T)
		}
	}
}

// settle judges messages that should have arrived by now, and members that are frozen.
func (s *hallState) settle(now sim.Real) {
	for w, list := range s.pending {
		i := 0
		for ; i < len(list) && now.Sub(list[i].sent) > s.spec.OneWay; i++ {
			s.good[w] = max(s.good[w], list[i].sent+1)
		}
		s.pending[w] = list[:copy(list, list[i:])]
	}
	for r := range protocol.Rank(s.n) {
		if s.truth.Frozen(r) {
			s.disturbed(r, now)
		}
	}
}

// disturbed says that a member has not been timely before now.
func (s *hallState) disturbed(r protocol.Rank, now sim.Real) {
	if int(r) < s.n && s.timely[r] != sim.Forever {
		s.timely[r] = max(s.timely[r], now)
	}
}

// take removes a message from those on their way.
func (s *hallState) take(w int, id uint64) (inFlight, bool) {
	for i, p := range s.pending[w] {
		if p.id == id {
			s.pending[w] = append(s.pending[w][:i], s.pending[w][i+1:]...)
			return p, true
		}
	}
	return inFlight{}, false
}

func (s *hallState) delivered(r *sim.Record) {
	w := s.way(r.Peer.Rank, r.Node)
	d := r.Detail.(sim.Delivery)
	quick := d.Bound >= 0 && time.Duration(d.Bound) <= s.spec.Delta
	if quick {
		if s.fast[w].Add(s.spec.Touch) < r.T {
			s.touch[w] = r.T
		}
		s.fast[w] = r.T
	}
	if _, first := s.take(w, r.Seq); first && (!quick || r.T.Sub(d.Sent) > s.spec.OneWay) {
		s.good[w] = max(s.good[w], d.Sent+1)
	}
}

// strange is how long after a start packets may be refused because their senders do not know of it yet.
const strange = 500 * time.Millisecond

func (s *hallState) dropped(r *sim.Record) {
	from, to := r.Node, r.Peer.Rank
	w := s.way(from, to)
	p, ok := s.take(w, r.Seq)
	if !ok {
		return
	}
	if r.Why == "packet: port" && r.T.Sub(s.begun[from]) > strange && r.T.Sub(s.begun[to]) > strange {
		return // a probe, which no machine receives
	}
	s.good[w] = max(s.good[w], p.sent+1)
}

// commanded follows who takes part in the group.
func (s *hallState) commanded(r *sim.Record) {
	switch {
	case r.Why == "campaign" && r.Group == s.spec.Group:
		if s.timely[r.Node] == sim.Forever {
			s.timely[r.Node] = r.T
		}
	case r.Why == "resign" && r.Group == s.spec.Group, r.Why == "close", r.Why == "unfit":
		s.timely[r.Node] = sim.Forever
	}
}

// lease returns the lease of a local leader; nil if the member has none.
func (s *hallState) lease(r protocol.Rank) *ledger.Leadership {
	return s.ledger.Lease(r, protocol.Local, s.spec.Group)
}

// leading returns the lease by which a member leads at t, which is not before the last record; nil if it does not.
func (s *hallState) leading(r protocol.Rank, t sim.Real) *ledger.Leadership {
	if x := s.lease(r); x != nil && s.leads(x, t) {
		return x
	}
	return nil
}

// leased returns the lease that a record states, if it is in force; else nil.
func (s *hallState) leased(r *sim.Record) *ledger.Leadership {
	if r.Ev != protocol.EvLease || r.Dom != protocol.Local {
		return nil
	}
	return s.leading(r.Node, r.T)
}

// led says whether a member has led at some instant from since to t.
func (s *hallState) led(r protocol.Rank, since, t sim.Real) bool {
	x := s.lease(r)
	if x == nil {
		return s.last[r] >= since
	}
	return s.leads(x, t) || s.end(x, t) >= since
}

// connected says whether p and q have been connected from since until now.
func (s *hallState) connected(p, q protocol.Rank, since sim.Real) bool {
	return s.timely[p] <= since && s.timely[q] <= since && s.good[s.way(p, q)] <= since && s.good[s.way(q, p)] <= since
}

// partition returns the Δ-partition that p has been in from since until now; empty if it was in none.
func (s *hallState) partition(p protocol.Rank, since sim.Real) protocol.Set {
	if s.timely[p] > since {
		return protocol.Set{}
	}
	var sp protocol.Set
	for q := range protocol.Rank(s.n) {
		if q == p || s.connected(p, q, since) {
			sp.Add(q)
		}
	}
	for a := range sp.All() {
		for b := range protocol.Rank(s.n) {
			switch {
			case a == b:
				if s.good[s.way(a, a)] > since {
					return protocol.Set{}
				}
			case sp.Has(b):
				if !s.connected(a, b, since) {
					return protocol.Set{}
				}
			case s.fast[s.way(b, a)] >= since:
				return protocol.Set{}
			}
		}
	}
	return sp
}
