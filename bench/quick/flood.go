package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/wire"
)

// The shapes of datagrams that a flood is made of.
const (
	junkShape = "random bytes"
	longShape = "60 KB"
	// keyShape is a recorded packet with another key: the kernel's filter drops it. copyShape has another start each time and passes the
	// filter, by chance. replayShape is the recorded packet itself, which opens and is known. countShape is of the recorded start, and has
	// another number each time: it passes the filter, and does not open.
	keyShape    = "another key"
	copyShape   = "copied header"
	replayShape = "recorded packet"
	countShape  = "copied start"
	// The sender of the following looks at the network all the time. newestShape is the last packet that a member sent to the target. nextShape is that packet with
	// one of the numbers that come next, of which the sender does not know the marks. bodyShape has the number and the mark of that packet, and another content.
	newestShape = "newest packet"
	nextShape   = "next numbers"
	bodyShape   = "newest mark"
)

// shapes are all of them.
var shapes = []string{junkShape, keyShape, longShape, copyShape, replayShape, countShape, newestShape, nextShape, bodyShape}

// ahead is how far nextShape looks ahead.
const ahead = 64

// recordWithin is how long to wait for a packet to record.
const recordWithin = 5 * time.Second

// flood measures what a sender at full speed costs the leader of a council of three, beside the same sender aiming at a closed port: the
// processor time above idle, and leases that were lost.
func flood(ctx context.Context, s settings, realtime bool, out io.Writer) error {
	if s.flood == 0 {
		return nil
	}
	c, err := open(ctx, s, cluster.Options{NoRealtime: !realtime, Poll: pollEvery, Groups: cluster.OneGroup}, 3)
	if err != nil {
		return err
	}
	closed, err := closedPort()
	if err != nil {
		return errors.Join(err, c.close())
	}
	err = c.floods(ctx, realtime, closed, out)
	_, wrong := c.cluster.Check(cluster.Rules{})
	return errors.Join(err, wrong, c.close())
}

// floods measures one shape after the other. A flood may cost the leader its lease, so each is aimed at who leads then.
func (c *experiment) floods(ctx context.Context, realtime bool, closed string, out io.Writer) error {
	leader, _, err := c.aim(ctx)
	if err != nil {
		return err
	}
	idle, err := c.flooded(ctx, leader, "", "")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "flood, 3 members, %-8s idle for %v: the leader uses %.1f %% of a core, %d changes of leader\n", named(realtime), c.settings.flood, idle.share, idle.changes)
	for _, shape := range c.shapes {
		for _, what := range []string{"a closed port", "the leader"} {
			leader, addr, err := c.aim(ctx)
			if err != nil {
				return err
			}
			if what == "a closed port" {
				addr = closed
			}
			r, err := c.flooded(ctx, leader, addr, shape)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "flood, 3 members, %-8s %s to %s, one sender on one core, %d/s for %v: the leader %s uses %+.1f %% of a core, %d changes of leader %v; its longest pause so far %s; load %s\n",
				named(realtime), shape, what, r.rate, c.settings.flood, leader, r.share-idle.share, r.changes, c.causes, ms(r.pause), load())
		}
	}
	return nil
}

// warmUp is how long the begin of a council may cost more, and how long a change of leader takes with what follows it.
const warmUp = 2 * time.Second

// aim returns who leads, and where that member receives packets, once a packet to it was recorded. What happened before is over then.
func (c *experiment) aim(ctx context.Context) (leader, target string, err error) {
	if err := c.sleep(ctx, warmUp); err != nil {
		return "", "", err
	}
	leader = c.leader.Member
	target = c.cluster.Bind(leader)
	return leader, target, cluster.Record(recordWithin, func(r cluster.Recorded) bool {
		c.recorded = r.Data
		return r.To.String() != target
	})
}

// load returns the host's load averages; empty: they are not known.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); err == nil && len(f) > 2 {
		return strings.Join(f[:3], " ")
	}
	return "unknown"
}

// closedPort returns an address on loopback on which nobody listens.
func closedPort() (string, error) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return c.LocalAddr().String(), c.Close()
}

// A floodResult is what was measured: the member's share of a core in percent, changes of leader, datagrams in a second, and the longest pause of
// the member since its start.
type floodResult struct {
	share   float64
	changes int
	rate    int
	pause   time.Duration
}

