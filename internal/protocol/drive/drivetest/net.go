package drivetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive"
)

// T is what a net needs of a test.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// A Net runs a few machines on one virtual clock, with a fixed delay, so that a test can follow every message.
type Net struct {
	T       T
	Now     protocol.Time
	Members []*Member
	// Delay is that of a message to another member, and Disk how long it takes to write a record.
	Delay, Disk time.Duration
	// Unproven leaves every delay unknown.
	Unproven bool
	// Drop, if it is set, says whether a message is lost, and Late what is added to its delay.
	Drop func(from, to protocol.Rank, m protocol.Message) bool
	Late func(from, to protocol.Rank, m protocol.Message) time.Duration
	// View, if it is set, is called for every view when it is published, and After after every Step.
	View  func(*Member, *protocol.View)
	After func(*Member)
	// Sent counts messages by their names.
	Sent map[string]int

	executor drive.Executor
	queue    []event
	seq      int
	still    int // Steps since time has passed
}

// A Member is one machine of a net, and all that it has asked for so far.
type Member struct {
	Rank    protocol.Rank
	Machine protocol.Machine
	// Inc is the incarnation that the member speaks under. A machine that is Incarnate decides.
	Inc  protocol.Inc
	Down bool
	Wake protocol.Time
	// Record is what is on disk, and Writes how many records are on their way to it.
	Record []byte
	Writes int
	// Views has the last one of each group, and History all.
	Views    map[protocol.Group]protocol.View
	History  []protocol.View
	Horizons map[protocol.HorizonID]protocol.Time
	Facts    []protocol.Fact
	Answers  []protocol.Answer

	net           *Net
	life          int
	asked, writes uint64 // records that were handed over, and those of them on disk
	held          drive.Held[event]
}

// An event waits for its time.
type event struct {
	at     protocol.Time
	seq    int
	to     *Member
	life   int            // of the member when it was pushed, for what is not a message; anyLife
	ev     protocol.Event // nil: the disk has written record
	record []byte
}

const (
	// anyLife is that of a message, which arrives whatever became of its receiver meanwhile.
	anyLife = -1
	// tooLong is how many Steps may be taken at one instant before it is clear that no time passes.
	tooLong = 100_000
)

// NewNet returns a net of so many members that are all down.
func NewNet(t T, n int, now protocol.Time, delay time.Duration) *Net {
	x := &Net{T: t, Now: now, Delay: delay, Disk: delay, Sent: make(map[string]int)}
	for r := range protocol.Rank(n) {
		x.Members = append(x.Members, &Member{Rank: r, net: x, Down: true, Wake: protocol.Never})
	}
	return x
}

// Start brings a member up with a machine. Only its disk is left of what it was.
func (n *Net) Start(r protocol.Rank, m protocol.Machine, inc protocol.Inc) {
	old := n.Members[r]
	*old = Member{Rank: r, net: n, Machine: m, Inc: inc, Wake: protocol.Never, Record: old.Record, life: old.life + 1,
		Views: make(map[protocol.Group]protocol.View), Horizons: make(map[protocol.HorizonID]protocol.Time)}
	n.Step(r, protocol.Start{})
}

// Crash takes a member down.
func (n *Net) Crash(r protocol.Rank) {
	n.Members[r].Down = true
	n.Members[r].life++
}

// Step lets a member take an event now, unless it is down.
func (n *Net) Step(r protocol.Rank, ev protocol.Event) {
	m := n.Members[r]
	if m.Down {
		return
	}
	n.executor.Step(host{m}, n.Now, ev)
	if n.After != nil {
		n.After(m)
	}
}

// Later lets a member take an event after the present one, unless it crashes before.
func (n *Net) Later(r protocol.Rank, ev protocol.Event) {
	m := n.Members[r]
	n.push(event{at: n.Now, to: m, life: m.life, ev: ev})
}

