// Package enginetest is the test that every engine must pass.
//
// [Run] starts contenders as processes, behind a proxy that delays, cuts and loses what passes, pauses them, kills and restarts the server, deletes entries, and moves the server's time of day. Their
// journals bear instants of the host's lease clock. No process may lead before the deadline that the holder before it had announced to itself, and tokens must grow.
//
// Two mutants count the deadline of a holder from the answer, and not from before the request: mutants/lessee/deadline-from-answer is of all engines on a store, and
// mutants/nerio/lease-from-the-answer-on of the council. Simulators catch both in seconds. This test does not catch that of the council.
//
// A test binary calls [Main] from TestMain, so that it can be the contenders as well:
//
//	func TestMain(m *testing.M) { enginetest.Main(m, open) }
//	func TestEngine(t *testing.T) { enginetest.Run(t, enginetest.Subject{...}) }
//
// [Memory] is a store in memory, for tests in virtual time.
package enginetest
