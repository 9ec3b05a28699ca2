// Package lessee decides who leads a group whose entry stands in a store of others: a row of a table, a key of etcd. The store offers
// no more than a read and a compare-and-set on one entry. Its clock is never read.
//
// An [Entry] names the holder, the session of its claim, a token that grows with every claim, and a beat that grows with every
// write. A [Machine] is one process's part in one group. It reads no clock and does no I/O: a driver sends its requests and
// brings the answers (engine/register), and so does the simulator (sim/lessee).
//
// # Why two never lead at once
//
// Let a lease last TTL, and let clocks deviate by ρ at most.
//
//  1. A holder leads until s + (1-ρ)·TTL, where s is its own clock before it sent the claim or renewal that succeeded. In real
//     time that is at most TTL after the store carried the request out: it did so after s, and (1-ρ)·TTL of any clock lasts at most TTL.
//  2. A contender claims an entry only if it saw the same token and beat for (1+ρ)·TTL of its own clock, from the answer that first
//     showed them. The store had carried out the write of that beat before it sent this answer, and (1+ρ)·TTL of any clock lasts at least TTL.
//  3. The claim compares token and beat. If it succeeds, no renewal came in between: the store carried out the last one at least TTL before.
//     By 1, the holder's lease has ended.
//  4. An entry that is absent may have been deleted under a holder, and two readings that show none do not prove that there was none in between. So a contender first
//     makes an empty entry, with the longer of its own TTL and the one that it saw last, and then follows rule 2. A holder with a longer TTL than any of
//     these may still lead then: all processes of a group have the same.
//
// A request whose answer is lost counts as not sent by rule 1, and as sent by rules 2 and 3. A renewal that fails its comparison
// because an earlier one of the same session had arrived is sent again on the entry that the store returned.
//
// What this rests on: the store carries out each compare-and-set atomically and forgets none that it answered; tokens that it draws never
// repeat. A store that loses answered writes, as a fail-over of asynchronous replication does, can have two leaders: only the fence helps there.
package lessee
