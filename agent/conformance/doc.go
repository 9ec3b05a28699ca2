// Package conformance runs the clients of every language against real agents: those of Go, and those below clients.
//
// A client is driven by a small program in its own language, its harness, which reads commands on its standard input and writes what happens to its standard
// output, one on a line. clients/python/conformance/harness.py lists the commands.
//
//	driver_linux_test.go       agents, harnesses, commands
//	delay_linux_test.go        what stands between a client and its agent, and holds lines back
//	harness_linux_test.go      the harness of the client in Go
//	conformance_linux_test.go  what every client must do
//	units_test.go              runs the clients' own tests
//
// The central rule is that no client is valid later than the end that the agent announced to it, however late its process runs and its lines come. docs/session.md
// has the rules for authors of clients.
package conformance
