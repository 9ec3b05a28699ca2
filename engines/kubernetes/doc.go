// Package kubernetes is an [engine.Engine] on the API server of Kubernetes: Regent's leases and tokens on Lease objects (coordination.k8s.io/v1).
//
// Each group is a Lease object of one namespace. Its leader renews the lease by a patch that bears the resourceVersion of the object, so that the server refuses it if
// anybody else has written; others read the object, and claim it when it has not changed for a whole lease by their own clock. No time in the object is read.
//
// # Electors of client-go
//
// The fields are those that electors of client-go write and read (k8s.io/client-go/tools/leaderelection), so both can contend for one object. An elector that holds it is
// respected for its leaseDurationSeconds, counted from the last change; one that waits respects a leader of this engine. Two facts of client-go shape what is written:
//
//   - It compares what it sees in whole seconds. Two renewals in the same second look to it like one, so that it would count from the earlier. Here renewTime
//     grows by at least a second with every renewal of a leadership. Where renewals are more frequent than that, it runs ahead of the time of day, which nobody compares it with.
//   - It takes an object without a holder, and one that is absent, at once. So the entry that this engine creates where there is none, and then watches for one
//     lease, has the holder [Vacant]. An object that is deleted under a leader has no such protection against electors: the first that finds it absent leads at once.
//
// Electors of client-go do not allow for clocks that deviate. With a lease of 5 s and a drift of 0.001 that is 5 ms, which the guard before the end covers many times over.
//
// # Tokens
//
// The token of a leadership is the resourceVersion of the update that claimed it, plus a floor that Raise sets. From Kubernetes 1.35 on, resourceVersions are numbers
// that may be compared; of older servers that is not promised, and there Limits says that no tokens are offered. The field leaseTransitions is written for others, and never
// read as a token: it begins again at 0 with a new object.
//
// # Why there is no client-go here
//
// The engine needs five kinds of request on one type of object. net/http does them with no further requirement; client-go brings 500 packages, minutes of compilation and
// some 10 MB, and its connections are HTTP/2: one that is dead holds up all requests for up to 45 s, longer than most leases. Here each request that takes too long takes its connection
// with it. What client-go would add is authentication by kubeconfig, with its plugins. A program that has client-go gives its own client to [New]; an agent outside of the cluster
// uses a token file, a client certificate, or 'kubectl proxy'.
package kubernetes
