// Package hall elects one leader in every partition (Fetzer and Cristian: A Highly Available Local Leader Election
// Service). A leader knows exactly who supports it: its logical partition. No two logical partitions ever overlap, because
// a member supports at most one leader at a time and says so for a time that it keeps.
//
//	HALL §VIII   alive sets, fast and slow     alive.go    PROTOCOLS §2.4-2, -11, -13
//	HALL §VIII   locks, Reply, Release         lock.go     PROTOCOLS §2.4-1, -4, -9
//	HALL §VIII   requests, counting them       round.go    PROTOCOLS §2.4-3, -5 to -8
//	HALL §VIII   the lease, stepping down      lead.go     PROTOCOLS §2.4-8, DESIGN rule 3
//	HALL §IX     constants, κ                  timing.go   PROTOCOLS §2.5
//	HALL §X      majority, membership view     config.go, lock.go (learn)
//	HALL §XI     the reply tree                tree.go     PROTOCOLS §2.4-12
//	             local leaders as an elector   elector.go  PROTOCOLS §8
//
// # How it works
//
// A member that hears nobody better asks everybody for support (Election). Who receives that quickly, is not bound to
// somebody else, and hears nobody better either, binds itself for a while and says yes (Reply). A candidate supported by
// everybody that it hears leads until a time that ends before the first of those bonds. It asks again before that. A
// candidate that fails, and a leader that has stopped, gives the bonds back (Release). Only messages that are proven to
// have been fast count: so a network that is merely slow splits a group as a cut does, and nobody has to be told.
//
// # Facts
//
//	wait      voter: it grants nothing before Until; Why "restarted"
//	grant     voter: it is locked to Peer, by its request Seq, until Until; At. Again whenever the lock is extended.
//	ungrant   voter: the lock on Peer is over; Why "released" (Seq is what the Release bore) or "lapsed" (noticed when the
//	          next one is given); At
//	attempt   candidate: request Seq is sent; Members is its alive set; Start. Renewals too.
//	fail      candidate: request Seq came to nothing: "refused", "silence", "fresh", "minority", "late"
//	lease     leader: gained or renewed by request Gen, sent at Start: Until, Tenure, Seq (its horizon, one for each tenure),
//	          Members (the support set); At. With Why "frozen": it will not be renewed any more.
//	stepdown  leader: it no longer leads in Tenure; Why "stopped" or "expired". It precedes every Release.
//
// # Where this differs from the paper
//
//   - A renewal that fails does not release anything while the lease still runs: the program is asked to stop, and only when
//     it has, or the lease is over, is the leadership ended, and then the locks are given back (E-H1).
//   - The lock is that of the paper's text, shorter by σ than that of its Fig. 31 (E-H2); constants are checked (E-H3).
//   - A lease is renewed 2σ earlier than in the text, and one's own support counts towards the early check (E-H4).
//   - The alive set is brought up to date before replies are counted (E-H6).
//   - A Release that overtakes its Election voids it, and an Election that was overtaken does not weaken a lock (E-H7).
//   - A member that starts grants nothing for the time of a lock; requests are numbered within an incarnation (E-H8).
//   - Strangers find each other because the datagram layer probes them; nothing is done about it here (E-H9).
//   - Calm keeps a member that comes and goes from deposing good leaders (E-H10).
//   - A link may be bad in one direction only. A candidate that asks all the time and has not named this member among those
//     that it hears for longer than expires does not count as alive: it cannot lead this member, nor be led by it. Where connections are the
//     same in both directions, as the paper has them, this changes nothing; otherwise one direction of one link could keep
//     a whole group from having a leader.
//   - The paper outlines the reply tree for members that all hear one another. Here a member collates for every candidate by itself,
//     because candidates that do not hear each other ask the same members. A child without an acknowledgement answers the root
//     directly, the window of a round has room for the two late timers of that way, and a member whose answer was missed
//     answers directly until the root has forgotten every member that it cannot hear.
//   - Nobody replies to itself: its own Election, looped back, is enough, also for a member that is alone.
//   - A candidate whose first request met no objection asks again at once instead of after a period.
//   - After a failed renewal the next request comes a period after the last one, not a period after the demotion, so that a
//     candidate is never silent for longer than a period and κ stays what it is.
//
// # Why this is not a policy of package lease
//
// Package lease has a promise between members and assignments of groups within it, so that one renewal serves many groups.
// There voters are independent of one another: what one of them granted stands, whatever becomes of the others, and more
// backers never make less of a leader (lease.Policy.Complete). HALL is different in each of these points. A round counts
// only as a whole, at one instant: all that are alive, and nobody else, must support the same request, so that one more
// member heard may end a leadership. A lock is one per voter and group, not one per pair. A request is one broadcast that
// is the same for all, not a conversation with each voter about what it has not answered yet. There are no terms, no
// records and no generations. Bending the core to that would have taken from it what makes it short. Shared are the rules: drift
// by the four methods of protocol.Rho, from the same two instants (the voter counts from when it received the request, the
// holder from when it sent it); a lock that never shrinks; the order stop, stopped, demote, release; and leases behind horizons.
//
// One machine serves one group among the members that have opened it (Campaign). The others are silent, as if they had
// crashed.
package hall
