package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// A setting is a set of constants of a system.
type setting struct {
	// Name is how the flags and the tables call it. Length is by what it is named: a lease, a time-out or an expiry.
	Name   string        `json:"name"`
	Length time.Duration `json:"length"`
	// Says is all constants, for people.
	Says string `json:"says"`
	// second, in systems that have one, is the other constant that matters: see the system.
	second time.Duration
	// rest is how long a process that was killed needs, once it is back, before it counts.
	rest time.Duration
}

// A system elects leaders. Each has three hosts.
type system struct {
	name string
	// says is what runs, for people.
	says string
	// defaults are the constants where a user sets none. fastest lists others, the fastest first, which ends with the defaults.
	defaults setting
	fastest  []setting
	// kinds are the ways in which its leaders can go; nil: all.
	kinds []string
	// missing says what must be installed; empty if nothing.
	missing func(s *settings) string
	// servers returns the command that runs on a host beside the candidate; nil if the candidate is all there is.
	servers func(r *rig, host string) (*exec.Cmd, error)
	// candidate returns the command of a candidate, and the first line of its input.
	candidate func(r *rig, host string) (cmd *exec.Cmd, order []byte, err error)
	// serving waits until the servers answer; nil if candidates do that.
	serving func(r *rig, host string) error
	// version is that of what is compared.
	version func(s *settings) string
}

// systems lists all that can be compared.
func systems() []*system {
	return []*system{regentSystem("regent", false), regentSystem("regent-ordinary", true), agentSystem(), raftSystem(), etcdSystem(), redisSystem(), zookeeperSystem(), keepalivedSystem()}
}

