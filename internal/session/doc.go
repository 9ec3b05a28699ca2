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
// # Lines
//
// Each side writes JSON objects, one on a line. Lengths and instants are whole numbers of nanoseconds, in fields whose names end in _ns. The program
// begins, since the same socket speaks HTTP as well; if it has nothing to ask yet, with a greeting:
//
//	{"do":"hello"}
//
// Before it answers anything the agent says who it is:
//
//	{"event":"hello","version":1,"member":"a","now_ns":81234567890,"lease_ns":200000000,"guard_ns":20000000,"renew_ns":50000000,"round_trip_ns":20000000,"page":4503599627370496}
//
// A program asks, under a number of its own choice, which is not 0 and in use only once at a time:
//
//	{"do":"campaign","id":1,"group":"billing"}     wait to lead; with "mode" in groups of other modes than quorum
//	{"do":"resign","id":2,"of":1}                  the program of candidacy 1 has stopped, or never began
//	{"do":"freeze","id":3,"of":1,"cause":{...}}    it ends without having stopped, or for a cause that it found out later
//	{"do":"started","id":3,"of":1,"first":4711}    of a runner: the first process of its program, before it execs
//	{"do":"alive","id":3,"of":1}                   it is well; until when does it lead?
//	{"do":"alive"}                                 the program is well; no answer
//	{"do":"page","id":10}                          hand over the page
//	{"do":"edict","id":4,"of":1}                   stamp an order
//	{"do":"announce","id":11,"of":1,"value":"..."} what its leadership announces from now on; campaign may have a value, too
//	{"do":"recovered","id":12,"of":1,"token":7,"number":3}  in a consistent group: what that agreement asks for is recovered
//	{"do":"transfer","id":5,"of":1,"to":"b"}       it has stopped, and b shall lead; with "ask":true: would b be asked?
//	{"do":"view","id":6,"group":"billing"}         who leads, as far as the agent knows?
//	{"do":"verify","id":7,"group":"billing"}       who leads, proven?
//	{"do":"watch","id":8,"group":"billing"}        the view, and every change of it
//	{"do":"unwatch","id":9,"of":8}                 enough
//	{"do":"bye"}                                   all that was begun here has stopped
//
// The agent answers with the same number, or speaks of a candidacy or watch by the number that began it:
//
//	{"event":"waiting","id":1,"lease_ns":200000000}   the length of the leases of this candidacy
//	{"event":"leads","id":1,"group":"billing","token":7,"until_ns":81433367890,"remaining_ns":162233334}
//	{"event":"until","ids":[1],"until_ns":81483367890,"remaining_ns":162233334}
//	{"event":"stop","id":1,"cause":{"why":"closed","member":"a"},"until_ns":...,"remaining_ns":...}
//	{"event":"healed","id":1,"member":"c"}
//	{"event":"agreed","id":1,"view":{...}}         in a consistent group: the present agreement, and every later one
//	{"event":"over","id":1,"cause":{...}}
//	{"event":"done","id":2}
//	{"event":"edict","id":4,"stamp":"0.7.81000:0/1@500,1/1@900"}
//	{"event":"page","id":10}                       a descriptor of the page comes with this line
//	{"event":"proof","id":7,"leader":"a","token":7,"value":"...","until_ns":...,"remaining_ns":...}
//	{"event":"view","id":8,"view":{...}}
//	{"event":"error","id":5,"error":"..."}
//
// # Leading
//
// From leads on the program leads, until the instant that was announced last: the agent moves it by an until when the lease below is
// renewed. Renewals that come close together share one until. A program that reads the page gets no until. At stop the program must stop, and then say so with resign. Meanwhile the
// lease goes on being renewed as long as it can be, for at most the grace that the program asked for (grace_ns, in
// campaign); then it runs out. After over the candidacy is over, and a program that wants to lead again campaigns again.
//
// # Groups that hosts lead
//
// In local and eventual groups hosts lead, and a program has its turn while its host does, one program of a host at a time:
//
//	{"do":"campaign","id":1,"group":"cache","mode":"local"}
//	{"event":"leads","id":1,"group":"cache","turn":3,"until_ns":...,"remaining_ns":...}
//
// The agent refuses a campaign whose mode is not that of the group in its configuration. There is no token, and no edict, transfer or value. In a local
// group until_ns is the end of the host's lease. In an eventual group there is no lease: the agent moves until_ns while it runs, so that no program
// outlives it. When the host leads no more the program gets stop, and has its grace. The host leads on when a program resigns.
//
// # Consistent groups
//
// A program takes part in a consistent group with a campaign of mode consistent. Its host is a member from leads until the program has stopped, and view, in
// leads, is the agreement that took it in. An agreed whose view has recover in its agreement asks the program to recover what was lost. The agent reports
// that only when the program has written recovered with the token and the number of that agreement. It refuses reports about others. Runners
// take part in none.
//
// # Members that are back
//
// healed says to who leads that a member is back that was down or cut off: who announces its leadership to others, by
// addresses or names, may do so again.
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
// # The end of a connection
//
// A connection that closes after bye, or whose process is proven dead, gives up at once what it led. One that merely
// closes does not: its program may still act. Then the agent waits for the last end that it announced. The process is the
// one that opened the connection; who hands a connection on to another process gives that proof away, and must keep the
// first one alive.
//
// # Clocks
//
// until_ns and now_ns are instants of the clock of the host, which all its processes share:
//
//	CLOCK_MONOTONIC_RAW + (CLOCK_BOOTTIME - CLOCK_MONOTONIC)
//
// It advances as the lease clock of a process does (internal/clock), which has an origin of its own: the agent turns ends of
// leases into instants of the host's when it tells them, and the program's side turns them into instants of its own when
// it hears of them, both rounded down. Lease clocks do not notice when the machine is suspended for less than a
// millisecond, so the agent takes [Skew] off every end that it tells. Processes in another time namespace have other
// clocks: the program's side compares now_ns of hello with what it reads, and refuses to go on.
//
// Programs that do not want to read such clocks count remaining_ns, on any clock. It is less than what is left, by an allowance: the
// guard time, for the delay until the line is read, and a twelfth, for a clock that a time service slows down. A program that
// counts it from when it reads the line stops in time, unless the line was delayed by more than the guard time. If it counts from when it
// asked alive, no delay matters.
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
// leases of its group, at least 6 s.
package session

import "time"

// Version is that of the lines.
const Version = 1

// Skew is by how much the lease clocks of two processes of a host may run apart.
const Skew = 1200 * time.Microsecond
