// Package access says who may do what, and keeps the audit log.
//
//	access.go  roles of clients over TCP: tokens, certificates, loopback
//	local_*.go the user at the other end of the unix socket
//	login.go   logins of people on the dashboard; attempts.go: how often each source may guess a token
//	rights.go  what a client may do with single groups
//	audit.go   who did, or was refused
package access
