// Package etcd serves elections to clients of etcd: Go's concurrency.Election and etcdctl elect, unmodified. It keeps no data: the agent elects, and what
// clients read is what the agent knows about its groups. docs/etcd-facade.md says what is promised, and what is not.
//
// # How an election of etcd becomes one of Regent
//
// In etcd a candidate queues with a key, gets a revision for it, and leads when all older keys are gone. Here the transaction that queues is answered when the
// agent has elected the candidate, and with the token as its revision. The client then asks for older keys, and there are none. So Rev() is the token, and
// neither a queue nor a history is needed. A group has one key, that of its leader.
//
// # Until when a client believes
//
// A client of etcd counts its TTL from when it has read an answer, which nobody else sees. The package internal/belief decides what may be answered so that
// the belief ends before the lease does, and has a model of the client to prove it. It does not hold across a pause of the client, or of what carries the answer: only the
// order of the tokens does then.
//
//	server.go    the listener and its services; refuse.go: all other requests
//	identity.go  who asks, and what that client may do
//	session.go   a session, with its groups: drives internal/belief
//	campaign.go  one candidacy of a session
//	alive.go     leases and keep-alives
//	kv.go        transactions and reads
//	watch.go     watches
package etcd
