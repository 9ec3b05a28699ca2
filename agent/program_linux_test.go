package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/cluster/journal"
	"github.com/regentproject/regent/internal/session"
	"golang.org/x/sys/unix"
)

// task is what a program process does: lead again and again, and keep a journal of when it led.
type task struct {
	Socket, Group, Name, Journals string
	Heartbeat, Stopping           time.Duration
	// Memory is how many bytes it fills before it begins.
	Memory int
	// Abandon has it close its connection a while after it leads, without a word, and go on as long as its lease runs.
	Abandon time.Duration
	// Once has it lead once: another member is to lead then, whatever its rank.
	Once bool
}

// word is a line that a program writes.
type word struct {
	What  string
	Token uint64
	At    cluster.Time
	Text  string
}

// say writes a word.
func say(w word) {
	w.At = cluster.Now()
	b, _ := json.Marshal(w)
	_, _ = os.Stdout.Write(append(b, '\n'))
}

func (o *task) run() {
	memory := make([]byte, o.Memory)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	j, err := journal.Open(o.Journals, o.Name)
	if err != nil {
		panic(err)
	}
	for ctx.Err() == nil {
		if err := o.turn(ctx, j); err != nil && ctx.Err() == nil {
			say(word{What: "failed", Text: err.Error()})
			time.Sleep(20 * time.Millisecond) // wall clock: a process of its own; the agent may be away
		}
		if o.Once {
			<-ctx.Done()
		}
	}
	_ = memory[len(memory)/2:]
}

// turn is one connection and one leadership.
func (o *task) turn(ctx context.Context, j *journal.Journal) error {
	c, err := session.Dial(ctx, o.Socket)
	if err != nil {
		return err
	}
	say(word{What: "waits"})
	l, err := c.Campaign(ctx, session.Candidate{Group: o.Group, Name: o.Name, Heartbeat: o.Heartbeat})
	if err != nil {
		return errors.Join(err, c.Close())
	}
	say(word{What: "leads", Token: l.Token()})
	var abandon <-chan time.Time
	if o.Abandon > 0 {
		abandon = time.After(o.Abandon)
	}
	beat := time.NewTicker(max(o.Heartbeat/4, 10*time.Millisecond))
	defer beat.Stop()
	told, entry := l.Done(), j.Begin(o.Group, l.Token())
	for entry.Observe(l.Valid) {
		select {
		case <-abandon:
			say(word{What: "abandons", Token: l.Token()})
			abandon = nil
			_ = syscall.Shutdown(int(fileOf(c)), syscall.SHUT_RDWR)
		case <-beat.C:
			if o.Heartbeat > 0 {
				go func() { _, _ = l.Alive(ctx) }()
			}
		case <-told:
			say(word{What: "stops", Token: l.Token(), Text: l.Cause().Why.String()})
			told = nil
			if o.Stopping > 0 {
				until := time.Now().Add(o.Stopping)
				for entry.Observe(l.Valid) && time.Now().Before(until) {
					time.Sleep(time.Millisecond) // wall clock: a process of its own
				}
			}
			say(word{What: "stopped", Token: l.Token()})
			return errors.Join(l.Resign(context.Background()), c.Close())
		case <-ctx.Done():
			return errors.Join(l.Resign(context.Background()), c.Close())
		default:
			time.Sleep(500 * time.Microsecond) // wall clock: a process of its own
		}
	}
	say(word{What: "stopped", Token: l.Token(), Text: "it was not told before its lease was over"})
	return c.Close()
}

// fileOf finds the descriptor of the connection: it is the only unix socket of the process that is connected.
func fileOf(*session.Conn) uintptr {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	for _, e := range slices.Backward(entries) {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err != nil || fd < 3 {
			continue
		}
		if a, err := unix.Getpeername(fd); err == nil {
			if u, ok := a.(*unix.SockaddrUnix); ok && u.Name != "" {
				return uintptr(fd)
			}
		}
	}
	panic("no connection")
}
