// Package library holds the tests of the library with real processes, which need the cluster harness. It exports nothing.
package library
