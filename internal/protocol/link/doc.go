// Package link gives a member one link to each of its peers, whose ups and downs both ends see as one history, and messages
// over it that arrive once and in order, or not at all: consistent-history links (LeMahieu and Bruck) in a form for
// datagrams.
//
// Both ends of a link count its transitions from 0: even is Down, odd is Up. An end that sees the other ahead follows, one
// transition at a time. So both see the same ups and downs with the same numbers, and neither is ever more than two ahead. A
// session is the time of one odd number. Messages are numbered within their session. Down ends it, and both ends discard what
// was not delivered by then.
//
//	PROTOCOLS §1.7   counts, following, tout and tin   history.go
//	PROTOCOLS §6.3   messages within a session         queue.go
//	                 all links of one member           links.go
//	                 what travels                      message.go
//	                 a member with links and no more   machine.go, for the simulator
//
// A machine that sends over links owns a [Links] and passes it what it receives:
//
//	func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
//		if r, ok := ev.(*protocol.Receive); ok {
//			changes, messages := m.links.Receive(now, r)
//			// first the changes, in order: knowledge from an earlier session is void
//			// then the messages, of which there may be none
//		}
//		changes := m.links.Tick(now)  // in every Step: links that have gone silent
//		m.links.Send(peer, &message)  // any number of times
//		m.links.Flush(now, out)  // once, last
//		out.Facts = m.links.Facts(out.Facts)
//		out.Wake = min(m.links.Wake(), ...)
//	}
//
// Its messages are ordinary ones with a number in package wire. They embed a [Header], which the links fill in and read, and
// so are a [Message]; no message travels inside another.
//
// We differ from the paper and from PROTOCOLS in this:
//   - There are no tokens and no reliable messages below. Every message carries the counts, so the next one makes up for a
//     lost one.
//   - A ping is numbered by its sender's clock. It counts within one incarnation only, in which that clock does not go back.
//     So no end has to remember when it sent a ping.
//   - An echo proves contact as of its arrival, but of no later than tin after its ping left. Late echoes do not keep a link
//     up, and both ends of a link are down within tout + tin of the last message that got through in the worse direction.
//   - Only pings sent after a Down count towards the next Up. Otherwise an end that followed a Down, its own proof of contact
//     still fresh, would be up again at once and take the other end through one more bounce.
package link
