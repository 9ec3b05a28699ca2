package process

import (
	"bytes"
	"errors"
	"runtime"
	"slices"

	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/page"
	"golang.org/x/sys/unix"
)

// A trust is what a guardian has of programs that can be proven gone.
type trust struct {
	programs []guardian.Program
	files    [][programFiles]int // of the programs: a pidfd of the runner, and cgroup.events
	// full is when those are looked for whose tenures are over, and taken counts messages.
	full, taken int
}

const (
	leastFull = 64
	// tidyEvery is after how many messages memory is collected, which nothing else does.
	tidyEvery = 1 << 10
)

// take takes the files of a program that came with a message. One without both files is none.
func (t *trust) take(w page.Words, tenure uint64, oob []byte) {
	var fds []int
	if messages, err := unix.ParseSocketControlMessage(oob); err == nil {
		for i := range messages {
			some, _ := unix.ParseUnixRights(&messages[i])
			fds = append(fds, some...)
		}
	}
	if tenure == 0 || len(fds) != programFiles {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		return
	}
	if len(t.programs) >= max(t.full, leastFull) {
		t.drop(w)
		t.full = 2 * len(t.programs)
	}
	t.programs = append(t.programs, guardian.Program{Tenure: tenure})
	t.files = append(t.files, [programFiles]int(fds))
	if t.taken++; t.taken%tidyEvery == 0 {
		runtime.GC()
	}
}

// drop forgets programs whose tenures are over.
func (t *trust) drop(w page.Words) {
	for i := len(t.programs) - 1; i >= 0; i-- {
		if !guardian.Holds(w, t.programs[i].Tenure) {
			for _, fd := range t.files[i] {
				_ = unix.Close(fd)
			}
			t.programs, t.files = slices.Delete(t.programs, i, i+1), slices.Delete(t.files, i, i+1)
		}
	}
}

// look looks at the programs that may still act: first at the runner, then at the cgroup.
func (t *trust) look() []guardian.Program {
	for i := range t.programs {
		if p := &t.programs[i]; !p.Gone() {
			dead := exited(t.files[i][0])
			p.Saw(dead, dead && empty(t.files[i][1]))
		}
	}
	return t.programs
}

// exited says whether all threads of the process of a pidfd have ended. What fails proves nothing.
func exited(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&(unix.POLLIN|unix.POLLERR|unix.POLLNVAL) == unix.POLLIN // one that was waited for has hung up, too
}

// empty says whether nothing is in the cgroup of an open cgroup.events, nor below it. One that was removed was empty.
func empty(events int) bool {
	var b [256]byte
	n, err := unix.Pread(events, b[:], 0)
	if errors.Is(err, unix.ENODEV) {
		return true
	}
	if err != nil {
		return false
	}
	for line := range bytes.Lines(b[:n]) {
		if string(line) == "populated 0\n" {
			return true
		}
	}
	return false
}
