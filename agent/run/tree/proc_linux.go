package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// stat is what /proc says of a process.
type stat struct {
	pid, parent, session int
	started              uint64
	// dead says that it is a zombie: it does nothing any more, and waits for its parent to take note.
	dead bool
}

// readStat reads the state of a process. A process that is gone is fs.ErrNotExist.
func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, syscall.ESRCH) { // it went between open and read
		err = fs.ErrNotExist
	}
	if err != nil {
		return stat{}, err
	}
	s, err := parseStat(b)
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return s, nil
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
	var errs [5]error
	s.pid, errs[0] = strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	s.parent, errs[1] = strconv.Atoi(string(f[1]))
	s.session, errs[2] = strconv.Atoi(string(f[3]))
	threads, err := strconv.Atoi(string(f[17]))
	errs[3] = err
	s.started, errs[4] = strconv.ParseUint(string(f[19]), 10, 64)
	// A process whose first thread has ended looks like a zombie while others run.
	state := f[0][0]
	s.dead = (state == 'Z' || state == 'X') && threads <= 1
	return s, errors.Join(errs[:]...)
}

// readAll reads the states of all processes.
func readAll() ([]stat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	all := make([]stat, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		s, err := readStat(pid)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// readEnviron returns the environment that a process was started with; empty if it is gone or none of our business.
func readEnviron(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	return string(b)
}
