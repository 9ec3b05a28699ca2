package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/session"
)

// An outbox holds lines for a program that reads as fast as it can, up to a limit.
type outbox struct {
	limit int
	// some has an element when there are lines, fewer when some were written.
	some, fewer chan struct{}
	mu          sync.Mutex
	lines       []*session.Event
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, some: make(chan struct{}, 1), fewer: make(chan struct{}, 1)}
}

// put adds a line, and says whether there was room for it.
func (o *outbox) put(e *session.Event) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.lines) >= o.limit {
		return false
	}
	o.lines = append(o.lines, e)
	signal1(o.some)
	return true
}

// room waits until fewer lines wait than a number, for those whose lines can wait elsewhere.
func (o *outbox) room(ctx context.Context, below int) bool {
	for {
		o.mu.Lock()
		n := len(o.lines)
		o.mu.Unlock()
		if n < below {
			signal1(o.fewer) // somebody else may be waiting too
			return true
		}
		select {
		case <-o.fewer:
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
		signal1(o.fewer)
		for _, e := range lines {
			if err := to.Encode(e); err != nil {
				return err
			}
		}
	}
}

// signal1 puts an element into a channel that holds one, unless it is there.
func signal1(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// socketVoice speaks to a program on the socket about one of its candidacies.
type socketVoice struct {
	conn *conn
	id   uint64
}

func (v *socketVoice) leads(k *candidate) {
	end := k.end()
	v.conn.say(v.conn.agent.tellable(&session.Event{Event: session.Leads, ID: v.id, Group: k.group, Token: k.current().Token()}, end))
}

func (v *socketVoice) stop(k *candidate, cause regent.Cause) {
	end := k.end()
	v.conn.say(v.conn.agent.tellable(&session.Event{Event: session.Stop, ID: v.id, Cause: causeOf(cause)}, end))
}

func (v *socketVoice) over(k *candidate, cause regent.Cause, err error) {
	v.conn.mu.Lock()
	delete(v.conn.candidates, v.id)
	v.conn.mu.Unlock()
	e := &session.Event{Event: session.Over, ID: v.id, Cause: causeOf(cause)}
	if err != nil && !errors.Is(err, regent.ErrClosed) && !errors.Is(err, context.Canceled) {
		e = &session.Event{Event: session.Failed, ID: v.id, Error: err.Error(), Cause: e.Cause}
	}
	v.conn.say(e)
}

func (v *socketVoice) healed(_ *candidate, member string) {
	v.conn.say(&session.Event{Event: session.Healed, ID: v.id, Member: member})
}

func (v *socketVoice) renewed(*candidate) {
	select {
	case v.conn.renewed <- struct{}{}:
	default:
	}
}

func causeOf(c regent.Cause) *session.Cause {
	return &session.Cause{Why: c.Why, Member: c.Member, Bound: c.Bound}
}
