package relay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// Do carries out one line, and returns what there is to say. Beside the language of fault.Board it knows
//
//	addr NAME           the address that the others must use for a member
//	member NAME ADDR    where a member listens now
//	stats FROM TO       as JSON
func (r *Relay) Do(line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 2 && words[0] == "addr" {
		a, err := r.Addr(words[1])
		if err != nil {
			return "", err
		}
		return a.String() + "\n", nil
	}
	if len(words) == 3 {
		switch words[0] {
		case "member":
			a, err := netip.ParseAddrPort(words[2])
			if err != nil {
				return "", err
			}
			return "", r.SetAddr(words[1], a)
		case "stats":
			s, err := r.Stats(words[1], words[2])
			if err != nil {
				return "", err
			}
			b, err := json.Marshal(s)
			return string(b) + "\n", err
		}
	}
	return r.links.Do(line)
}

// maxLine is the length of the longest line.
const maxLine = 64 << 10

// Control reads lines and answers each with what it has to say, then a line "ok", or "error: ..." and what is wrong. It
// returns when there are no more lines.
func (r *Relay) Control(lines io.Reader, answers io.Writer) error {
	in := bufio.NewScanner(lines)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		text, err := r.Do(in.Text())
		end := "ok"
		if err != nil {
			end = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		if _, err := fmt.Fprintf(answers, "%s%s\n", text, end); err != nil {
			return err
		}
	}
	return in.Err()
}

// Serve answers lines on every connection that comes in, until the listener is closed. Every client that can connect controls
// the relay: listen on loopback or on a unix socket.
func (r *Relay) Serve(l net.Listener) error {
	var mu sync.Mutex
	open := make(map[net.Conn]bool)
	var conns sync.WaitGroup
	for {
		c, err := l.Accept()
		if err != nil {
			mu.Lock()
			for c := range open {
				c.Close()
			}
			mu.Unlock()
			conns.Wait()
			return err
		}
		mu.Lock()
		open[c] = true
		mu.Unlock()
		conns.Go(func() {
			// A connection that breaks ends with its client; there is nobody to tell.
			_ = r.Control(c, c)
			mu.Lock()
			delete(open, c)
			mu.Unlock()
			c.Close()
		})
	}
}
