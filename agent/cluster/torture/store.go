//go:build linux

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/fence"
)

// What a program and the store write to one another, beside the line with which a program begins.
const (
	wordWrite = "write"
	wordDone  = "done"
	wordStale = "stale"
)

// staleFor is how long a process goes on after the store has first refused it, before torture ends it: no guardian of it does any more.
const staleFor = 3 * time.Second

// store is what all programs write to. A gate for each group refuses programs whose token is not the highest. It also knows the processes
// of programs that run.
type store struct {
	listener net.Listener

	mu     sync.Mutex
	gates  map[string]*fence.Gate
	high   map[string]uint64 // the highest token of a write that was carried out, without the help of the gate
	all    map[int]*process  // that run, by pid
	writes int               // carried out
	stale  int               // refused
	older  []string          // carried out after one of a higher token: what must never happen
}

// process is a process of a program.
type process struct {
	host, group string
	token       uint64
	role        role
	pid         int
	handle      *os.Process // of this very process, also when its number is another's
	refused     cluster.Time
}

func openStore(dir string) (*store, error) {
	path := filepath.Join(dir, storeName)
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, err
	}
	s := &store{listener: l, gates: make(map[string]*fence.Gate), high: make(map[string]uint64), all: make(map[int]*process)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s, nil
}

// serve takes the writes of a process.
func (s *store) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	if !lines.Scan() {
		return
	}
	p := new(process)
	if _, err := fmt.Sscan(lines.Text(), &p.host, &p.group, &p.token, &p.role, &p.pid); err != nil {
		return
	}
	p.handle, _ = os.FindProcess(p.pid)
	s.mu.Lock()
	s.all[p.pid] = p
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.all[p.pid] == p {
			delete(s.all, p.pid)
		}
	}()
	for ok := true; ok; ok = lines.Scan() {
		fmt.Fprintln(conn, s.write(p))
	}
}

// write carries out a write of a process, or refuses it.
func (s *store) write(p *process) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.gates[p.group]
	if g == nil {
		g = new(fence.Gate)
		s.gates[p.group] = g
	}
	if err := g.Admit(fence.Token(p.token)); err != nil {
		s.stale++
		if p.refused == 0 {
			p.refused = cluster.Now()
		}
		return wordStale
	}
	s.writes++
	if p.token < s.high[p.group] {
		s.older = append(s.older, fmt.Sprintf("group %s: a write with token %d was carried out after one with token %d", p.group, p.token, s.high[p.group]))
	}
	s.high[p.group] = max(s.high[p.group], p.token)
	return wordDone
}

// of returns the processes that run of the highest token of a group on a host.
func (s *store) of(host, group string) (found []*process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.all {
		switch {
		case p.host != host || p.group != group:
		case len(found) > 0 && p.token < found[0].token:
		case len(found) > 0 && p.token > found[0].token:
			found = []*process{p}
		default:
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *process) int { return a.pid - b.pid })
	return found
}

// left returns all that run.
func (s *store) left() (all []*process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.all {
		all = append(all, p)
	}
	return all
}

// sweep ends processes that were refused long ago, as an operator does.
func (s *store) sweep() {
	for _, p := range s.left() {
		s.mu.Lock()
		old := p.refused != 0 && cluster.Now().Sub(p.refused) > staleFor
		s.mu.Unlock()
		if old {
			p.signal(syscall.SIGKILL)
		}
	}
}

func (p *process) signal(sig syscall.Signal) {
	if p.handle != nil {
		_ = p.handle.Signal(sig)
	}
}
