package process

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/page/shared"
	"golang.org/x/sys/unix"
)

// A wake is what wakes a guardian when its member dies, before the kernel frees the memory of the member, which takes long if there is much. A
// thread of the member says to the kernel that it holds a robust lock (set_robust_list(2)), which lies on the page. When the thread dies, with the process or alone, the kernel
// marks the lock and wakes a process that waits for it. That proves nothing.
//
// The layout is the kernel's: the head of a list of locks, with the offset of the lock behind an entry, and one entry.
type wake struct {
	next    uintptr // the entry
	offset  int
	pending uintptr
	entry   uintptr // the next entry: the head again
	lock    uint32  // the holder, or that it is dead
}

// room: the wake must fit into the words of the page.
const _ = guardian.WakeWords*8 - unsafe.Sizeof(wake{})

const (
	futexWaiters  = 0x80000000
	futexWait     = 0 // for locks that processes share
	headOfWakeLen = unsafe.Offsetof(wake{}.entry)
)

func wakeOf(m *shared.Memory) *wake { return (*wake)(m.Address(guardian.WakeWord)) }

// arm has the death of the calling thread, which its goroutine must have locked, wake the guardian. A failure costs only time.
func (w *wake) arm() {
	head := uintptr(unsafe.Pointer(w))
	w.next, w.offset, w.entry = head+headOfWakeLen, int(unsafe.Offsetof(w.lock)-headOfWakeLen), head
	atomic.StoreUint32(&w.lock, uint32(unix.Gettid())|futexWaiters)
	_, _, _ = unix.Syscall(unix.SYS_SET_ROBUST_LIST, head, headOfWakeLen, 0)
}

// disarm takes arm back.
func disarm() { _, _, _ = unix.Syscall(unix.SYS_SET_ROBUST_LIST, 0, headOfWakeLen, 0) }

// wait waits until the lock is not in the state any more that the caller has seen, or a signal comes.
func (w *wake) wait(seen uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.lock)), futexWait, uintptr(seen), 0, 0, 0)
}

func (w *wake) state() uint32 { return atomic.LoadUint32(&w.lock) }

// sleep waits without a timer of package time, which would need another thread.
func sleep(d time.Duration) {
	if d > 0 {
		ts := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&ts, nil)
	}
}
