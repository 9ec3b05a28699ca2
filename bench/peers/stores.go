package main

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// etcdSystem has three servers of etcd, and candidates with sessions of its client library at the server of their own host. (The client spreads its streams over
// all servers that it is given. One that leads to a host that died hangs until the kernel gives the connection up, unless gRPC looks after it; then elections would wait for that.) Length is the time to live of a session, and second the heartbeat of
// the servers, whose election time-out is ten times as long.
func etcdSystem() *system {
	of := func(name string, ttl, heartbeat time.Duration) setting {
		return setting{Name: name, Length: ttl, second: heartbeat, rest: time.Second, Says: fmt.Sprintf("session of %v; servers: heartbeat %v, election time-out %v", ttl, heartbeat, 10*heartbeat)}
	}
	s := &system{name: "etcd", says: "three servers of etcd, and candidates for an election (package concurrency)", defaults: of("60s", 60*time.Second, 100*time.Millisecond),
		fastest: []setting{of("1s-10ms", time.Second, 10*time.Millisecond), of("1s-50ms", time.Second, 50*time.Millisecond), of("2s-100ms", 2*time.Second, 100*time.Millisecond),
			of("5s-100ms", 5*time.Second, 100*time.Millisecond)}}
	s.missing = needs(built("etcd"), need{"etcd", "install etcd (Debian package etcd-server), or name one with -etcd"})
	s.version = func(s *settings) string {
		return asked(s.program("etcd"), "--version") + ", client " + s.moduleVersion("peer-etcd", "go.etcd.io/etcd/client/v3")
	}
	s.servers = func(r *rig, host string) (*exec.Cmd, error) {
		var all []string
		for _, h := range hosts {
			all = append(all, h+"=http://"+r.addr(h, 1))
		}
		client, peer := "http://"+r.addr(host, 0), "http://"+r.addr(host, 1)
		return exec.Command(r.program("etcd"), "--name", host, "--data-dir", filepath.Join(r.c.Dir, "etcd-"+host), "--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", strings.Join(all, ","), "--initial-cluster-state", "new",
			"--heartbeat-interval", fmt.Sprint(r.setting.second.Milliseconds()), "--election-timeout", fmt.Sprint(10*r.setting.second.Milliseconds()), "--log-level", "error"), nil
	}
	s.candidate = func(r *rig, host string) (*exec.Cmd, []byte, error) {
		return exec.Command(r.program("peer-etcd"), "-journals", r.c.JournalDir(), "-name", host, "-ttl", fmt.Sprint(int(r.setting.Length.Seconds())), "-endpoints", r.addr(host, 0)), nil, nil
	}
	return s
}

// redisSystem has three servers of Redis that do not know of one another, and candidates for a lock of redsync.
func redisSystem() *system {
	s := &system{name: "redis", says: "three servers of Redis, and candidates for a lock of redsync (Redlock)"}
	s.defaults = setting{Name: "8s", Length: 8 * time.Second, rest: 8 * time.Second, Says: "expiry 8s, retry after 50 to 250ms, servers wait 0.05 of the expiry: the defaults of redsync; extended each third of the expiry"}
	for _, ms := range []time.Duration{50, 100, 200, 500, 1000, 2000} {
		expiry := ms * time.Millisecond
		s.fastest = append(s.fastest, setting{Name: expiry.String(), Length: expiry, rest: expiry,
			Says: fmt.Sprintf("expiry %v, retry after %v, servers wait 0.3 of the expiry; extended each third of the expiry", expiry, expiry/10)})
	}
	s.missing = needs(built("redis"), need{"redis-server", "install Redis (Debian package redis-server), or name one with -redis"})
	s.version = func(s *settings) string {
		return asked(s.program("redis-server"), "--version") + ", redsync " + s.moduleVersion("peer-redis", "github.com/go-redsync/redsync/v4")
	}
	s.servers = func(r *rig, host string) (*exec.Cmd, error) {
		ip, port, err := net.SplitHostPort(r.addr(host, 0))
		if err != nil {
			return nil, err
		}
		return exec.Command(r.program("redis-server"), "--bind", ip, "--port", port, "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", r.c.Dir, "--protected-mode", "no"), nil
	}
	s.serving = func(r *rig, host string) error {
		return cluster.Wait(cluster.Patience, "the server of "+host, func() bool {
			return strings.Contains(strings.Join(r.output(host), "\n"), "Ready to accept connections")
		})
	}
	s.candidate = func(r *rig, host string) (*exec.Cmd, []byte, error) {
		args := []string{"-journals", r.c.JournalDir(), "-name", host, "-servers", strings.Join(r.addrs(0), ",")}
		if r.setting.Name != s.defaults.Name {
			args = append(args, "-expiry", r.setting.Length.String(), "-retry", (r.setting.Length / 10).String(), "-timeout", "0.3")
		}
		return exec.Command(r.program("peer-redis"), args...), nil, nil
	}
	return s
}

// versionLike finds a version in what a program says of itself.
var versionLike = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// asked returns the version that a program prints.
func asked(program string, args ...string) string {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		return "unknown"
	}
	return versionLike.FindString(string(out))
}
