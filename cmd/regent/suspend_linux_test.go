package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/cluster"
)

// A suspend of the host stops all processes and CLOCK_MONOTONIC, and CLOCK_BOOTTIME goes on. A test cannot stop the clock of a host, and
// a time namespace cannot change the difference of the two under processes that run. Here all processes of a host are stopped for a moment,
// and a seccomp filter has the test answer their readings of CLOCK_BOOTTIME from then on, which is ahead. Timers, which follow
// CLOCK_MONOTONIC, have not advanced, as after a suspend. The kernel also cancels timers of the wall clock then: the test has them ring.

func init() { commands["suspendable"] = suspendable }

// suspendVar names the socket on which the filter's file is handed over.
const suspendVar = "REGENT_TEST_SUSPEND"

// suspendable runs a command whose readings of CLOCK_BOOTTIME another process answers: suspendable PROGRAM ARG ...
func suspendable() {
	runtime.LockOSThread() // the filter is of this thread, which execs
	if err := handOver(); err != nil {
		fmt.Fprintln(os.Stderr, "suspendable:", err)
		os.Exit(1)
	}
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "suspendable:", err)
	os.Exit(1)
}

// handOver installs the filter and hands its file over.
func handOver() error {
	conn, err := net.Dial("unix", os.Getenv(suspendVar))
	if err != nil {
		return err
	}
	defer conn.Close()
	const number, clock = 0, 16 // where a filter finds the number of a call and its first argument
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLOCK_GETTIME, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: clock},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.CLOCK_BOOTTIME, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if _, _, err := conn.(*net.UnixConn).WriteMsgUnix([]byte{0}, unix.UnixRights(int(fd)), nil); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1)) // until the other side answers
	return err
}

// A suspender answers the readings of processes.
type suspender struct {
	t      *testing.T
	socket string
	// ahead is by how much the clock of its processes is ahead: as long as they were suspended.
	ahead atomic.Int64
	// exempt are threads whose readings are true: those of programs, for their journals. It is set before ahead.
	exempt func(pid int) bool
}

func newSuspender(t *testing.T) *suspender {
	t.Helper()
	dir, err := os.MkdirTemp("", "regent-suspend-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &suspender{t: t, socket: filepath.Join(dir, "s"), exempt: func(int) bool { return false }}
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.accept(conn.(*net.UnixConn))
		}
	}()
	return s
}

// command makes a command whose clock this suspender decides.
func (s *suspender) command(args ...string) *exec.Cmd {
	c := command(args...)
	c.Env = append(c.Env, suspendVar+"="+s.socket)
	path, err := exec.LookPath("suspendable")
	c.Path, c.Args, c.Err = path, append([]string{"suspendable", "regent"}, args...), err
	return c
}

// accept takes over the filter of a process, and of all that it starts.
func (s *suspender) accept(conn *net.UnixConn) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return
	}
	go s.answer(fds[0])
	_, _ = conn.Write([]byte{0}) // it goes on
	_ = conn.Close()
}

// What the kernel and the test say to one another about a call: struct seccomp_notif and seccomp_notif_resp.
type (
	question struct {
		id   uint64
		pid  uint32
		_    uint32
		_    [16]byte // the number of the call, and from where
		args [6]uint64
	}
	answer struct {
		id    uint64
		_     int64
		err   int32
		flags uint32
	}
)

// answer answers readings until no process is left that asks.
func (s *suspender) answer(fd int) {
	defer unix.Close(fd)
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && err != unix.EINTR || poll[0].Revents&unix.POLLHUP != 0 {
			return
		}
		var q question
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); errno != 0 {
			continue // it was killed meanwhile
		}
		a := answer{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if ahead := s.ahead.Load(); ahead != 0 && !s.exempt(int(q.pid)) {
			a.flags, a.err = 0, write(int(q.pid), q.args[1], ahead)
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	}
}

// write writes a reading into the memory of a process. It returns what the call returns.
func write(pid int, at uint64, ahead int64) int32 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	now = unix.NsecToTimespec(now.Nano() + ahead)
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt((*[unsafe.Sizeof(now)]byte)(unsafe.Pointer(&now))[:], int64(at))
		_ = f.Close()
	}
	if err != nil {
		return -int32(unix.EFAULT)
	}
	return 0
}

