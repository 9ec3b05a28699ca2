// Package guardian decides what the guardian of a member reports. A guardian is a small process beside a member. When the process of the
// member is dead, it reports so to the voters (package obituary), which then need not wait for promises to lapse.
//
// This package is pure: package process starts the guardian, reads the kernel and sends.
//
//	page.go   what the member leaves in shared memory
//	proof.go  when the process is dead
//	leases.go which groups a member keeps that leads for programs outside of its process
//	program.go  when such a program is gone
//	duty.go   when which reports leave
//	standing.go  whether a member may be reported at all: not after a snapshot, until its guardian has new letters
//
// # Which groups are released
//
// A report releases the groups that the dead member led, except those that it keeps, because something outside of the process may still
// act for them. Unknown is kept. The member states on the page that all its groups are led within its process only, and lists the groups that
// are not. It does both before it publishes a lease. Without the statement a guardian reports nothing.
//
// An agent leads for programs that outlive it. Its page keeps every group that it leads, from before the lease is published until after the last end that
// was shown to any program. A kept group is released after all if its program is proven gone: the runner, which starts it, is dead, and the cgroup of what it started
// is empty afterwards. The page has a number for each tenure, so that a proof about an earlier program of the group never counts for the next one.
//
// A page that the member was about to change when it died is not read: the guardian reports nothing.
//
// # When the process is dead
//
// No thread of the process runs code of the program again once the process is a zombie, which its pidfd shows, or once all of its threads
// are exiting (PF_EXITING). The second comes first, by as long as the kernel takes to free the memory: [Dead] says when it is proven.
//
// What the process has given to the kernel before it died can still have an effect: bytes in the buffers of sockets arrive later. A lease that
// runs out leaves the guard time for that, and a report of its death does not. Only a receiver that checks the stamp is safe from it.
//
// # Proofs
//
// A member that answered Verify has promised to lead until some instant (N-VER). It shows the latest such instant on the page before
// the answer leaves, and a guardian reports nothing before.
package guardian
