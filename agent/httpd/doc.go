// Package httpd is the HTTP interface of the agent.
//
//	routes.go        the table of routes, and what all of them have in common
//	read.go          questions; orders.go: orders; roles.go: what load balancers ask
//	stream.go        server-sent events; campaign.go: candidates over HTTP
//	elsewhere.go     orders that the agent of another host carries out; report.go: what agents tell one another for their pages
//	authenticate.go  who asks; auditwriter.go: what becomes of it
//	dashboard.go     the page, and logins on it
//	admission.go     connections over TCP, by source; local.go: those of the unix socket
package httpd