func (n *Net) push(e event) {
	n.seq++
	e.seq = n.seq
	i, _ := slices.BinarySearchFunc(n.queue, e, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	n.queue = slices.Insert(n.queue, i, e)
}

// Run lets time pass.
func (n *Net) Run(length time.Duration) {
	n.T.Helper()
	for end := n.Now.Add(length); n.next(end); {
	}
}

// next lets the next thing happen, if it does so until end.
func (n *Net) next(end protocol.Time) bool {
	n.T.Helper()
	at, queued := end, false
	if len(n.queue) > 0 && n.queue[0].at <= at {
		at, queued = n.queue[0].at, true
	}
	var due *Member
	for _, m := range n.Members {
		if !m.Down && m.Wake < at {
			at, due = m.Wake, m
		}
	}
	if due == nil && !queued {
		n.Now = end
		return false
	}
	if at > n.Now {
		n.still = 0
	}
	n.still++
	if n.still > tooLong {
		n.T.Fatalf("%v: time stands still", n.Now)
	}
	n.Now = max(n.Now, at)
	if due != nil {
		n.Step(due.Rank, protocol.Tick{})
		return true
	}
	e := n.queue[0]
	n.queue = n.queue[1:]
	n.happen(e)
	return true
}

func (n *Net) happen(e event) {
	m := e.to
	if e.life != anyLife && e.life != m.life {
		return
	}
	if e.ev != nil {
		n.Step(m.Rank, e.ev)
		return
	}
	m.Record = e.record
	m.writes++
	m.Writes--
	for h, ok := m.held.Take(m.writes); ok; h, ok = m.held.Take(m.writes) {
		h.at = max(h.at, n.Now)
		n.push(h)
	}
	n.Step(m.Rank, protocol.Persisted{})
}

// A host carries out what a member's machine asks for.
type host struct{ *Member }

func (h host) Machine() (protocol.Machine, protocol.Incarnate) {
	who, _ := h.Member.Machine.(protocol.Incarnate)
	return h.Member.Machine, who
}

func (h host) As(protocol.Time, protocol.Inc) {}

func (h host) View(_ protocol.Time, v *protocol.View) {
	h.Views[v.Group] = *v
	h.History = append(h.History, *v)
	if h.net.View != nil {
		h.net.View(h.Member, v)
	}
}

func (h host) Horizon(_ protocol.Time, x protocol.Horizon) {
	if x.Until < h.Horizons[x.ID] {
		h.net.T.Fatalf("%v: horizon %d moves back", h.Rank, x.ID)
	}
	h.Horizons[x.ID] = x.Until
}

func (h host) Published(protocol.Time) {}

func (h host) Persist(now protocol.Time, record []byte) {
	h.asked++
	h.Writes++
	h.net.push(event{at: now.Add(h.net.Disk), to: h.Member, life: h.life, record: slices.Clone(record)})
}

func (h host) Incarnation(_ protocol.Time, inc protocol.Inc, _ protocol.Time) { h.Inc = inc }

func (h host) Writing() bool { return h.writes < h.asked }

func (h host) Hold(now protocol.Time, to protocol.Rank, m protocol.Message) {
	if e, ok := h.envelope(now, to, m); ok {
		h.held.Add(h.asked, e)
	}
}

func (h host) Send(now protocol.Time, out []protocol.Envelope) {
	for _, e := range out {
		if e, ok := h.envelope(now, e.To, e.Message.Copy()); ok {
			h.net.push(e)
		}
	}
}

// envelope returns a message on its way, unless it is lost.
func (h host) envelope(now protocol.Time, to protocol.Rank, m protocol.Message) (event, bool) {
	n := h.net
	n.Sent[m.Name()]++
	if n.Drop != nil && n.Drop(h.Rank, to, m) {
		return event{}, false
	}
	r := &protocol.Receive{From: protocol.Ident{Rank: h.Rank, Inc: h.Inc}, Message: m, Delay: protocol.Unknown}
	e := event{at: now, to: n.Members[to], life: anyLife, ev: r}
	if to != h.Rank {
		e.at = now.Add(n.Delay)
	}
	if n.Late != nil {
		e.at = e.at.Add(n.Late(h.Rank, to, m))
	}
	if !n.Unproven {
		r.Delay = e.at.Sub(now)
	}
	return e, true
}

func (h host) Answer(_ protocol.Time, a *protocol.Answer) { h.Answers = append(h.Answers, *a) }

func (h host) Wake(_, at protocol.Time) { h.Member.Wake = at }

func (h host) Facts(_ protocol.Time, facts []protocol.Fact) {
	h.Member.Facts = append(h.Member.Facts, facts...)
}
