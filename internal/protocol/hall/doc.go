// Package hall elects one leader in every partition (Fetzer and Cristian: A Highly Available Local Leader Election Service).
// A leader knows exactly which members support it: its logical partition. Logical partitions never overlap, because a member
// supports at most one leader at a time, for a time that it keeps.
//
//	HALL §VIII   alive sets, fast and slow     alive.go    PROTOCOLS §2.4-2, -11, -13
//	HALL §VIII   locks, Reply, Release         lock.go     PROTOCOLS §2.4-1, -4, -9
//	HALL §VIII   requests, counting them       round.go    PROTOCOLS §2.4-3, -5 to -8
//	HALL §VIII   the lease, stepping down      lead.go     PROTOCOLS §2.4-8
//	HALL §IX     constants, κ                  timing.go   PROTOCOLS §2.5
//	HALL §X      majority, membership view     config.go, lock.go (learn)
//	HALL §XI     the reply tree                tree.go     PROTOCOLS §2.4-12
//	             requests down the tree        relay.go
//	             local leaders as an elector   elector.go  PROTOCOLS §8
//
// # How it works
//
// A member that counts no better-ranked member as alive asks all members for support (Election). A member that receives the
// Election quickly locks itself for a while and answers yes (Reply), if it is not locked to another and counts no
// better-ranked member as alive either. A candidate that is supported by every member that it counts as alive leads until a
// time that is before the end of the first of those locks. It asks again before that. A candidate that fails, and a leader
// that has stopped, releases the locks (Release). Only messages that are proven fast count. So a slow network splits a group
// as a cut does, and no member has to be notified.
//
// # Facts
//
//	wait      voter: it grants nothing before Until; Why "restarted"
//	grant     voter: it is locked to Peer, by its request Seq, until Until; At. Again whenever the lock is extended.
//	ungrant   voter: the lock on Peer is over; Why "released" (Seq is what the Release bore) or "lapsed" (noticed when the
//	          next one is given); At
//	attempt   candidate: request Seq is sent; Members is its alive set; Start. Renewals too.
//	fail      candidate: request Seq failed: "refused", "silence", "fresh", "minority", "late"
//	lease     leader: gained or renewed by request Gen, sent at Start: Until, Tenure, Seq (its horizon, one for each tenure),
//	          Members (the support set); At. With Why "frozen": it will not be renewed any more.
//	stepdown  leader: it no longer leads in Tenure; Why "stopped" or "expired". It precedes every Release.
//
// # Where this differs from the paper
//
//   - A failed renewal releases nothing while the lease still runs. The program is asked to stop. The leadership ends when
//     the program has stopped or the lease has expired, and only then does the member release the locks (E-H1).
//   - The lock is that of the paper's text, shorter by σ than that of its Fig. 31 (E-H2); constants are checked (E-H3).
//   - A lease is renewed 2σ earlier than in the text, and the leader's own support counts towards the early check (E-H4).
//   - The alive set is brought up to date before replies are counted (E-H6).
//   - A Release that overtakes its Election voids it, and an Election that was overtaken does not weaken a lock (E-H7).
//   - A member that starts grants nothing for the time of a lock; requests are numbered within an incarnation (E-H8).
//   - Members without earlier contact find each other because the datagram layer probes them; this package does nothing for
//     it (E-H9).
//   - Calm keeps a flapping member from deposing good leaders (E-H10).
//   - A link may be bad in one direction only. A candidate that asks continuously, and has not listed this member as alive
//     for longer than expires, does not count as alive: it cannot lead this member, nor be led by it. With symmetric
//     connections, as the paper assumes, this changes nothing. Otherwise one direction of one link could leave a whole group
//     without a leader.
//   - The paper outlines the reply tree for members that all receive from one another. Here a member collates for every
//     candidate separately, because candidates that do not receive from each other ask the same members. A child without an
//     acknowledgement answers the root directly. The window of a round has room for the two late timers of that path. A
//     member whose answer was missed answers directly until the root has forgotten every member that it cannot receive from.
//   - Requests travel down the tree too; the paper sends every request directly. A relayed request counts if the sum of the
//     bounds of its hops is at most Δ. The candidate asks the members that have not answered directly within the round. So a
//     request may take longer than Δ to reach a voter, and the paper's bound on lockTime has to allow for that (C2).
//     Members trust one another to report the root and the age of what they relay, as they do with collated replies.
//   - A tree has only members that have been received from directly. Otherwise a candidate whose last leader connected it with
//     others would lead members that it never was connected to.
//   - No member replies to itself: its own Election, looped back, is enough, also for a member that is alone.
//   - A candidate whose first request met no refusal asks again at once instead of after a period.
//   - After a failed renewal the next request follows a period after the last request, not after the demotion. So a candidate
//     is never silent for longer than a period, and κ does not grow.
//
// # Why this is not a policy of package lease
//
// Package lease has a promise between members and assignments of groups within it, so that one renewal serves many groups.
// Its voters are independent of one another: what one of them granted stands, whatever becomes of the others, and more
// backers never make less of a leader (lease.Policy.Complete). HALL differs in each of these points. A round counts only as a
// whole, at one instant: all members that are alive, and no others, must support the same request, so one more live member
// may end a leadership. A lock is one per voter and group, not one per pair. A request is one broadcast that is the same for
// all, not an exchange with each voter about what it has not answered yet. There are no terms, no records and no generations.
// To support all this, the core would lose what keeps it short. Both share the rules: drift by the four methods of
// protocol.Rho, from the same two instants (the voter counts from when it received the request, the holder from when it sent
// it); a lock that never shrinks; the order stop, stopped, demote, release; and leases behind horizons.
//
// One machine serves one group among the members that have opened it (Campaign). The others are silent, as if they had
// crashed.
package hall
