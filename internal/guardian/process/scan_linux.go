package process

import (
	"os"
	"strconv"

	"github.com/regentproject/regent/internal/guardian"
	"golang.org/x/sys/unix"
)

// A scanner looks at the threads of one process. It holds the process's directory in /proc, so it never looks at another process that
// gets the same number later.
type scanner struct {
	process int
	tasks   int // the directory /proc/PID/task
	names   []byte
	stat    [1024]byte
}

// newScanner returns a scanner of a process in the process identifier namespace of the caller; nil if /proc is missing, or is that of
// another namespace. The caller makes sure afterwards that the process still runs.
func newScanner(process int) *scanner {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil
	}
	fd, err := unix.Open("/proc/"+strconv.Itoa(process)+"/task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &scanner{process: process, tasks: fd, names: make([]byte, 1<<16)}
}

// dead says whether two scans in a row prove that the process runs no more of its program.
func (s *scanner) dead() bool {
	first, ok := s.scan()
	if !ok {
		return false
	}
	second, ok := s.scan()
	return ok && guardian.Dead(s.process, first, second)
}

// scan looks at all threads once. It gives up at the first that is not exiting.
func (s *scanner) scan() (found *guardian.Scan, ok bool) {
	found = &guardian.Scan{}
	found.Before, ok = s.count()
	if !ok {
		return nil, false
	}
	if _, err := unix.Seek(s.tasks, 0, 0); err != nil {
		return nil, false
	}
	for {
		n, err := unix.ReadDirent(s.tasks, s.names)
		if err != nil {
			return nil, false
		}
		if n == 0 {
			break
		}
		_, _, names := unix.ParseDirent(s.names[:n], -1, nil)
		for _, name := range names {
			id, err := strconv.Atoi(name)
			if err != nil {
				return nil, false
			}
			exiting, _, ok := s.look(id)
			if !ok || !exiting {
				return nil, false // one that has gone since is missing in the count, too
			}
			found.Threads = append(found.Threads, guardian.Thread{ID: id, Exiting: exiting})
		}
	}
	found.After, ok = s.count()
	return found, ok
}

// count returns how many threads the process has, and false if even the first is not exiting.
func (s *scanner) count() (n int, ok bool) {
	exiting, n, ok := s.look(s.process)
	return n, ok && exiting
}

// look reads the state of a thread.
func (s *scanner) look(thread int) (exiting bool, threads int, ok bool) {
	fd, err := unix.Openat(s.tasks, strconv.Itoa(thread)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, 0, false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, s.stat[:])
	if err != nil {
		return false, 0, false
	}
	exiting, threads, err = guardian.ParseStat(s.stat[:n])
	return exiting, threads, err == nil
}
