// Package obituary has the reports of guardians. A guardian is a small process beside a member. It outlives the member, and
// reports to the voters that exactly that start of the member is dead. The voters then end what they promised to it.
//
//	docs/wire.md     the packet, byte by byte    report.go, letter.go
//	docs/nerio.md    what a voter does with it   internal/protocol/nerio, internal/protocol/lease
//
// # Who makes what
//
// The member makes a [Letter] for each voter (wire.Endpoint.Letter), and hands it to its guardian with the addresses of that voter. A
// letter holds the clear header of a report and the key that seals it. It has to be made anew when the member's keys, its start, its
// incarnation or its configuration change. An old letter is safe: voters drop what it seals.
//
// The guardian proves the death, divides what it has to report with [Split], and seals each part for each voter with [Append]. A receiver
// judges the header and opens the rest (wire.Endpoint.Open, [Open]).
//
// # Keys
//
// A letter's key is derived from what the two members share, from the member's incarnation and from the random bits of its start. So there
// is nothing to send to a voter and nothing to acknowledge: a voter knows the key of each start that it has heard. Nobody else knows it, and it
// opens nothing but reports. A guardian does not know the keys of the member's packets.
//
// A start is named by 128 random bits beside rank and incarnation. So a report cannot be taken for one of another birth of the same
// name, of another member that has the seat now, or of a second process under the same incarnation.
//
// # What a report states
//
// Death is a fact that stays true, so a report may come late, twice and in any order. Each packet is complete for its range of group names:
// groups in the range are released, but for those that it keeps. A group that is in no packet is kept.
//
// Each packet bears the highest number of a packet that the dead process may have sent to the voter. It tells the process from a copy. A
// virtual machine that was copied while it ran has the letters of the original. If the copy is killed, its guardian is right about the copy
// and wrong about the original. A voter that has had a packet with a higher number knows that the start lives elsewhere, and drops
// the report. So a member that shows its guardian a number too late loses speed, and nothing else.
package obituary
