package regent

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// PeerStatus is what a member knows of a member of the council.
type PeerStatus struct {
	Name string `json:"name"`
	// Self says that it is the member that was asked.
	Self bool `json:"self"`
	// Role is "witness" or "observer"; empty for a member that votes and may lead.
	Role string `json:"role,omitempty"`
	// Votes is how many votes it has in quorums ([Peer.Votes]); an observer has none.
	Votes int `json:"votes"`
	// Addr is where packets to it go; not valid while its name does not resolve.
	Addr netip.AddrPort `json:"addr,omitzero"`
	// Heard says that it was heard, Silence how long ago, and Incarnation numbers its starts.
	Heard       bool          `json:"heard"`
	Silence     time.Duration `json:"silence_ns"`
	Incarnation uint64        `json:"incarnation"`
	// Silent says that it was heard and is no longer.
	Silent bool `json:"silent"`
	// Trusted says that it counts as alive, by a failure detector that all members share: in the end they all trust exactly
	// those that are alive, if one member has good links with all others. It may be wrong for a while, and no lease depends on
	// it. One member watches for all: one that falls silent is noticed within about two of [Timing.Suspect], the watching one
	// itself within about three, and it takes about one more for each that would have been next and is silent too.
	Trusted bool `json:"trusted"`
	// Deaf says that the member was heard and does not hear the member that was asked: it has confirmed none of its packets for
	// Unconfirmed.
	Deaf        bool          `json:"deaf"`
	Unconfirmed time.Duration `json:"unconfirmed_ns"`
	// RoundTrip is a smoothed round trip to it; zero if it was not measured yet.
	RoundTrip time.Duration `json:"round_trip_ns"`
	// Bound is the proven bound on the delay of its last packet; zero if there is none. Fast says that it is at most [Timing.Delay].
	Bound time.Duration `json:"bound_ns"`
	Fast  bool          `json:"fast"`
	// RateLow and RateHigh bound by what share its clock runs faster than that of the member that was asked. They are known
	// after a minute or two.
	RateLow   float64 `json:"rate_low,omitempty"`
	RateHigh  float64 `json:"rate_high,omitempty"`
	RateKnown bool    `json:"rate_known"`
	// Key begins the fingerprint of the key that it used last, and that of the newest for the member that was asked; empty if it was not heard.
	Key string `json:"key,omitempty"`
	// Revoked says that its key was revoked here.
	Revoked bool `json:"revoked,omitempty"`
	// KeyProblem says that it does not list the newest key of the member that was asked; empty if it does.
	KeyProblem string `json:"key_problem,omitempty"`
	// Drained says that an operator keeps it from leading ([Member.Drain]); one that has fallen silent since counts as drained.
	// Unhealthy says that it is not fit to lead for a reason of its own ([Member.SetHealth]).
	Drained   bool `json:"drained,omitempty"`
	Unhealthy bool `json:"unhealthy,omitempty"`
	// Problem is why it does not count, such as another configuration; empty if it does.
	Problem string `json:"problem,omitempty"`
}

