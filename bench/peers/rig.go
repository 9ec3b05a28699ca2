package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// hosts are those of every system.
var hosts = []string{"a", "b", "c"}

// A rig is one system that runs with one setting.
type rig struct {
	*settings
	system  *system
	setting setting
	c       *cluster.Cluster
	taken   map[string]string // addresses on loopback, by host and number
	events  chan event
	// leading are the candidates that lead by their own word, and since when.
	leading map[string]event
	changes int
	// lives counts the candidates that have run on each host.
	lives   map[string]int
	watched bool // candidates look at whether they lead
	mu      sync.Mutex
	said    map[string][]string // what servers printed, by host
}

// An event is a line that a candidate printed.
type event struct {
	host, what string
	at         cluster.Time
	text       string
	life       int
}

// open starts a system, and returns how long it takes until it has a leader.
func open(ctx context.Context, s *settings, x *system, with setting) (*rig, time.Duration, error) {
	o := cluster.Options{Names: hosts, Config: agentConfig(with), Regent: func(args ...string) *exec.Cmd { return exec.Command(s.program("regent"), args...) }}
	if s.apart {
		o.Hosts = cluster.Namespaces
	}
	if s.verbose {
		o.Log = func(process, line string) { s.progress("%s: %s", process, line) }
	}
	c, err := cluster.New(o)
	if err != nil {
		return nil, 0, err
	}
	r := &rig{settings: s, system: x, setting: with, c: c, taken: make(map[string]string), events: make(chan event, 1<<14), leading: make(map[string]event), lives: make(map[string]int), said: make(map[string][]string)}
	begin := cluster.Now()
	if err := r.begin(ctx); err != nil {
		return nil, 0, errors.Join(err, r.close())
	}
	first := r.leader()
	return r, first.at.Sub(begin), nil
}

// begin starts all processes, and waits until all take part and one leads.
func (r *rig) begin(ctx context.Context) error {
	for _, host := range hosts {
		if err := r.startServer(host); err != nil {
			return err
		}
	}
	for _, host := range hosts {
		if err := r.startCandidate(host); err != nil {
			return err
		}
	}
	ready := make(map[string]bool)
	return r.await(ctx, startsWithin+2*r.setting.Length, "all take part and one leads", func(e event) bool {
		if e.what == "ready" {
			ready[e.host] = true
		}
		return len(ready) == len(hosts) && len(r.leading) > 0
	})
}

// startsWithin is how long a system may take to start.
const startsWithin = 90 * time.Second

func (r *rig) startServer(host string) error {
	if r.system.servers == nil {
		return nil
	}
	cmd, err := r.system.servers(r, host)
	if err != nil {
		return err
	}
	_, err = r.c.Spawn("server-"+host, host, cmd, func(line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.said[host]) < 1000 {
			r.said[host] = append(r.said[host], line)
		}
	})
	return err
}

// output returns what the server of a host has printed.
func (r *rig) output(host string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said[host]
}

func (r *rig) startCandidate(host string) error {
	if r.system.serving != nil {
		if err := r.system.serving(r, host); err != nil {
			return err
		}
	}
	cmd, order, err := r.system.candidate(r, host)
	if err != nil {
		return err
	}
	r.lives[host]++
	delete(r.leading, host)
	life := r.lives[host]
	if _, err := r.c.Spawn("candidate-"+host, host, cmd, func(line string) { r.take(host, life, line) }); err != nil {
		return err
	}
	if order == nil {
		return nil
	}
	return r.say(host, string(order))
}

// say sends a line to a candidate.
func (r *rig) say(host, line string) error { return r.c.Say("candidate-"+host, line) }

// take reads a line of a candidate.
func (r *rig) take(host string, life int, line string) {
	if e, ok := parseEvent(host, line); ok {
		e.life = life
		r.events <- e
	}
}

func parseEvent(host, line string) (event, bool) {
	what, rest, _ := strings.Cut(line, " ")
	at, text, _ := strings.Cut(rest, " ")
	ns, err := strconv.ParseInt(at, 10, 64)
	return event{host: host, what: what, at: cluster.Time(ns), text: text}, err == nil
}

// record keeps up with what happens.
func (r *rig) record(e event) {
	if e.life != r.lives[e.host] {
		return // the word of a candidate that was killed since
	}
	switch e.what {
	case "leads":
		r.leading[e.host] = e
		r.changes++
	case "lost":
		delete(r.leading, e.host)
	case "failed":
		r.progress("%s, candidate %s: %s", r.system.name, e.host, e.text)
	}
}

// leader returns the latest that leads; none if it has no host.
func (r *rig) leader() (last event) {
	for _, e := range r.leading {
		if e.at > last.at {
			last = e
		}
	}
	return last
}

// await takes events until it is so.
func (r *rig) await(ctx context.Context, limit time.Duration, what string, so func(event) bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case e := <-r.events:
			r.record(e)
			if so(e) {
				return nil
			}
		case <-timer.C:
			return fmt.Errorf("%s %s: it does not come to %q within %v", r.system.name, r.setting.Name, what, limit)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sleep lets time pass, and takes what happens meanwhile.
func (r *rig) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case e := <-r.events:
			r.record(e)
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// close ends all processes and returns what candidates wrote into their journals.
func (r *rig) close() error {
	for _, host := range hosts {
		for _, name := range []string{"candidate-" + host, "server-" + host} {
			if p := r.c.Process(name); p != nil && !p.Ended() {
				_ = p.Kill()
			}
		}
	}
	return r.c.Close()
}

// firstPort is the first port of servers on hosts that are network namespaces.
const firstPort = 7600

// addr returns an address of a host, by number.
func (r *rig) addr(host string, number int) string {
	ip, _, err := net.SplitHostPort(r.c.Bind(host))
	if err != nil {
		panic("peers: the address of " + host + ": " + err.Error())
	}
	if r.apart {
		return net.JoinHostPort(ip, strconv.Itoa(firstPort+number))
	}
	key := host + strconv.Itoa(number)
	if r.taken[key] == "" {
		r.taken[key] = freePort()
	}
	return r.taken[key]
}

// addrs returns the addresses of all hosts, by number.
func (r *rig) addrs(number int) (all []string) {
	for _, h := range hosts {
		all = append(all, r.addr(h, number))
	}
	return all
}

// freePort returns an address on loopback that is not used now.
func freePort() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0"
	}
	defer l.Close()
	return l.Addr().String()
}

// program returns where a program is: the candidates and regent in the directory of the settings, others wherever the shell finds them.
func (s *settings) program(name string) string {
	if s.programs[name] != "" {
		return s.programs[name]
	}
	if strings.HasPrefix(name, "peer-") {
		return filepath.Join(s.bin, name)
	}
	return name
}
