package link

import "github.com/regentproject/regent/internal/protocol"

// A Message is one that travels over links: it embeds a Header.
type Message interface {
	protocol.Message
	// Head returns its header.
	Head() *Header
}

// Header is what every message over a link carries. Links fill it in when the message leaves.
type Header struct {
	// Peer is the receiver's incarnation as the sender knows it, 0 if it does not. Where that is not the present one only
	// Ping counts.
	Peer protocol.Inc
	// Count is the number of the sender's last transition: odd while the link is up.
	Count uint64
	// Ping is the sender's clock, counted from its start, Echo the latest Ping that it has heard; 0: none.
	Ping, Echo protocol.Time
	// Ack is the last message delivered in the session Count, Seq the number of this one in it; 0: no message.
	Ack, Seq uint64
}

// Head returns h, which makes a Message of whatever embeds a Header.
func (h *Header) Head() *Header { return h }

// Ping is a header alone: a sign of life, and an acknowledgement.
type Ping struct{ Header }

// Copy returns a Ping of its own.
func (m *Ping) Copy() protocol.Message { c := *m; return &c }

// Name returns link.Ping.
func (m *Ping) Name() string { return "link.Ping" }

// Word is what members say that have links and no more.
type Word struct {
	Header
	Number uint64
}

// Copy returns a Word of its own.
func (m *Word) Copy() protocol.Message { c := *m; return &c }

// Name returns link.Word.
func (m *Word) Name() string { return "link.Word" }

// Mark returns the number, by which a checker tells words apart.
func (m *Word) Mark() uint64 { return m.Number }
