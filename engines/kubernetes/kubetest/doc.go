// Package kubetest stands in for an API server of Kubernetes in tests: it has Lease objects of the namespace "default", versions, and reviews of rights. It is no API server, and what passes on it has
// not run on one.
//
// It keeps to what the engine and electors of client-go rely on: a resourceVersion of the whole server that grows with every write and survives deletions; updates and patches that are
// refused with 409 if their resourceVersion is not that of the object, and patches that change nothing and get none; an update of an object that is absent, which makes one
// unless it names a uid; the validation of the fields, among them times with six digits; 401, 403, 404 and 409 with a Status. Objects survive a [Server.Kill], as those of an API server do, which keeps them
// in etcd. There is no watch, no list and no protobuf.
package kubetest
