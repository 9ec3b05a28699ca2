package shared

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/protocol"
	"golang.org/x/sys/unix"
)

func newMemory(t *testing.T, size int) *Memory {
	t.Helper()
	m, err := New(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// duplicate returns a descriptor as another process gets it.
func duplicate(t *testing.T, m *Memory) int {
	t.Helper()
	fd, err := unix.FcntlInt(uintptr(m.Descriptor()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestReaderSeesWhatIsWrittenLater(t *testing.T) {
	m := newMemory(t, page.Size(4, 4))
	w, err := page.NewWriter(m, 4, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := Map(duplicate(t, m))
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	r, err := page.NewReader(theirs)
	if err != nil {
		t.Fatal(err)
	}
	h, tenure := w.NewHorizon(), w.Open()
	tenure.Follow(h)
	slot, number := tenure.Slot()
	for _, until := range []protocol.Time{100, 200} {
		h.Extend(until)
		_, end, ok := r.Look(slot, number, func() protocol.Time { return 0 })
		if !ok || end != until {
			t.Errorf("the reader sees %d, %t, want %d", end, ok, until)
		}
	}
}

// A program has the descriptor, and tries everything that the kernel offers to change what others read.
func TestReadersCannotWrite(t *testing.T) {
	m := newMemory(t, os.Getpagesize()/wordBytes)
	m.Store(0, 7)
	fd, length := m.Descriptor(), os.Getpagesize()
	writable := func(fd int) error {
		b, err := unix.Mmap(fd, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			b[0] = 1
		}
		return err
	}
	for name, attack := range map[string]func() error{
		"map for writing": func() error { return writable(fd) },
		"open again and map for writing": func() error {
			f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			return writable(int(f.Fd()))
		},
		"map for reading and change that": func() error {
			b, err := unix.Mmap(fd, 0, length, unix.PROT_READ, unix.MAP_SHARED)
			if err != nil {
				return err
			}
			return unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE)
		},
		"write":  func() error { _, err := unix.Pwrite(fd, []byte{1}, 0); return err },
		"shrink": func() error { return unix.Ftruncate(fd, 0) },
		"grow":   func() error { return unix.Ftruncate(fd, 1<<20) },
		"punch a hole": func() error {
			return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, int64(length))
		},
		"add a seal": func() error { _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); return err },
	} {
		if err := attack(); !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
			t.Errorf("%s: got %v, want that it is refused", name, err)
		}
	}
	m.Store(1, 8)
	if m.Load(0) != 7 || m.Load(1) != 8 {
		t.Error("the memory was changed by another, or cannot be changed by its maker")
	}
}

// An agent that is none could kill its programs by memory that it makes shorter later.
func TestMemoryThatCanShrinkIsNotMapped(t *testing.T) {
	fd, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := Map(fd); err == nil || !strings.Contains(err.Error(), "seals") {
		t.Errorf("got %v, want that it is refused for its seals", err)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	other, err := unix.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Map(other); err == nil {
		t.Error("a file on a disk was mapped")
	}
}

// mappings returns how many mappings of shared memory this process has.
func mappings(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), "regent-page")
}

// A program that connects again and again maps a page each time, and somebody may read the old one for as long as it can be reached.
func TestMemoryIsUnmappedWhenNothingRefersToIt(t *testing.T) {
	m := newMemory(t, os.Getpagesize()/wordBytes)
	m.Store(0, 7)
	kept, err := Map(duplicate(t, m))
	if err != nil {
		t.Fatal(err)
	}
	before := mappings(t)
	for range 10 {
		if _, err := Map(duplicate(t, m)); err != nil {
			t.Fatal(err)
		}
	}
	for begun := time.Now(); mappings(t) > before; runtime.GC() {
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%d mappings are left, and %d are in use", mappings(t), before)
		}
	}
	if kept.Load(0) != 7 || mappings(t) != before {
		t.Errorf("%d mappings are left, and %d are in use", mappings(t), before)
	}
	if err := kept.Close(); err != nil || mappings(t) != before-1 {
		t.Errorf("%d mappings after Close, %v", mappings(t), err)
	}
}