// ringResumes has timers of the wall clock of a process ring, of which the kernel cancels those that ask for it when a host resumes.
func ringResumes(t *testing.T, pid int) {
	t.Helper()
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(handle)
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	rung := 0
	for _, f := range files {
		info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, f.Name()))
		var n int
		if _, err := fmt.Sscan(f.Name(), &n); err != nil || !strings.Contains(string(info), fmt.Sprintf("clockid: %d\n", unix.CLOCK_REALTIME)) {
			continue
		}
		fd, err := unix.PidfdGetfd(handle, n, 0)
		if err != nil {
			t.Fatal(err)
		}
		soon := unix.ItimerSpec{Value: unix.NsecToTimespec(1)}
		if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME, &soon, nil); err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(fd)
		rung++
	}
	if rung == 0 {
		t.Errorf("process %d does not watch for resumes", pid)
	}
}

// suspendLease leaves time enough to tell a program that is killed when its host resumes from one that is killed when a timer rings.
const suspendLease = 16 * time.Second

// All processes of a host are suspended past the end of their lease. When it resumes, the runner and the keeper kill the program by the
// clock, though no timer has rung and the agent does not run yet. Nothing that was held before is used again: the next leadership has
// another token and begins after the last sign of the old program.
func TestSuspendedHostUsesNothingThatItHeld(t *testing.T) {
	t.Parallel()
	for _, guardian := range []string{"runner", "keeper"} {
		t.Run(guardian, func(t *testing.T) {
			t.Parallel()
			testSuspend(t, guardian)
		})
	}
}

// testSuspend suspends a host on which only one guardian of the program resumes at first.
func testSuspend(t *testing.T, guardian string) {
	s := newSuspender(t)
	h := &runCluster{t: t, Cluster: cluster.OpenCrash(t, cluster.Options{Names: []string{"a"}, Regent: s.command,
		Config: fmt.Sprintf("timing: {lease: %v, longest_lease: %v, guard: %v}\n", suspendLease, suspendLease, runGuard)})}
	h.startAgent("a")
	h.check(h.AwaitAgents("a"))
	h.startRunner("a")
	first := h.next()
	runner := h.Process(runnerOf("a"))
	keeper := keeperOf(t, runner.Pid())
	guardians := map[int]bool{h.Process("a").Pid(): true, runner.Pid(): true, keeper: true}
	s.exempt = func(tid int) bool { return !guardians[groupOf(tid)] }
	var program []int
	for _, e := range h.spans(first.Token) {
		program = append(program, e.Pid)
	}
	signal := func(sig syscall.Signal, pids ...int) {
		for _, pid := range pids {
			h.check(syscall.Kill(pid, sig))
		}
	}

	signal(syscall.SIGSTOP, append(program, runner.Pid(), keeper, h.Process("a").Pid())...)
	s.ahead.Store(int64(time.Minute))
	suspended := cluster.Now()
	resumes, rest := runner.Pid(), keeper
	if guardian == "keeper" {
		resumes, rest = keeper, runner.Pid()
	}
	ringResumes(t, resumes)
	signal(syscall.SIGCONT, append(program, resumes)...)
	h.gone(first.Token)
	last := cluster.Time(0)
	for _, e := range h.spans(first.Token) {
		last = max(last, e.Seen)
	}
	// By timers it would be killed when most of its lease has passed again.
	if took := last.Sub(suspended); took > suspendLease/2 {
		t.Errorf("the program ran for %v after the host had resumed: its lease was over", took)
	}
	ringResumes(t, rest)
	ringResumes(t, h.Process("a").Pid())
	signal(syscall.SIGCONT, rest, h.Process("a").Pid())
	second := h.next()
	if second.Token <= first.Token || second.Since < last {
		t.Errorf("%v leads since %v after the last sign of %v", second, second.Since.Sub(last), first)
	}
	h.judge()
}

// groupOf returns the process of a thread.
func groupOf(tid int) (pid int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	_, rest, _ := strings.Cut(string(b), "\nTgid:")
	_, _ = fmt.Sscan(rest, &pid)
	return pid
}
