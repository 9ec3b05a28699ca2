package runtime

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// logDepth is how many lines may wait to be written.
const logDepth = 256

// A Log hands log lines to another goroutine, so that a terminal or a disk that is slow does not stop the loop. Lines
// that find no room are lost, and counted in the next one that finds some.
type Log struct {
	lines chan line
	lost  atomic.Uint64
	done  sync.WaitGroup
	quit  chan struct{}
}

type line struct {
	to     slog.Handler
	record slog.Record
}

// NewLog returns a log and the logger that writes into it.
func NewLog(to *slog.Logger) (*Log, *slog.Logger) {
	l := &Log{lines: make(chan line, logDepth), quit: make(chan struct{})}
	l.done.Go(l.run)
	return l, slog.New(&handler{log: l, to: to.Handler()})
}

func (l *Log) run() {
	for {
		select {
		case x := <-l.lines:
			l.write(x)
		case <-l.quit:
			for {
				select {
				case x := <-l.lines:
					l.write(x)
				default:
					return
				}
			}
		}
	}
}

func (l *Log) write(x line) {
	if n := l.lost.Swap(0); n > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were lost", 0)
		r.AddAttrs(slog.Uint64("lines", n))
		_ = x.to.Handle(context.Background(), r)
	}
	_ = x.to.Handle(context.Background(), x.record)
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
	select {
	case h.log.lines <- line{h.to, r.Clone()}:
	default:
		h.log.lost.Add(1)
	}
	return nil
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{log: h.log, to: h.to.WithAttrs(attrs)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{log: h.log, to: h.to.WithGroup(name)}
}
