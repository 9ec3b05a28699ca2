package access

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/owned"
)

// An AuditLine is a line of the audit log.
type AuditLine struct {
	Time time.Time `json:"time"`
	// Action is what was asked for: resign, transfer, switchover, failover, reload and the like.
	Action string `json:"action"`
	Group  string `json:"group,omitempty"`
	// To is the member that a group was to be handed over to.
	To string `json:"to,omitempty"`
	// At is the host that was to carry the order out, if it is another one.
	At string `json:"at,omitempty"`
	// Who names the client, From its address or process.
	Who  string `json:"who"`
	From string `json:"from,omitempty"`
	// Outcome is done, asked, refused, failed or unknown, and Detail says more.
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
	// Lost counts the lines before this one that were not written.
	Lost uint64 `json:"lost,omitempty"`
}

const (
	// auditDepth is how many lines may wait for a slow disk.
	auditDepth = 1024
	// maxRefusals is how many refusals are written in a second: a client without rights must not fill the disk, nor keep the
	// lines about orders from being written.
	maxRefusals = 64
)

// Log writes who gave which order, and who was refused. It never blocks an order: lines that find no room are counted,
// and the next line that is written has their number.
type Log struct {
	log   *slog.Logger
	lines chan AuditLine
	// lost counts lines since the last one that was written, lostEver all of them.
	lost, lostEver atomic.Uint64

	mu       sync.Mutex
	second   int64 // of the refusals below
	refusals int

	// path is the file to write to; empty: the agent's log. Opened by the writer, again after each reload.
	path   atomic.Pointer[string]
	reopen chan struct{}
}

func NewLog(log *slog.Logger) *Log {
	return &Log{log: log, lines: make(chan AuditLine, auditDepth), reopen: make(chan struct{}, 1)}
}

// SetPath has lines written to a file, which is opened again if it is open: it may have been rotated.
func (l *Log) SetPath(path string) {
	l.path.Store(&path)
	select {
	case l.reopen <- struct{}{}:
	default:
	}
}

// Put queues a line. It returns whether there was room for it.
func (l *Log) Put(line AuditLine) bool {
	line.Time = time.Now()
	select {
	case l.lines <- line:
		return true
	default:
		l.lose()
		return false
	}
}

// EverLost returns how many lines were lost since the start.
func (l *Log) EverLost() uint64 { return l.lostEver.Load() }

func (l *Log) lose() {
	l.lost.Add(1)
	l.lostEver.Add(1)
}

// Order takes down an order of a client's, with what became of it. The line has action, group, to, at, outcome and detail.
func (l *Log) Order(c *Client, line AuditLine) {
	line.Who, line.From = c.String(), c.origin()
	l.Put(line)
}

// Refusal takes down that a client was refused.
func (l *Log) Refusal(c *Client, action, group string, err error) {
	l.mu.Lock()
	if now := time.Now().Unix(); now != l.second {
		l.second, l.refusals = now, 0
	}
	l.refusals++
	over := l.refusals > maxRefusals
	l.mu.Unlock()
	if over {
		l.lose()
		return
	}
	l.Put(AuditLine{Action: action, Group: group, Who: c.String(), From: c.origin(), Outcome: "refused", Detail: err.Error()})
}

// Run writes lines until ctx ends, and then those that wait.
func (l *Log) Run(ctx context.Context) {
	var file *os.File
	defer func() {
		if file != nil {
			_ = file.Close()
		}
	}()
	for {
		select {
		case <-l.reopen:
			file = l.open(file)
		case line := <-l.lines:
			l.write(file, line)
		case <-ctx.Done():
			for {
				select {
				case line := <-l.lines:
					l.write(file, line)
				default:
					return
				}
			}
		}
	}
}

// auditMode keeps the log from all but the agent's user and group.
const auditMode = 0o640

// open opens the file anew. It keeps the one before if that fails.
func (l *Log) open(before *os.File) *os.File {
	path := *l.path.Load()
	var next *os.File
	if path != "" {
		var err error
		next, err = owned.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, auditMode)
		if err != nil {
			l.log.Error("the audit log cannot be opened: its lines go where they went before", "err", err)
			return before
		}
	}
	if before != nil {
		_ = before.Close()
	}
	return next
}

func (l *Log) write(file *os.File, line AuditLine) {
	line.Lost = l.lost.Swap(0)
	if line.Lost > 0 {
		l.log.Warn("lines of the audit log were lost", "lines", line.Lost)
	}
	if file == nil {
		l.log.Info("audit", "action", line.Action, "group", line.Group, "to", line.To, "at", line.At, "who", line.Who, "from", line.From,
			"outcome", line.Outcome, "detail", line.Detail, "lost", line.Lost)
		return
	}
	b, err := json.Marshal(line)
	if err == nil {
		_, err = file.Write(append(b, '\n'))
	}
	if err != nil {
		l.lost.Add(line.Lost + 1)
		l.lostEver.Add(1)
		l.log.Error("a line of the audit log could not be written", "err", err)
	}
}

// AuditOrder takes down an order that did not come by a route of its own, such as the dashboard's. The line has action, group, to and at.
func (a *Gate) AuditOrder(ctx context.Context, line AuditLine, err error) {
	line.Outcome, line.Detail = outcomeOf(err)
	a.Audit.Order(ClientOf(ctx), line)
}

// outcomeOf says in a word what became of an order.
func outcomeOf(err error) (outcome, detail string) {
	switch {
	case err == nil:
		return "done", ""
	case errors.Is(err, context.Canceled):
		return "asked", "its sender did not wait for the outcome"
	}
	var known *api.Error
	if errors.As(err, &known) && known.Status == http.StatusGatewayTimeout {
		return "unknown", err.Error()
	}
	return "failed", err.Error()
}
