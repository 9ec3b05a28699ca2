// Package processes tries locks on real processes: agents, and programs with electors of client-go, which are paused and killed. Its tests take minutes:
// make test-kube runs them.
package processes