// Status is what a member knows of itself.
type Status struct {
	Name        string `json:"name"`
	Incarnation uint64 `json:"incarnation"`
	// CouncilID is the id of the council, from the configuration or as the members agreed on it.
	CouncilID string `json:"council_id,omitempty"`
	// Waiting says what keeps the member from taking part; empty if nothing does. A member that crashed takes part again, but
	// neither votes nor knows who leads, until what it may have promised before has run out; Waiting says that too.
	Waiting string `json:"waiting,omitempty"`
	// Disk says why the durable record cannot be written; empty if it can. Elections go on meanwhile as far as the
	// last record allows: a few changes of leaders, and very many once a full disk has taken a record in reserved room.
	Disk string `json:"disk,omitempty"`
	// HealthProblem says why the member is not fit to lead (see [Member.SetHealth]); empty if it is.
	HealthProblem string `json:"health_problem,omitempty"`
	// Drained says that an operator keeps the member from leading ([Member.Drain]).
	Drained bool `json:"drained,omitempty"`
	// Accused is what a member said in the last minutes of a later incarnation of this one, which this one did not act on: it bore no proof, or
	// another process speaks for this member. Empty if none did.
	Accused string `json:"accused,omitempty"`
	// NoAccess says that the elector of the council, or of an eventual group, moves from one leader to the next because no
	// member has good links with all others. Quorum groups are led all the same, by a member that gathers a quorum.
	NoAccess bool `json:"no_access,omitempty"`
	// ClockFault says that the member's clock provably runs at another rate than those of a majority of the others: it
	// leads nothing until that is over.
	ClockFault bool `json:"clock_fault"`
	// Realtime says that the member's thread has real-time scheduling.
	Realtime bool `json:"realtime"`
	// Guardian says that a guardian watches the member's process (docs/guardian.md).
	Guardian bool `json:"guardian"`
	// The member woke up too late PauseCount times: its own pauses, which cost leases. Half of them were not above PauseMedian, and 99 % not above PauseP99.
	PauseCount   uint64        `json:"pause_count"`
	PauseMedian  time.Duration `json:"pause_median_ns"`
	PauseP99     time.Duration `json:"pause_p99_ns"`
	PauseLongest time.Duration `json:"pause_longest_ns"`
	// PauseDay is the longest pause of the last 24 hours, which was over at PauseDayAt; zero if there was none.
	PauseDay   time.Duration `json:"pause_day_ns"`
	PauseDayAt time.Time     `json:"pause_day_at,omitzero"`
	// PauseBuckets count all of them by their length, the shortest first.
	PauseBuckets []PauseBucket `json:"pause_buckets,omitempty"`
	// Unlisted names hosts, with their addresses, that have the key of the council and that this member does not list.
	Unlisted []string `json:"unlisted,omitempty"`
	// QuorumVotes is how many votes ([PeerStatus.Votes]) a leader of a quorum group needs.
	QuorumVotes int `json:"quorum_votes"`
	// Leading is how many groups programs of this member lead.
	Leading int `json:"leading"`
	// Engine is what elects in place of a council; nil: the council.
	Engine *engine.Status `json:"engine,omitempty"`
	// Kappa is within what time every part of the network that holds together has a local leader ([LocalGroup]).
	Kappa time.Duration `json:"kappa_ns"`
	// Packets and bytes since the start, and how many packets were dropped, by reason.
	PacketsIn  uint64            `json:"packets_in"`
	PacketsOut uint64            `json:"packets_out"`
	BytesIn    uint64            `json:"bytes_in"`
	BytesOut   uint64            `json:"bytes_out"`
	Dropped    map[string]uint64 `json:"dropped,omitempty"`
}

// A PauseBucket counts pauses that are at most Upper, and longer than the Upper of the bucket before.
type PauseBucket struct {
	Upper time.Duration `json:"upper_ns"`
	Count uint64        `json:"count"`
}

// snapshot is what only the loop may read.
type snapshot struct {
	now protocol.Time
	// council is the one in force, and peers are by rank in it.
	council  *council
	peers    []runtime.PeerReport
	unlisted []runtime.Unlisted
	own      []identity.ID // keys of this member, the oldest first
	rates    []*clock.Rate // nil: not measured
	// unfit are the members that are not fit to lead, and drained those that an operator keeps from it.
	unfit, drained protocol.Set
	// counts says what became of the packets that came in.
	counts datagram.Counts
	// terms is how many terms the record on disk allows.
	terms uint64
}

