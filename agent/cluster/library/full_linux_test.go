package library_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/cluster"
)

// ownMounts runs the test again in a mount namespace of its own, which takes what is mounted there with it. It says whether this is that run.
func ownMounts(t *testing.T) bool {
	t.Helper()
	const inside = "REGENT_TEST_OWN_MOUNTS"
	if os.Getenv(inside) != "" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), inside+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// smallDisk mounts a file system of 64 KB there.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o700), unix.Mount("small", dir, "tmpfs", 0, "size=64k,mode=0700")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // or the directory could not be removed
}

// ballast is what fills a disk.
const ballast = "ballast"

// fill takes all room on a disk.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, ballast), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("filling %s: %v", dir, err)
	}
}

// The disks of all members are full. The group changes its leader far more often than their records allow that were written before: each member uses the room
// that it has reserved. When there is room again all goes on as before.
func TestElectionsGoOnWhenAllDisksAreFull(t *testing.T) {
	t.Parallel()
	if !ownMounts(t) {
		return
	}
	w := newWatch(t, nil, "a", "b", "c")
	dir := func(name string) string { return filepath.Join(w.Dir, name) }
	spare := func(name string) os.FileInfo {
		i, _ := os.Stat(filepath.Join(dir(name), "record.spare"))
		return i
	}
	for _, name := range w.Names {
		smallDisk(t, dir(name))
	}
	w.BeginAll()
	e := w.Leader(0)
	reserved := make(map[string]os.FileInfo)
	for _, name := range w.Names {
		cluster.Eventually(t, name+" has reserved room", func() bool { return spare(name) != nil })
		reserved[name] = spare(name)
		fill(t, dir(name))
	}
	const changes = 100 // the ceiling is 32 to 64 terms ahead, and each change takes one or a few
	first := e.Token
	for range changes {
		w.Must(w.Say(e.Member, "resign"))
		e = w.Leader(e.Token)
	}
	used := 0
	for _, name := range w.Names {
		if now := spare(name); now == nil || !os.SameFile(now, reserved[name]) { // some file systems have room for the next at once: that of the last record
			used++
		}
		if err := os.WriteFile(filepath.Join(dir(name), "more"), make([]byte, 8192), 0o600); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("there is room on the disk of %s: the test proves nothing (%v)", name, err)
		}
	}
	if used < 2 {
		t.Errorf("%d members have used their reserved room for tokens %d to %d, want a majority", used, first, e.Token)
	}
	for _, name := range w.Names {
		if err := errors.Join(os.Remove(filepath.Join(dir(name), ballast)), os.Remove(filepath.Join(dir(name), "more"))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range w.Names {
		cluster.Eventually(t, name+" has reserved room again", func() bool { return spare(name) != nil })
	}
	w.Must(w.Say(e.Member, "resign"))
	w.Leader(e.Token)
}
