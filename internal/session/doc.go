// Package session is what programs and their agent say to one another on the agent's unix socket, and the program's side
// of it in Go. The agent's side is agent.
//
//	message.go  the lines
//	read.go     reading them: bounded, strict
//	conn.go     a connection of a program: requests, answers
//	candidacy.go candidacies, and their causes
//	agreements.go what the members of a consistent group agree on
//	lease.go    a leadership as the program sees it: drives a machine of internal/tenure
//	page*.go    deadlines that the agent shows in memory, and signs of life
//
// docs/session.md is the specification of the lines: framing, every request and event with its fields, versions, clocks, and the rules that keep a client
// safe. Its test vectors are in clients/testdata, and a test sees that it leaves nothing out. Here is what only Regent's own programs use, and why.
//
// # Leading
//
// The agent moves the deadline when the lease below is renewed. Renewals that come close together share one until. A program that reads the page gets no until.
// In an eventual group there is no lease: the agent moves the deadline while it runs, so that no program outlives it.
//
// Once it is asked to stop because renewals failed, a program has what is left until then, about the guard time.
//
// A program may ask to be watched (heartbeat_ns, in campaign): if it is silent for as long, the agent takes it for hung,
// tells it to stop, tells it of no later end, and gives the group up when the last one has passed. If it is silent while it waits, its
// candidacy is over for the cause unhealthy: once it works again, it campaigns again. A suspend of the host is no silence.
//
// # Runners
//
// A runner is a program that runs another (regent run). It says with its campaign how the processes can be found that it
// will start (tree), so that the agent can kill them when the runner cannot, because it is stopped, or dead. The agent
// kills them
//
//   - when the guard time before the end of a lease begins that was not renewed; the runner may ask for a longer one
//     (guard_ns);
//   - when the grace is over and the candidacy is not;
//   - when the connection has ended, by the death of the runner or otherwise.
//
// The agent refuses a campaign whose guard_ns leaves no room to renew the leases of the group. lease_ns and renew_ns of hello are those of programs that ask
// for no length; lease_ns of waiting is the length that the program gets.
//
// It gives nothing up, and says over to nobody, before they are gone, unless the lease has run out.
//
// A runner reports the first process of its program with started. The agent believes it if the process is a child of the runner and
// leads a session, and then also finds what was born into that session.
//
// A runner has a keeper, a process with a connection of its own. The keeper writes a secret that only the two share, with
//
//	{"do":"keep","id":1,"keeper":"..."}
//
// and gets waiting. Then the runner names the secret in its campaign (keeper). The keeper gets leads and until as the runner does, may
// report the end of a dead runner with resign, and gets over. hooks_ns, in campaign, is how long the lost hooks may take: the agent
// waits for them, at most until the announced end.
//
// # Addresses
//
// hold has the agent start regent vip with its own rights, for a user that may not change addresses. printed passes on what that process prints, and over its exit
// status. resign asks it to stop; with the cause unhealthy because the host is not fit to lead. The process stops with the connection, too.
//
// A runner of addresses reports with duplicates which other hosts have them as well: all of them whenever that changes.
//
// # The end of a connection
//
// The process of a connection is the one that opened it; who hands a connection on to another process gives the proof of its death away, and must keep the
// first one alive.
//
// # Clocks
//
// The clock of the host advances as the lease clock of a process does (internal/clock), which has an origin of its own: the agent turns ends of
// leases into instants of the host's when it tells them, and the program's side turns them into instants of its own when
// it hears of them, both rounded down. Lease clocks do not notice when the machine is suspended for less than a
// millisecond, so the agent takes [Skew] off every end that it tells. Processes in another time namespace have other
// clocks: the program's side compares now_ns of hello with what it reads, and refuses to go on.
//
// remaining_ns is less than what is left, by an allowance: the guard time, for the delay until the line is read, and a twelfth, for a clock that a time service
// slows down. Clients count it from when they asked alive, so that no delay matters. One that counts it from when it reads a line is wrong after
// a delay of more than the guard time.
//
// # The page
//
// An agent on Linux has a page of memory in which it shows the deadlines of its programs. A renewal is then one store in the agent, and no
// line. internal/page describes the memory word by word, and how to read it. A program in any language uses it in these steps:
//
//  1. If hello has a page, which is the identity of the page, write {"do":"page","id":10}, and receive the answer with recvmsg. The event page comes
//     with one descriptor (SCM_RIGHTS). The event error comes without one: then the program reads lines.
//  2. Check the seals of the descriptor (F_GET_SEALS must have SEAL, SHRINK, GROW and FUTURE_WRITE), so that no process can shorten the memory
//     under its readers. Map all of it for reading, and compare format and identity.
//  3. Campaign with "page":true and a heartbeat. leads then has a tenure, and a slot (0 if it is left out): the deadline stands in that slot
//     under that number. If leads has no tenure, the page was full, and until lines come.
//  4. Look at the slot whenever the deadline matters, and take [Skew] off what it shows. It is an instant of the host's clock. A tenure that has
//     lost its slot is over.
//  5. When the connection ends, do not look any more: the last end that was read counts.
//
// No until lines come to a candidacy with a slot; all other lines do. stop bears the end of that moment, and the page may show a later one until the
// agent freezes the deadline. From then on the slot shows a fixed end. over closes the slot.
//
// The agent gives no page
//
//   - to a process in another time namespace: its clocks are others;
//   - to a process whose time namespace it may not look at: run the agent as root, or as the user of the program.
//
// A keeper asks for the page in the same way, and writes {"do":"keep","id":1,"keeper":"...","page":true}. Its leads names the slot of its runner. It
// needs no heartbeat. It still gets an until line at each sign of life of its runner: the agent cuts off a keeper that reads none of them.
//
// # Signs of life
//
// A program that reads the page could hang unnoticed, so it must give signs of life: {"do":"alive"} without a number counts for all
// candidacies of the connection that read the page, and has no answer. The Go side gives two within the heartbeat, which is two leases and at least [DefaultHeartbeat]
// unless the program sets another one: one in 3 s. A runner gives one in 1.5 s at least, because its keeper gets a line at each. All programs
// of a host give theirs at the same instants of the wall clock, so that the agent wakes up once for many. The agent lets a runner be silent for two
// leases of its group, at least 6 s, and one that holds addresses for one lease.
package session

import "time"

// Version is that of the lines.
const Version = 1

// Skew is by how much the lease clocks of two processes of a host may run apart.
const Skew = 1200 * time.Microsecond
