// Package ptytest makes pseudo-terminals, and plays the person before them. It is for tests.
package ptytest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A Person types at a pseudo-terminal, and reads what it shows.
type Person struct {
	// Terminal is what a program has as its standard input and output.
	Terminal *os.File
	master   *os.File

	mu    sync.Mutex
	shown strings.Builder
}

// Sit makes a pseudo-terminal of a size. It is gone when the test ends.
func Sit(t *testing.T, width, height int) *Person {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &Person{master: master}
	number := 0
	err = p.control(func(fd int) (err error) {
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err != nil {
			return err
		}
		return unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	})
	if err == nil {
		p.Terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Leave(); p.Terminal.Close() })
	p.Resize(t, width, height)
	go p.read()
	return p
}

// read reads what is shown until the terminal has gone.
func (p *Person) read() {
	b := make([]byte, 4096)
	for {
		n, err := p.master.Read(b)
		p.mu.Lock()
		p.shown.Write(b[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Resize changes the size of the window. A program that is not of the terminal's session is not notified (SIGWINCH).
func (p *Person) Resize(t *testing.T, width, height int) {
	t.Helper()
	err := p.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// control calls f with the file descriptor, which stays one that Close closes under a read. (Fd would make the read block.)
func (p *Person) control(f func(fd int) error) error {
	c, err := p.master.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) { failed = f(int(fd)) })
	return errors.Join(err, failed)
}

// Type presses keys.
func (p *Person) Type(t *testing.T, keys string) {
	t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// Shown returns all that was written to the terminal so far, with control sequences.
func (p *Person) Shown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.String()
}

// Forget has Shown begin anew.
func (p *Person) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.Reset()
}

// Leave hangs up.
func (p *Person) Leave() { _ = p.master.Close() }
