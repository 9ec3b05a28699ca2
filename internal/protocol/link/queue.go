package link

import "github.com/regentproject/regent/internal/protocol"

// queue holds what goes over a link in one session.
type queue struct {
	// out are the messages that are not acknowledged, in the order of their numbers; the first has the number acked+1.
	out   []posted
	acked uint64
	// took is the number of the last message delivered.
	took uint64
	// early holds copies of messages that overtook the next one, each at its number modulo the window.
	early []Message
}

// posted is a message on its way.
type posted struct {
	message Message
	durable bool
	sent    protocol.Time // when last; Never: not yet
}

// discard ends the session.
func (q *queue) discard() {
	clear(q.out)
	clear(q.early)
	q.out, q.acked, q.took = q.out[:0], 0, 0
}

// post puts a message at the end.
func (q *queue) post(m Message, durable bool) uint64 {
	q.out = append(q.out, posted{m, durable, protocol.Never})
	return q.acked + uint64(len(q.out))
}

// waiting says whether a message within the window has never been sent.
func (q *queue) waiting(window int) bool {
	n := min(len(q.out), window)
	return n > 0 && q.out[n-1].sent == protocol.Never
}

// acknowledge drops what the peer has.
func (q *queue) acknowledge(ack uint64) {
	if ack <= q.acked || ack > q.acked+uint64(len(q.out)) {
		return
	}
	n := copy(q.out, q.out[ack-q.acked:])
	clear(q.out[n:])
	q.out, q.acked = q.out[:n], ack
}

// arrive returns a message if it is the next to be delivered, and keeps it if it is one of those behind.
func (q *queue) arrive(m Message, seq uint64, window int) Message {
	switch {
	case seq == q.took+1:
		q.took = seq
		return m
	case seq > q.took && seq <= q.took+uint64(window):
		if q.early == nil {
			q.early = make([]Message, window)
		}
		if at := &q.early[seq%uint64(window)]; *at == nil {
			*at = m.Copy().(Message)
		}
	}
	return nil
}

// next returns the next message if it has come early.
func (q *queue) next() Message {
	if q.early == nil {
		return nil
	}
	at := &q.early[(q.took+1)%uint64(len(q.early))]
	m := *at
	if m != nil {
		*at = nil
		q.took++
	}
	return m
}
