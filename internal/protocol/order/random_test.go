package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A world is three members in virtual time, over a network that delays, loses, repeats and reorders, also across restarts. It
// delivers more than the packets of members do: what was sent to or by an earlier incarnation as well.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	seed    uint64
	now     time.Duration
	events  []event // by time
	members [3]*member
	healed  bool
	// cuts are until when nothing passes from one member to another.
	cuts [3][3]time.Duration
	// orders are by the text of their body.
	orders map[string]*story
	seen   map[string]int // what the run covered
}

type event struct {
	at time.Duration
	do func()
}

type member struct {
	rank    protocol.Rank
	machine *Machine
	inc     protocol.Inc
	// offset is the clock of this start less the world's time.
	offset time.Duration
	// sent names the orders of the machine by their ids.
	sent map[uint64]string
	out  protocol.Effects
	wake protocol.Time
}

// A story is all that happened to an order.
type story struct {
	begun    time.Duration
	executed int
	answer   string
	outcome  *Outcome
	// lost says that the machine that sent it is gone.
	lost bool
}

func (w *world) at(after time.Duration, do func()) {
	e := event{w.now + after, do}
	i, _ := slices.BinarySearchFunc(w.events, e.at+1, func(x event, at time.Duration) int { return int(x.at - at) })
	w.events = slices.Insert(w.events, i, e)
}

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.rand.Int64N(int64(d))) }

func (m *member) clock(w *world) protocol.Time { return protocol.Time(w.now + m.offset) }

// start begins a life of a member: another incarnation with another clock, or another machine in the same process.
func (w *world) start(m *member, anew bool) {
	if m.machine != nil && !anew {
		for _, e := range m.machine.Abandon() {
			w.end(m, e)
		}
	}
	for _, text := range m.sent {
		w.orders[text].lost = true
	}
	if anew {
		m.inc++
		m.offset = w.upTo(time.Hour)
	}
	m.machine, m.sent, m.wake = New(m.rank, m.inc), map[uint64]string{}, protocol.Never
	w.step(m, protocol.Start{})
}

func (w *world) step(m *member, ev protocol.Event) {
	m.out.Reset()
	m.machine.Step(m.clock(w), ev, &m.out)
	for _, e := range m.out.Send {
		w.send(m, e)
	}
	delivered, ended := m.machine.Take()
	for _, d := range delivered {
		w.execute(m, d)
	}
	for _, e := range ended {
		w.end(m, e)
	}
	m.wake = m.out.Wake
	if m.wake != protocol.Never {
		machine, wake := m.machine, m.wake
		w.at(max(0, wake.Sub(m.clock(w))), func() {
			if m.machine == machine && m.wake == wake {
				w.step(m, protocol.Tick{})
			}
		})
	}
}

func (w *world) send(m *member, e protocol.Envelope) {
	from, msg, to := protocol.Ident{Rank: m.rank, Inc: m.inc}, e.Message.Copy(), w.members[e.To]
	copies := 1
	switch {
	case w.now < w.cuts[m.rank][e.To]:
		copies = 0
	case !w.healed:
		copies = []int{0, 0, 1, 1, 1, 1, 1, 2, 2, 3}[w.rand.IntN(10)]
	}
	for range copies {
		delay := 1 + w.upTo(100*time.Millisecond)
		if !w.healed && w.rand.IntN(8) == 0 {
			delay = w.upTo(20 * time.Second)
		}
		w.at(delay, func() {
			w.step(to, &protocol.Receive{From: from, Message: msg, Delay: protocol.Unknown})
		})
	}
}

func (w *world) order(from, to *member) {
	text := fmt.Sprintf("order %d", len(w.orders))
	id, ok := from.machine.Send(from.clock(w), to.rank, []byte(text))
	if !ok {
		w.seen["full"]++
		return
	}
	w.orders[text] = &story{begun: w.now}
	from.sent[id] = text
	w.step(from, protocol.Tick{})
}

