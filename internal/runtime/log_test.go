package runtime

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// stuck is a handler that does not return before it is let go.
type stuck struct {
	slog.Handler
	gate chan struct{}
	mu   *sync.Mutex
}

func (s *stuck) Handle(ctx context.Context, r slog.Record) error {
	<-s.gate
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Handler.Handle(ctx, r)
}

func (s *stuck) WithAttrs(a []slog.Attr) slog.Handler {
	return &stuck{s.Handler.WithAttrs(a), s.gate, s.mu}
}

func TestSlowLogDoesNotStopTheLoopAndSaysWhatItLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		gate := make(chan struct{})
		log, logger := NewLog(slog.New(&stuck{slog.NewTextHandler(&out, nil), gate, new(sync.Mutex)}))
		logger = logger.With("member", "a")
		for i := range logDepth + 10 {
			logger.Info("line", "n", i)
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		logger.Info("last")
		log.Close()
		text := out.String()
		if strings.Count(text, "msg=line") < logDepth || !strings.Contains(text, "lines=") || !strings.Contains(text, "msg=last member=a") {
			t.Errorf("got %d lines, ending in %q", strings.Count(text, "\n"), text[max(0, len(text)-300):])
		}
	})
}
