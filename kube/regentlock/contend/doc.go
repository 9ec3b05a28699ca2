// Package contend has the test in which electors of client-go and the engine of regent/engines/kubernetes contend for one Lease object. The electors are real, the API server is the
// stand-in of regent/engines/kubernetes/kubetest.
package contend
