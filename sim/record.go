package sim

import (
	"github.com/regentproject/regent/internal/protocol"
)

// A Record is one line of the trace: a fact that a machine stated, or something that the world did.
type Record struct {
	T    Real
	Node protocol.Rank // Nobody: the world
	Inc  protocol.Inc
	protocol.Fact
}

// The kinds of records that the world adds to the facts of machines: the ground truth.
const (
	EvStart   protocol.Ev = "start"   // the member's first start
	EvRestart protocol.Ev = "restart" // a later one
	EvRefuse  protocol.Ev = "refuse"  // the machine refused to start; Why
	EvCrash   protocol.Ev = "crash"   // the member is down
	EvView    protocol.Ev = "view"    // published: Peer leads, Term, Tenure, Until, Members, Why, Detail: the View
	EvPersist protocol.Ev = "persist" // the record Seq of this life is on disk
	EvProgram protocol.Ev = "program" // Why: start, stopping, stopped
	EvAct     protocol.Ev = "act"     // the program acted in Tenure, having read the clock at At
	EvRecover protocol.Ev = "recover" // the program of a consistent group, about the view (Term, Gen); Why: asked, unread, finished, counts
	EvOutlive protocol.Ev = "outlive" // the program of the group lives on, though the member is down
	EvReport  protocol.Ev = "report"  // a guardian begins to report that Peer is dead
	EvClose   protocol.Ev = "close"   // the member has left in good order
	EvAnswer  protocol.Ev = "answer"  // to the question Seq: Peer leads in Term, verified until Until; Why: yes, no
	EvCommand protocol.Ev = "command" // Why: campaign, resign, transfer, ...; Peer for a transfer; Seq numbers a question
	EvFault   protocol.Ev = "fault"   // a fault begins; Why says which
	EvHeal    protocol.Ev = "heal"    // a fault ends; Why says which
	EvPhase   protocol.Ev = "phase"   // Why: safety, liveness; Members: those that must converge
	EvSend    protocol.Ev = "send"    // to Peer; Why is the message's name; Seq its number
	EvDeliver protocol.Ev = "deliver" // from Peer; Why is its name; Detail: a Delivery
	EvDrop    protocol.Ev = "drop"    // on the way to Peer; Why
)

// The phases of a run: in the first anything may go wrong and nothing bad may happen, in the second a healed core must
// do what it is there for.
const (
	Safety   = "safety"
	Liveness = "liveness"
)

// A Delivery is what is true of a message that arrived.
type Delivery struct {
	// Sent is when the Step that sent it took place; Bound the receiver's Receive.Delay in nanoseconds, -1 if unknown.
	Sent  Real  `json:"sent"`
	Bound int64 `json:"bound"`
}

// An Observer sees every record as it happens. The record belongs to the world and is used again. An error ends the
// run.
type Observer interface {
	Observe(*Record) error
}

// Observe adds an observer. Observers are called in the order in which they were added.
func (w *World) Observe(o ...Observer) { w.observers = append(w.observers, o...) }

// emit shows the record in w.line to all observers.
func (w *World) emit() {
	w.stats.Records++
	for _, o := range w.observers {
		if err := o.Observe(&w.line); err != nil {
			w.fail(err)
		}
	}
}

// record emits a record of m, or of the world if m is nil.
func (w *World) record(m *member, ev protocol.Ev, fill func(*Record)) {
	w.line = Record{T: w.now, Node: protocol.Nobody}
	w.line.Ev = ev
	if m != nil {
		w.line.Node, w.line.Inc = m.rank, m.inc
	}
	if fill != nil {
		fill(&w.line)
	}
	w.emit()
}

// answer emits what became of a question.
func (w *World) answer(m *member, a *protocol.Answer) {
	w.record(m, EvAnswer, func(r *Record) {
		r.Group, r.Seq, r.Peer, r.Term, r.Until, r.Why = a.Group, a.ID, a.Leader, a.Term, a.Until, "no"
		if a.OK {
			r.Why = "yes"
		} else if a.Why != protocol.NotRefused {
			r.Why = "no: " + a.Why.String()
		}
	})
}

// fact emits what m's machine or program stated as inc.
func (w *World) fact(m *member, inc protocol.Inc, f *protocol.Fact) {
	w.line.T, w.line.Node, w.line.Inc, w.line.Fact = w.now, m.rank, inc, *f
	w.emit()
}

// tell emits what happened to a message.
func (w *World) tell(p *envelope, to protocol.Rank, ev protocol.Ev, why string) {
	name := "packet"
	if p.msg != nil {
		name = p.msg.Name()
	}
	r := &w.line
	*r = Record{T: w.now, Node: p.from.Rank, Inc: p.from.Inc}
	r.Ev, r.Seq, r.Peer, r.Why = ev, p.id, protocol.Ident{Rank: to, Inc: w.members[to].inc}, name
	switch ev {
	case EvDeliver:
		r.Node, r.Inc, r.Peer = to, w.members[to].inc, p.from
		d := Delivery{Sent: p.sent, Bound: -1}
		if w.incoming.Delay != protocol.Unknown {
			d.Bound = int64(w.incoming.Delay)
		}
		r.Detail = d
	case EvDrop:
		r.Why = name + ": " + why
	}
	w.emit()
}
