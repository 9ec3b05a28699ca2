package etcd

import (
	"testing"
	"time"

	"github.com/regentproject/regent/facades/etcd/internal/belief"
	"github.com/regentproject/regent/internal/protocol"
)

// A clocked agent has a clock that a test moves, and nothing else.
type clocked struct {
	Agent
	now protocol.Time
}

func (c *clocked) Now() protocol.Time { return c.now }

// An answer that took longer to write than an answer may take to the client ends the session: it was decided for an earlier instant.
func TestLateAnswersEndTheSession(t *testing.T) {
	for late, want := range map[time.Duration]bool{belief.Way: false, belief.Way + 1: true} {
		c := &clocked{now: protocol.Time(time.Hour)}
		a := &aliveStream{Stream: belief.Stream{Conn: 1, Number: 1}, ended: make(chan int64, 1)}
		n := &etcdSession{server: newServer(c, nil), id: 7, changed: make(chan struct{}, 1), belief: belief.New(c.now, 2*time.Second)}
		answer, decided := n.keepAlive(a)
		if answer.TTL != 2*time.Second {
			t.Fatalf("%+v", answer)
		}
		c.now = c.now.Add(late)
		n.sent(decided, answer)
		if told := len(a.ended) == 1; told != want {
			t.Errorf("%v late: the client is told that the session is over: %v", late, told)
		}
		if next, _ := n.keepAlive(a); (next.TTL == 0) != want {
			t.Errorf("%v late: the next keep-alive gets %+v", late, next)
		}
	}
}
