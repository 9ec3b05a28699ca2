package enginetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/register"
)

// Memory is a store in memory whose faults a test sets. The zero value works.
type Memory struct {
	mu      sync.Mutex
	entries map[string]register.Entry
	tokens  uint64
	down    error
	// request and answer are how long each way takes.
	request, answer time.Duration
	lose            bool
	swaps           int
}

var errLost = errors.New("the answer is lost")

func (m *Memory) Name() string          { return "memory" }
func (m *Memory) Where() string         { return "this process" }
func (m *Memory) Limits() engine.Limits { return engine.Limits{} }

// Delay sets how long requests and answers take.
func (m *Memory) Delay(request, answer time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.request, m.answer = request, answer
}

// Break has requests fail with an error; nil: no more.
func (m *Memory) Break(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

// Lose has the store carry requests out, and lose the answers.
func (m *Memory) Lose(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose = yes
}

// Delete deletes the entry of a group.
func (m *Memory) Delete(group string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, group)
}

// Entry returns the entry of a group, and Swaps how many writes there were.
func (m *Memory) Entry(group string) register.Entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.entries[group]
}

func (m *Memory) Swaps() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.swaps
}

func (m *Memory) Check(ctx context.Context) error { return m.do(ctx, func() {}) }

func (m *Memory) Raise(ctx context.Context, _ string, above uint64) error {
	return m.do(ctx, func() { m.tokens = max(m.tokens, above) })
}

func (m *Memory) Read(ctx context.Context, group string) (e register.Entry, err error) {
	err = m.do(ctx, func() { e = m.entries[group] })
	return e, err
}

func (m *Memory) Swap(ctx context.Context, group string, old, next register.Entry) (now register.Entry, swapped bool, err error) {
	err = m.do(ctx, func() {
		now = m.entries[group]
		if now.Token != old.Token || now.Beat != old.Beat {
			return
		}
		if next.Token == 0 {
			m.tokens = max(m.tokens, old.Token) + 1
			next.Token = m.tokens
		}
		if m.entries == nil {
			m.entries = make(map[string]register.Entry)
		}
		m.entries[group] = next
		now, swapped = next, true
		m.swaps++
	})
	return now, swapped, err
}

// do carries a request out, with the faults of now.
func (m *Memory) do(ctx context.Context, f func()) error {
	m.mu.Lock()
	request, answer := m.request, m.answer
	m.mu.Unlock()
	if err := wait(ctx, request); err != nil {
		return err
	}
	m.mu.Lock()
	err, lose := m.down, m.lose
	if err == nil {
		f()
	}
	m.mu.Unlock()
	if err != nil {
		return err
	}
	if lose {
		<-ctx.Done()
		return errLost
	}
	return wait(ctx, answer)
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
