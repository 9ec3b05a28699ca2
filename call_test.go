package regent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Leaders come and go, and some do not answer. A call is answered by one that led from before the call until after the answer.
func TestCallIsAnsweredByALeaderThatLedAllTheWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := assemble(t, nil, "a", "b", "c")
		led := make(map[uint64]*Lease)
		lead := func(name string) *Lease {
			l := must(must(all[name].Group("g")).Announcing("http://" + name).Campaign(t.Context()))
			led[l.Token()] = l
			return l
		}
		first := lead("a")
		calls := 0
		err := must(all["c"].Group("g")).Call(t.Context(), func(ctx context.Context, p *Proof) error {
			calls++
			switch calls {
			case 1:
				return errors.New("no answer")
			case 2: // the answer of a leader that does not lead any more when it comes
				_ = first.Resign(ctx)
				lead("b")
				time.Sleep(time.Second)
				return nil
			}
			if l := led[p.Token]; l == nil || !l.Valid() || p.Leader != "b" || p.Value != "http://b" {
				t.Errorf("the call goes to %+v", p)
			}
			time.Sleep(time.Second) // the first proof is over: another one is asked for
			return nil
		})
		if err != nil || calls != 3 {
			t.Errorf("%d calls: %v", calls, err)
		}
	})
}

func TestACallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, nil, "a")["a"]
		g := must(m.Group("g"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := g.Call(ctx, func(context.Context, *Proof) error { t.Error("nobody leads"); return nil })
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoLeader) {
			t.Errorf("without a leader: %v", err)
		}
		must(g.Campaign(t.Context()))
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		silent, calls := errors.New("no answer"), 0
		err = g.Call(ctx, func(context.Context, *Proof) error { calls++; return silent })
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, silent) || calls < 100 || calls > 200 {
			t.Errorf("a leader that does not answer, %d calls: %v", calls, err)
		}
		if err := m.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Call(t.Context(), func(context.Context, *Proof) error { return nil }); !errors.Is(err, ErrClosed) {
			t.Errorf("at a member that is closed: %v", err)
		}
	})
}
