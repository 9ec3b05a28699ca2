package guardian

import (
	"bytes"
	"fmt"
	"strconv"
)

// A Thread is a thread of the process, as one look at it has found it.
type Thread struct {
	ID int
	// Exiting says that the thread never runs code of the program again.
	Exiting bool
}

// A Scan is one look at all threads of a process, with the number of threads that the kernel gave before and after.
type Scan struct {
	Before, After int
	Threads       []Thread
}

// exiting says whether a scan has found all threads of a process exiting, the first one among them.
func (s *Scan) exiting(process int) bool {
	first := false
	for _, t := range s.Threads {
		if !t.Exiting {
			return false
		}
		first = first || t.ID == process
	}
	return first && len(s.Threads) == s.Before && len(s.Threads) == s.After
}

// Dead says whether two scans, one after the other, prove that no thread of the process runs code of the program again.
//
// One scan is not enough if the first thread may end by itself, as pthread_exit lets it in a program with C: a thread that was listed can start another one, which is not,
// and be gone before the threads are counted again. So the second scan must find no thread that the first one did not. A thread that only
// the second could have missed would have been started by one that both have missed.
func Dead(process int, first, second *Scan) bool {
	if !first.exiting(process) || !second.exiting(process) {
		return false
	}
	known := make(map[int]bool, len(first.Threads))
	for _, t := range first.Threads {
		known[t.ID] = true
	}
	for _, t := range second.Threads {
		if !known[t.ID] {
			return false
		}
	}
	return true
}

// exitingFlag is PF_EXITING in the flags of a thread.
const exitingFlag = 0x4

// Fields of /proc/PID/task/TID/stat after the name of the program, which ends with the last parenthesis.
const (
	fieldFlags   = 6
	fieldThreads = 17
)

// ParseStat reads /proc/PID/task/TID/stat: whether the thread is exiting, and how many threads the process has.
func ParseStat(stat []byte) (exiting bool, threads int, err error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if end < 0 || len(fields) <= fieldThreads {
		return false, 0, fmt.Errorf("guardian: %q is no state of a thread", stat)
	}
	flags, err := strconv.ParseUint(string(fields[fieldFlags]), 10, 64)
	if err != nil {
		return false, 0, fmt.Errorf("guardian: flags of a thread: %w", err)
	}
	threads, err = strconv.Atoi(string(fields[fieldThreads]))
	if err != nil {
		return false, 0, fmt.Errorf("guardian: number of threads: %w", err)
	}
	return flags&exitingFlag != 0, threads, nil
}
