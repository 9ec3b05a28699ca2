package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// members is how many members every council has.
const members = 3

// raftCouncil is three members of hashicorp/raft.
type raftCouncil struct {
	settings
	beside    string
	heartbeat time.Duration
	addrs     []string
	processes [members]*process
	news      chan struct{} // has a word when a member came to lead

	mu     sync.Mutex
	count  int
	leader int          // -1: none
	since  cluster.Time // when it said so
}

// newRaft returns a council of raft that replaces a dead leader about as soon as one of regent with this lease: an election begins after one to two heartbeat
// time-outs, by chance, and leaders that were killed were replaced after about two.
func newRaft(s settings, beside string, lease time.Duration) *raftCouncil {
	heartbeat := max(lease/2, shortestHeartbeat).Round(time.Millisecond)
	return &raftCouncil{settings: s, beside: beside, heartbeat: heartbeat, news: make(chan struct{}, 1), leader: -1}
}

// shortestHeartbeat is what raft accepts.
const shortestHeartbeat = 5 * time.Millisecond

func (r *raftCouncil) name() string {
	return fmt.Sprintf("  raft, time-out %v", r.heartbeat)
}

func (r *raftCouncil) start(ctx context.Context) error {
	var err error
	r.addrs, err = freePorts("tcp", members)
	if err != nil {
		return err
	}
	for i := range members {
		if err := r.begin(i); err != nil {
			return err
		}
	}
	_, err = r.await(ctx, -1, 0)
	return err
}

func (r *raftCouncil) begin(i int) (err error) {
	c := exec.Command(r.raft, "-addrs", strings.Join(r.addrs, ","), "-self", strconv.Itoa(i), "-heartbeat", r.heartbeat.String())
	r.processes[i], err = begin(c, r.verbose, func(line string) { r.take(i, line) })
	return err
}

// take reads what a member says.
func (r *raftCouncil) take(i int, line string) {
	what, rest, _ := strings.Cut(line, " ")
	at, _, _ := strings.Cut(rest, " ")
	ns, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case what == "leads":
		r.count++
		r.leader, r.since = i, cluster.Time(ns)
		select {
		case r.news <- struct{}{}:
		default:
		}
	case what == "lost" && r.leader == i:
		r.leader = -1
	}
}

// await waits until another member than one leads, since some time, and returns since when.
func (r *raftCouncil) await(ctx context.Context, other int, after cluster.Time) (cluster.Time, error) {
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		r.mu.Lock()
		leader, since := r.leader, r.since
		r.mu.Unlock()
		if leader >= 0 && leader != other && since > after {
			return since, nil
		}
		select {
		case <-r.news:
		case <-limit.C:
			return 0, errors.New("nobody leads within a minute")
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (r *raftCouncil) changes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

func (r *raftCouncil) kill(ctx context.Context) (time.Duration, error) {
	if err := sleep(ctx, 2*r.heartbeat); err != nil {
		return 0, err
	}
	if _, err := r.await(ctx, -1, 0); err != nil {
		return 0, err
	}
	r.mu.Lock()
	old := r.leader
	r.mu.Unlock()
	begin := cluster.Now()
	r.processes[old].kill()
	since, err := r.await(ctx, old, begin)
	if err != nil {
		return 0, err
	}
	if err := r.begin(old); err != nil {
		return 0, err
	}
	return since.Sub(begin), sleep(ctx, 4*r.heartbeat) // until the killed one follows
}

func (r *raftCouncil) stop() error {
	for _, p := range r.processes {
		if p != nil {
			p.kill()
		}
	}
	return nil
}

// freePorts returns addresses on loopback that nobody uses now.
func freePorts(network string, n int) ([]string, error) {
	var out []string
	for range n {
		switch network {
		case "tcp":
			l, err := net.Listen(network, "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			defer l.Close()
			out = append(out, l.Addr().String())
		default:
			l, err := net.ListenPacket(network, "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			defer l.Close()
			out = append(out, l.LocalAddr().String())
		}
	}
	return out, nil
}
