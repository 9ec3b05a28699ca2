package timefree

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
)

// Queries is the source of suspicion that needs no time: what the winning responses to queries say.
type Queries struct {
	config Config
	m      *counter.Machine
	table  *counter.Table

	number uint64 // of the newest query
	open   bool   // it waits for responses
	// asked is when the open query was sent first, again when it is repeated, wait how long that is after the last copy. next
	// is when the next query is due.
	asked, again, next protocol.Time
	wait               time.Duration
	repeated           bool
	trip               time.Duration // the usual round trip; zero before the first

	answered protocol.Set // whose responses to the open query have come
	answers  int
	named    protocol.Set // who is in the list of one of them (REC_FROM)
	winners  protocol.Set // whose responses won the last query (rec_from)
	missed   []uint32     // by rank: how many queries in a row have not named it
	learned  bool         // a query has ended
}

// NewQueries returns the source of a machine.
func NewQueries(m *counter.Machine, c *Config) *Queries {
	q := &Queries{config: *c, m: m, table: counter.NewTable(m, "query"), missed: make([]uint32, c.Members)}
	q.winners = protocol.Everyone(c.Members)
	return q
}

// Table returns its counters.
func (q *Queries) Table() *counter.Table { return q.table }

// Well returns who was named so far by responses to the newest query; the member itself names those that won the last one,
// and everybody before one has ended.
func (q *Queries) Well(k protocol.Rank) protocol.Set { return q.named.Without(k) }

// Learned says whether a query has ended.
func (q *Queries) Learned() bool { return q.learned }

// Blocked returns since when the open query waits.
func (q *Queries) Blocked() protocol.Time {
	if q.open {
		return q.asked
	}
	return protocol.Never
}

// Wake returns when the open query is repeated, or the next one is due.
func (q *Queries) Wake() protocol.Time {
	if q.open {
		return q.again
	}
	return q.next
}

// Start makes the first query due.
func (q *Queries) Start(now protocol.Time) { q.next = now }

// Tick sends what is due.
func (q *Queries) Tick(now protocol.Time) {
	switch {
	case q.open && now >= q.again:
		q.repeated = true
		q.wait = min(2*q.wait, q.config.RepeatMax)
		q.ask(now)
	case !q.open && now >= q.next:
		q.begin(now)
	}
}

// begin opens the next query (line 1). One's own response has arrived with it.
func (q *Queries) begin(now protocol.Time) {
	q.number++
	q.open, q.asked, q.repeated = true, now, false
	q.wait = min(max(2*q.trip, q.config.RepeatMin), q.config.RepeatMax)
	q.answered, q.answers = protocol.NewSet(q.config.Self), 1
	q.named = q.winners
	q.ask(now)
}

// ask sends the open query to all that have not answered it.
func (q *Queries) ask(now protocol.Time) {
	q.again = now.Add(q.wait)
	m := protocol.Make[Query](q.m.Effects())
	*m = Query{Number: q.number, Counts: append(m.Counts[:0], q.table.Counts()...), First: !q.learned}
	for r := range protocol.Rank(q.config.Members) {
		if !q.answered.Has(r) {
			q.m.Send(r, m)
		}
	}
}

// Receive takes a query or a response.
func (q *Queries) Receive(now protocol.Time, from protocol.Ident, m protocol.Message) {
	switch m := m.(type) {
	case *Query:
		q.onQuery(from, m)
	case *Response:
		q.onResponse(now, from.Rank, m)
	}
}

// onQuery merges what the sender gossips and answers, whatever was answered before (T2).
func (q *Queries) onQuery(from protocol.Ident, m *Query) {
	if len(m.Counts) != q.config.Members {
		return
	}
	q.table.Merge(from.Rank, m.Counts)
	answer := protocol.Make[Response](q.m.Effects())
	*answer = Response{Asker: from.Inc, Number: m.Number, Winners: q.winners, Counts: answer.Counts[:0]}
	if m.First {
		answer.Counts = append(answer.Counts, q.table.Counts()...)
	}
	q.m.Send(from.Rank, answer)
}

// onResponse counts the first response of each member to the open query (line 2). One to a query that has ended has lost, and one to
// an earlier incarnation is none.
func (q *Queries) onResponse(now protocol.Time, from protocol.Rank, m *Response) {
	if !q.open || m.Asker != q.config.Inc || m.Number != q.number || q.answered.Has(from) {
		return
	}
	switch len(m.Counts) {
	case q.config.Members:
		q.table.Merge(from, m.Counts)
	case 0:
	default:
		return
	}
	if !q.repeated {
		q.measure(now.Sub(q.asked))
	}
	q.answered.Add(from)
	q.named = q.named.Union(m.Winners)
	q.answers++
	if q.answers == q.config.Members-q.config.F {
		q.end(now)
	}
}

// measure lets the usual round trip follow a measured one. It decides about nothing but when to repeat.
func (q *Queries) measure(trip time.Duration) {
	if q.trip == 0 {
		q.trip = trip
		return
	}
	q.trip += (trip - q.trip) / 8
}

// end closes the open query: who was named by nobody is suspected (lines 3 to 6).
func (q *Queries) end(now protocol.Time) {
	q.open, q.learned = false, true
	q.next = q.asked.Add(q.config.Period)
	for r := range protocol.Rank(q.config.Members) {
		if q.named.Has(r) {
			q.clear(r)
			continue
		}
		q.miss(r)
	}
	q.winners = q.answered
	q.m.State(protocol.Fact{Ev: counter.EvRound, Seq: q.number, Members: q.winners})
}

// maxMissed is where the count of rounds that a member missed ends: no patience is as long.
const maxMissed = 1 << 30

// miss takes note that nobody named r, and suspects it if that was so often enough.
func (q *Queries) miss(r protocol.Rank) {
	q.missed[r]++
	if q.missed[r] < q.patience() {
		return
	}
	if q.missed[r] == q.patience() {
		q.m.State(protocol.Fact{Ev: protocol.EvSuspect, Peer: q.m.Ident(r)})
	}
	q.missed[r] = min(q.missed[r], maxMissed)
	q.suspect(r, protocol.Suspected)
}

// clear forgets the suspicion of r.
func (q *Queries) clear(r protocol.Rank) {
	if q.missed[r] >= q.patience() {
		q.m.State(protocol.Fact{Ev: protocol.EvTrust, Peer: q.m.Ident(r), Why: protocol.Returned.String()})
	}
	q.missed[r] = 0
}

func (q *Queries) patience() uint32 {
	if q.config.Plain {
		return 1
	}
	return uint32(q.config.Patience)
}

// suspect lets the counter of r grow.
func (q *Queries) suspect(r protocol.Rank, why protocol.CauseCode) {
	counts := q.table.Counts()
	q.table.Raise(r, q.table.Leap(r, counts[r]), protocol.Cause{Code: why, Peer: r})
}

// Restarted counts a crash that is proven.
func (q *Queries) Restarted(_ protocol.Time, peer protocol.Rank) {
	q.suspect(peer, protocol.Restarted)
}

// Unfit makes the member itself leap.
func (q *Queries) Unfit() { q.suspect(q.config.Self, protocol.NoQuorum) }
