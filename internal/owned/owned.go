// Package owned opens files and checks directories that other users of the host must not control.
//
// A process trusts files of its own user and of root. A file or a directory of another user may be replaced by that user at any
// time, and a symbolic link of another user leads wherever that user wants. Systems without owners of files have no such check.
package owned

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks is how many symbolic links a path may lead through at its end.
const maxLinks = 8

// Dir returns an error if another user controls a directory: if that user owns it or the link that leads to it, or if every user
// may write to it. A shared directory that is sticky, such as /tmp, is good enough for files that Open and Create check.
func Dir(path string) error {
	path, err := follow(path)
	if err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	if err := trusted(path, info); err != nil {
		return err
	}
	if mode := info.Mode(); hasOwners && mode.Perm()&0o002 != 0 && mode&fs.ModeSticky == 0 {
		return fmt.Errorf("%s can be written by every user (mode %04o): run 'chmod o-w %s'", path, mode.Perm(), path)
	}
	return nil
}

// PrivateDir is Dir for a directory that is not shared with any other user.
func PrivateDir(path string) error {
	if err := Dir(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if hasOwners && info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("%s can be written by every user (mode %04o): run 'chmod o-w %s', or use a directory of its own", path, info.Mode().Perm(), path)
	}
	return nil
}

// Is returns an error if neither this user nor root owns a file.
func Is(path string, info fs.FileInfo) error { return trusted(path, info) }

// OpenFile is os.OpenFile for a regular file. It follows no symbolic link at the end of the path, and refuses a file of another user.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	// Without O_TRUNC: a file is not changed before its owner is known.
	f, err := os.OpenFile(path, flag&^os.O_TRUNC|noFollow, perm)
	if err != nil {
		if info, e := os.Lstat(path); e == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a symbolic link (name the file itself): %w", path, err)
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil {
		err = trusted(path, info)
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadFile returns the content of a file, and its mode. It follows symbolic links at the end of the path if this user or root
// owns them: those that manage secrets use links.
func ReadFile(path string) ([]byte, fs.FileMode, error) {
	target, err := follow(path)
	if err != nil {
		return nil, 0, err
	}
	f, err := OpenFile(target, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxRead))
	return b, info.Mode(), err
}

// maxRead is far above the size of any file that is read whole.
const maxRead = 1 << 20

// follow returns where a path leads through symbolic links at its end, all of which this user or root owns.
func follow(path string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, err
		}
		if err := trusted(path, info); err != nil {
			return "", err
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// OnlyOwner returns an error if another user than its owner may read or write a file of that mode.
func OnlyOwner(path string, mode fs.FileMode) error {
	if hasOwners && mode.Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read or written by other users (mode %04o): run 'chmod go= %s'", path, mode.Perm(), path)
	}
	return nil
}

// ReplaceFile writes a file as a whole: another process finds what was there before, or all that is there now. It keeps the owner of
// a file that it replaces where it may.
func ReplaceFile(path string, data []byte, perm fs.FileMode) (err error) {
	target, err := follow(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := Dir(filepath.Dir(target)); err != nil {
		return err
	}
	next := target + ".next"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next))
		}
	}()
	if info, e := os.Lstat(target); e == nil {
		err = keepOwner(f, info)
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(next, target)
}
