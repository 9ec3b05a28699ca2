package store

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// Linux refuses to synchronise a pipe, and a directory of /proc. So an error shows that it was asked to.
func TestKernelIsAskedToSynchronise(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := (osFiles{}).sync(w); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("synchronising a pipe: got %v, want %v", err, syscall.EINVAL)
	}
	if err := (osFiles{}).syncDir("/proc/self"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("synchronising a directory of /proc: got %v, want %v", err, syscall.EINVAL)
	}
}
