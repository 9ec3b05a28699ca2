package runtime

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logDepth is how many lines may wait to be written: more than what happens at once to a member that leads thousands of groups.
const logDepth = 8192

// A Log hands log lines to another goroutine, so that a terminal or a disk that is slow does not stop the loop. Lines
// that find no room are lost, and counted in a line of their own.
type Log struct {
	mu sync.Mutex
	// waiting are lines that nobody has taken, and taken is how many were and are not written yet.
	waiting []line
	taken   int
	lost    uint64
	last    slog.Handler  // of a line that was lost
	wake    chan struct{} // there are lines, perhaps
	done    sync.WaitGroup
	quit    chan struct{}
}

type line struct {
	to     slog.Handler
	record slog.Record
}

// NewLog returns a log and the logger that writes into it.
func NewLog(to *slog.Logger) (*Log, *slog.Logger) {
	l := &Log{wake: make(chan struct{}, 1), quit: make(chan struct{})}
	l.done.Go(l.run)
	return l, slog.New(&handler{log: l, to: to.Handler()})
}

func (l *Log) run() {
	for {
		select {
		case <-l.wake:
			l.write()
		case <-l.quit:
			l.write()
			return
		}
	}
}

// write writes all lines that there are.
func (l *Log) write() {
	for {
		l.mu.Lock()
		lines, lost, to := l.waiting, l.lost, l.last
		l.waiting, l.taken, l.lost = nil, len(lines), 0
		l.mu.Unlock()
		if len(lines) == 0 && lost == 0 {
			return
		}
		for i := range lines {
			_ = lines[i].to.Handle(context.Background(), lines[i].record)
			l.mu.Lock()
			l.taken--
			l.mu.Unlock()
		}
		if lost > 0 {
			r := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were lost", 0)
			r.AddAttrs(slog.Uint64("lines", lost))
			_ = to.Handle(context.Background(), r)
		}
	}
}

// put has a line written later, if there is room.
func (l *Log) put(x line) {
	l.mu.Lock()
	if len(l.waiting)+l.taken < logDepth {
		l.waiting = append(l.waiting, x)
	} else {
		l.lost, l.last = l.lost+1, x.to
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // it is awake
	}
}

// Close writes what is left and ends. Lines that come later are lost.
func (l *Log) Close() {
	close(l.quit)
	l.done.Wait()
}

// handler is the slog.Handler that does not wait.
type handler struct {
	log *Log
	to  slog.Handler
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.to.Enabled(ctx, level)
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	h.log.put(line{h.to, r.Clone()})
	return nil
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{log: h.log, to: h.to.WithAttrs(attrs)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{log: h.log, to: h.to.WithGroup(name)}
}
