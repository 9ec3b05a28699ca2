// Package regentlock lets electors of client-go and managers of controller-runtime elect by Regent instead of Lease objects. It implements
// resourcelock.Interface.
//
//	lock, err := regentlock.New(group, regentlock.Config{})
//	elector, err := leaderelection.NewLeaderElector(lock.Elector(callbacks))
//	elector.Run(ctx)
//
// docs/kubernetes-lock.md says what a program gets and loses by it. The directory examples has a program for each of the two libraries.
//
// # What it promises
//
//  1. No elector leads before the elector before it has called OnStoppedLeading, unless its process was paused. After a pause past the lease
//     [Lock.Valid] is false at once, OnStoppedLeading is the first callback, and stamps and tokens of the lease ([Lock.Lease]) let a receiver refuse
//     what the program writes until then.
//  2. The group is given up only when the program has stopped: when OnStartedLeading has returned ([Lock.Elector]), when the program reports it
//     ([Lock.Stopped]), or when its process has exited, which the agent sees. Never because an elector releases.
//  3. An elector that has lost does not lead again before it has told its program.
//
// # What electors do that a lock must know
//
// Read in client-go v0.37.2 (tools/leaderelection) and controller-runtime v0.25.2 (pkg/manager):
//
//   - An elector releases, and records "stopped leading", before it ends the context of OnStartedLeading and calls OnStoppedLeading. With ReleaseOnCancel it
//     does so after a loss, too. A manager whose grace period has run out releases while its controllers run. So a release says nothing about the program,
//     and this lock refuses it unless [Lock.Stopped] was called before.
//   - A conflict is the answer to a release on which an elector tries again at once, by recursion, until the lock fails otherwise. So a release never gets one.
//   - An elector compares the holder of a record with Lock.Identity, which it asks for before there is a token. An identity that names the member or the
//     token is never its own, and an elector that reads such a record while it leads gives up. So a leadership announces its identity as its value
//     ([regent.Group.Announcing]).
//   - While an elector renews, Get decides. NotFound makes it create, which wins the group again under another token, and the program does not learn of the
//     loss in between. The record of a new leader makes it call OnNewLeader before OnStoppedLeading. So from a loss until the elector has stopped Get fails,
//     and so does everything else.
//   - An elector waits LeaseDurationSeconds before it asks for what another holds. Between two tries it asks for nothing. So records of others last
//     for no time, an elector that has seen the leader waits in its campaign, and the campaign ends when there is a leader that it has not seen. While it
//     acquires, its context has no deadline.
//   - An elector stops its program RetryPeriod + RenewDeadline after the last renewal that succeeded, whatever the lock answers in between. That holds if every renewal
//     was checked against the lease as it was then, not only if the constants fit once: a renewal succeeds only if the lease, less the guard,
//     outlasts both. RenewDeadline begins with the try, not with the last success: a process that was paused has it before it. And a release asks Get first,
//     with a fresh RenewDeadline: Get must not wait while the elector leads.
//   - The renewal interval, the round trip and the guard are parts of the lease. Of 200 ms with the profile LAN they leave 109 ms, not 120 ms.
//   - Electors write LeaseDuration in whole seconds. Below 1 s no renewal takes the short way, and each asks Get.
//   - A manager uses its LeaseDuration, RenewDeadline and RetryPeriod with a lock of its caller too, although its comment denies it. Its defaults, 15 s, 10 s
//     and 2 s, fit no lease below about 16 s. The lock refuses an elector whose LeaseDuration or RenewDeadline are not its own.
//
// # Files
//
//	config.go     constants, and which of them fit
//	lock.go       resourcelock.Interface
//	campaign.go   waiting to lead
//	program.go    the program of an elector, and its end
//	internal/rule when to campaign, to go on, to refuse and to give up: pure, a table of all states and events
package regentlock
