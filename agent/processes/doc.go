// Package processes knows the processes of an agent's programs: who is at the other end of a connection, whether it is dead, and what is
// left of what a runner started.
//
//	peer*.go    the process at the other end, by a pidfd
//	holder*.go  regent vip as a child of the agent, for a user that may not change addresses
//	tree.go     kills what a runner started if the runner does not
//	orphans.go  or after the next start of the agent, if nobody did
package processes
