// Package agent is the daemon that elects leaders for the other programs of its host. It is a member of the council, and
// a customer of the library like any other: every program that leads through it holds a lease of the library's.
//
//	agent.go      the agent: from configuration to the end of everything
//	candidate.go  one program that wants to lead one group, however it speaks; life.go: carries out what its machine asks for
//	endreason.go  how its leadership ended, for the history
//	deadlines.go  until when programs lead, on a page that they read; renewals.go: in messages; rejoin.go: members that are back
//	conn.go       programs on the unix socket (internal/session has the lines); requests.go: what they ask; notifier.go: how they are notified
//	watchedtree.go kills what runners started if they do not; orphans.go: or after the next start, if nobody did
//	keepers.go    the processes beside runners
//	peer_*.go     who is at the other end, and whether it is dead
//	modes.go      groups that hosts lead, and not programs: local and eventual ones
//	statuscache.go how the member is, without asking it each time
//	changelog.go  what is known about all groups, for readers that must not block the member
//	server.go     listeners and limits; admission.go: connections over TCP, by source
//	access.go     who may do what; rights.go: with single groups; audit.go: who did, or was refused
//	routes.go     the table of the HTTP interface, and what it all has in common
//	api.go        questions; orders.go: orders; roles.go: what load balancers ask; patroni.go: and tools of Patroni
//	stream.go     server-sent events; campaign.go: candidates over HTTP
//	openapi.go    the description of all that
//	metrics.go    for Prometheus
//	notify.go     what the service manager is told
//	reload.go     what can change while the agent runs
//
// # What is never done
//
// Nothing is released under a program that may still act. A candidate knows the last end that its program was told, and
// gives the group up only when the program has said that it stopped, is proven dead, or that end has passed. It does not
// matter why: a connection that closed, a program that reads no more, a heartbeat that stayed away, a grace that is used
// up all do the same, which is that the program is told of no later end.
//
// Clients never reach the member's loop other than by questions that it answers in between. What a client reads comes
// from the change log, which the member's log of changes feeds; what a client is slow to take waits in a queue of its own,
// and when that is full the client is cut off.
package agent
