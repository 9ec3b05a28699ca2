//go:build unix

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// A fifo is a named pipe that gets changes. It stays open from the beginning to the end, as with keepalived, so
// that a reader sees one stream of lines. It is open for reading too: then it opens without a reader, and what is
// written waits for one.
type fifo struct {
	path string
	fd   int
	// is tells this pipe from another that may have taken its place.
	is fs.FileInfo
}

// openFifo opens the pipe, and makes it if nothing has that name.
func openFifo(path string) (*fifo, error) {
	f := &fifo{path: path, fd: -1}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *fifo) open() error {
	if err := syscall.Mkfifo(f.path, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the pipe %s: %w", f.path, err)
	}
	// Looked at before it is opened: to open something else may do something.
	is, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if is.Mode().Type() != fs.ModeNamedPipe {
		return fmt.Errorf("%s is not a named pipe: make one with mkfifo, or give a name that is not taken", f.path)
	}
	// Not through os.File, which waits when the pipe is full.
	fd, err := syscall.Open(f.path, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	f.close()
	f.fd, f.is = fd, is
	return nil
}

// write writes a line, and never waits: if the pipe is full because nobody reads it, the line is lost. If the pipe was
// removed or made anew since, it is opened again.
func (f *fifo) write(line string) error {
	if is, err := os.Stat(f.path); err != nil || !os.SameFile(is, f.is) {
		if err := f.open(); err != nil {
			return err
		}
	}
	for {
		// A line is shorter than what a pipe takes as a whole or not at all.
		_, err := syscall.Write(f.fd, []byte(line))
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return errors.New("the pipe is full: nobody reads it")
		default:
			return err
		}
	}
}

func (f *fifo) close() {
	if f.fd >= 0 {
		_ = syscall.Close(f.fd)
		f.fd = -1
	}
}
