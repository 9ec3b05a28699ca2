//go:build unix

package agent

import (
	"fmt"
	"syscall"

	"github.com/regentproject/regent/agent/config"
)

const (
	// filesPerProgram is how many files the agent has open for a program on the socket: its connection, a handle on its
	// process, and one on its tree. filesPerClient is of a client over TCP, and ownFiles of the agent itself, with those for
	// probes.
	filesPerProgram = 3
	filesPerClient  = 1
	ownFiles        = 64 + probeConns
)

// checkOpenFiles returns an error if the process may not open as many files as the limits allow clients to make it open.
// Otherwise connections over TCP could use up the files that local programs need.
func checkOpenFiles(l *config.Limits) error {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return fmt.Errorf("limits: RLIMIT_NOFILE: %w", err)
	}
	need := uint64(l.Connections)*(filesPerProgram+filesPerClient) + ownFiles
	if uint64(r.Cur) < need {
		return fmt.Errorf("limits.connections %d: needs %d open files, and the process may have %d (raise LimitNOFILE or 'ulimit -n', or set limits.connections to at most %d)",
			l.Connections, need, r.Cur, (max(uint64(r.Cur), ownFiles)-ownFiles)/(filesPerProgram+filesPerClient))
	}
	return nil
}
