package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/tenure"
)

// Identify returns who the process of a pidfd is. It fails if that process is dead.
func Identify(pidfd int) (tenure.Identity, error) {
	pid, err := pidOf(pidfd)
	if err != nil {
		return tenure.Identity{}, err
	}
	s, err := readStat(pid)
	if err != nil {
		return tenure.Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	// If it is not dead now, it had its number all the time.
	if err := unix.PidfdSendSignal(pidfd, 0, nil, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return tenure.Identity{}, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
	}
	return s.identity(), nil
}

// IsChild says whether a process is a child of another one, both as they were identified.
func IsChild(child, parent tenure.Identity) bool {
	s, err := readStat(child.Pid)
	return err == nil && s.identity() == child && s.parent == parent.Pid && alive(parent)
}

// pidOf returns the number of a pidfd's process, as this process sees it.
func pidOf(pidfd int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", pidfd))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			pid, err := strconv.Atoi(string(bytes.TrimSpace(rest)))
			if err == nil && pid <= 0 { // dead, or of another pid namespace
				err = fs.ErrNotExist
			}
			return pid, err
		}
	}
	return 0, errors.New("not a pidfd")
}

// Verify returns a reference with what of a claim can be believed. The asker is runner, and uid is its user, both as the kernel
// has them. Outside the cgroup nothing is reached by the reference that uid may not signal itself. The cgroup is right below
// that of the asker, belongs to uid, and is empty: it was made for this tree.
func (c Claim) Verify(runner tenure.Identity, uid int) (Ref, error) {
	if c.Runner != runner.Pid {
		return Ref{}, fmt.Errorf("runner %d: is not the process that asks, %d: a runner in a container needs an agent there, or the host's pid namespace", c.Runner, runner.Pid)
	}
	r := Ref{Ref: tenure.Ref{Runner: runner, UID: uid}, Mark: c.Mark}
	if c.Cgroup == "" {
		return r, nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Ref{}, err
	}
	own, err := readProc(runner.Pid, "cgroup")
	if err != nil {
		return Ref{}, err
	}
	if !alive(runner) {
		return Ref{}, fmt.Errorf("runner %d: %w", runner.Pid, fs.ErrNotExist)
	}
	parent, err := cgroupDir(string(mounts), string(own))
	if err != nil {
		return Ref{}, err
	}
	r.Cgroup = filepath.Join(parent, filepath.Base(c.Cgroup))
	if r.Cgroup != c.Cgroup || !strings.HasPrefix(filepath.Base(r.Cgroup), cgroupPrefix) {
		return Ref{}, fmt.Errorf("cgroup %s: is not the runner's: want one below %s", c.Cgroup, parent)
	}
	if err := cgroupOf(r.Cgroup, uid); err != nil {
		return Ref{}, err
	}
	return r, nil
}

// cgroupOf says why a cgroup was not made for a tree of the user that is about to start.
func cgroupOf(dir string, uid int) error {
	var s unix.Stat_t
	if err := unix.Lstat(dir, &s); err != nil {
		return fmt.Errorf("cgroup %s: %w", dir, err)
	}
	if int(s.Uid) != uid {
		return fmt.Errorf("cgroup %s: belongs to user %d, not to the runner's, %d", dir, s.Uid, uid)
	}
	if cgroupState(dir) != tenure.Empty {
		return fmt.Errorf("cgroup %s: is not empty, so that it was not made for what the runner will start", dir)
	}
	return nil
}

// Learn takes note of the first process of the tree. It must be a child of the runner that leads a session, as the kernel
// shows it.
func (r *Ref) Learn(first int) error {
	fd, err := unix.PidfdOpen(first, 0)
	if err != nil {
		return fmt.Errorf("first process %d: %w", first, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	s, err := readStat(first)
	switch {
	case err != nil:
	case s.parent != r.Runner.Pid || s.session != first || s.started < r.Runner.Started || !alive(r.Runner):
		err = errors.New("is not a child of the runner that leads a session")
	default:
		if _, err = Identify(fd); err == nil {
			r.First, r.first = s.identity(), f
			r.See()
			return nil
		}
	}
	_ = f.Close()
	return fmt.Errorf("first process %d: %w", first, err)
}

// OpenPeer opens a pidfd of the process that has a number and a user, for kernels that cannot open one of a connection's peer
// (before Linux 6.5). The number may be another process's by the time it is opened: that one must have the user as well, so
// that the asker could kill it anyway.
func OpenPeer(pid, uid int) (pidfd int, err error) {
	before, err := readStat(pid)
	if err != nil {
		return -1, fmt.Errorf("process %d: %w", pid, err)
	}
	fd, err := openProcess(before.identity())
	if err != nil {
		return -1, fmt.Errorf("process %d: %w", pid, err)
	}
	u, err := readUIDs(pid)
	if err == nil && u.real != uid && u.effective != uid {
		err = fmt.Errorf("runs as user %d, and the asker as %d", u.effective, uid)
	}
	if err == nil && !alive(before.identity()) {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("process %d: %w", pid, err)
	}
	return fd, nil
}
