package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/view"
)

// What a leader asks its agent waits for no longer than its context and its lease, and the error names the one that ended.
func TestQuestionsOfALeaderEndWithTheirContextOrTheLease(t *testing.T) {
	errImpatient := errors.New("impatient")
	questions := map[string]struct {
		do  string
		ask func(context.Context, *Lease) error
	}{
		"edict":     {Edict, func(ctx context.Context, l *Lease) error { _, err := l.Edict(ctx); return err }},
		"support":   {View, func(ctx context.Context, l *Lease) error { _, err := l.Support(ctx); return err }},
		"recovered": {Recovered, func(ctx context.Context, l *Lease) error { return l.Recovered(ctx, 7, 1) }},
	}
	for name, q := range questions {
		for _, c := range []struct {
			what   string
			length time.Duration
			// answer is what happens when the agent has read the question; nil: it reads on, and answers nothing.
			answer func(p *fakeAgent, r Request, cancel context.CancelCauseFunc)
			want   error
		}{
			{"the context ends", time.Hour, func(_ *fakeAgent, _ Request, cancel context.CancelCauseFunc) { cancel(errImpatient) }, errImpatient},
			{"the lease ends", 300 * time.Millisecond, nil, stamp.ErrNotLeader},
			{"the agent refuses", time.Hour, func(p *fakeAgent, r Request, _ context.CancelCauseFunc) {
				p.say(Event{Event: Failed, ID: r.ID, Error: stamp.ErrNotLeader.Error()})
			}, stamp.ErrNotLeader},
			{"the agent is gone", time.Hour, func(p *fakeAgent, _ Request, _ context.CancelCauseFunc) { _ = p.conn.Close() }, ErrGone},
		} {
			conn, p := connect(t)
			l := lead(t, conn, p, c.length)
			ctx, cancel := context.WithCancelCause(t.Context())
			got := make(chan error, 1)
			go func() { got <- q.ask(ctx, l) }()
			if c.answer != nil {
				c.answer(p, p.hear(q.do), cancel)
			} else {
				go func() {
					for p.in.Scan() {
					}
				}()
			}
			err := <-got
			lost := c.want == stamp.ErrNotLeader || name == "edict" && c.want == ErrGone
			if !errors.Is(err, c.want) || errors.Is(err, stamp.ErrNotLeader) != lost {
				t.Errorf("%s, %s: %v, want %v", name, c.what, err, c.want)
			}
			cancel(nil)
		}
	}
}

func TestSupportIsOfTheLocalLeader(t *testing.T) {
	for _, c := range []struct {
		view *view.View
		want int
	}{
		{&view.View{Group: "g", Mode: view.Local, Leader: "a", Support: []string{"a", "b"}}, 2},
		{&view.View{Group: "g", Mode: view.Local, Leader: "b", Support: []string{"b"}}, 0},
		{&view.View{Group: "g", Mode: view.Quorum, Leader: "a"}, 0},
		{nil, 0},
	} {
		conn, p := connect(t)
		l := lead(t, conn, p, time.Hour)
		type answer struct {
			members []string
			err     error
		}
		got := make(chan answer, 1)
		go func() { m, err := l.Support(t.Context()); got <- answer{m, err} }()
		r := p.hear(View)
		p.say(Event{Event: View, ID: r.ID, View: c.view})
		if a := <-got; len(a.members) != c.want || (a.err == nil) != (c.want > 0) || a.err != nil && !errors.Is(a.err, stamp.ErrNotLeader) {
			t.Errorf("of %v: %v, %v", c.view, a.members, a.err)
		}
	}
}
