// Package checkpoints runs programs that keep checkpoints on each other's disks (package checkpoint/core) over simulated consistent groups, under random
// kills, pauses, partitions and damaged shares. Each program carries a state from frame to frame that cannot be computed again from the key alone.
//
//	member.go  a member, its program and its store
//	run.go     one run: what goes wrong, and when it is over
//	check.go   what must hold:
//
//	K-LOST    no key begins anew once a checkpoint of it was complete, and its last state is that of a run without faults
//	K-STALE   an heir goes on from no checkpoint that is older than one that was complete
//	K-REPEAT  an heir repeats at most the work of one checkpoint interval
//	K-ONE     in one view one member inherits a key, at most once, and one manager reports the view recovered
//	K-MEND    in the end no share is damaged
//	K-DONE    in the end the work is done
package checkpoints
