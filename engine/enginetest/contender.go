package enginetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/clock"
)

// The variables of the environment that make a process a contender.
const (
	contenderName  = "REGENT_ENGINETEST_CONTENDER"
	contenderWhere = "REGENT_ENGINETEST_ADDRESS"
	contenderLease = "REGENT_ENGINETEST_LEASE_MS"
)

// drift is what contenders count with.
const drift = 0.001

// Opener returns the engine behind an address, host:port.
type Opener func(ctx context.Context, address string) (engine.Engine, error)

// Main runs the tests, or is a contender if the environment asks for one.
func Main(m *testing.M, open Opener) {
	if os.Getenv(contenderName) == "" {
		os.Exit(m.Run())
	}
	if err := contend(context.Background(), open, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "contender:", err)
		os.Exit(1)
	}
}

// hostClock returns the clock that all processes of the host share. [engine.SystemClock] would not do: what two processes read there has nothing to do with one another, and
// journals compare instants.
func hostClock() (engine.Clock, error) {
	_, err := clock.HostLow()
	var mu sync.Mutex
	var last time.Duration
	return engine.ClockOf(func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		now, err := clock.HostLow()
		if err != nil {
			panic(fmt.Sprintf("enginetest: the clock of the host cannot be read any more: %v", err))
		}
		last = max(last, time.Duration(now))
		return last
	}), err
}

// A contender takes orders, one in each line, and writes its journal.
type contender struct {
	session engine.Session
	clock   engine.Clock

	mu      sync.Mutex
	out     io.Writer
	cancels map[string]context.CancelFunc
	tenures map[string]engine.Tenure
}

func contend(ctx context.Context, open Opener, in io.Reader, out io.Writer) error {
	clock, err := hostClock()
	if err != nil {
		return err
	}
	ms, err := strconv.Atoi(os.Getenv(contenderLease))
	if err != nil {
		return err
	}
	lease := time.Duration(ms) * time.Millisecond
	e, err := open(ctx, os.Getenv(contenderWhere))
	if err != nil {
		return err
	}
	s, err := e.Open(ctx, engine.Host{Name: os.Getenv(contenderName), Clock: clock, Lease: lease, Renew: lease / 4, Drift: drift,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	c := &contender{session: s, clock: clock, out: out, cancels: make(map[string]context.CancelFunc), tenures: make(map[string]engine.Tenure)}
	c.note("ready")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		order, group, _ := strings.Cut(lines.Text(), " ")
		c.obey(ctx, order, group)
	}
	return s.Close()
}

// note writes a line of the journal, with an instant.
func (c *contender) note(what string, rest ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now().Sub(engine.Instant{})
	fmt.Fprintln(c.out, append([]any{what, int64(now)}, rest...)...)
}

func (c *contender) obey(ctx context.Context, order, group string) {
	switch order {
	case "campaign":
		ctx, cancel := context.WithCancel(ctx)
		c.mu.Lock()
		c.cancels[group] = cancel
		c.mu.Unlock()
		go c.campaign(ctx, group)
	case "cancel":
		c.mu.Lock()
		cancel := c.cancels[group]
		c.mu.Unlock()
		cancel()
	case "release":
		c.mu.Lock()
		t := c.tenures[group]
		c.mu.Unlock()
		if t != nil {
			c.note("released", group, t.Token())
			t.Release()
		}
	}
}

// campaign waits to lead, and then writes until when it does.
func (c *contender) campaign(ctx context.Context, group string) {
	t, err := c.session.Campaign(ctx, group, "")
	if err != nil {
		c.note("ended", group)
		return
	}
	c.mu.Lock()
	c.tenures[group] = t
	c.mu.Unlock()
	for what := "won"; ; what = "moved" {
		moved := t.Moved()
		c.note(what, group, t.Token(), int64(t.Until().Sub(engine.Instant{})))
		select {
		case <-moved:
		case <-t.Lost():
			t.Release()
			c.note("lost", group, t.Token())
			return
		}
	}
}
