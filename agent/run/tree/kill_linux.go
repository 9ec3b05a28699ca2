package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/tenure"
)

// openProcess opens a pidfd of this very process, and not of a later one of the same number. That it is gone is fs.ErrNotExist.
func openProcess(id tenure.Identity) (int, error) {
	fd, err := unix.PidfdOpen(id.Pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL): // EINVAL: it is a thread by now, or no number
		return -1, fs.ErrNotExist
	case err != nil:
		return -1, os.NewSyscallError("pidfd_open", err)
	}
	// What the descriptor stands for is fixed now. If it is who was meant, it remains so.
	s, err := readStat(id.Pid)
	if err == nil && s.started != id.Started {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// signalProcess sends a signal to this very process. That it is gone is no error.
func signalProcess(id tenure.Identity, sig unix.Signal) error {
	fd, err := openProcess(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = send(fd, sig, 0)
		_ = unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", id.Pid, err)
	}
	return nil
}

// send sends a signal through a pidfd. That the process is gone is no error.
func send(pidfd int, sig unix.Signal, flags int) error {
	err := unix.PidfdSendSignal(pidfd, sig, nil, flags)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// signalGroup is the flag that sends a signal to the process group that a pidfd's process founded, since Linux 6.9. It works
// when that process is dead, and never hits a later group of the same number.
const signalGroup = 1 << 2

// alive says that a process is there and is no zombie.
func alive(id tenure.Identity) bool {
	s, err := readStat(id.Pid)
	return err == nil && s.started == id.Started && !s.dead
}

// strike kills at once the processes that the reference knows, before it looks for others: all in the cgroup, the first process, and its
// process group. It returns why it could not kill the cgroup.
func (r *Ref) strike() error {
	var err error
	if r.Cgroup != "" {
		if err = cgroupKill(r.Cgroup); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if r.First.Pid == 0 {
		return err
	}
	err = errors.Join(err, r.withFirst(r.strikeFirst))
	return err
}

// withFirst calls f with a pidfd of the first process, if that is there or one was kept.
func (r *Ref) withFirst(f func(pidfd int)) error {
	if r.first == nil {
		fd, err := openProcess(r.First)
		if err == nil {
			f(fd)
			_ = unix.Close(fd)
		}
		return nil
	}
	raw, err := r.first.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
}

// strikeFirst kills the first process and its process group.
func (r *Ref) strikeFirst(pidfd int) {
	if r.may(r.First.Pid) {
		_ = send(pidfd, unix.SIGKILL, 0)
	}
	// The kernel asks for each of the group whether this process may signal it. That is the rule if this process is of the runner's
	// user; root has to look at each.
	if os.Geteuid() == r.UID {
		_ = send(pidfd, unix.SIGKILL, signalGroup)
	}
}

// may says that the user of the runner may signal the process that has the number now.
func (r *Ref) may(pid int) bool {
	if r.UID == 0 {
		return true
	}
	u, err := readUIDs(pid)
	return err == nil && u.signalable(r.UID)
}

// killer returns how a process that only knows of the tree kills it.
func (r *Ref) killer() killer { return r.killerBy(&walk{strike: true}) }

func (r *Ref) killerBy(w *walk) killer {
	var lived bool // the runner, before anybody was killed
	var failure error
	return killer{
		strike: func() (Result, bool) {
			r.See()
			lived = r.Runner.Pid != 0 && alive(r.Runner)
			failure = r.strike()
			_, _ = address.Drop(r.Addresses, r.Succeeded) // at once, for a walk takes its time; the walk does it again, and counts
			return Result{}, false
		},
		walk: func() Result {
			found := r.search(w)
			found.Search.Adopter = lived && alive(r.Runner)
			found.struck(failure)
			r.drop(&found)
			return found
		},
	}
}

// struck adds why the cgroup could not be killed. It matters if anybody is in it.
func (r *Result) struck(err error) {
	if r.Search.Cgroup == tenure.Occupied {
		r.Err = errors.Join(err, r.Err)
	}
}

// Look says who belongs to the tree and is alive. It kills nobody.
func (r *Ref) Look() Result { return r.search(&walk{}) }

// Signal sends a signal to all processes of the tree that the runner's user may signal, in no particular order.
func (r *Ref) Signal(sig unix.Signal) error {
	found := r.Look()
	if found.Err != nil {
		return found.Err
	}
	for _, p := range found.Left {
		if err := signalProcess(p.Identity, sig); err != nil {
			return err
		}
	}
	return nil
}

// See takes note that the first process lives now, if it does: what was born into its session until now belongs to the tree, and is
// found when the first process is dead. It costs two system calls.
func (r *Ref) See() {
	if r.First.Pid == 0 {
		return
	}
	at := now() // before it is looked at; what is born in this very tick may come after the look
	if s, err := readStat(r.First.Pid); err == nil && s.started == r.First.Started && at > 0 {
		r.Seen = max(r.Seen, at-1)
	}
}

// clear removes what a tree that has ended leaves behind.
func (r *Ref) clear() {
	if r.Cgroup != "" {
		cgroupRemove(r.Cgroup)
	}
}

// Orphaned says that the runner is dead. If it cannot be seen that is not known, and false.
func (r *Ref) Orphaned() bool {
	f, err := unix.PidfdOpen(r.Runner.Pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return true
	}
	if err == nil {
		defer unix.Close(f)
	}
	s, err := readStat(r.Runner.Pid)
	return err == nil && (s.started != r.Runner.Started || s.dead)
}

// MayKill says why this process could not kill the tree: because it may not look at or signal processes of the runner's
// user. It is for a process that only knows of the tree.
func (r *Ref) MayKill() error {
	fd, err := openProcess(r.Runner)
	if err != nil {
		return fmt.Errorf("the runner, process %d, is not there: %w", r.Runner.Pid, err)
	}
	defer unix.Close(fd)
	if err := send(fd, 0, 0); err != nil {
		return fmt.Errorf("signal the runner, process %d: %w", r.Runner.Pid, err)
	}
	if r.Cgroup != "" && unix.Access(r.Cgroup+"/cgroup.kill", unix.W_OK) == nil {
		return nil
	}
	if _, err := readProc(r.Runner.Pid, "environ"); err != nil {
		return fmt.Errorf("look at the runner: %w", err)
	}
	return nil
}
