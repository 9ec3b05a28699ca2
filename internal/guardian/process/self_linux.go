package process

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/page/shared"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/thread"
	"golang.org/x/sys/unix"
)

// The descriptors of a guardian.
const (
	pageFD = 3 + iota
	memberFD
	lettersFD
	firstOther
)

// The argument of a guardian says whether it may have real-time threads. They run only when the member dies.
const (
	realtimeArg = "realtime"
	ordinaryArg = "ordinary"
)

func init() {
	if summoned(os.Args) {
		err := errBorrowed
		if !borrowed(os.Getuid(), os.Geteuid(), os.Getgid(), os.Getegid()) {
			err = guard()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, Marker+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// summoned says whether this process was started as a guardian, and is not a program that has the name by chance.
func summoned(args []string) bool {
	return len(args) == 2 && args[0] == Marker && (args[1] == realtimeArg || args[1] == ordinaryArg)
}

// borrowed says whether a process has the rights of another user or group than who started it (setuid). Anybody can start such a program under any name, with
// any descriptors. It must be no guardian, and not go on to main either: the member may have started it.
func borrowed(uid, effectiveUID, gid, effectiveGID int) bool {
	return uid != effectiveUID || gid != effectiveGID
}

var errBorrowed = errors.New("this process has the rights of another user or group than who started it (setuid)")

// nobody is the user and the group of a guardian that was started as root.
const nobody = 65534

// Skew is by how much the lease clock of a member may be behind the clock of the host: it takes no note of a suspend of less than a millisecond.
const skew = 2 * time.Millisecond

// A self is the guardian's own process.
type self struct {
	page   *shared.Memory
	wake   *wake
	scan   *scanner // nil: only the pidfd proves the death
	sender sender

	mu     sync.Mutex // of what follows, and of reading letters; the thread that proves the death never unlocks it
	voters []Voter
	buf    []byte
	trust  trust
}

// guard is the life of a guardian.
func guard() error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	thread.NameProcess(Marker)
	if err := closeInherited(); err != nil {
		return err
	}
	for fd := pageFD; fd < firstOther; fd++ {
		unix.CloseOnExec(fd)
	}
	scan := newScanner(os.Getppid())
	if scan != nil && gone(memberFD) {
		scan = nil // the parent may be another process already
	}
	realtime := os.Args[1] == realtimeArg
	_, _ = thread.Claim(realtime) // it locks the goroutine; without the right to it the thread stays as it is
	claimed, ready := make(chan struct{}), make(chan *self, 1)
	go func() {
		_, _ = thread.Claim(realtime)
		close(claimed)
		if s := <-ready; s != nil {
			s.watchWake()
		}
	}()
	<-claimed
	dropRights()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	page, err := shared.Map(pageFD)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if page.Len() < guardian.Size(0) {
		return errors.New("page: too short")
	}
	s := &self{page: page, wake: wakeOf(page), scan: scan, buf: make([]byte, maxLetters)}
	if _, err := clock.HostLow(); err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	debug.FreeOSMemory()
	ready <- s
	return s.watchMember()
}

// closeInherited closes what the program has left open for its children. What this process has opened itself closes on exec.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil // without /proc they stay open
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd < firstOther {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// dropRights gives up the rights of root. Nothing that a guardian does needs them.
func dropRights() {
	if os.Geteuid() != 0 && os.Getuid() != 0 {
		return
	}
	_ = syscall.Setgroups(nil)
	_ = syscall.Setresgid(nobody, nobody, nobody)
	_ = syscall.Setresuid(nobody, nobody, nobody)
}

// gone says whether the process of a pidfd is a zombie, or less.
func gone(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err != nil && !errors.Is(err, unix.EINTR) || n > 0
}

// orphaned is how long a guardian stays whose member has closed the socket but not said that it leaves. A process that exits closes it last. A member that
// leaves in order has killed by then a guardian that stays.
const orphaned = 2 * closeWithin

// watchMember waits for letters, and for the end of the member, which the kernel reports once the member's memory is free.
func (s *self) watchMember() error {
	if _, err := unix.Write(lettersFD, []byte{1}); err != nil {
		return fmt.Errorf("letters: %w", err)
	}
	fds := []unix.PollFd{{Fd: memberFD, Events: unix.POLLIN}, {Fd: lettersFD, Events: unix.POLLIN}}
	limit := -1
	for {
		n, err := unix.Poll(fds, limit)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting: %w", err)
		}
		if n == 0 && err == nil {
			return nil // the process goes on as another program (execve), which has no member that this guardian knows
		}
		if fds[1].Revents != 0 {
			s.mu.Lock()
			if !s.takeLetters() {
				fds[1].Fd, limit = -1, int(orphaned/time.Millisecond) // closed, in order or not
			}
			s.mu.Unlock()
		}
		if guardian.Closing(guardian.ModeOf(s.page)) {
			return nil
		}
		if fds[0].Revents&unix.POLLIN != 0 {
			s.mu.Lock()
			s.report()
		}
		if fds[0].Revents != 0 {
			return errors.New("the pidfd of the member cannot be watched")
		}
	}
}

// takeLetters reads what there is, and says whether there may be more.
func (s *self) takeLetters() bool {
	oob := make([]byte, unix.CmsgSpace(programFiles*4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(lettersFD, s.buf, oob, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return true
		case err != nil || n == 0:
			return false
		}
		if oobn > 0 {
			s.trust.take(s.page, decodeProgram(s.buf[:n]), oob[:oobn])
			continue
		}
		if voters, err := decode(s.buf[:n]); err == nil {
			s.voters = voters
			s.sender.open(voters)
		}
	}
}

// How long after a wake the threads of the member are looked at, and how often. Threads that sleep in the kernel need a while to exit.
const (
	lookFor    = 100 * time.Millisecond
	lookEvery  = 100 * time.Microsecond
	lookSpacer = 20 // after so many looks they become rarer
)

// watchWake waits for a sign that the member may die, and looks at its threads then.
func (s *self) watchWake() {
	for seen := s.wake.state(); s.scan != nil; seen = s.wake.state() {
		s.wake.wait(seen)
		pause := lookEvery
		for n, looked := 0, time.Duration(0); looked < lookFor && s.wake.state() != seen; n++ {
			if s.scan.dead() {
				s.mu.Lock()
				s.report()
			}
			if n >= lookSpacer {
				pause = 10 * lookEvery
			}
			sleep(pause)
			looked += pause
		}
	}
}

// report reports the death that was proven, as far as it may, and ends the process.
func (s *self) report() {
	s.takeLetters() // the member may have handed them over just before it died
	duty := guardian.Duty{Skew: skew}
	var packets []packet
	left := -1 // how many groups the packets keep
	for {
		statement, wrong := guardian.Read(s.page)
		kept, open := statement.Keeps(s.trust.look())
		now, err := clock.HostLow()
		if err != nil {
			os.Exit(1)
		}
		do, at := duty.Next(now, &statement, wrong, open)
		switch do {
		case guardian.Send:
			if left != len(kept) {
				left, packets = len(kept), pack(s.page, s.voters, kept)
			}
			for i := range packets {
				s.sender.send(&packets[i])
			}
		case guardian.Wait:
		default:
			os.Exit(0)
		}
		sleep(at.Sub(now))
	}
}

// A packet is one datagram to one address.
type packet struct {
	to   netip.AddrPort
	data []byte
}

// maxPacket is how long a datagram may be: none is fragmented on the way.
const maxPacket = 1200

// pack makes the packets of a report: each part of it for each voter, to each of its addresses.
func pack(w page.Words, voters []Voter, kept []protocol.Group) (packets []packet) {
	parts := obituary.Split(&obituary.Report{Kept: kept}, maxPacket)
	for i := range parts {
		for j := range voters {
			v := &voters[j]
			data := obituary.Append(nil, &v.Letter, guardian.NumberOf(w, v.Rank), &parts[i])
			for _, to := range v.Addrs {
				packets = append(packets, packet{to, data})
			}
		}
	}
	return packets
}

// A sender has a socket for each family of addresses.
type sender struct {
	v4, v6 int // zero: none; a guardian has no descriptor below the first other one to give away
	zones  map[string]uint32
}

// open makes the sockets that voters need, and looks up the names of network interfaces in their addresses.
func (s *sender) open(voters []Voter) {
	if s.zones == nil {
		s.zones = make(map[string]uint32)
	}
	for i := range voters {
		for _, a := range voters[i].Addrs {
			fd, family := &s.v4, unix.AF_INET
			if !a.Addr().Unmap().Is4() {
				fd, family = &s.v6, unix.AF_INET6
			}
			if *fd == 0 {
				if made, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err == nil {
					*fd = made
				}
			}
			if zone := a.Addr().Zone(); zone != "" {
				if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
					s.zones[zone] = uint32(n)
				} else if i, err := net.InterfaceByName(zone); err == nil {
					s.zones[zone] = uint32(i.Index)
				}
			}
		}
	}
}

// send sends a packet. One that cannot be sent is lost like any other.
func (s *sender) send(p *packet) {
	ip := p.to.Addr().Unmap()
	if ip.Is4() {
		if s.v4 != 0 {
			_ = unix.Sendto(s.v4, p.data, 0, &unix.SockaddrInet4{Port: int(p.to.Port()), Addr: ip.As4()})
		}
		return
	}
	if s.v6 != 0 {
		_ = unix.Sendto(s.v6, p.data, 0, &unix.SockaddrInet6{Port: int(p.to.Port()), ZoneId: s.zones[ip.Zone()], Addr: ip.As16()})
	}
}
