//go:build unix

package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/regentproject/regent/agent/run/tree"
)

// A gate holds the first process of a program back between fork and exec, until the runner has looked at its deadline once more.
// The first process is this executable at first: it waits for a byte, and execs the program.
type gate struct {
	mine, its *os.File
	once      sync.Once
	// done is closed when it is known whether the program runs.
	done chan struct{}
}

// gateName is what the first process is called until it execs.
const gateName = "regent-hold"

// hold changes what is to be started so that it waits at a gate.
func hold(o *tree.Options) (*gate, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return nil, err
	}
	g := &gate{mine: os.NewFile(uintptr(fds[0]), "gate"), its: os.NewFile(uintptr(fds[1]), "gate"), done: make(chan struct{})}
	o.Args = append([]string{gateName, o.Path}, o.Args...)
	o.Path, o.Extra = selfPath, []*os.File{g.its}
	return g, nil
}

// started says that the first process has its end of the gate.
func (g *gate) started() { _ = g.its.Close() }

// open lets the program exec, and says why it cannot be run. It returns when it runs, or has ended.
func (g *gate) open() error {
	defer g.close()
	if _, err := g.mine.Write([]byte{1}); err != nil {
		return nil // it was killed meanwhile
	}
	said, _ := io.ReadAll(g.mine)
	if number, err := strconv.Atoi(string(said)); err == nil {
		return syscall.Errno(number)
	}
	return nil
}

// close ends a first process that has not been let through.
func (g *gate) close() {
	if g != nil {
		g.once.Do(func() {
			_ = g.mine.Close()
			close(g.done)
		})
	}
}

// The exit status of a first process that was not let through, or could not exec.
const gateStatus = 125

// waitAtGate is what the first process does before it is the program: it waits, and execs argv[1] with the rest.
func waitAtGate(args []string) int {
	const fd = 3
	syscall.CloseOnExec(fd)
	var one [1]byte
	for {
		n, err := syscall.Read(fd, one[:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n != 1 {
			return gateStatus
		}
		break
	}
	err := syscall.Exec(args[1], args[2:], os.Environ())
	var number syscall.Errno
	if errors.As(err, &number) {
		_, _ = syscall.Write(fd, fmt.Append(nil, int(number)))
	}
	return gateStatus
}
