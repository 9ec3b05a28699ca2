package drive

import "github.com/regentproject/regent/internal/protocol"

// Ignore is a part for hosts that care for few effects: it carries out none of them. Its records are durable at once.
type Ignore struct{}

// As ignores the incarnation.
func (Ignore) As(protocol.Time, protocol.Inc) {}

// View ignores a view.
func (Ignore) View(protocol.Time, *protocol.View) {}

// Horizon ignores the end of leases.
func (Ignore) Horizon(protocol.Time, protocol.Horizon) {}

// Published ignores that all is published.
func (Ignore) Published(protocol.Time) {}

// Persist loses a record.
func (Ignore) Persist(protocol.Time, []byte) {}

// Incarnation ignores who the member is.
func (Ignore) Incarnation(protocol.Time, protocol.Inc, protocol.Time) {}

// Writing says that everything is on disk.
func (Ignore) Writing() bool { return false }

// Hold loses a message. While Writing says no it is not called.
func (Ignore) Hold(protocol.Time, protocol.Rank, protocol.Message) {}

// Send loses messages.
func (Ignore) Send(protocol.Time, []protocol.Envelope) {}

// Answer ignores an answer.
func (Ignore) Answer(protocol.Time, *protocol.Answer) {}

// Wake ignores the wake.
func (Ignore) Wake(_, _ protocol.Time) {}

// Facts ignores facts.
func (Ignore) Facts(protocol.Time, []protocol.Fact) {}
