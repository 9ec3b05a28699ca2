// Package core decides when a checkpoint that members keep on each other's disks is complete, and from which one to go on. It is pure: no clocks, no
// files, no network. Package checkpoint drives it below real programs, and the simulator drives it under faults.
//
//	id.go       view numbers, identities of checkpoints, shares with their digests
//	choose.go   how many shares make a checkpoint complete, and which checkpoint an heir goes on from
//	machine.go  one membership of one member: what it owns, saves and recovers
//	manage.go   the fault manager: which member owns what, and when a view is recovered
//	vault.go    the shares on a disk: stale tokens are refused, damaged shares are found
//
// The rules, for n members, k of which can reconstruct a state, and a majority of q:
//
//  1. Every share carries the number of the view (token, vid) under which its owner wrote it, the members of that view, and two digests.
//  2. A vault refuses what carries a lower view number than the highest it has seen. An heir reads all members of its view under that view's number. From
//     then on an owner of an earlier view completes nothing: fewer than n-q+1 vaults are outside the view, and each checkpoint needs at least as many.
//  3. A checkpoint is complete once k + f members of the owner's present view acknowledged their shares under that view's number. f is the number of
//     members that may still fail: min(n-k, (n-1)/2), less those that are out of the view.
//  4. An heir goes on from the newest checkpoint of which it has k shares, unless a newer one may be complete. Then it waits. It starts a key from
//     the beginning only if no checkpoint of the key can be complete.
//  5. Vaults keep the last complete checkpoint until a later one is complete.
//  6. A view is safe when every key has an owner, and a complete checkpoint under the view's number. A member that is back counts as failed until
//     then. The manager reports the view recovered when it is safe.
//  7. The manager also reports a view that cannot become safe: keys are out of reach because more than f members have failed, or members of the view
//     have failed since the agreement. The group decides no change before the report, and only a change brings those members back or replaces
//     them. No rule above depends on the report. The manager of the next view assigns again.
//
// The council of a set of checkpoints is fixed. A disk that was put back from a backup counts as lost.
package core
