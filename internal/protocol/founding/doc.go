// Package founding is the protocol by which the members of a council agree on its id, once, if their configurations do not
// name it.
//
// A member without an id asks all others. They answer that they have none, or name it. The id is
//
//	drawn    by the best-ranked member, once all others have answered that they have neither an id nor a record and may begin
//	adopted  by the best-ranked member, once all others have answered, some name it and none names another
//	taken    by another member, once all others have answered, the best-ranked names it and none names another
//	named    to any member, by members of which every quorum has one, not counting that member: its record was lost
//
// A member writes the id before it answers anything again, and keeps it as long as its disk does. A member with an id
// answers, and asks nothing.
//
// It promises the following, whatever messages and disks are lost, as long as no disk is restored from a backup:
//
//	CI1  at no time do two members have different ids, on their disks or on the way there
//	CI2  if all members are up and receive from one another, all have an id soon
//
// The best-ranked member alone is not a sufficient source: its disk may have been restored from an earlier council, and a
// member that lost its record would follow it there. Quorums alone are not sufficient either: if the best-ranked member loses
// its disk after one other member has taken the id, no two members are left that name it, and none may draw another.
//
// Why CI1 holds: the best-ranked member alone draws ids. It draws one within Retry after it asked. A member that answers that
// it has none, or that has just started, takes nothing for longer than that, except an id that the best-ranked member names.
// It then asks with a new nonce, and does so afterwards too, so that no answer counts that was sent before. So an id whose
// last copy the others lost while the best-ranked member asked them one by one cannot come back after another was drawn.
//
// The messages travel under a label of their own, with the cluster key alone, and nothing else does.
package founding
