package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// startGuarded starts three agents with guardians, to whose sockets all users may connect. Regent makes commands.
func startGuarded(t *testing.T, lease time.Duration, regent func(...string) *exec.Cmd) *runCluster {
	t.Helper()
	h := &runCluster{t: t, Cluster: cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}, Regent: regent, SocketMode: "0666",
		Config: "guardian: true\nlease: " + lease.String() + "\n"})}
	h.check(os.Chmod(h.Dir, 0o755))
	for _, name := range h.Names {
		h.startAgent(name)
	}
	h.check(h.AwaitAgents(h.Names...))
	return h
}

// A program that dies with its agent and its runner is replaced when all of them are gone, however long the lease is.
func TestHostWhoseProcessesAreKilledIsReplacedLongBeforeItsLeaseEnds(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	h := startGuarded(t, lease, command)
	rounds := 1
	if os.Getenv("REGENT_TEST") == "long" {
		rounds = 2
	}
	h.sleeper("a", "g")
	_, token := h.runs("g", 0)
	for i := range rounds {
		h.waits(h.sleeper(h.Names[i+1], "g"))
		begin := h.killHost(h.Names[i], []string{"g"})
		_, next := h.runs("g", token)
		took := h.startedAt("g", next).Sub(begin)
		t.Logf("the program of %s runs after %v", h.Names[i+1], took)
		if took > lease/3 {
			t.Errorf("the host was killed, and was replaced after %v", took)
		}
		token = next
		if i+1 < rounds {
			h.startAgent(h.Names[i])
			h.check(h.AwaitAgents(h.Names[i]))
			time.Sleep(regent.LAN.ForLease(lease).Restart()) // wall clock: it votes after that, and two of three must
		}
	}
}

// What may still act, or would not be seen to have ended, is waited for as if there were no guardian.
func TestGroupWhoseProgramIsNotProvenGoneIsKept(t *testing.T) {
	t.Parallel()
	if os.Getenv("REGENT_TEST") != "long" {
		t.Log("only the agent is killed; REGENT_TEST=long has the rest")
	}
	for name, c := range map[string]struct {
		short bool
		flags []string
		user  uint32 // of the runners; only root's have cgroups here
		kill  func(h *runCluster)
	}{
		"the runner lives": {short: true, kill: func(h *runCluster) { h.check(h.Process("a").Signal(syscall.SIGKILL)) }},
		"hooks":            {flags: []string{"--on-lost", "true"}, kill: func(h *runCluster) { h.killHost("a", []string{"g"}) }},
		"no cgroup":        {user: nobody, kill: func(h *runCluster) { h.killHost("a", []string{"g"}) }},
	} {
		if !c.short && os.Getenv("REGENT_TEST") != "long" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const lease = 6 * time.Second
			h := startGuarded(t, lease, asUsers(t, 0, c.user))
			start := func(host string) *cluster.Process {
				p, err := h.Run("g-"+host, host, "g", c.flags, "sleep", "600")
				h.check(err)
				return p
			}
			start("a")
			session, err := regent.Dial(t.Context(), h.Socket("b"))
			h.check(err)
			defer session.Close()
			group, err := session.Group("g")
			h.check(err)
			h.ledBy(group, "a")
			h.waits(start("b"))
			begin := time.Now()
			c.kill(h)
			h.ledBy(group, "b")
			of := regent.LAN.ForLease(lease)
			if took, least := time.Since(begin), of.Lease-of.Renew-of.RoundTrip; took < least {
				t.Errorf("replaced after %v, and the lease ran for %v at least", took, least)
			}
		})
	}
}
