package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// programs are three agents with the configuration that regent init writes, and a program of every group at each of them.
type programs struct {
	settings
	dir     string
	agents  []*process
	runners []*process
	news    chan struct{}

	mu    sync.Mutex
	count int            // how often a program was started
	by    map[string]int // by group
}

func (p *programs) name() string {
	return fmt.Sprintf("regent run, %d groups, lease %v", p.groups, programLease)
}

func (p *programs) start(ctx context.Context) (err error) {
	p.dir, err = os.MkdirTemp("", "regent-calm-")
	if err != nil {
		return err
	}
	p.news, p.by = make(chan struct{}, 1), make(map[string]int)
	port, err := freeRange(members)
	if err != nil {
		return err
	}
	http, err := freeRange(members)
	if err != nil {
		return err
	}
	names := []string{"a", "b", "c"}
	args := append([]string{"init", "--loopback", p.dir, "--port", strconv.Itoa(port), "--http-port", strconv.Itoa(http)}, names...)
	if out, err := exec.Command(p.regent, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s init: %w: %s", p.regent, err, out)
	}
	for _, name := range names {
		a, err := begin(exec.Command(p.regent, "agent", "--config", filepath.Join(p.dir, name+".yaml")), p.verbose, func(string) {})
		if err != nil {
			return err
		}
		p.agents = append(p.agents, a)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i := range p.groups {
		group := fmt.Sprintf("group%d", i)
		for _, name := range names {
			if err := p.await(ctx, "the socket of "+name, func() bool { return exists(filepath.Join(p.dir, name+".sock")) }); err != nil {
				return err
			}
			c := exec.Command(p.regent, "run", "--socket", filepath.Join(p.dir, name+".sock"), group, "--", self, "program")
			r, err := begin(c, p.verbose, func(line string) { p.take(group, line) })
			if err != nil {
				return err
			}
			p.runners = append(p.runners, r)
		}
	}
	return p.await(ctx, "a leader of every group", func() bool { return len(p.by) == p.groups })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// take counts starts.
func (p *programs) take(group, line string) {
	if line != "started" {
		return
	}
	p.mu.Lock()
	p.count++
	p.by[group]++
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *programs) await(ctx context.Context, what string, so func() bool) error {
	limit, look := time.NewTimer(time.Minute), time.NewTicker(100*time.Millisecond)
	defer limit.Stop()
	defer look.Stop()
	for {
		p.mu.Lock()
		yes := so()
		p.mu.Unlock()
		if yes {
			return nil
		}
		select {
		case <-p.news:
		case <-look.C:
		case <-limit.C:
			return errors.New(what + " does not come within a minute (-v shows why)")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *programs) changes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// kill does not: how soon a host is replaced follows from its lease, and the profiles show that.
func (p *programs) kill(context.Context) (time.Duration, error) { return 0, errNoKill }

func (p *programs) stop() error {
	for _, r := range p.runners {
		r.end()
	}
	for _, a := range p.agents {
		a.end()
	}
	return os.RemoveAll(p.dir)
}

// freeRange returns the first of n ports in a row that nobody uses now, by TCP or UDP.
func freeRange(n int) (int, error) {
	for range 100 {
		free, err := freePorts("tcp", 1)
		if err != nil {
			return 0, err
		}
		_, text, _ := net.SplitHostPort(free[0])
		first, _ := strconv.Atoi(text)
		if first+n < 1<<16 && allFree(first, n) {
			return first, nil
		}
	}
	return 0, errors.New("no free ports in a row")
}

func allFree(first, n int) bool {
	for i := range n {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+i))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return false
		}
		_ = l.Close()
		u, err := net.ListenPacket("udp", addr)
		if err != nil {
			return false
		}
		_ = u.Close()
	}
	return true
}
