package counter

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Config is what all machines of the family have in common. All members of a council have the same F.
type Config struct {
	Self    protocol.Rank
	Members int
	// Inc is the incarnation under which the member speaks.
	Inc protocol.Inc
	// Group is what views and facts are about.
	Group protocol.Group
	// F is how many members may be down or unreachable at the same time. If there are more, counters stand still and the
	// leader stays who it was, dead or alive.
	F int
	// Plain runs the paper's protocol: suspicions add one. Otherwise a suspected member leaps over the next candidate.
	Plain bool
	// Report is how long a member may be without the answers of Members-F before its view says so, with the cause NoQuorum
	// and how long it has been; zero: never. It says so again when the time has doubled. Counters do not depend on it.
	Report time.Duration
	// Limit is how long that may last before the view names no leader; zero: it goes on naming the last one for ever.
	Limit time.Duration
}

// Default returns what the defaults of the family have in common.
func Default(self protocol.Rank, members int, inc protocol.Inc) Config {
	return Config{
		Self:    self,
		Members: members,
		Inc:     inc,
		F:       1,
		Report:  500 * time.Millisecond,
		Limit:   3 * time.Second,
	}
}

// Check says what is wrong with the configuration of a machine of the given package.
func (c *Config) Check(name string) error {
	switch {
	case c.Members < 3 || c.Members > protocol.MaxMembers:
		return fmt.Errorf("%s: %d members: must be between 3 and %d; use another elector for a council of one or two",
			name, c.Members, protocol.MaxMembers)
	case int(c.Self) >= c.Members:
		return fmt.Errorf("%s: member %d: must be below %d, the number of members", name, c.Self, c.Members)
	case c.F < 1 || c.F > c.Members-2:
		// With f = n-1 a query ends with the member's own answer, so that everybody would elect itself (E-T2).
		return fmt.Errorf("%s: f = %d of %d members: must be between 1 and %d, or queries would hear nobody but their sender",
			name, c.F, c.Members, c.Members-2)
	case c.Report < 0:
		return fmt.Errorf("%s: report after %v: must not be negative; zero is never", name, c.Report)
	case c.Limit < 0:
		return fmt.Errorf("%s: limit %v: must not be negative; zero is never", name, c.Limit)
	}
	return nil
}

// A Source makes counters grow. Its methods are called in one Step after the other: Receive, Restarted or Unfit at most
// once, then Tick always.
type Source interface {
	// Start begins.
	Start(now protocol.Time)
	// Receive takes a message of another member, in its newest incarnation; one of another source it leaves alone.
	Receive(now protocol.Time, from protocol.Ident, m protocol.Message)
	// Restarted says that a peer is known to have crashed, because it is back.
	Restarted(now protocol.Time, peer protocol.Rank)
	// Unfit makes the member itself leap over the next candidate.
	Unfit()
	// Tick does what is due.
	Tick(now protocol.Time)
	// Wake is when something will be due.
	Wake() protocol.Time
	// Table holds its counters.
	Table() *Table
	// Well are the members that it does not suspect now, k aside.
	Well(k protocol.Rank) protocol.Set
	// Learned says whether it has heard from Members-F members since it started.
	Learned() bool
	// Blocked is since when too few members answer; Never if they do.
	Blocked() protocol.Time
}

// Machine is one member's elector.
type Machine struct {
	config  Config
	sources []Source
	incs    []protocol.Inc // by rank: the newest incarnation heard
	ready   bool           // all sources have learned what n-f members know
	leader  protocol.Ident // of the last view
	// why is the cause of what was last done to the leader's counter; it becomes the cause of the next view.
	why protocol.Cause
	// blocked is since when the view says that too few members answer, Never if it does not; shown is how long that was
	// when it said so last.
	blocked protocol.Time
	shown   time.Duration

	out *protocol.Effects // of the present Step
}

// New returns a machine without sources; the caller has checked the configuration.
func New(c Config) *Machine {
	m := &Machine{config: c, incs: make([]protocol.Inc, c.Members), leader: protocol.NoIdent, blocked: protocol.Never}
	m.incs[c.Self] = c.Inc
	return m
}

// Add gives the machine another source.
func (m *Machine) Add(s Source) { m.sources = append(m.sources, s) }

// Config returns what the machine was made with.
func (m *Machine) Config() *Config { return &m.config }

// Inc returns the newest incarnation of a member that was heard; zero if none was.
func (m *Machine) Inc(r protocol.Rank) protocol.Inc { return m.incs[r] }

// Effects returns those of the present Step, for the memory of messages.
func (m *Machine) Effects() *protocol.Effects { return m.out }

// Send puts a message on its way.
func (m *Machine) Send(to protocol.Rank, msg protocol.Message) {
	m.out.Send = append(m.out.Send, protocol.Envelope{To: to, Message: msg})
}

// State states a fact about a peer; the machine adds its group.
func (m *Machine) State(f protocol.Fact) {
	f.Group = m.config.Group
	m.out.Facts = append(m.out.Facts, f)
}

// Ident returns a peer in its newest incarnation.
func (m *Machine) Ident(r protocol.Rank) protocol.Ident {
	return protocol.Ident{Rank: r, Inc: m.incs[r]}
}

// Step takes one event. Commands are not for this machine and change nothing.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	m.why = protocol.Cause{Peer: protocol.Nobody}
	switch ev := ev.(type) {
	case protocol.Start:
		m.onStart(now)
	case *protocol.Receive:
		m.onReceive(now, ev)
	case protocol.Unfit:
		if m.leader.Rank == m.config.Self {
			m.why = protocol.Cause{Code: protocol.NoQuorum, Peer: m.config.Self}
		}
		for _, s := range m.sources {
			s.Unfit()
		}
	}
	wake := protocol.Never
	for _, s := range m.sources {
		s.Tick(now)
		wake = min(wake, s.Wake())
	}
	m.elect()
	out.Wake = min(wake, m.watch(now))
}

func (m *Machine) onStart(now protocol.Time) {
	for _, s := range m.sources {
		s.Start(now)
	}
	m.publish(protocol.NoIdent, protocol.Cause{Code: protocol.Started, Peer: protocol.Nobody})
}

// onReceive sorts out strangers and the dead, notices who has restarted, and lets the sources read the message.
func (m *Machine) onReceive(now protocol.Time, ev *protocol.Receive) {
	from := ev.From
	if int(from.Rank) >= m.config.Members || from.Rank == m.config.Self || from.Inc < m.incs[from.Rank] {
		return
	}
	if known := m.incs[from.Rank]; from.Inc > known {
		m.incs[from.Rank] = from.Inc
		if known != 0 {
			if m.leader.Rank == from.Rank {
				m.why = protocol.Cause{Code: protocol.Restarted, Peer: from.Rank}
			}
			for _, s := range m.sources {
				s.Restarted(now, from.Rank)
			}
		}
	}
	for _, s := range m.sources {
		s.Receive(now, from, ev.Message)
	}
}
