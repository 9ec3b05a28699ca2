// Package process runs the guardian of a member: a process of its own. Package guardian decides what it does.
//
//	letters.go      what the member hands to its guardian
//	member_linux.go the member's side
//	self_linux.go   the guardian's side
//	wake_linux.go   what wakes the guardian before the memory of the member is freed
//	scan_linux.go   the threads of a process
//	trust_linux.go  programs that can be proven gone
//
// # How it starts
//
// The guardian is the member's own executable, started once more with the argument zero [Marker]. The init function of this package finds
// the marker and never returns, so main does not run and a program that imports this package has nothing to call. The price:
//
//   - The guardian runs the initialisers of packages that Go initialises before this one: those that this one imports, and
//     others whose import path comes first and that import nothing that is not initialised yet. An init function there with effects outside of the process has them
//     once more.
//   - The guardian is as large as the executable's initialised packages make it, and shares the pages of its code with the member. It has 1 MB of its own here, with the
//     garbage collector off. Two of its threads wait in the kernel, in real time where members do, and nothing runs until the member dies.
//   - The process has a child. A program that waits for any child (wait4 with -1) may see it.
//
// # What it has
//
// A pidfd of the member, the page, and a socket on which the member hands over letters, and for each program that can be proven gone a pidfd of its runner and the
// cgroup.events of what that has started. All other descriptors are closed, standard streams are
// /dev/null, the directory is the root. It opens a socket for each address family to send from. It has a session of its own, so the signals of a terminal do not reach
// it, and it ignores SIGTERM, SIGINT and SIGHUP: it ends with the member. A guardian that starts as root becomes the user and group 65534. Other processes
// of its user cannot read its memory.
//
// It ends when the member closes, when it has reported, or when there is nothing that it may report. If it is killed, or with the host or the cgroup, promises lapse as they
// do without it.
package process
