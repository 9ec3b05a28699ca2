package regent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/session"
)

// How long Call waits before it tries again: at first, and at most.
const (
	callSoon = 10 * time.Millisecond
	callLate = 500 * time.Millisecond
)

// Call is for clients of the leader: it finds the leader of the group and calls f, until a proven leader has answered. Where to reach
// the leader, f finds in the proof: in its value ([Group.Announcing]), or by its name.
//
// An error of f means that there was no answer. Then, and if no leader is known or the leader changed before f returned, Call waits a moment and
// tries again. So f may be called several times, also after a leader that was about to be replaced has acted: what f asks for must bear repetition.
// Call returns nil once f has returned nil, and the same leadership was proven before f began and after it returned. The leader led all the
// while. When ctx ends, the error wraps its cause, and the last error of f. The context of f is ctx: it does not end when the leader changes, so f should set a
// deadline of its own.
//
// Call does not try again if the agent refuses to verify the group, because this program may not read it or because the group is no quorum group. It returns the
// reason then.
func (g *Group) Call(ctx context.Context, f func(ctx context.Context, leader *Proof) error) error {
	var last error
	for wait := callSoon; ; wait = min(2*wait, callLate) {
		answered, refused, err := g.callOnce(ctx, f)
		switch {
		case answered:
			return nil
		case ctx.Err() != nil:
			return g.unanswered(ctx, errors.Join(last, err))
		case refused || errors.Is(err, ErrClosed):
			return err
		case err != nil:
			last = err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return g.unanswered(ctx, last)
		}
	}
}

// callOnce calls f if there is a leader. It says whether that leader led until f had its answer, and whether the agent refused to look for it.
func (g *Group) callOnce(ctx context.Context, f func(ctx context.Context, leader *Proof) error) (answered, refused bool, err error) {
	before, err := g.Verify(ctx)
	if err != nil {
		return false, isRefusal(err), err
	}
	if err := f(ctx, before); err != nil {
		return false, false, err
	}
	if before.Valid() {
		return true, false, nil // it does not step down before the proof is over
	}
	after, err := g.Verify(ctx)
	return err == nil && after.Token == before.Token, err != nil && isRefusal(err), err
}

// isRefusal says whether an error of Verify stays: there may be a leader later, and another agent.
func isRefusal(err error) bool {
	return !errors.Is(err, ErrNoLeader) && !errors.Is(err, session.ErrGone)
}

// unanswered explains why Call has ended without an answer.
func (g *Group) unanswered(ctx context.Context, last error) error {
	if last == nil || errors.Is(last, context.Cause(ctx)) {
		return fmt.Errorf("group %s: no answer of a leader: %w", g.Name(), context.Cause(ctx))
	}
	return fmt.Errorf("group %s: no answer of a leader: %w (%w)", g.Name(), context.Cause(ctx), last)
}
