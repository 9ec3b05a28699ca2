package checkpoints

import (
	"bytes"
	"slices"

	"github.com/regentproject/regent/checkpoint/core"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// A watch holds a run to its invariants, and counts.
type watch struct {
	run       *Run
	keys      map[string]*history
	recovered map[core.Number]protocol.Rank
	founded   map[protocol.Rank]core.Number // the last view of each member that is safe
	heir      protocol.Rank                 // the last that went on with a key
}

// A history is what happened to a key.
type history struct {
	frame     uint64 // the last that any owner computed
	newest    core.ID
	final     []byte
	inherited []inheritance
}

type inheritance struct {
	view core.Number
	from core.ID
	by   protocol.Rank
}

func newWatch(r *Run) *watch {
	w := &watch{run: r, keys: make(map[string]*history), recovered: make(map[core.Number]protocol.Rank),
		founded: make(map[protocol.Rank]core.Number)}
	for _, key := range r.config.Keys {
		w.keys[key] = &history{}
	}
	return w
}

// Observe judges what programs do.
func (w *watch) Observe(r *sim.Record) error {
	if r.Ev != EvWork {
		return nil
	}
	view := core.Number{Token: r.Term, Vid: r.Gen}
	if r.Why == "recovered" {
		w.run.Recovered++
		if by, ok := w.recovered[view]; ok {
			return check.Violatedf("K-ONE", r.T, "%v and %v report view %v recovered", by, r.Node, view)
		}
		w.recovered[view] = r.Node
		return nil
	}
	if r.Why == "founded" {
		w.founded[r.Node] = view
		return nil
	}
	h := w.keys[string(r.Group)]
	switch r.Why {
	case "frame":
		w.run.Computed++
		h.frame = max(h.frame, r.Seq)
	case "begin", "resume":
		return w.inherit(r, h, view)
	case "complete":
		return w.complete(r, h)
	case "wait":
		w.run.Waited++
	}
	return nil
}

func (w *watch) inherit(r *sim.Record, h *history, view core.Number) error {
	for _, i := range h.inherited {
		if i.view == view {
			return check.Violatedf("K-ONE", r.T, "%v and %v inherit %s in view %v", i.by, r.Node, r.Group, view)
		}
	}
	var from core.ID
	if r.Why == "begin" {
		if h.newest != (core.ID{}) {
			return check.Violatedf("K-LOST", r.T, "%v begins %s anew, of which %v was complete", r.Node, r.Group, h.newest)
		}
	} else {
		from = r.Detail.(core.ID)
		w.run.Resumed++
		w.heir = r.Node
	}
	if from.Compare(h.newest) < 0 {
		return check.Violatedf("K-STALE", r.T, "%v goes on with %s from %v, and %v was complete", r.Node, r.Group, from, h.newest)
	}
	if h.frame > from.Seq+interval {
		return check.Violatedf("K-REPEAT", r.T, "%v goes on with %s from frame %d of %d", r.Node, r.Group, from.Seq, h.frame)
	}
	w.run.Repeated += int(h.frame - min(h.frame, from.Seq))
	h.inherited = append(h.inherited, inheritance{view, from, r.Node})
	return nil
}

func (w *watch) complete(r *sim.Record, h *history) error {
	c := r.Detail.(completed)
	// An owner may learn late that a checkpoint was complete before an heir read.
	for _, i := range h.inherited {
		if i.view.Compare(c.ID.View) > 0 && i.from.Compare(c.ID) < 0 {
			return check.Violatedf("K-STALE", r.T, "%v was complete for %v, and %v went on with %s from %v", c.ID, r.Node, i.by, r.Group, i.from)
		}
	}
	if c.ID.Compare(h.newest) > 0 {
		h.newest = c.ID
		h.final = nil
		if c.ID.Seq == w.run.Frames {
			h.final = slices.Clone(c.State)
		}
	}
	return nil
}

// done reports whether the last state of every key is complete.
func (w *watch) done() bool {
	for _, key := range w.run.config.Keys {
		if w.keys[key].final == nil {
			return false
		}
	}
	return true
}

// finish judges the end: the work is done, and its result is that of a run without faults.
func (w *watch) finish(now sim.Real) error {
	for _, key := range w.run.config.Keys {
		h, want := w.keys[key], first(key, w.run.Size, true)
		for seq := range w.run.Frames {
			want = frame(want, key, seq+1)
		}
		switch {
		case h.final == nil:
			return check.Violatedf("K-DONE", now, "%s is at %v of %d frames", key, h.newest, w.run.Frames)
		case !bytes.Equal(h.final, want):
			return check.Violatedf("K-LOST", now, "%s does not end as without faults", key)
		}
	}
	for rank, d := range w.run.disks {
		v, err := core.OpenVault(rank, d, false)
		if err != nil {
			return err
		}
		if keys := v.Scrub(); len(keys) > 0 {
			return check.Violatedf("K-MEND", now, "the shares of %v on the disk of %v are damaged", keys, protocol.Rank(rank))
		}
	}
	return nil
}
