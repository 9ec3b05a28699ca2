package session

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/tenure/recovery"
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
	// recovery decides which reader asks the program to recover. The agent asks once, and the agreement with which it does may be lost to a slow reader.
	recovery recovery.Machine
	readers  uint64 // how many have begun
}

// numberOf returns the number of an agreement.
func numberOf(v *view.View) rain.Number { return rain.Number{Token: v.Token, Vid: v.Agreement.Number} }

func (a *agreements) add(view view.View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if view.Agreement != nil {
		a.recovery.Step(recovery.Event{Kind: recovery.Agree, Number: numberOf(&view), Recover: view.Agreement.Recover})
	}
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

// open begins a reader, and returns its number.
func (a *agreements) open() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.readers++
	return a.readers
}

func (a *agreements) step(ev recovery.Event) recovery.Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.recovery.Step(ev)
}

// show returns an agreement as a reader shows it to the program.
func (a *agreements) show(reader uint64, v view.View) view.View {
	if v.Agreement != nil {
		shown := *v.Agreement // others read the original
		shown.Recover = a.step(recovery.Event{Kind: recovery.Show, Number: numberOf(&v), Reader: reader}) == recovery.Ask
		v.Agreement = &shown
	}
	return v
}

// Views yields the present agreement of a consistent group and then every later one, until the program must stop, or ctx ends.
func (l *Lease) Views(ctx context.Context) iter.Seq[view.View] {
	return func(yield func(view.View) bool) {
		reader := l.agreements.open()
		defer l.agreements.step(recovery.Event{Kind: recovery.Close, Reader: reader})
		for seen := 0; ; {
			views, last, lost, changed := l.agreements.after(seen)
			for _, v := range views {
				v.Missed, lost = v.Missed+lost, 0
				if !yield(l.agreements.show(reader, v)) {
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

// Recovered reports that the program has recovered what an agreement asks for. The agent decides whether that counts. The error is [stamp.ErrNotLeader]
// once the host is out.
func (l *Lease) Recovered(ctx context.Context, token, number uint64) error {
	if _, err := l.askInTime(ctx, &Request{Do: Recovered, Of: l.candidacy.id, Token: token, Number: number}); err != nil {
		return err
	}
	l.agreements.step(recovery.Event{Kind: recovery.Report, Number: rain.Number{Token: token, Vid: number}})
	return nil
}
