package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/tenure"
)

// stat is what /proc says of a process.
type stat struct {
	pid, parent, session int
	started              uint64
	name                 string
	// dead says that it is a zombie: it does nothing any more, and waits for its parent to take note.
	dead bool
	// forked says that it has not called exec.
	forked bool
}

// flagForked is PF_FORKNOEXEC, among the flags of a process in its state.
const flagForked = 0x40

func (s *stat) identity() tenure.Identity { return tenure.Identity{Pid: s.pid, Started: s.started} }

// readStat reads the state of a process. A process that is gone is fs.ErrNotExist.
func readStat(pid int) (stat, error) {
	b, err := readProc(pid, "stat")
	if err != nil {
		return stat{}, err
	}
	s, err := parseStat(b)
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return s, nil
}

// readProc reads a file of a process. A process that is gone is fs.ErrNotExist.
func readProc(pid int, file string) ([]byte, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
	if errors.Is(err, syscall.ESRCH) { // it went between open and read
		err = fs.ErrNotExist
	}
	return b, err
}

// parseStat reads a line of /proc/PID/stat. The second field is the program's name in parentheses, in which anything may
// stand, so the fields are counted from the last closing one.
func parseStat(b []byte) (stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("state %q: has no name in it", b)
	}
	// state ppid pgrp session tty_nr tpgid flags minflt cminflt majflt cmajflt utime stime cutime cstime priority nice
	// num_threads itrealvalue starttime ...
	f := bytes.Fields(b[end+1:])
	if len(f) < 20 {
		return stat{}, fmt.Errorf("state %q: has %d fields after the name, want 20", b, len(f))
	}
	var s stat
	var errs [6]error
	s.pid, errs[0] = strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	s.name = string(b[open+1 : end])
	s.parent, errs[1] = strconv.Atoi(string(f[1]))
	s.session, errs[2] = strconv.Atoi(string(f[3]))
	threads, err := strconv.Atoi(string(f[17]))
	errs[3] = err
	s.started, errs[4] = strconv.ParseUint(string(f[19]), 10, 64)
	flags, err := strconv.ParseUint(string(f[6]), 10, 64)
	errs[5] = err
	s.forked = flags&flagForked != 0
	// A process whose first thread has ended looks like a zombie while others run.
	state := f[0][0]
	s.dead = (state == 'Z' || state == 'X') && threads <= 1
	return s, errors.Join(errs[:]...)
}

// pidsNow returns the numbers of the processes that /proc shows.
func pidsNow() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all, nil
}

// uids are the real, effective and saved user of a process.
type uids struct{ real, effective, saved int }

// readUIDs reads them.
func readUIDs(pid int) (uids, error) {
	b, err := readProc(pid, "status")
	if err != nil {
		return uids{}, err
	}
	u, err := parseUIDs(b)
	if err != nil {
		return uids{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return u, nil
}

// parseUIDs finds them in /proc/PID/status. The kernel escapes line feeds in the name of the process, which comes before.
func parseUIDs(status []byte) (uids, error) {
	for line := range strings.Lines(string(status)) {
		rest, ok := strings.CutPrefix(line, "Uid:")
		f := strings.Fields(rest)
		if !ok || len(f) < 3 {
			continue
		}
		var all [3]int
		for i := range all {
			n, err := strconv.ParseUint(f[i], 10, 32)
			if err != nil {
				return uids{}, fmt.Errorf("users %q: %w", line, err)
			}
			all[i] = int(n)
		}
		return uids{all[0], all[1], all[2]}, nil
	}
	return uids{}, errors.New("its status has no users")
}

// signalable says that the kernel lets the user signal a process with these users, as kill(2) has it.
func (u uids) signalable(by int) bool { return by == 0 || u.real == by || u.saved == by }

// refused says that the kernel does not let this process look.
func refused(err error) bool {
	return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}

// hidesProcesses says that a list of mounts has a /proc that shows users their own processes only.
func hidesProcesses(mounts string) bool {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after) // id parent major:minor root mount-point ...; type source options
		if len(f) < 5 || f[4] != "/proc" || len(g) < 3 || g[0] != "proc" {
			continue
		}
		for option := range strings.SplitSeq(g[2], ",") {
			if how, ok := strings.CutPrefix(option, "hidepid="); ok && !slices.Contains([]string{"0", "off"}, how) {
				return true
			}
		}
	}
	return false
}

// blind says that this process may not see all processes of the host.
func blind() bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	return err != nil || hidesProcesses(string(mounts)) && !seesAll()
}

// seesAll says that this process may look at those of all users.
func seesAll() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_PTRACE) != 0
}

// ticksPerSecond is in what unit the kernel reports start times, on all architectures of Linux that Go knows.
const ticksPerSecond = 100

// now returns the present as a start time: who is born from now on has this one or a later one.
func now() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return uint64(ts.Nano()) / uint64(1e9/ticksPerSecond)
}
