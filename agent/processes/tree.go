package processes

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// A Tree is what a runner starts. The agent kills it when the runner does not: it may be stopped, or dead.
type Tree struct {
	all   *Trees
	group string
	// Guard is how long before the end that was announced to the runner its tree is killed.
	Guard time.Duration
	// Look kills them and returns what that proves. It is that of the tree.
	Look func(ctx context.Context) tree.Result
	// Found gets what a search has proven. That counts only if the search is valid when the machine takes it.
	Found func(valid func() bool, k tenure.Kind)
	// Left gets what a search could not prove gone, for people; nil: nobody wants to know.
	Left func(text string)

	mu       sync.Mutex
	tree     tree.Ref
	cancel   context.CancelFunc // of the search under way
	searches sync.WaitGroup
}

// Trees is what the trees of all runners of an agent have in common.
type Trees struct {
	Log *slog.Logger
	// Ordinary says that the configuration allows no real-time threads.
	Ordinary bool
	// Guard is the agent's guard time, and longest the longest lease that it may have promised before it was started.
	Guard, Longest time.Duration
	// Clock is the member's, and self its rank.
	Clock clock.Clock
	Self  protocol.Rank
	Notes Notes
}

// KillWithin is how long killing may take before the deadline that was announced decides.
const KillWithin = time.Second

// killAttempt is how long one attempt to kill a tree may take before it is reported and repeated.
const killAttempt = time.Second

// Claim has the processes of a runner looked after. It says why that cannot be done.
func (t *Trees) Claim(r *session.Candidate, asker *Peer) (*Tree, error) {
	if r.Claim == nil {
		return nil, nil
	}
	runner, err := asker.Identity()
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	ref, err := tree.Claim(*r.Claim).Verify(runner, asker.UID)
	if err != nil {
		return nil, err
	}
	if len(r.Claim.Addresses) > 0 {
		if err := mayHold(runner, r.Claim.Addresses); err != nil {
			return nil, err
		}
		ref.Addresses = r.Claim.Addresses
		if !address.MayChange() {
			t.Log.Warn("the agent may not delete the addresses of a runner, should the runner and its keeper be stopped or dead: the kernel removes them at the end of the lease (give the agent CAP_NET_ADMIN)",
				"group", r.Group, "runner", runner.Pid)
		}
	}
	w := t.Watch(r.Group, ref, max(r.Guard, t.Guard))
	if err := ref.MayKill(); err != nil {
		// The runner still does. That there is no second to do it is worth a word.
		t.Log.Warn("the agent may not kill what a runner starts, should the runner be stopped: run it as root, or as the user of the runner",
			"group", r.Group, "runner", runner.Pid, "err", err)
	}
	return w, nil
}

func (t *Trees) Watch(group string, ref tree.Ref, guard time.Duration) *Tree {
	w := &Tree{all: t, group: group, tree: ref, Guard: guard}
	w.Look = func(ctx context.Context) tree.Result { ref := w.Ref(); return ref.End(ctx) }
	return w
}

// Ref returns what is known of the tree.
func (w *Tree) Ref() tree.Ref {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tree
}

// Change changes what is known of the tree.
func (w *Tree) Change(f func(*tree.Ref)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.tree)
}

// Begin begins a search. What an earlier one finds does not count any more.
func (w *Tree) Begin() {
	ctx, cancel := context.WithCancel(context.Background())
	w.Stop()
	w.mu.Lock()
	w.cancel = cancel
	w.mu.Unlock()
	w.searches.Go(func() {
		for said := false; ; said = true {
			var found tree.Result
			thread.Run(!w.all.Ordinary, func() {
				within, done := context.WithTimeout(ctx, killAttempt)
				defer done()
				found = w.Look(within)
			})
			verdict, ok := found.Verdict()
			valid := func() bool { return ctx.Err() == nil }
			switch {
			case !valid():
				return
			case ok:
				if verdict == tenure.TreeUnknown {
					w.report(&found)
					w.all.Log.Warn("the agent cannot find out what is left of what a runner started: it lets the lease run out", "group", w.group, "found", found.String())
				}
				w.Found(valid, verdict)
				return
			case !said:
				w.report(&found)
				w.all.Log.Error("processes of a runner cannot be killed: run the agent as root, or as the user of the runner", "group", w.group, "left", found.String())
			}
		}
	})
}

// report passes on what a search has left.
func (w *Tree) report(found *tree.Result) {
	if w.Left != nil {
		w.Left(found.String())
	}
}

// Stop ends a search that is under way.
func (w *Tree) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
}

// Save writes the tree down before anything of it runs, with the longest lease that its runner may have.
func (w *Tree) Save(group string, longest time.Duration) {
	ref := w.Ref()
	if err := w.all.Notes.save(group, &ref, longest); err != nil {
		w.all.Log.Warn("should the agent and a runner be killed together, what the runner started will not be found: it could not be written down",
			"group", group, "err", err)
	}
}

// Forget removes the note, and what a dead runner had prepared. It returns when nothing is looked for any more: what the runner starts
// next looks like what it started last.
func (w *Tree) Forget() {
	w.Stop()
	w.searches.Wait()
	ref := w.Ref()
	w.all.Notes.remove(&ref)
	if ref.Orphaned() {
		ref.Forget()
	}
}