// pick returns the systems of those names.
func pick(names []string) ([]*system, error) {
	var out []*system
	all := systems()
	for _, name := range names {
		i := slices.IndexFunc(all, func(s *system) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("system %q: there are %s", name, strings.Join(systemNames(), ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

func systemNames() (names []string) {
	for _, s := range systems() {
		names = append(names, s.name)
	}
	return names
}

// setting returns the setting of a name.
func (s *system) setting(name string) (setting, error) {
	var names []string
	for _, x := range append([]setting{s.defaults}, s.fastest...) {
		if x.Name == name {
			return x, nil
		}
		names = append(names, x.Name)
	}
	return setting{}, fmt.Errorf("system %s has no setting %q: there are %s", s.name, name, strings.Join(names, ", "))
}

// A need is a program that must be there, and how it comes to be.
type need struct{ program, how string }

// needs says what is missing of the programs.
func needs(all ...need) func(*settings) string {
	return func(s *settings) string {
		var missing []string
		for _, n := range all {
			if _, err := exec.LookPath(s.program(n.program)); err != nil {
				missing = append(missing, n.how)
			}
		}
		return strings.Join(missing, "; ")
	}
}

// built is the need of a candidate.
func built(name string) need {
	return need{"peer-" + name, "make bench-peers builds bin/peers/peer-" + name}
}

// timing returns the constants of Regent for a lease. Those below the profile LAN have the profile Fast, in which a third of the lease passes between renewals.
func timing(lease time.Duration) regent.Timing {
	switch {
	case lease >= regent.LAN.Lease:
		return regent.LAN
	case lease == regent.Fast.Lease:
		return regent.Fast
	}
	t := regent.Fast
	t.Lease, t.Renew, t.Guard = lease, (lease / 3).Round(time.Millisecond), lease/10
	return t
}

func regentSystem(name string, ordinary bool) *system {
	of := func(name string, lease time.Duration) setting {
		t := timing(lease)
		return setting{Name: name, Length: t.Lease, Says: fmt.Sprintf("lease %v, renewed every %v, round trip %v, guard %v", t.Lease, t.Renew, t.RoundTrip, t.Guard), rest: t.Restart()}
	}
	s := &system{name: name, says: "members by the library, with real-time threads", defaults: of("lan", regent.LAN.Lease), missing: needs(built("regent")),
		version: func(*settings) string { return "this tree" }}
	if ordinary {
		s.says = "members by the library, with ordinary threads"
	}
	for _, ms := range []int{28, 50, 100} {
		s.fastest = append(s.fastest, of(fmt.Sprintf("%dms", ms), time.Duration(ms)*time.Millisecond))
	}
	s.candidate = func(r *rig, host string) (*exec.Cmd, []byte, error) {
		o, err := r.c.Order(host)
		if err != nil {
			return nil, nil, err
		}
		o.Timing, o.NoRealtime = timing(r.setting.Length), ordinary
		order, err := json.Marshal(o)
		return exec.Command(r.program("peer-regent"), "-journals", r.c.JournalDir(), "-name", host), order, err
	}
	return s
}

// agentSystem has agents, and programs that use their sockets.
func agentSystem() *system {
	of := func(name, profile string, lease time.Duration) setting {
		says := fmt.Sprintf("profile %s, lease %v, a program is hung after %v without a sign of life", profile, lease, max(lease, shortestHeartbeat))
		if lease == agentDefault {
			says = "the defaults: profile lan, lease 5s, a program is hung after 10s without a sign of life"
		}
		return setting{Name: name, Length: lease, Says: says, rest: timing(lease).ForLease(lease).Restart()}
	}
	s := &system{name: "agent", says: "agents of Regent, and programs in Go at their sockets", defaults: of("5s", "lan", agentDefault), version: func(*settings) string { return "this tree" }}
	s.fastest = []setting{of("28ms", "fast", 28*time.Millisecond), of("100ms", "fast", 100*time.Millisecond), of("200ms", "lan", 200*time.Millisecond), of("1s", "lan", time.Second)}
	s.missing = needs(built("regent"), need{"regent", "make build builds bin/regent (or name another one with -regent)"})
	s.servers = func(r *rig, host string) (*exec.Cmd, error) {
		if err := r.c.WriteConfig(host); err != nil {
			return nil, err
		}
		return r.c.Regent("agent", "--config", r.c.ConfigFile(host)), nil
	}
	s.serving = func(r *rig, host string) error {
		return cluster.Wait(cluster.Patience, "agent "+host, func() bool {
			return strings.Contains(r.c.Process("server-"+host).Log(), "the member has joined the council")
		})
	}
	s.candidate = func(r *rig, host string) (*exec.Cmd, []byte, error) {
		args := []string{"-journals", r.c.JournalDir(), "-name", host, "-socket", r.c.Socket(host), "-lease", r.setting.Length.String()}
		if r.setting.Name != s.defaults.Name {
			args = append(args, "-heartbeat", max(r.setting.Length, shortestHeartbeat).String())
		}
		return exec.Command(r.program("peer-regent"), args...), nil, nil
	}
	return s
}

const (
	// agentDefault is the lease of programs at an agent that ask for none, and shortestHeartbeat how soon an agent is asked to treat a silent program as hung.
	agentDefault      = 5 * time.Second
	shortestHeartbeat = 200 * time.Millisecond
)

// agentConfig is added to the configuration of agents.
func agentConfig(s setting) string {
	if s.Length < regent.LAN.Lease {
		return "profile: fast\n"
	}
	return ""
}

func raftSystem() *system {
	of := func(length time.Duration) setting {
		return setting{Name: length.String(), Length: length, Says: fmt.Sprintf("heartbeat, election and lease time-out %v", length), rest: 4 * length}
	}
	s := &system{name: "raft", says: "members by hashicorp/raft, log in memory", missing: needs(built("raft")), version: func(s *settings) string { return s.moduleVersion("peer-raft", "github.com/hashicorp/raft") }}
	s.defaults = setting{Name: "1s", Length: time.Second, Says: "raft.DefaultConfig: heartbeat and election time-out 1s, lease time-out 500ms", rest: 2 * time.Second}
	for _, ms := range []time.Duration{5, 10, 20, 30, 50, 100, 200, 500} {
		s.fastest = append(s.fastest, of(ms*time.Millisecond))
	}
	s.candidate = func(r *rig, host string) (*exec.Cmd, []byte, error) {
		args := []string{"-addrs", strings.Join(r.addrs(0), ","), "-self", strconv.Itoa(slices.Index(hosts, host)), "-journals", r.c.JournalDir(), "-notes", filepath.Join(r.c.Dir, "notes-"+host)}
		if r.setting.Name != s.defaults.Name {
			args = append(args, "-heartbeat", r.setting.Length.String())
		}
		return exec.Command(r.program("peer-raft"), args...), nil, nil
	}
	return s
}
