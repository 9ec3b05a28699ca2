// Package race says whether a test runs under the race detector.
//
// A simulated world is one goroutine. The detector makes it ten times slower and has next to nothing to find there, so
// long simulations are cut short under it; make test plays them whole in a run without it.
package race
