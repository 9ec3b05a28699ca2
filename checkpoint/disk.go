package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// A directory is a core.Disk.
type directory string

const unfinished = ".tmp"

func (d directory) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), unfinished) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

func (d directory) Read(name string) ([]byte, error) { return os.ReadFile(d.path(name)) }

func (d directory) Remove(name string) error { return os.Remove(d.path(name)) }

func (d directory) Write(name string, content []byte) error {
	f, err := os.OpenFile(d.path(name+unfinished), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(d.path(name+unfinished), d.path(name)); err != nil {
		return err
	}
	return d.sync()
}

// sync makes the names in the directory durable.
func (d directory) sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
