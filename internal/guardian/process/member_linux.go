package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/page/shared"
	"github.com/regentproject/regent/internal/protocol"
	"golang.org/x/sys/unix"
)

// A Guardian is the guardian of a member, as the member has it.
type Guardian struct {
	memory *shared.Memory
	page   *guardian.Page
	// socket is where letters go. A guardian that does not read them is not waited for.
	socket *os.File
	// ended is closed when the process of the guardian has ended; err is set before.
	ended chan struct{}
	err   error

	mu  sync.Mutex
	cmd *exec.Cmd
	// told is what it was told last.
	told string
}

// Start starts the guardian of this process, whose page has room for so many groups that are kept. In real time its threads are scheduled as those of
// members are, where the process may do that.
func Start(slots int, realtime bool) (_ *Guardian, err error) {
	if info, ok := debug.ReadBuildInfo(); ok && !startsAsGo(info) {
		return nil, errors.New("guardian: this executable does not start in Go: build the program in another mode than c-archive, c-shared or plugin")
	}
	if borrowed(os.Getuid(), os.Geteuid(), os.Getgid(), os.Getegid()) {
		return nil, fmt.Errorf("guardian: %w", errBorrowed)
	}
	g := &Guardian{ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = fmt.Errorf("guardian: %w", errors.Join(err, g.free()))
		}
	}()
	g.memory, err = shared.New(guardian.Size(slots))
	if err != nil {
		return nil, err
	}
	g.page, err = guardian.NewPage(g.memory, slots)
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "guardian's letters")
	defer theirs.Close()
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, errors.Join(err, unix.Close(pair[0]))
	}
	g.socket = os.NewFile(uintptr(pair[0]), "letters")
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, fmt.Errorf("pidfd of this process: %w (Linux 5.3 has them)", err)
	}
	me := os.NewFile(uintptr(pidfd), "pidfd")
	defer me.Close()
	fd, err := unix.FcntlInt(uintptr(g.memory.Descriptor()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	page := os.NewFile(uintptr(fd), "page")
	defer page.Close()
	how := ordinaryArg
	if realtime {
		how = realtimeArg
	}
	g.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{Marker, how}, Env: environment(os.Environ()), Dir: "/",
		ExtraFiles: []*os.File{page, me, theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	started := make(chan error, 1)
	go g.attend(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return g, g.ready()
}

// startsAsGo says whether the executable runs initialisers of Go packages before anything else: not that of a C program which has Go in a library.
func startsAsGo(info *debug.BuildInfo) bool {
	for _, s := range info.Settings {
		if s.Key == "-buildmode" {
			return s.Value == "exe" || s.Value == "pie"
		}
	}
	return true
}

// environment is what a guardian needs of the environment: how its executable is loaded. It runs on one processor.
func environment(all []string) (env []string) {
	for _, v := range all {
		if strings.HasPrefix(v, "LD_") {
			env = append(env, v)
		}
	}
	return append(env, "GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none")
}

// attend starts the process and waits for its end, on the thread whose death wakes it.
func (g *Guardian) attend(started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	w := wakeOf(g.memory)
	w.arm()
	err := g.cmd.Start()
	started <- err
	if err == nil {
		g.err = g.cmd.Wait()
	}
	disarm()
	close(g.ended)
}

// readyWithin is how long a guardian may take to start.
const readyWithin = 10 * time.Second

// ready waits until the guardian watches.
func (g *Guardian) ready() error {
	_ = g.socket.SetReadDeadline(time.Now().Add(readyWithin))
	var b [1]byte
	if _, err := io.ReadFull(g.socket, b[:]); err != nil {
		return errors.Join(fmt.Errorf("the process does not start: %w", err), g.cmd.Process.Kill())
	}
	return nil
}

// Page is what the guardian reads. It is not safe for use by several goroutines at once.
func (g *Guardian) Page() *guardian.Page { return g.page }

// Prove says that a proof may be believed until an instant of a lease clock. It returns before the proof may leave.
func (g *Guardian) Prove(lease clock.Clock, until protocol.Time) error {
	left := until.Sub(lease.Now())
	now, err := clock.HostHigh()
	if err != nil {
		return err
	}
	g.page.Prove(now.Add(left))
	return nil
}

// tellWithin is how long the guardian may take to read letters.
const tellWithin = time.Second

// Tell hands over the letters in force, unless they are those that were handed over last.
func (g *Guardian) Tell(voters []Voter) error {
	message := encode(voters)
	g.mu.Lock()
	defer g.mu.Unlock()
	if string(message) == g.told || len(voters) == 0 {
		return nil
	}
	if len(message) > maxLetters {
		return fmt.Errorf("guardian: letters of %d bytes: at most %d", len(message), maxLetters)
	}
	_ = g.socket.SetWriteDeadline(time.Now().Add(tellWithin))
	if _, err := g.socket.Write(message); err != nil {
		return fmt.Errorf("guardian: letters: %w", err)
	}
	g.told = string(message)
	return nil
}

// Entrust has the guardian look, once this process is dead, whether the program of a tenure is gone: runner is a pidfd of what starts it, and cgroup is
// the open cgroup.events of what it has started. The files remain the caller's.
func (g *Guardian) Entrust(tenure uint64, runner, cgroup *os.File) error {
	var fds []int
	for _, f := range []*os.File{runner, cgroup} {
		raw, err := f.SyscallConn()
		if err != nil {
			return err
		}
		if err := raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) }); err != nil {
			return err
		}
	}
	rights := unix.UnixRights(fds...)
	g.mu.Lock()
	defer g.mu.Unlock()
	raw, err := g.socket.SyscallConn()
	if err != nil {
		return err
	}
	_ = g.socket.SetWriteDeadline(time.Now().Add(tellWithin))
	var inner error
	err = raw.Write(func(fd uintptr) bool {
		inner = unix.Sendmsg(int(fd), encodeProgram(tenure), rights, nil, unix.MSG_NOSIGNAL)
		return !errors.Is(inner, unix.EAGAIN) && !errors.Is(inner, unix.EINTR)
	})
	runtime.KeepAlive(runner)
	runtime.KeepAlive(cgroup)
	if err := errors.Join(err, inner); err != nil {
		return fmt.Errorf("guardian: a program: %w", err)
	}
	return nil
}

