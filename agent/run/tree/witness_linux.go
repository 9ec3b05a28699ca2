package tree

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Witnesses returns what a process needs that only waits for the end of the tree: a pidfd of the runner, and the cgroup.events of the cgroup. Once the
// runner is dead, a cgroup that is empty afterwards proves that nothing of the tree can act. They are nil if nothing proves that: without a cgroup, and with addresses,
// which outlive all processes.
func (r *Ref) Witnesses() (runner, cgroup *os.File, err error) {
	if r.Cgroup == "" || len(r.Addresses) > 0 {
		return nil, nil, nil
	}
	fd, err := openProcess(r.Runner)
	if err != nil {
		return nil, nil, err
	}
	cgroup, err = os.Open(filepath.Join(r.Cgroup, "cgroup.events"))
	if err != nil {
		_ = unix.Close(fd)
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), "pidfd"), cgroup, nil
}
