package session

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/regentproject/regent/view"
)

// agreements are what the members of a consistent group agreed on while this program took part: the latest ones.
type agreements struct {
	// first is the agreement that took the host in.
	first atomic.Pointer[view.View]

	mu sync.Mutex
	// views are the latest, the last of which has the number count. changed is closed when there is another one.
	views   []view.View
	count   int
	changed chan struct{}
}

func (a *agreements) add(view view.View) {
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
func (a *agreements) after(seen int) (views []view.View, last, lost int, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if seen == 0 {
		seen = max(0, a.count-1)
	}
	from := a.count - len(a.views) // the number of what is before the first
	lost = max(0, from-seen)
	return a.views[max(0, seen-from):], a.count, lost, a.changed
}

// First returns the agreement of a consistent group that took the host in. It has no agreement if the agent knew it no more.
func (l *Lease) First() view.View {
	if first := l.agreements.first.Load(); first != nil {
		return *first
	}
	return view.View{Group: l.group, Mode: view.Consistent, Token: l.Token()}
}

// Views yields the present agreement of a consistent group and then every later one, until the program must stop, or ctx ends.
func (l *Lease) Views(ctx context.Context) iter.Seq[view.View] {
	return func(yield func(view.View) bool) {
		for seen := 0; ; {
			views, last, lost, changed := l.agreements.after(seen)
			for _, v := range views {
				v.Missed, lost = v.Missed+lost, 0
				if !yield(v) {
					return
				}
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
}

// Recovered reports that the program has recovered what an agreement asks for. It waits for the answer while the lease lasts.
func (l *Lease) Recovered(token, number uint64) error {
	e, err := l.askInTime(&Request{Do: Recovered, Of: l.candidacy.id, Token: token, Number: number})
	return errors.Join(err, failure(&e))
}
