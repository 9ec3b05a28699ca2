//go:build engines

package etcd_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A cluster is servers of etcd, with ports and directories of their own.
type cluster struct {
	dir     string
	servers []*server
}

type server struct {
	name, client, peer string
	cmd                *exec.Cmd
	ended              chan struct{}
}

// serve starts a cluster.
func serve(t *testing.T, n int) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir()}
	for i := range n {
		c.servers = append(c.servers, &server{name: fmt.Sprint("e", i), client: freeAddress(t), peer: freeAddress(t)})
	}
	t.Cleanup(func() {
		for i := range c.servers {
			c.kill(i)
		}
	})
	for i := range c.servers {
		c.start(t, i)
	}
	c.await(t)
	return c
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (c *cluster) addresses() string {
	var all []string
	for _, s := range c.servers {
		all = append(all, s.client)
	}
	return strings.Join(all, ",")
}

// start starts a server, again on the same data if it ran before.
func (c *cluster) start(t *testing.T, i int) {
	t.Helper()
	s := c.servers[i]
	var members []string
	for _, p := range c.servers {
		members = append(members, p.name+"=http://"+p.peer)
	}
	// Elections are slow enough for a busy host.
	s.cmd = exec.Command("etcd", "--name", s.name, "--data-dir", filepath.Join(c.dir, s.name), "--listen-client-urls", "http://"+s.client, "--advertise-client-urls", "http://"+s.client,
		"--listen-peer-urls", "http://"+s.peer, "--initial-advertise-peer-urls", "http://"+s.peer, "--initial-cluster", strings.Join(members, ","), "--initial-cluster-token", "regent",
		"--heartbeat-interval", "200", "--election-timeout", "2000", "--log-level", "error")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		_ = cmd.Wait()
	}(s.cmd, s.ended)
}

// kill kills a server.
func (c *cluster) kill(i int) {
	s := c.servers[i]
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.ended
	s.cmd = nil
}

// await waits until the cluster answers.
func (c *cluster) await(t *testing.T) {
	t.Helper()
	client := c.client(t)
	for deadline := time.Now().Add(time.Minute); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := client.Get(ctx, "ready")
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster does not answer: %v", err)
		}
	}
}

// crashLeader kills the leader of the cluster, waits for another, and starts it again.
func (c *cluster) crashLeader(t *testing.T) {
	t.Helper()
	client := c.client(t)
	for i, s := range c.servers {
		status, err := client.Status(t.Context(), "http://"+s.client)
		if err == nil && status.Leader == status.Header.MemberId {
			c.kill(i)
			c.await(t)
			c.start(t, i)
			return
		}
	}
	t.Error("the cluster has no leader")
}
