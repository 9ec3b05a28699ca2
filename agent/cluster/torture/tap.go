//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// tapEvery is how often an agent is asked for the deadlines that it has announced, and tapPatience how long it may take to answer.
const (
	tapEvery    = 25 * time.Millisecond
	tapPatience = time.Second
)

// sessionInfo is what an agent says of a runner at /v1/sessions, and sessionList all of it.
type (
	sessionInfo struct {
		Group string        `json:"group"`
		Pid   int           `json:"pid"`
		Token uint64        `json:"token"`
		Left  time.Duration `json:"remaining_ns"` // of the deadline that the runner knows
	}
	sessionList struct {
		Sessions []sessionInfo `json:"sessions"`
	}
)

// tenureKey names a tenure.
type tenureKey struct {
	group string
	token uint64
}

// tap follows the deadlines that agents announce to runners.
type tap struct {
	mu sync.Mutex
	// deadlines are the highest that were seen. The last renewal may be missing: none is too high.
	deadlines map[tenureKey]cluster.Time
	runners   map[tenureKey]int
	leaders   map[string]string // the hosts that led last, by group
	tokens    map[string]uint64
}

func newTap() *tap {
	return &tap{deadlines: make(map[tenureKey]cluster.Time), runners: make(map[tenureKey]int), leaders: make(map[string]string), tokens: make(map[string]uint64)}
}

// client returns a client for the socket of an agent.
func client(socket string) *http.Client {
	return &http.Client{Timeout: tapPatience, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// follow asks an agent until ctx ends.
func (t *tap) follow(ctx context.Context, host, socket string) {
	c := client(socket)
	for ctx.Err() == nil {
		before := cluster.Now()
		var list sessionList
		if r, err := c.Get("http://agent/v1/sessions"); err == nil {
			_ = json.NewDecoder(r.Body).Decode(&list)
			_ = r.Body.Close()
		}
		t.note(host, before, list.Sessions)
		select {
		case <-time.After(tapEvery):
		case <-ctx.Done():
		}
	}
}

// note takes what an agent answered to a question that was asked at an instant.
func (t *tap) note(host string, asked cluster.Time, all []sessionInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range all {
		if s.Token == 0 || s.Left <= 0 {
			continue
		}
		k := tenureKey{s.Group, s.Token}
		t.deadlines[k] = max(t.deadlines[k], asked.Add(s.Left))
		t.runners[k] = s.Pid
		if s.Token >= t.tokens[s.Group] {
			t.tokens[s.Group], t.leaders[s.Group] = s.Token, host
		}
	}
}

// leader returns the host whose runner led a group last, as far as agents tell.
func (t *tap) leader(group string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leaders[group]
}

// order gives an agent an order about a group. It may be refused: the leader may have changed.
func order(socket, group, verb, body string) error {
	c := client(socket)
	defer c.CloseIdleConnections()
	r, err := c.Post(fmt.Sprintf("http://agent/v1/groups/%s/%s", group, verb), "application/json", strings.NewReader(body))
	if err == nil {
		_ = r.Body.Close()
	}
	return err
}
