package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/regentproject/regent/internal/owned"
)

// files is the part of a file system that a record is kept with. A record is durable by five of its calls: open, write,
// sync, rename and syncDir, in this order.
type files interface {
	// open makes an empty file, in place of one that may be there.
	open(name string) (io.Closer, error)
	// reopen opens a file that is there, with the room that it takes up. What is written replaces what it holds.
	reopen(name string) (io.Closer, error)
	// write writes all of a file that open or reopen returned, and sync makes durable what was written to it, but not its name.
	write(file io.Closer, b []byte) error
	sync(file io.Closer) error
	// rename gives a file another name, at once or not at all. It is durable after syncDir.
	rename(from, to string) error
	// syncDir makes durable which names a directory has, and for which files.
	syncDir(path string) error

	// mkdir makes a directory whose parent exists. It is durable after syncDir of the parent.
	mkdir(path string) error
	// exists returns nil if there is something of that name.
	exists(name string) error
	remove(name string) error
	read(name string) ([]byte, error)
	// birth tells a file from any copy of it, whatever its name, if the file system keeps when files were made; empty otherwise.
	birth(name string) string
}

// makeDir makes a directory durably, and what is missing above it. One that is there already may have been made by a
// process that ended before that was durable: so its parent is synchronised, too, as far as this user may look at it. A
// user that may not did not make it.
// Invariant: a directory is made only in one that is durable.
func makeDir(f files, path string) error {
	parent := filepath.Dir(path)
	err := f.exists(path)
	if err == nil {
		err := f.syncDir(parent)
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) || parent == path {
		return err
	}
	if err := makeDir(f, parent); err != nil {
		return err
	}
	if err := f.mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.syncDir(parent)
}

// writeSync opens a file, and writes what content returns for its birth.
func writeSync(f files, open func(name string) (io.Closer, error), name string, content func(birth string) []byte) error {
	file, err := open(name)
	if err != nil {
		return err
	}
	err = f.write(file, content(f.birth(name)))
	if err == nil {
		err = f.sync(file)
	}
	return errors.Join(err, file.Close())
}

// osFiles is the file system of the host.
type osFiles struct{}

func (osFiles) open(name string) (io.Closer, error) {
	return owned.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

func (osFiles) reopen(name string) (io.Closer, error) {
	return owned.OpenFile(name, os.O_WRONLY, 0o600)
}

func (osFiles) write(file io.Closer, b []byte) error {
	if _, err := file.(*os.File).Write(b); err != nil {
		return err
	}
	return file.(*os.File).Truncate(int64(len(b)))
}

func (osFiles) sync(file io.Closer) error    { return file.(*os.File).Sync() }
func (osFiles) rename(from, to string) error { return os.Rename(from, to) }
func (osFiles) syncDir(path string) error    { return syncDir(path) }
func (osFiles) mkdir(path string) error      { return os.Mkdir(path, 0o700) }
func (osFiles) remove(name string) error     { return os.Remove(name) }

func (osFiles) read(name string) ([]byte, error) {
	b, _, err := owned.ReadFile(name)
	return b, err
}

func (osFiles) birth(name string) string {
	sec, nsec, ok := born(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d.%09d", sec, nsec)
}

func (osFiles) exists(name string) error {
	_, err := os.Stat(name)
	return err
}