// Ended is closed when the process of the guardian has ended.
func (g *Guardian) Ended() <-chan struct{} { return g.ended }

// Err says how it has ended.
func (g *Guardian) Err() error { return g.err }

// Pid is the process.
func (g *Guardian) Pid() int { return g.cmd.Process.Pid }

// closeWithin is how long a guardian may take to end by itself.
const closeWithin = 2 * time.Second

// Close ends the guardian: the member leads nothing any more. Nothing uses the page after that.
func (g *Guardian) Close() error {
	g.page.SetMode(guardian.Closed)
	return g.free()
}

// free gives everything back that there is.
func (g *Guardian) free() (err error) {
	if g.socket != nil {
		err = g.socket.Close()
	}
	if g.cmd != nil {
		if e := awaitEnd(g.ended, func() error { return g.cmd.Process.Kill() }); e != nil {
			return errors.Join(err, e) // the lock of the thread that waits for it is on the page, which stays
		}
	}
	if g.memory != nil {
		err = errors.Join(err, g.memory.Close())
	}
	return err
}

// awaitEnd waits for the end of the process, and kills it if that takes long. One that this process may not kill is left alone: it has another user, and somebody else
// of that user may have stopped it for good.
func awaitEnd(ended <-chan struct{}, kill func() error) error {
	timer := time.NewTimer(closeWithin)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
	}
	if err := kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("guardian: it does not end within %v, and cannot be killed: %w", closeWithin, err)
	}
	<-ended
	return nil
}
