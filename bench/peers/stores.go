package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	for _, ms := range []time.Duration{10, 20, 30, 50, 100, 200, 500, 1000, 2000} {
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

// zookeeperJar is where Debian has ZooKeeper, and zookeeperLog what it logs with.
const (
	zookeeperJar = "/usr/share/java/zookeeper.jar"
	zookeeperLog = "/usr/share/java/slf4j-simple.jar"
)

// zookeeperSystem has three servers of ZooKeeper, and candidates that follow its recipe. Length is the time-out of sessions, and second the tick of the servers.
func zookeeperSystem() *system {
	of := func(name string, session, tick time.Duration) setting {
		return setting{Name: name, Length: session, second: tick, rest: time.Second, Says: fmt.Sprintf("session of %v; servers: ticks of %v", session, tick)}
	}
	s := &system{name: "zookeeper", says: "three servers of ZooKeeper, and candidates by its recipe for leader election", defaults: of("40s", 40*time.Second, 2*time.Second),
		fastest: []setting{of("100ms", 100*time.Millisecond, 50*time.Millisecond), of("200ms", 200*time.Millisecond, 100*time.Millisecond), of("400ms", 400*time.Millisecond, 200*time.Millisecond), of("1s", time.Second, 500*time.Millisecond), of("4s", 4*time.Second, 2*time.Second)}}
	s.missing = func(set *settings) string {
		why := needs(built("zookeeper"), need{"java", "install Java (Debian package default-jre-headless)"})(set)
		for _, jar := range []string{zookeeperJar, zookeeperLog} {
			if _, err := os.Stat(jar); err != nil {
				return strings.TrimPrefix(why+"; install ZooKeeper (Debian packages zookeeper and libslf4j-java)", "; ")
			}
		}
		return why
	}
	s.version = func(s *settings) string {
		file, err := filepath.EvalSymlinks(zookeeperJar)
		if named, _ := filepath.Glob("/usr/share/java/zookeeper-3*.jar"); err == nil && len(named) > 0 {
			file = named[0]
		}
		return versionLike.FindString(filepath.Base(file)) + ", client " + s.moduleVersion("peer-zookeeper", "github.com/go-zookeeper/zk")
	}
	s.servers = func(r *rig, host string) (*exec.Cmd, error) {
		dir := filepath.Join(r.c.Dir, "zookeeper-"+host)
		ip, port, err := net.SplitHostPort(r.addr(host, 0))
		if err != nil {
			return nil, err
		}
		var b strings.Builder
		// Limits are in ticks. They leave servers the time to start on a busy host, however short a tick is.
		patient := max(10, int(10*time.Second/r.setting.second))
		fmt.Fprintf(&b, "tickTime=%d\ninitLimit=%d\nsyncLimit=%d\ndataDir=%s\nclientPort=%s\nclientPortAddress=%s\n", r.setting.second.Milliseconds(), patient, max(5, patient/4), dir, port, ip)
		for i, h := range hosts {
			_, election, err := net.SplitHostPort(r.addr(h, 2))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "server.%d=%s:%s\n", i+1, r.addr(h, 1), election)
		}
		config := filepath.Join(r.c.Dir, "zookeeper-"+host+".cfg")
		id := fmt.Sprint(slices.Index(hosts, host) + 1)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "myid"), []byte(id), 0o644), os.WriteFile(config, []byte(b.String()), 0o644)); err != nil {
			return nil, err
		}
		return exec.Command("java", "-Xmx256m", "-Dzookeeper.admin.enableServer=false", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", zookeeperJar+":"+zookeeperLog,
			"org.apache.zookeeper.server.quorum.QuorumPeerMain", config), nil
	}
	s.candidate = func(r *rig, host string) (*exec.Cmd, []byte, error) {
		return exec.Command(r.program("peer-zookeeper"), "-journals", r.c.JournalDir(), "-name", host, "-session", r.setting.Length.String(), "-servers", r.addr(host, 0)), nil, nil
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
