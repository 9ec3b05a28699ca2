// Package register makes an [engine.Engine] of a store that can read one entry, and replace it if it is still what was read: a row of a
// table, a key of etcd, an object of an API server.
//
// A process renews its lease by a write that changes the beat of the entry. Others read the entry, and claim it when it has not changed for a whole
// lease by their own clock. The clock of the store is never read. The decisions, and why they are safe, are in a machine that a simulator drives
// (internal/protocol/lessee); this package sends its requests and sets its timers.
package register
