package stable

import "github.com/regentproject/regent/internal/protocol"

// MaxRound is the last round that is believed: one that no council comes to.
const MaxRound = 1 << 62

// The messages. All but PONG say in which round their sender is, or will be.
type (
	// OK says that its sender leads Round. Seq numbers the OKs of one incarnation; they are at least a period apart.
	OK struct{ Round, Seq uint64 }
	// START asks its receiver to come to Round.
	START struct{ Round uint64 }
	// ALERT warns that somebody will come to Round soon: no leader of an earlier round should be elected for a while.
	ALERT struct{ Round uint64 }
	// STOP asks the leader of Round to give it up (Fig. 2).
	STOP struct{ Round uint64 }
	// PING asks whether its receiver is alive; PONG answers with the same number.
	PING struct{ Round, Seq uint64 }
	PONG struct{ Round, Seq uint64 }
)

// Copy returns a message of its own.
func (m *OK) Copy() protocol.Message    { c := *m; return &c }
func (m *START) Copy() protocol.Message { c := *m; return &c }
func (m *ALERT) Copy() protocol.Message { c := *m; return &c }
func (m *STOP) Copy() protocol.Message  { c := *m; return &c }
func (m *PING) Copy() protocol.Message  { c := *m; return &c }
func (m *PONG) Copy() protocol.Message  { c := *m; return &c }

// Name returns what the paper calls it.
func (m *OK) Name() string    { return "stable.OK" }
func (m *START) Name() string { return "stable.START" }
func (m *ALERT) Name() string { return "stable.ALERT" }
func (m *STOP) Name() string  { return "stable.STOP" }
func (m *PING) Name() string  { return "stable.PING" }
func (m *PONG) Name() string  { return "stable.PONG" }
