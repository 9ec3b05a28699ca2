// Package link gives a member one link to each of its peers, whose ups and downs both ends see as one history, and
// messages over it that arrive once and in order, or not at all: consistent-history links (LeMahieu and Bruck) in a form
// for datagrams.
//
// Both ends of a link count its transitions from 0 on: even is Down, odd is Up. An end that sees the other ahead follows, one
// transition at a time, so both see the same ups and downs with the same numbers, and neither is ever more than two ahead.
// A session is the time of one odd number. Messages are numbered within their session; Down ends it, and what was not
// delivered by then is thrown away at both ends.
//
//	PROTOCOLS §1.7   counts, following, tout and tin   history.go
//	PROTOCOLS §6.3   messages within a session         queue.go
//	                 all links of one member           links.go
//	                 what travels                      message.go
//	                 a member with links and no more   machine.go, for the simulator
//
// A machine that speaks over links owns a [Links] and passes it what comes in:
//
//	func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
//		if r, ok := ev.(*protocol.Receive); ok {
//			changes, messages := m.links.Receive(now, r)
//			// first the changes, in order: what was known by an earlier session is void
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
// so are a [Message]; no message travels inside of another.
//
// We differ from the paper and from PROTOCOLS in this:
//   - There are no tokens and no reliable messages below. Every message carries the counts, so a lost one is made good by the next.
//   - A ping is numbered by its sender's clock. It counts within one incarnation only, in which that clock does not go back,
//     and so nobody has to remember when a ping was sent.
//   - An echo proves contact as of when it comes, but of no later than tin after its ping left: late echoes do not keep a link
//     up, and both ends of a link are down within tout + tin of the last message that got through in the worse direction.
//   - Only pings of after a Down count towards the next Up, or an end that followed a Down, its own proof of contact still
//     fresh, would be up again at once and take the other end through one more bounce.
package link
