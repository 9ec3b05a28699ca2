package processes

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/tenure"
	"golang.org/x/sys/unix"
)

// A Peer is the process at the other end of a connection.
type Peer struct {
	Pid, UID int
	// process stands for the process, and becomes readable when all its threads have ended; nil if there is none.
	process *os.File
}

// PeerOf finds out who opened a connection. The process may be dead by then, and another have its number.
func PeerOf(conn net.Conn) (*Peer, error) {
	cred, pidfd, err := peerHandle(conn)
	if err != nil {
		return nil, err
	}
	p := &Peer{Pid: int(cred.Pid), UID: int(cred.Uid)}
	switch {
	case p.Pid <= 0: // it lives in another namespace: it will never be proven dead
		if pidfd >= 0 {
			_ = unix.Close(pidfd)
		}
	case pidfd >= 0:
		p.process = pollable(pidfd)
	case pidfd == noPidfd: // before Linux 6.5
		if q, err := OpenPeer(p.Pid, p.UID); err == nil {
			p.process = q.process
		}
	}
	return p, nil
}

// OpenPeer returns the process with a number, if it is that of a user.
func OpenPeer(pid, uid int) (*Peer, error) {
	fd, err := tree.OpenPeer(pid, uid)
	if err != nil {
		return nil, err
	}
	return &Peer{Pid: pid, UID: uid, process: pollable(fd)}, nil
}

// User returns the user of the process that opened a connection, as it was when it did.
func User(conn net.Conn) (uid int, ok bool) {
	cred, err := Credentials(conn)
	if err != nil {
		return 0, false
	}
	return int(cred.Uid), true
}

// Credentials asks the kernel who opened a connection.
func Credentials(conn net.Conn) (*unix.Ucred, error) {
	cred, pidfd, err := peerHandle(conn)
	if pidfd >= 0 {
		_ = unix.Close(pidfd)
	}
	return cred, err
}

// What stands for a pidfd if there is none: the process is dead, or the kernel opens none of a connection's peer.
const (
	deadPidfd = -1
	noPidfd   = -2
)

// peerHandle asks the kernel who opened a connection, and for a pidfd of it.
func peerHandle(conn net.Conn) (cred *unix.Ucred, pidfd int, err error) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, deadPidfd, errors.New("not a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, deadPidfd, err
	}
	var inner, without error
	err = raw.Control(func(fd uintptr) {
		cred, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		pidfd, without = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	})
	switch {
	case errors.Is(without, unix.ENOPROTOOPT):
		pidfd = noPidfd
	case without != nil:
		pidfd = deadPidfd
	}
	return cred, pidfd, errors.Join(err, inner)
}

// pollable makes a file of a pidfd for which Go's poller can wait.
func pollable(pidfd int) *os.File {
	_ = unix.SetNonblock(pidfd, true)
	return os.NewFile(uintptr(pidfd), "pidfd")
}

// Identity returns who the process is, by what the connection knows of it and not by its number.
func (p *Peer) Identity() (id tenure.Identity, err error) {
	if p == nil || p.process == nil {
		return id, errors.New("the process that asks cannot be identified")
	}
	raw, err := p.process.SyscallConn()
	if err != nil {
		return id, err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { id, inner = tree.Identify(int(fd)) })
	return id, errors.Join(err, inner)
}

// LimitSendBuffer makes the kernel hold little of what a program does not read, so that one that has stopped reading is soon
// sent no later end. The kernel doubles the number and charges each line with its overhead.
func LimitSendBuffer(conn net.Conn) {
	if u, ok := conn.(*net.UnixConn); ok {
		_ = u.SetWriteBuffer(sendBuffer)
	}
}

const sendBuffer = 16 << 10

// deathTimeout is how long a thread is spent on waiting for a death that is most likely under way.
const deathTimeout = time.Millisecond

// IsDying waits a moment for a process whose connection has just closed. The kernel closes what a dying process had open
// shortly before it says that it is dead; to block for that is quicker than to go to sleep and be woken.
func (p *Peer) IsDying() bool {
	if p == nil || p.process == nil {
		return false
	}
	raw, err := p.process.SyscallConn()
	if err != nil {
		return false
	}
	dead := false
	err = raw.Control(func(fd uintptr) { dead = ended(int(fd), deathTimeout) })
	return err == nil && dead
}

// AwaitDeath waits until the process is dead, and says whether it is. It returns early, without proof, when ctx ends.
func (p *Peer) AwaitDeath(ctx context.Context) bool {
	if p == nil || p.process == nil {
		return false
	}
	raw, err := p.process.SyscallConn()
	if err != nil {
		return false
	}
	stop := context.AfterFunc(ctx, func() { _ = p.process.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	dead := false
	err = raw.Read(func(fd uintptr) bool {
		dead = ended(int(fd), 0)
		return dead
	})
	return err == nil && dead
}

// ended says whether all threads of the process have ended, or do within a time.
func ended(fd int, within time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(within/time.Millisecond))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n == 1 && fds[0].Revents&unix.POLLIN != 0
	}
}

func (p *Peer) Close() {
	if p != nil && p.process != nil {
		_ = p.process.Close()
	}
}

// IsKnown says whether there is a handle on the process.
func (p *Peer) IsKnown() bool { return p.process != nil }

// IsGone says whether the process is dead.
func (p *Peer) IsGone() bool {
	raw, err := p.process.SyscallConn()
	if err != nil {
		return true
	}
	dead := true
	err = raw.Control(func(fd uintptr) { dead = ended(int(fd), 0) })
	return err != nil || dead
}
