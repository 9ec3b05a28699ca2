// Package api has what the agent says over HTTP: the bodies of requests and answers, for the agent and for its clients, and errors with a
// status.
//
//	status.go  how the agent, its member, groups and sessions are
//	change.go  a view that replaced another
//	orders.go  orders and their outcomes, events of streams
//	error.go   refusals
package api
