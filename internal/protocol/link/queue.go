package link

import "github.com/regentproject/regent/internal/protocol"

// queue holds what goes over a link in one session.
type queue struct {
	// out are the messages that are not acknowledged, in the order of their numbers; the first has the number acked+1.
	out   []posted
	acked uint64
	// took is the number of the last message delivered.
	took uint64
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
	q.out, q.acked, q.took = q.out[:0], 0, 0
}

// post puts a message at the end.
func (q *queue) post(m Message, durable bool) uint64 {
	q.out = append(q.out, posted{m, durable, protocol.Never})
	return q.acked + uint64(len(q.out))
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

// take says whether a message is the next to be delivered, and counts it if it is.
func (q *queue) take(seq uint64) bool {
	if seq != q.took+1 {
		return false
	}
	q.took = seq
	return true
}
