// Package etcd is an [engine.Engine] on etcd 3.4 and later: Regent's leases and tokens for teams that operate a cluster of it.
//
// Each group is a key. Its leader renews the lease by a transaction that replaces the key if nobody else has; others read the key, and claim it when it has not changed for a
// whole lease by their own clock. A watch ends their wait after a release.
//
// Leases of etcd are not used. They end by the clock of etcd's leader, in whole seconds of at least 2 s, and a change of that leader extends them. This engine counts by the clocks of its own
// processes, as on every other store, so one rule and one proof hold for all. The price is that a renewal is a write: with the default lease one for each group in 1.5 s. Let etcd compact its
// history (--auto-compaction-retention).
//
// The token of a leadership is the revision of the transaction that claimed it: revisions belong to the whole cluster and are never used again, also after a key was deleted. A
// floor that was set with Raise is added. A cluster that is restored from a backup begins at an older revision: restore it with --bump-revision, or raise the
// tokens (regent engine switch --above).
package etcd
