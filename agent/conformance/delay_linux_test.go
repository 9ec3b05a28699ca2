package conformance

import (
	"io"
	"net"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
)

// A delay stands between a client and its agent, and can hold back what the agent sends. It takes note of the last end that the agent announced.
type delay struct {
	address string

	mu    sync.Mutex
	free  *sync.Cond
	holds bool
	// held counts the pieces that are held back, and answers those of them that answer a question about the deadline. bound is the last end that the agent
	// announced, at the latest, on the clock of the host.
	held, answers int
	bound         protocol.Time
}

// The ends that an agent announces: an instant on the socket, a length of time over HTTP.
var (
	announcedUntil = regexp.MustCompile(`"until_ns":(\d+)`)
	announcedFor   = regexp.MustCompile(`"valid_for_ns":(\d+)`)
	answer         = regexp.MustCompile(`"event":"until","id":|HTTP/1.1 200`)
)

// between listens in front of an agent. dial reaches the agent.
func between(t *testing.T, network, listen string, dial func() (net.Conn, error)) *delay {
	t.Helper()
	l, err := net.Listen(network, listen)
	if err != nil {
		t.Fatal(err)
	}
	d := &delay{address: l.Addr().String()}
	d.free = sync.NewCond(&d.mu)
	t.Cleanup(func() {
		_ = l.Close()
		d.release()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			to, err := dial()
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(to, client)
				_ = to.Close()
			}()
			go d.pass(client, to)
		}
	}()
	return d
}

// pass hands on what the agent sends.
func (d *delay) pass(client, agent net.Conn) {
	pieces := make(chan []byte, 1<<10)
	defer close(pieces)
	go func() {
		for piece := range pieces {
			d.await()
			_, _ = client.Write(piece)
		}
		d.await()
		_ = client.Close()
	}()
	for {
		piece := make([]byte, 64<<10)
		n, err := agent.Read(piece)
		if n > 0 {
			d.note(piece[:n])
			pieces <- piece[:n]
		}
		if err != nil {
			return
		}
	}
}

// note takes note of what a piece announces.
func (d *delay) note(piece []byte) {
	high, err := clock.HostHigh()
	if err != nil {
		panic(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range announcedUntil.FindAllSubmatch(piece, -1) {
		d.bound = max(d.bound, protocol.Time(number(m[1])))
	}
	for _, m := range announcedFor.FindAllSubmatch(piece, -1) {
		d.bound = max(d.bound, high.Add(time.Duration(number(m[1]))))
	}
	if d.holds {
		d.held++
		if answer.Match(piece) {
			d.answers++
		}
	}
}

// await waits while the delay holds.
func (d *delay) await() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.holds {
		d.free.Wait()
	}
}

func number(digits []byte) int64 {
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// hold keeps back everything from now on.
func (d *delay) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds, d.held, d.answers = true, 0, 0
}

// release hands on what was held back, and everything from now on.
func (d *delay) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds = false
	d.free.Broadcast()
}

// isHolding returns how much is held back, and how many answers to questions about the deadline are among it.
func (d *delay) isHolding() (pieces, answers int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held, d.answers
}

// lastEnd returns the last end that the agent announced.
func (d *delay) lastEnd() protocol.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bound
}