// Invariant Timely: an order is executed within AskTimeout and the life of a ticket, or never.
//
// Invariant AtMostOnce: an order is executed once at most. NeverAfterNo: one that was reported as not taken is not executed at all.
func (w *world) execute(m *member, d Delivery) {
	s := w.orders[string(d.Body)]
	s.executed++
	if s.executed > 1 {
		w.t.Fatalf("AtMostOnce: seed %d: %s was executed again at %v", w.seed, d.Body, w.now)
	}
	if s.outcome != nil && (*s.outcome == NotTaken || *s.outcome == Busy) {
		w.t.Fatalf("NeverAfterNo: seed %d: %s was executed at %v, after its sender was told that it never would be", w.seed, d.Body, w.now)
	}
	if late := w.now - s.begun; late > AskTimeout+ticketLife {
		w.t.Fatalf("Timely: seed %d: %s was executed after %v", w.seed, d.Body, late)
	}
	s.answer = fmt.Sprintf("%s by incarnation %d of %v", d.Body, m.inc, m.rank)
	machine := m.machine
	w.at(w.upTo([]time.Duration{time.Second, time.Minute}[w.rand.IntN(2)]), func() {
		machine.Finish(m.clock(w), d.Number, []byte(s.answer))
		if m.machine == machine {
			w.step(m, protocol.Tick{})
		}
	})
}

// Invariant TrueAnswer: an answer is that of the execution.
func (w *world) end(m *member, e End) {
	text := m.sent[e.ID]
	delete(m.sent, e.ID)
	s := w.orders[text]
	if s.outcome != nil {
		w.t.Fatalf("TrueAnswer: seed %d: %s has two outcomes", w.seed, text)
	}
	s.outcome = &e.Outcome
	switch e.Outcome {
	case NotTaken, Busy:
		if s.executed > 0 {
			w.t.Fatalf("NeverAfterNo: seed %d: %s was executed, and its sender was told that it never would be", w.seed, text)
		}
	case Answered:
		if s.executed != 1 || string(e.Answer) != s.answer {
			w.t.Fatalf("TrueAnswer: seed %d: %s was executed %d times, and the answer is %q", w.seed, text, s.executed, e.Answer)
		}
	}
	w.seen[[]string{"unknown", "answered", "not taken", "busy"}[e.Outcome]]++
	if e.Outcome == Unknown && s.executed == 0 {
		w.seen["unknown and not executed"]++
	}
}

func (w *world) run(until time.Duration) {
	for len(w.events) > 0 && w.events[0].at <= until {
		e := w.events[0]
		w.events = w.events[1:]
		w.now = e.at
		e.do()
	}
	w.now = until
}

// play lets members give one another orders for ten minutes, during faults and then without.
func play(t *testing.T, seed uint64, seen map[string]int) {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 0)), seed: seed, orders: make(map[string]*story), seen: seen}
	for r := range w.members {
		w.members[r] = &member{rank: protocol.Rank(r)}
	}
	for _, m := range w.members {
		w.start(m, true)
	}
	for range 200 {
		w.at(w.upTo(8*time.Minute), func() {
			from := w.rand.IntN(3)
			w.order(w.members[from], w.members[(from+1+w.rand.IntN(2))%3])
		})
	}
	for range 12 {
		w.at(w.upTo(5*time.Minute), func() { w.start(w.members[w.rand.IntN(3)], w.rand.IntN(2) == 0) })
	}
	for range 20 {
		w.at(w.upTo(5*time.Minute), func() { w.cuts[w.rand.IntN(3)][w.rand.IntN(3)] = w.now + w.upTo(30*time.Second) })
	}
	w.at(w.upTo(5*time.Minute), func() { // more than a receiver takes
		for range MaxSent + 1 {
			w.order(w.members[0], w.members[1])
		}
	})
	w.at(6*time.Minute, func() { w.healed = true })
	w.run(7 * time.Minute)
	before := len(w.orders)
	w.run(10 * time.Minute)
	late := 0
	for text, s := range w.orders {
		if s.outcome == nil && !s.lost {
			t.Fatalf("Ends: seed %d: %s has no outcome", seed, text)
		}
		var n int
		if _, err := fmt.Sscanf(text, "order %d", &n); err != nil {
			t.Fatal(err)
		}
		if n >= before && *s.outcome != Answered {
			t.Fatalf("Served: seed %d: %s has the outcome %d over a network without faults", seed, text, *s.outcome)
		}
		if n >= before {
			late++
		}
	}
	seen["served"] += late
}

func TestOrdersAreExecutedAtMostOnceAndReportedTruthfully(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(40) {
		play(t, seed, seen)
	}
	for _, what := range []string{"answered", "not taken", "busy", "unknown", "unknown and not executed", "full", "served"} {
		if seen[what] == 0 {
			t.Errorf("no run had an order that was %s: %v", what, seen)
		}
	}
	t.Log(seen)
}
