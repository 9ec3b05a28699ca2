package session

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
)

// agreements are what the members of a consistent group agreed on while this program took part: the latest ones.
type agreements struct {
	// first is the agreement that took the host in.
	first atomic.Pointer[json.RawMessage]

	mu sync.Mutex
	// views are the latest, the last of which has the number count. changed is closed when there is another one.
	views   []json.RawMessage
	count   int
	changed chan struct{}
}

func (a *agreements) add(view json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.views) == watchDepth {
		a.views = a.views[1:]
	}
	a.views = append(a.views, view)
	a.count++
	close(a.changed)
	a.changed = make(chan struct{})
}

// after returns the agreements after the one with a number, the number of the last one, how many are lost, and what is closed when there is
// another one. After zero only the present one counts.
func (a *agreements) after(seen int) (views []json.RawMessage, last, lost int, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if seen == 0 {
		seen = max(0, a.count-1)
	}
	from := a.count - len(a.views) // the number of what is before the first
	lost = max(0, from-seen)
	return a.views[max(0, seen-from):], a.count, lost, a.changed
}

// FirstAgreement returns the agreement of a consistent group that took the host in, as JSON.
func (l *Lease) FirstAgreement() json.RawMessage {
	if first := l.agreements.first.Load(); first != nil {
		return *first
	}
	return nil
}

// Agreements calls f with the present agreement of a consistent group and with every later one, as JSON, and how many were lost before it, until f
// returns false, the program must stop, or ctx ends.
func (l *Lease) Agreements(ctx context.Context, f func(view json.RawMessage, lost int) bool) {
	for seen := 0; ; {
		views, last, lost, changed := l.agreements.after(seen)
		for _, v := range views {
			if !f(v, lost) {
				return
			}
			lost = 0
		}
		seen = last
		select {
		case <-changed:
		case <-l.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Recovered reports that the program has recovered what an agreement asks for.
func (l *Lease) Recovered(ctx context.Context, token, number uint64) error {
	e, err := l.conn.ask(ctx, &Request{Do: Recovered, Of: l.candidacy.id, Token: token, Number: number})
	return errors.Join(err, failure(&e))
}
