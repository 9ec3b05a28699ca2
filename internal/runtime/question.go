package runtime

import (
	"context"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// question returns a number for an answer and the channel on which it comes.
func (t *GroupTable) question() (uint64, chan protocol.Answer) {
	id, c := t.nextID.Add(1), make(chan protocol.Answer, 1)
	t.questions.Store(id, c)
	return id, c
}

func (t *GroupTable) await(ctx context.Context, id uint64, c chan protocol.Answer) (protocol.Answer, error) {
	defer t.questions.Delete(id)
	select {
	case a := <-c:
		return a, nil
	case <-t.loop.Ended():
		return protocol.Answer{}, ErrClosed
	case <-ctx.Done():
		return protocol.Answer{}, context.Cause(ctx)
	}
}

// Ask puts a question to the machine and waits for its answer. how makes the event that bears the number.
func (t *GroupTable) Ask(ctx context.Context, how func(id uint64) protocol.Event) (protocol.Answer, error) {
	id, c := t.question()
	if err := t.loop.Do(func(protocol.Time) { t.post(how(id)) }); err != nil {
		t.questions.Delete(id)
		return protocol.Answer{}, err
	}
	return t.await(ctx, id, c)
}

// Answer hands an answer to the caller that asked. A transfer that was refused is over before its caller learns of it.
func (t *GroupTable) Answer(now protocol.Time, a *protocol.Answer) {
	if l := t.Group(a.Group).lease; l != nil && !a.OK && a.ID == l.question {
		t.step(now, l, tenure.Event{Kind: tenure.Refused})
	}
	if g := t.Group(a.Group); g.question != 0 && a.ID == g.question && !a.OK {
		t.refuseLength(g, a)
	}
	if c, ok := t.questions.LoadAndDelete(a.ID); ok {
		c.(chan protocol.Answer) <- *a
	}
}
