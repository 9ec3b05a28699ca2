package run

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
)

// A keeper is a process beside the runner, as its user, with its environment and limits, in a session of its own and outside the
// program's cgroup. It has the deadlines from the agent on a connection of its own, kills the tree when the last one comes, and runs the
// lost hooks of a runner that died. This is the runner's side of it.
type keeper struct {
	cmd  *exec.Cmd
	conn net.Conn
	log  func(format string, args ...any)
	// answers has an element for each preparation.
	answers chan error
	// lines are for it.
	lines chan keeperLine
	// gone is closed when nothing more comes from it.
	gone chan struct{}

	mu   sync.Mutex
	life *life // that it looks after
	key  string
}

// A keeperLine is a line for the keeper. written is closed when the keeper's socket has it.
type keeperLine struct {
	text    []byte
	written chan struct{}
}

// keeperName is what the process calls itself.
const keeperName = "regent-keep"

// What a keeper inherits beside the standard files: a connection to the runner, and a pidfd of it.
const (
	keeperConn = 3 + iota
	keeperRunner
)

// A keeperOrder is a line from the runner to its keeper, and a keeperAnswer one back. Exactly one field is set, but for Prepared and
// Key, which names the candidacy: lines about another one are late, and ignored.
type (
	keeperOrder struct {
		Key      string          `json:"key"`
		Prepare  *keeperTask     `json:"prepare,omitempty"`
		Tree     *tree.Ref       `json:"tree,omitempty"` // with the first process
		LostDone bool            `json:"lost_done,omitempty"`
		Ended    *protocol.Cause `json:"ended,omitempty"`
	}
	keeperAnswer struct {
		Key      string          `json:"key"`
		Prepared bool            `json:"prepared,omitempty"`
		Error    string          `json:"error,omitempty"`
		Freeze   *protocol.Cause `json:"freeze,omitempty"`
	}
	// A keeperTask is one candidacy to look after.
	keeperTask struct {
		Socket, Group string
		Mode          regent.Mode
		Tree          tree.Ref
		Guard, Within time.Duration
		Lost, Notify  []string
		Fifo          string
		Timeout       time.Duration
		Env           []string
		Member        string
		Priority      int
		Lease         time.Duration
		Ordinary      bool // no real-time threads
	}
)

// startKeeper starts one.
func startKeeper(r *runner) (*keeper, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	mine, its := os.NewFile(uintptr(fds[0]), "keeper"), os.NewFile(uintptr(fds[1]), "keeper")
	defer func() { _, _ = mine.Close(), its.Close() }()
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	self := os.NewFile(uintptr(pidfd), "pidfd")
	defer self.Close()
	conn, err := net.FileConn(mine)
	if err != nil {
		return nil, err
	}
	k := newKeeper(conn, r.Log)
	k.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{keeperName}, Env: tree.Helper(r.Env), Stdout: r.Files[2], Stderr: r.Files[2],
		ExtraFiles: []*os.File{its, self}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := r.reaper.Start(k.cmd); err != nil {
		_ = conn.Close()
		return nil, err
	}
	go func() { _ = r.reaper.Wait(k.cmd) }()
	return k, nil
}

// newKeeper returns one at the other end of a connection.
func newKeeper(conn net.Conn, log func(format string, args ...any)) *keeper {
	k := &keeper{conn: conn, log: log, answers: make(chan error, 1), lines: make(chan keeperLine, maxLines), gone: make(chan struct{})}
	go k.read()
	go k.write()
	return k
}

// read takes what the keeper answers.
func (k *keeper) read() {
	defer close(k.gone)
	for a := range lines[keeperAnswer](k.conn) {
		k.take(&a)
	}
}

// take does what an answer is about.
func (k *keeper) take(a *keeperAnswer) {
	l := k.lifeOf(a.Key)
	if l == nil {
		return
	}
	if a.Freeze != nil {
		l.freeze(*a.Freeze)
		return
	}
	var err error
	if a.Error != "" {
		err = errors.New(a.Error)
	}
	select {
	case k.answers <- err:
	default:
	}
}

// lines yields the lines of the other process, up to its end or to one that is none.
func lines[T any](from io.Reader) iter.Seq[T] {
	return func(yield func(T) bool) {
		in := json.NewDecoder(from)
		for {
			var line T
			if in.Decode(&line) != nil || !yield(line) {
				return
			}
		}
	}
}

// lifeOf returns the candidacy that a line is about; nil: it is about another one.
func (k *keeper) lifeOf(key string) *life {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key != k.key {
		return nil
	}
	return k.life
}

// keeperPatience is how long a keeper may take to be ready, keeperWrite how long the runner waits for a line to be written, and maxLines
// how many may wait: more than one candidacy has.
const (
	keeperPatience = 5 * time.Second
	keeperWrite    = 100 * time.Millisecond
	maxLines       = 16
)

// send writes a line, and waits a little for that. A keeper that reads late gets it late, and whole. One that does not read is left behind:
// prepare replaces it.
func (k *keeper) send(o keeperOrder) {
	if k == nil {
		return
	}
	text, err := json.Marshal(o)
	if err != nil {
		k.log("a line for the keeper: %v", err)
		return
	}
	line := keeperLine{text: append(text, '\n'), written: make(chan struct{})}
	select {
	case k.lines <- line:
	default:
		k.log("the keeper does not read: it is left behind")
		_ = k.conn.Close()
		return
	}
	limit := time.NewTimer(keeperWrite)
	defer limit.Stop()
	select {
	case <-line.written:
	case <-k.gone:
	case <-limit.C:
		k.log("the keeper has not read for %v", keeperWrite)
	}
}

// write writes the lines in order. It has no deadline: after half a line the keeper would understand nothing more.
func (k *keeper) write() {
	for {
		select {
		case line := <-k.lines:
			if _, err := k.conn.Write(line.text); err != nil {
				_ = k.conn.Close()
				return
			}
			close(line.written)
		case <-k.gone:
			return
		}
	}
}

// prepare has the keeper look after a candidacy, and returns the secret by which the agent knows it.
func (k *keeper) prepare(ctx context.Context, l *life) (key string, err error) {
	r := l.r
	key = rand.Text()
	k.mu.Lock()
	k.life, k.key = l, key
	k.mu.Unlock()
	k.send(keeperOrder{Key: key, Prepare: &keeperTask{Socket: r.terms.Socket, Group: r.Group, Mode: r.Mode, Tree: l.tree.Ref(), Guard: r.Guard, Within: r.Hooks.bound(),
		Lost: r.Hooks.Lost, Notify: r.Hooks.Notify, Fifo: r.Hooks.Fifo, Timeout: r.Hooks.Timeout, Env: r.Env,
		Member: r.terms.Member, Priority: r.terms.Priority, Lease: r.leaseLength(), Ordinary: r.terms.Ordinary}})
	limit := time.NewTimer(keeperPatience)
	defer limit.Stop()
	select {
	case err := <-k.answers:
		return key, err
	case <-k.gone:
		return "", errors.New("it has ended")
	case <-limit.C:
		return "", fmt.Errorf("it is not ready after %v", keeperPatience)
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// close ends a keeper that has nothing to do.
func (k *keeper) close() {
	if k != nil {
		_ = k.conn.Close()
	}
}

func (k *keeper) started(key string, t tree.Ref) { k.send(keeperOrder{Key: key, Tree: &t}) }
func (k *keeper) lostDone(key string)            { k.send(keeperOrder{Key: key, LostDone: true}) }
func (k *keeper) ended(key string, cause protocol.Cause) {
	k.send(keeperOrder{Key: key, Ended: &cause})
}
