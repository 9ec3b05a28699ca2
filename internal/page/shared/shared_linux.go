package shared

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seals are what a file must have before it is handed out, or mapped.
const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE

const wordBytes = 8

// Memory is mapped memory with its file. The kernel gets it back at Close, or when nothing refers to the Memory any more.
type Memory struct {
	words   words
	mapped  []byte
	file    *os.File // nil at a reader
	cleanup runtime.Cleanup
}

// Len returns how many words there are.
func (m *Memory) Len() int { return m.words.Len() }

// Load reads a word. The memory stays mapped until it has.
func (m *Memory) Load(i int) uint64 {
	v := m.words.Load(i)
	runtime.KeepAlive(m)
	return v
}

// Store writes a word. The memory stays mapped until it has.
func (m *Memory) Store(i int, v uint64) {
	m.words.Store(i, v)
	runtime.KeepAlive(m)
}

// Address returns where a word lies in this process, for what the kernel does with it. It is valid for as long as the memory is mapped.
func (m *Memory) Address(i int) unsafe.Pointer { return unsafe.Pointer(&m.words[i]) }

// New makes memory of so many words. They are zero, and cost nothing before they are used.
func New(size int) (*Memory, error) {
	fd, err := unix.MemfdCreate("regent-page", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate("regent-page", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	file := os.NewFile(uintptr(fd), "regent-page")
	m, err := build(fd, size*wordBytes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnsupported, err), file.Close())
	}
	m.file = file
	return m, nil
}

// build gives a file its size, maps it, and seals it. The mapping comes first: none for writing is allowed later.
func build(fd, length int) (*Memory, error) {
	if err := unix.Ftruncate(fd, int64(length)); err != nil {
		return nil, err
	}
	mapped, err := unix.Mmap(fd, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, errors.Join(err, unix.Munmap(mapped))
	}
	return over(mapped), nil
}

func over(mapped []byte) *Memory {
	w := unsafe.Slice((*uint64)(unsafe.Pointer(&mapped[0])), len(mapped)/wordBytes) // mappings are aligned to more than a word
	m := &Memory{words: w, mapped: mapped}
	m.cleanup = runtime.AddCleanup(m, func(mapped []byte) { _ = unix.Munmap(mapped) }, mapped)
	return m
}

// Descriptor returns what readers map, to be sent to them. It is valid until Close.
func (m *Memory) Descriptor() int { return int(m.file.Fd()) }

// maxBytes bounds what a reader maps.
const maxBytes = 1 << 28

// Map maps memory that another process made, for reading, and closes the descriptor. It refuses memory that is not sealed:
// its maker could kill the reader by making it shorter.
func Map(fd int) (*Memory, error) {
	defer unix.Close(fd)
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if got&seals != seals {
		return nil, fmt.Errorf("shared memory: has the seals %#x: must have %#x", got, seals)
	}
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	if info.Size < wordBytes || info.Size > maxBytes || info.Size%wordBytes != 0 {
		return nil, fmt.Errorf("shared memory: has %d bytes: must have 8 to %d", info.Size, maxBytes)
	}
	mapped, err := unix.Mmap(fd, 0, int(info.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return over(mapped), nil
}

// Close gives the memory back. Nothing may use it any more in this process; others keep what they have mapped.
func (m *Memory) Close() error {
	m.cleanup.Stop()
	err := unix.Munmap(m.mapped)
	if m.file != nil {
		err = errors.Join(err, m.file.Close())
	}
	return err
}
