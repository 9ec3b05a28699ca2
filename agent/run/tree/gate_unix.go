//go:build unix

package tree

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// gateName is what the first process of a tree calls itself while it waits at the gate. It is this very executable, started with
// the program as its arguments: Go cannot fork without exec.
const gateName = "regent-gate"

// What the first process inherits beside the program's files: it reads from the first one when it may go on, and writes to
// the second why it could not.
const (
	gateFile = 3 + iota
	faultFile
)

// init waits at the gate if this process was started for that.
func init() {
	if len(os.Args) > 1 && os.Args[0] == gateName {
		os.Exit(passGate(os.Args[1], os.Args[2:]))
	}
}

// gateStatus is the exit status of a process that did not come through.
const gateStatus = 126

// passGate waits until the runner opens the gate, and becomes the program. It returns if the runner is dead, or the program cannot
// be run.
func passGate(path string, args []string) int {
	syscall.CloseOnExec(gateFile)
	syscall.CloseOnExec(faultFile)
	var b [1]byte
	for {
		n, err := syscall.Read(gateFile, b[:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if n != 1 {
			return gateStatus
		}
		break
	}
	err := syscall.Exec(path, args, os.Environ())
	var number syscall.Errno
	if errors.As(err, &number) {
		_, _ = syscall.Write(faultFile, []byte(strconv.Itoa(int(number))))
	}
	return gateStatus
}

// A gate is the runner's side of it.
type gate struct {
	open, fault *os.File
}

// newGate returns a gate, and what the first process inherits of it.
func newGate() (*gate, []*os.File, error) {
	in, open, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	fault, out, err := os.Pipe()
	if err != nil {
		_, _ = in.Close(), open.Close()
		return nil, nil, err
	}
	return &gate{open: open, fault: fault}, []*os.File{in, out}, nil
}

// pass opens the gate and returns why the program could not be run.
func (g *gate) pass(path string) error {
	defer g.close()
	if _, err := g.open.Write([]byte{1}); err != nil && !errors.Is(err, syscall.EPIPE) { // if it is dead, that is seen elsewhere
		return err
	}
	var b [8]byte
	n, _ := g.fault.Read(b[:]) // the end of the file, if the kernel closed it at exec
	if number, err := strconv.Atoi(string(b[:n])); err == nil {
		return &os.PathError{Op: "exec", Path: path, Err: syscall.Errno(number)}
	}
	return nil
}

// close ends a process that waits.
func (g *gate) close() { _, _ = g.open.Close(), g.fault.Close() }