// flooded measures a member while a sender aims at an address; at none if it is empty.
func (c *experiment) flooded(ctx context.Context, member, addr, shape string) (r floodResult, err error) {
	var sender *exec.Cmd
	var sent *bufio.Reader
	if addr != "" {
		path, err := os.Executable()
		if err != nil {
			return r, err
		}
		sender = exec.CommandContext(ctx, path, "flood", addr, shape, c.settings.flood.String(), hex.EncodeToString(c.recorded))
		pipe, err := sender.StdoutPipe()
		if err != nil {
			return r, err
		}
		sent = bufio.NewReader(pipe)
		if err := sender.Start(); err != nil {
			return r, err
		}
	}
	before, _, err := process(c.cluster.Pid(member))
	if err != nil {
		return r, err
	}
	c.changes, c.causes = 0, make(map[string]int)
	if err := c.sleep(ctx, c.settings.flood); err != nil {
		return r, err
	}
	after, _, err := process(c.cluster.Pid(member))
	if err != nil {
		return r, err
	}
	r.share, r.changes = 100*(after-before).Seconds()/c.settings.flood.Seconds(), c.changes
	if sender != nil {
		line, err := sent.ReadString('\n')
		if err := errors.Join(err, sender.Wait()); err != nil {
			return r, fmt.Errorf("sender: %w", err)
		}
		r.rate, err = strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return r, err
		}
	}
	_, err = c.usage(ctx)
	r.pause = c.statuses[member].Status.PauseLongest
	return r, err
}

// send is a process that sends datagrams as fast as it can from one core: flood ADDR SHAPE LENGTH PACKET. PACKET is one that was
// recorded. It prints how many it sent in a second.
func send(args []string) error {
	pin()
	length, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	recorded, err := hex.DecodeString(args[3])
	if err != nil {
		return err
	}
	conn, err := net.Dial("udp", args[0])
	if err != nil {
		return err
	}
	b := datagramOf(args[1], recorded)
	var newest atomic.Pointer[[]byte]
	switch args[1] {
	case newestShape, nextShape, bodyShape:
		go follow(conn.LocalAddr().String(), args[0], length, &newest)
	}
	n, begin := 0, time.Now()
	for time.Since(begin) < length {
		for range 100 {
			switch args[1] {
			case copyShape:
				binary.BigEndian.PutUint64(b[wire.StartOffset:], uint64(n)*0x9e3779b97f4a7c15) // no start twice
			case newestShape, nextShape, bodyShape:
				if p := newest.Load(); p != nil {
					b = append(b[:0], *p...)
				}
				if args[1] == nextShape {
					next := binary.BigEndian.Uint64(b[wire.NumberOffset:]) + 1 + uint64(n)%ahead
					binary.BigEndian.PutUint64(b[wire.NumberOffset:], next)
					binary.BigEndian.PutUint32(b[wire.MarkOffset:], uint32(n)*0x9e3779b9&(1<<31-1))
				}
				if args[1] == bodyShape {
					b[len(b)-1]++
				}
			case countShape:
				binary.BigEndian.PutUint64(b[wire.NumberOffset:], 1<<40+uint64(n))
			}
			if _, err := conn.Write(b); err == nil { // a closed port answers each second one with an error
				n++
			}
		}
	}
	fmt.Println(int(float64(n) / length.Seconds()))
	return nil
}

// follow stores the last packet that came to an address from others.
func follow(own, to string, length time.Duration, newest *atomic.Pointer[[]byte]) {
	_ = cluster.Record(length, func(r cluster.Recorded) bool {
		if r.To.String() == to && r.From.String() != own {
			newest.Store(&r.Data)
		}
		return true
	})
}

// datagramOf returns what a flood of a shape is made of.
func datagramOf(shape string, recorded []byte) []byte {
	b := make([]byte, 200)
	if shape == longShape {
		b = make([]byte, 60_000)
	}
	rand.Read(b)
	switch shape {
	case keyShape:
		copy(b, recorded[:2]) // the magic; a random key is another one
	case copyShape, replayShape, countShape, newestShape, nextShape, bodyShape:
		b = recorded
	}
	return b
}
