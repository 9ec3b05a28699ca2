package fsource

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
)

// gossip is how many numbers of other members' rows an Alive carries at least, if there are as many.
const gossip = 256

// A peer is what is known of another member's signs of life.
type peer struct {
	seq      uint64 // of the newest one of this incarnation
	deadline protocol.Time
	timeout  time.Duration
	accused  bool // it missed the last deadline
	// calm is when its counter will not have grown for long; the member itself has one too.
	calm protocol.Time
}

// Accusations is the source of suspicion that rests on time-outs.
type Accusations struct {
	config Config
	m      *counter.Machine
	table  *counter.Table
	// matrix says how often each member accused each: row by row.
	matrix []uint64
	column []uint64 // for sorting one
	peers  []peer
	now    protocol.Time // of the last event
	// well are the members that have not missed their deadline.
	well protocol.Set
	// heard are the members heard since the instant since; when they are enough both begin anew.
	heard   protocol.Set
	since   protocol.Time
	learned bool // they were enough once
	// nextAlive is when the next Alive is due; check is no later than the first deadline.
	nextAlive, check protocol.Time

	seq  uint64 // of the last Alive
	rows int    // how many rows go with an Alive beside the own one
	turn int    // the row that goes with the next Alive
}

// NewAccusations returns the source of a machine.
func NewAccusations(m *counter.Machine, c *Config) *Accusations {
	n := c.Members
	a := &Accusations{
		config: *c, m: m, table: counter.NewTable(m, "alive"),
		matrix: make([]uint64, n*n), column: make([]uint64, n), peers: make([]peer, n),
	}
	a.rows = min(n-1, max(1, gossip/n))
	a.heard = protocol.NewSet(c.Self)
	a.well = protocol.Everyone(n)
	return a
}

// Table returns its counters.
func (a *Accusations) Table() *counter.Table { return a.table }

// Learned says whether enough members were heard.
func (a *Accusations) Learned() bool { return a.learned }

// Blocked returns since when it waits to hear enough members once more. Deadlines have nothing to do with it: links that are
// not timely do not block.
func (a *Accusations) Blocked() protocol.Time { return a.since }

// Wake returns when something is due.
func (a *Accusations) Wake() protocol.Time { return min(a.nextAlive, a.check) }

// Start gives everybody a time-out.
func (a *Accusations) Start(now protocol.Time) {
	for r := range a.peers {
		a.peers[r] = peer{timeout: a.config.Timeout, deadline: now.Add(a.config.Timeout), calm: now}
	}
	a.now = now
	a.nextAlive, a.check, a.since = now, now.Add(a.config.Timeout), now
	// A machine may be taken away and another be started in the same incarnation. Numbers that begin at its clock are higher than
	// all before them, as long as there is no more than one in a nanosecond; the others would take it for dead otherwise.
	a.seq = uint64(max(now, 0))
}

// Tick accuses members that missed their deadlines, and says that this member is alive. A tick that comes late is made up for once.
func (a *Accusations) Tick(now protocol.Time) {
	a.now = now
	if now >= a.check {
		a.accuse(now)
	}
	if now >= a.nextAlive {
		a.nextAlive = now.Add(a.config.Period)
		a.send()
	}
}

// send tells all others that this member is alive.
func (a *Accusations) send() {
	n, self := a.config.Members, int(a.config.Self)
	a.seq++
	if a.rows == n-1 {
		a.turn = (self + 1) % n // all others fit
	}
	m := protocol.Make[Alive](a.m.Effects())
	*m = Alive{Seq: a.seq, Row: append(m.Row[:0], a.matrix[self*n:][:n]...), From: protocol.Rank(a.turn), Rows: m.Rows[:0]}
	for range a.rows {
		m.Rows = append(m.Rows, a.matrix[a.turn*n:][:n]...)
		a.turn = (a.turn + 1) % n
	}
	for r := range protocol.Rank(n) {
		if r != a.config.Self {
			a.m.Send(r, m)
		}
	}
}

// Receive takes an Alive.
func (a *Accusations) Receive(now protocol.Time, from protocol.Ident, m protocol.Message) {
	a.now = now
	if alive, ok := m.(*Alive); ok && a.fits(alive) {
		a.onAlive(now, from.Rank, alive)
	}
}

// fits says whether the message is about a council of this size.
func (a *Accusations) fits(m *Alive) bool {
	n := a.config.Members
	return len(m.Row) == n && int(m.From) < n && len(m.Rows)%n == 0 && len(m.Rows) <= n*n
}

func (a *Accusations) onAlive(now protocol.Time, from protocol.Rank, m *Alive) {
	n := a.config.Members
	a.merge(from, from, m.Row)
	row := int(m.From)
	for rows := m.Rows; len(rows) > 0; rows = rows[n:] {
		a.merge(from, protocol.Rank(row), rows[:n])
		row = (row + 1) % n
	}
	p := &a.peers[from]
	if m.Seq <= p.seq {
		return // it came twice, or was overtaken: no sign of life
	}
	p.seq = m.Seq
	if p.accused {
		// It was alive all along: the time-out was too short for its link.
		p.accused = false
		p.timeout = min(p.timeout+a.config.Grow, a.config.Cap)
		a.well.Add(from)
		a.m.State(protocol.Fact{Ev: protocol.EvTrust, Peer: a.m.Ident(from), Why: protocol.Returned.String()})
	}
	p.deadline = now.Add(p.timeout)
	a.check = min(a.check, p.deadline)
	a.heard.Add(from)
	if a.heard.Len() >= n-a.config.F {
		a.learned, a.since, a.heard = true, now, protocol.NewSet(a.config.Self)
	}
}
