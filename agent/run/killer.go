package run

import (
	"context"
	"sync"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/internal/tenure"
)

// A killer looks for the processes of a tree and kills them, until none is found.
type killer struct {
	// ordinary keeps its thread from real-time scheduling.
	ordinary bool
	end      func(context.Context) tree.Result
	log      func(left string)
	// found takes what a search proves, if it is valid still.
	found func(valid func() bool, ev tenure.Event)

	mu     sync.Mutex
	cancel context.CancelFunc
}

// begin begins a search. What an earlier one finds does not count any more.
func (k *killer) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	k.mu.Lock()
	if k.cancel != nil {
		k.cancel()
	}
	k.cancel = cancel
	k.mu.Unlock()
	go func() {
		for said := false; ; said = true {
			var found tree.Result
			thread.Run(!k.ordinary, func() {
				within, done := context.WithTimeout(ctx, killAttempt)
				defer done()
				found = k.end(within)
			})
			verdict, ok := found.Verdict()
			switch {
			case ctx.Err() != nil:
				return
			case ok:
				k.found(func() bool { return ctx.Err() == nil }, tenure.Event{Kind: verdict})
				return
			case !said:
				k.log(found.String())
			}
		}
	}()
}

// stop ends a search that is under way.
func (k *killer) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cancel != nil {
		k.cancel()
	}
}
