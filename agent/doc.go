// Package agent is the daemon that elects leaders for the other programs of its host. It is a member of the council, and
// a customer of the library like any other.
//
// It puts its rooms together, and listens:
//
//	core        candidates, tenures, what is known about groups
//	processes   peers, trees of runners, orphans
//	socket      programs on the unix socket
//	httpd       the HTTP interface; patroni: for tools of Patroni; metrics: for Prometheus
//	access      who may do what, and the audit log
//	api         the bodies of requests and answers
//	config      the configuration
//
//	agent.go    from configuration to the end of everything; reload.go: what can change meanwhile
//	server.go   listeners and limits
//	openapi.go  the description of all routes
//	notify.go   what the service manager learns
package agent
