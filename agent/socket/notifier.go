package socket

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/session"
)

// An outbox holds lines for a program that reads as fast as it can, up to a limit.
type outbox struct {
	limit int
	// ready has an element when there are lines, drained when some were written.
	ready, drained chan struct{}
	mu             sync.Mutex
	lines          []*session.Event
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, ready: make(chan struct{}, 1), drained: make(chan struct{}, 1)}
}

// put adds a line, and says whether there was room for it.
func (o *outbox) put(e *session.Event) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.lines) >= o.limit {
		return false
	}
	o.lines = append(o.lines, e)
	trySignal(o.ready)
	return true
}

// awaitRoom waits until fewer lines wait than a number, for those whose lines can wait elsewhere.
func (o *outbox) awaitRoom(ctx context.Context, below int) bool {
	for {
		o.mu.Lock()
		n := len(o.lines)
		o.mu.Unlock()
		if n < below {
			trySignal(o.drained) // somebody else may be waiting too
			return true
		}
		select {
		case <-o.drained:
		case <-ctx.Done():
			return false
		}
	}
}

// flush writes all lines.
func (o *outbox) flush(to *json.Encoder) error {
	for {
		o.mu.Lock()
		lines := o.lines
		o.lines = nil
		o.mu.Unlock()
		if len(lines) == 0 {
			return nil
		}
		trySignal(o.drained)
		for _, e := range lines {
			if err := to.Encode(e); err != nil {
				return err
			}
		}
	}
}

// trySignal puts an element into a channel that holds one, unless it is there.
func trySignal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// socketNotifier speaks to a program on the socket about one of its candidacies.
type socketNotifier struct {
	conn *conn
	id   uint64
}

func (n *socketNotifier) Leads(k *core.Candidate) {
	slot, number := k.OnPage()
	e := &session.Event{Event: session.Leads, ID: n.id, Group: k.Group, Token: k.Token(), Turn: k.Turn(), Slot: slot, Tenure: number, View: k.FirstAgreement()}
	n.conn.send(n.conn.agent.withLease(e, k.Announced()))
}

func (n *socketNotifier) Agreed(k *core.Candidate, v regent.View) {
	if !n.conn.out.awaitRoom(n.conn.closed, core.WatchDepth) {
		return
	}
	n.conn.mu.Lock()
	defer n.conn.mu.Unlock()
	if n.conn.candidates[n.id] == k { // after the end another candidacy may have the number
		n.conn.send(&session.Event{Event: session.Agreed, ID: n.id, View: &v})
	}
}

func (n *socketNotifier) Stop(k *core.Candidate, cause regent.Cause) {
	n.conn.send(n.conn.agent.withEnd(&session.Event{Event: session.Stop, ID: n.id, Cause: &cause}, k.Announced()))
}

func (n *socketNotifier) Over(k *core.Candidate, cause regent.Cause, err error) {
	n.conn.mu.Lock()
	delete(n.conn.candidates, n.id)
	n.conn.mu.Unlock()
	e := &session.Event{Event: session.Over, ID: n.id, Cause: &cause}
	if err != nil && !errors.Is(err, regent.ErrClosed) && !errors.Is(err, context.Canceled) {
		e = &session.Event{Event: session.Failed, ID: n.id, Error: err.Error(), Cause: e.Cause}
	}
	n.conn.send(e)
}

func (n *socketNotifier) Healed(_ *core.Candidate, member string) {
	n.conn.send(&session.Event{Event: session.Healed, ID: n.id, Member: member})
}

func (n *socketNotifier) Renewed(*core.Candidate) {
	select {
	case n.conn.renewals <- struct{}{}:
	default:
	}
}
