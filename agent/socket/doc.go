// Package socket serves programs on the agent's unix socket (internal/session has the lines).
//
//	conn.go      a program; watch.go: what it watches; requests.go: what it asks; notifier.go: how it is notified; lines.go: ends and signs of life
//	keepers.go   the processes beside runners
//	page_*.go    hands out the page on which programs read their deadlines
package socket