// ask takes a snapshot on the loop.
func (m *Member) ask(ctx context.Context) (*snapshot, error) {
	c := make(chan *snapshot, 1)
	err := m.loop.Do(func(now protocol.Time) {
		all := m.council()
		s := &snapshot{now: now, council: all, peers: make([]runtime.PeerReport, len(all.peers)), rates: make([]*clock.Rate, len(all.peers))}
		if m.port == nil {
			c <- s
			return
		}
		for i := range s.peers {
			s.peers[i] = m.port.Peer(now, protocol.Rank(i))
			if rate, ok := m.port.Rates.Of(protocol.Rank(i)); ok {
				s.rates[i] = &rate
			}
		}
		s.counts, s.terms = m.port.Counts(), m.termsLeft()
		s.unlisted = m.port.Unlisted()
		s.unfit, s.drained = m.unfit()
		s.own = m.port.Wire.Own()
		c <- s
	})
	if err != nil {
		return nil, err
	}
	select {
	case s := <-c:
		return s, nil
	case <-m.loop.Ended():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Members returns what this member knows of all members of the council, itself included, in the order of their ranks, which is that in which
// they go first in elections. It is empty once the member is closed.
func (m *Member) Members() []PeerStatus {
	s, err := m.ask(context.Background())
	if err != nil {
		return nil
	}
	out := make([]PeerStatus, 0, len(s.peers))
	trusted, all := m.trusted(), s.council
	for i, p := range s.peers {
		if all.absent.Has(protocol.Rank(i)) {
			continue
		}
		out = append(out, PeerStatus{})
		o := &out[len(out)-1]
		o.Name, o.Role, o.Addr, o.Problem = all.peers[i].Name, roleOf(&all.peers[i]), p.Addr, p.Problem
		o.Votes = votesOf(&all.peers[i])
		o.Trusted = trusted.Has(protocol.Rank(i))
		o.Drained = s.drained.Has(protocol.Rank(i))
		o.Unhealthy = s.unfit.Has(protocol.Rank(i)) && !o.Drained
		if protocol.Rank(i) == all.self {
			o.Self, o.Heard, o.Trusted, o.Fast, o.Incarnation = true, true, true, true, uint64(m.loop.Stats().Inc())
			if len(s.own) > 0 {
				o.Key = s.own[len(s.own)-1].String()
			}
			continue
		}
		if p.Seen != 0 {
			o.Heard, o.Silence, o.Unconfirmed = true, s.now.Sub(p.Seen), s.now.Sub(p.Unconfirmed)
			o.Silent = silent(s.now.Sub(max(p.Seen, p.Listened)), o.Trusted)
			o.Deaf = p.Seen.Sub(max(p.Unconfirmed, p.Listened)) > m.timing().deaf()
		}
		o.Incarnation, o.RoundTrip = uint64(p.Inc), p.RTT
		if rate := s.rates[i]; rate != nil {
			o.RateLow, o.RateHigh, o.RateKnown = float64(rate.Low)/1e9, float64(rate.High)/1e9, true
		}
		o.KeyProblem, o.Revoked = keyProblem(s.own, p.Lists, all.changed()), p.Revoked
		if p.Uses != (identity.ID{}) {
			o.Key = p.Uses.String()
		}
		if p.Bound != protocol.Unknown {
			o.Bound, o.Fast = p.Bound, p.Bound > 0 && p.Bound <= m.config.Timing.Delay
		}
		if o.Deaf && o.Problem == "" {
			o.Problem = misaddressed(&p)
		}
		if p.Rivals && o.Problem == "" {
			o.Problem = "two processes use this name: neither counts"
		}
	}
	return out
}

// Status returns what this member knows of itself.
func (m *Member) Status() Status {
	stats := m.loop.Stats()
	local := m.localConfig(1)
	out := Status{Name: m.config.Name, CouncilID: m.id().String(), Incarnation: uint64(stats.Inc()), Waiting: m.waiting(context.Background()),
		Realtime: stats.Scheduling() == thread.Realtime, Guardian: m.guardian.watches(), ClockFault: m.clockBad.Load(), Drained: m.drained.Load(), NoAccess: m.access.any(m.world.Clock.Now()), Accused: m.accused.current(m.world.Clock.Now()), Leading: m.groupTable.Leading(), QuorumVotes: m.council().quorumVotes(), Kappa: local.Kappa(),
		PauseCount: stats.Late.Count(), PauseMedian: stats.Late.Quantile(0.5), PauseP99: stats.Late.Quantile(0.99), PauseLongest: stats.Late.Longest()}
	now := m.world.Clock.Now()
	if day := stats.Late.Day(now); day.Length > 0 {
		out.PauseDay, out.PauseDayAt = day.Length, time.Now().Add(-now.Sub(day.At))
	}
	stats.Late.Buckets(func(longest time.Duration, n uint64) {
		out.PauseBuckets = append(out.PauseBuckets, PauseBucket{longest, n})
	})
	if err := m.loop.DiskFault(); err != nil {
		out.Disk = err.Error()
	}
	if p := m.healthProblem.Load(); p != nil {
		out.HealthProblem = *p
	}
	var counts datagram.Counts
	if s, err := m.ask(context.Background()); err == nil {
		for _, u := range s.unlisted {
			out.Unlisted = append(out.Unlisted, names.Label(u.Name)+" ("+u.From.String()+")")
		}
		counts = s.counts
		if out.Disk != "" {
			out.Disk += fmt.Sprintf(" (%d terms left)", s.terms)
		}
	}
	if m.port == nil {
		out.Engine, out.CouncilID = m.engineStatus(), ""
		return out
	}
	c := m.port.PacketCounts(&counts)
	out.PacketsIn, out.PacketsOut, out.BytesIn, out.BytesOut, out.Dropped = c.PacketsIn, c.PacketsOut, c.BytesIn, c.BytesOut, c.Dropped
	return out
}

// waiting says what keeps the member from taking part.
func (m *Member) waiting(ctx context.Context) string {
	if m.loop.Stats().Inc() != 0 {
		return m.recovering()
	}
	if err := m.loop.DiskFault(); err != nil {
		return "the durable record cannot be written: " + err.Error()
	}
	s, err := m.ask(ctx)
	if err != nil {
		return err.Error()
	}
	var silent, odd []string
	for i, p := range s.peers {
		name := s.council.peers[i].Name
		switch {
		case protocol.Rank(i) == s.council.self, s.council.absent.Has(protocol.Rank(i)):
		case p.Problem != "":
			odd = append(odd, name+" "+p.Problem)
		case p.Seen == 0:
			silent = append(silent, name)
		}
	}
	var why string
	switch {
	case m.distrusts() != "":
		why = m.distrusts() + ": it waits for enough others to tell it what it may have promised"
	case m.record:
		why = "its record is being written"
	case m.config.Bootstrap && m.dir == nil:
		why = fmt.Sprintf("it keeps no record: it waits for the longest lease, %v, and until every member has said that it has no record either, or enough members of a running council have reported what it may have promised", m.timing().LongestLease)
	case m.config.Bootstrap:
		why = "it has no record: it waits until every member has said that it has none either, or until enough members of a running council have reported what it may have promised"
	default:
		why = "it has no record and may not begin a council (Bootstrap is not set): it waits for members of a running council"
	}
	if len(silent) > 0 {
		why += "; not heard yet: " + strings.Join(silent, ", ")
	}
	if len(odd) > 0 {
		why += "; " + strings.Join(odd, "; ")
	}
	return why
}

// recovering says for how long the member does not know yet who leads; nothing if it does.
func (m *Member) recovering() string {
	if m.outside != nil {
		if err := m.outside.session.Fault(); err != nil {
			return fmt.Sprintf("engine %s: it does not answer: %v", m.outside.engine.Name(), err)
		}
		return ""
	}
	votes, now := m.loop.Stats().Votes(), m.world.Clock.Now()
	known := votes.Add(m.config.Timing.settle())
	if text := m.estranged(now); text != "" {
		return text
	}
	switch {
	case votes == protocol.Never:
		return "it has just started: it waits until enough members have told what it may have promised"
	case now < votes:
		return fmt.Sprintf("it has just started: for another %v it neither votes nor knows who leads, because what it promised before may stand",
			known.Sub(now).Round(time.Millisecond))
	case now < known:
		return fmt.Sprintf("it has just started: it will have heard who leads in %v", known.Sub(now).Round(time.Millisecond))
	}
	return ""
}

// estranged says that the council goes on under keys that this member does not know; empty if it hears a quorum, or nobody has said so.
func (m *Member) estranged(now protocol.Time) string {
	if m.port == nil || m.port.Herald == nil {
		return ""
	}
	s, trusted := m.port.Herald.Stranger(), m.trusted()
	if s == nil || now.Sub(s.At) > estrangedFor || m.council().quorums().In(trusted.With(m.council().self)) {
		return ""
	}
	return s.String()
}

// estrangedFor is how long an answer under an unknown key is worth a word. Members that hear no quorum ask once in a minute or more often.
const estrangedFor = 2 * time.Minute

// untrustedFor is how long a member that is not trusted says nothing before it counts as silent. One that has just come is trusted a
// moment later.
const untrustedFor = time.Second

// silent says whether a member that was heard is no longer.
func silent(silence time.Duration, trusted bool) bool {
	return silence >= runtime.Quiet || !trusted && silence >= untrustedFor
}

// misaddressed says that the packets of a member come from another address than those to it go to; empty if they do not. It explains why one that
// is heard does not hear: hosts that send from another address on purpose hear all the same.
func misaddressed(p *runtime.PeerReport) string {
	if !p.From.IsValid() {
		return ""
	}
	return fmt.Sprintf("does not hear us: its packets come from %v, and the configuration has %v; correct it", p.From, p.Addr)
}

// deaf is how long a member that is heard may confirm no packet before it counts as one that does not hear. Members speak to each
// other at least every half of the age at which an echo is forgotten.
func (t *Timing) deaf() time.Duration { return 3 * datagram.DefaultMaxAge(t.Delay, t.rho()) }

// settle is how long it takes at most, once a member votes, until it has heard from every leader.
func (t *Timing) settle() time.Duration { return t.Renew + t.RoundTrip }

// History returns the last changes of all quorum groups, oldest first, up to a thousand. Groups of the other modes say
// themselves what has changed ([LocalGroup.Watch], [EventualGroup.Watch], [ConsistentGroup.Watch]), and so does the log.
func (m *Member) History() []View {
	changes, _ := m.groupTable.After(0)
	out := make([]View, 0, len(changes))
	for _, c := range changes {
		if !isConsistent(c.Group) {
			out = append(out, m.view(c))
		}
	}
	return out
}
