package tree

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/internal/tenure"
)

// cgroupPrefix begins the names of the cgroups that runners make.
const cgroupPrefix = "regent-"

// newCgroup makes a cgroup (version 2) with a name of its own below that of this process. The error says why there is none: the system has no
// such hierarchy, or this process may not write to it. Both are ordinary.
func newCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	parent, err := cgroupDir(string(mounts), string(own))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, cgroupPrefix+random(nameBytes))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
		_ = os.Remove(dir)
		return "", errors.New("cgroups without cgroup.kill: needs Linux 5.14 or later")
	}
	return dir, nil
}

// nameBytes is how long the names of cgroups are: no two are the same.
const nameBytes = 8

// random returns random bytes in hexadecimal.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// cgroupDir returns the directory of a process's cgroup, from the mounts that it sees and from what it is in.
func cgroupDir(mounts, own string) (string, error) {
	path := ""
	for line := range strings.Lines(own) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			path = p
		}
	}
	if path == "" {
		return "", errors.New("no cgroup of version 2")
	}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		f := strings.Fields(before) // id parent major:minor root mount-point options...
		if !ok || len(f) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		// In a namespace of its own a process may see a part of the hierarchy only.
		if rel, err := filepath.Rel(f[3], path); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(f[4], rel), nil
		}
	}
	return "", errors.New("no cgroup hierarchy of version 2 is mounted")
}

// cgroupKill kills all processes in a cgroup and below, at once.
func cgroupKill(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0) // and nothing is made of it where there is none
	if err != nil {
		return err
	}
	_, err = f.WriteString("1")
	return errors.Join(err, f.Close())
}

// cgroupProcs returns the processes in a cgroup and below.
func cgroupProcs(dir string) (map[int]bool, error) {
	in := make(map[int]bool)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() || d.Name() != "cgroup.procs":
			return nil
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			return nil
		}
		for word := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				in[pid] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", dir, err)
	}
	return in, nil
}

// cgroupState says whether there are processes in a cgroup or below. One that is not there any more was empty when it was removed.
func cgroupState(dir string) tenure.Cgroup {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	lines := strings.Split(string(b), "\n")
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV):
		return removed(dir)
	case err == nil && slices.Contains(lines, "populated 0"):
		return tenure.Empty
	case err == nil && slices.Contains(lines, "populated 1"):
		return tenure.Occupied
	}
	return tenure.NoCgroup
}

// removed says what it means that a cgroup is not there: that it was removed, if its parent is there.
func removed(dir string) tenure.Cgroup {
	_, err := os.Stat(dir)
	_, above := os.Stat(filepath.Join(filepath.Dir(dir), "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) && above == nil {
		return tenure.Empty
	}
	return tenure.NoCgroup
}

// cgroupRemove removes a cgroup in which nobody is left, and those below it.
func cgroupRemove(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			cgroupRemove(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}
