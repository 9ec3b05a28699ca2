package store

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A process under a limit on the size of files meets the same error, at the same places, as one on a full disk; and a
// real full disk is a mount that tests may not make.
func TestNoRoomLeft(t *testing.T) {
	if dir := os.Getenv("STORE_TEST_DIR"); dir != "" {
		limit, err := strconv.ParseUint(os.Getenv("STORE_TEST_LIMIT"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		d := open(t, dir, "a")
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			t.Fatal(err)
		}
		if err := d.Write([]byte("new")); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("got %v: want file too large", err)
		}
		if got, err := d.Read(); err != nil || string(got) != "old" {
			t.Fatalf("read %q, %v", got, err)
		}
		return
	}
	for _, limit := range []string{"0", "1", "20"} {
		dir := t.TempDir()
		d := open(t, dir, "a")
		write(t, d, "old")
		d.Close()
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), "STORE_TEST_DIR="+dir, "STORE_TEST_LIMIT="+limit)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("limit %s: %v: %s", limit, err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, nextFile)); err == nil {
			t.Errorf("limit %s: the unfinished record still takes up room", limit)
		}
	}
}
