package fence

import (
	"context"
	"sync"
)

// A Gate keeps the high-water mark of one resource in memory. It admits an order unless one with a later stamp has
// been admitted before. An order with the same stamp as the mark is admitted: a gate puts orders in order, it does not
// count them. The zero Gate has admitted nothing yet. It is safe for concurrent use, and must not be copied.
type Gate struct {
	mu   sync.Mutex
	mark Stamp
	// inside orders are being carried out under token; idle, if not nil, is closed when there is none.
	inside int
	token  uint64
	idle   chan struct{}
}

// NewGate returns a gate that begins with the given high-water mark, such as one that was stored before the resource
// was restarted. A resource that forgets its mark admits stale orders until the first fresh one.
func NewGate(mark Stamp) *Gate { return &Gate{mark: mark} }

// Mark returns the high-water mark: the latest stamp admitted, zero if there is none.
func (g *Gate) Mark() Stamp {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mark
}

// Admit raises the high-water mark to s, or refuses: with a *StaleError if a later stamp has been admitted, with an
// error that wraps ErrInconsistent if the two contradict each other, with ErrNoStamp for a zero stamp.
//
// Admit alone does not make the order's effect safe: between Admit and the effect a later order may be admitted and
// carried out. Call it while holding whatever makes the two one step, such as the resource's own lock; or use Enter.
func (g *Gate) Admit(s Stamp) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.admit(s)
}

// admit is Admit with the lock held.
func (g *Gate) admit(s Stamp) error {
	if s.IsZero() {
		return ErrNoStamp
	}
	order, err := s.Compare(g.mark)
	switch {
	case err != nil:
		return err
	case order < 0:
		return &StaleError{Got: s, Seen: g.mark}
	case order > 0 || s.Full():
		// A token never replaces a full stamp of the same leadership: the mark would say less than before.
		g.mark = s
	}
	return nil
}

// Enter admits s as Admit does and then keeps later leaderships out until leave is called, so that no order of theirs
// is carried out beside this one or before it. Orders of one leadership are inside together. Enter waits until those
// of earlier leaderships have left, or until ctx ends. The mark rises at once: while Enter waits, no further order of an
// earlier leadership gets in. Calling leave more than once is harmless.
func (g *Gate) Enter(ctx context.Context, s Stamp) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		// Asked again after each wait: an order of a later leadership may have come meanwhile.
		if err := g.admit(s); err != nil {
			return nil, err
		}
		if g.inside == 0 || g.token == s.Token() {
			break
		}
		if err := g.wait(ctx); err != nil {
			return nil, err
		}
	}
	g.inside, g.token = g.inside+1, s.Token()
	return sync.OnceFunc(g.leave), nil
}

// wait releases the lock until nothing is inside.
func (g *Gate) wait(ctx context.Context) error {
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}
