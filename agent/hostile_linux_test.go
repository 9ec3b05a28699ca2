package agent

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/session"
)

// Clients that open connections and say little, ask for all there is and read nothing, or write without end, do not
// keep a program from being told in time.
func TestHostileClientsDoNotDelayTheElection(t *testing.T) {
	v := startAgents(t, 3, "limits: {connections: 300, streams: 100}\n")
	c, err := session.Dial(patience(t), v.Socket("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l, err := c.Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	attack := func(network, addr, first, again string) {
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, first)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := io.WriteString(c, again); err != nil {
				return
			}
			time.Sleep(time.Millisecond) // wall clock: real sockets
		}
	}
	for i := range 15 {
		all.Go(func() {
			attack("unix", v.Socket("a"), "{\"do\":\"hello\"}\n", fmt.Sprintf("{\"do\":\"view\",\"id\":%d,\"group\":\"g\"}\n", i+1))
		})
		all.Go(func() { attack("unix", v.Socket("a"), "{", "x") })
		all.Go(func() { attack("tcp", v.address("a"), "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n", "") })
		all.Go(func() { attack("tcp", v.address("a"), "GET / HTTP/1.1\r\n", "X: y\r\n") })
		all.Go(func() {
			attack("tcp", v.address("a"), "POST /v1/groups/h/campaign HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n", " ")
		})
	}
	lost := time.After(3 * time.Second)
	select {
	case <-l.Done():
		t.Errorf("the program was told to stop: %v", l.Cause())
	case <-lost:
	}
	if !l.Valid() {
		t.Error("the lease is over")
	}
	// It is still served: by the socket, on which it has its connection, and the group changes hands as ever.
	if err := l.Resign(patience(t)); err != nil {
		t.Error(err)
	}
	if _, err := c.Campaign(patience(t), session.Candidate{Group: "g"}); err != nil {
		t.Error(err)
	}
	close(stop)
	all.Wait()
}
