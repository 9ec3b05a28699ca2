// Package library holds the tests of the library that need the cluster harness: with real processes, and with members in memory. It
// exports nothing.
package library
