package processes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/tenure"
)

// Notes is a directory in which there is a file for each tree of processes that this agent looks after. An agent that is
// killed together with a runner leaves the processes of that runner behind; its next start finds the file, and kills them.
type Notes struct {
	dir  string // empty: there is none
	boot string // numbers mean something until the host starts anew
}

// A Note is what is in such a file.
type Note struct {
	Boot  string   `json:"boot"`
	Group string   `json:"group"`
	Tree  tree.Ref `json:"tree"`
	// Longest is the longest lease that its runner may have had; zero: nobody noted it.
	Longest time.Duration `json:"longest_lease_ns,omitempty"`
}

// NewNotes returns the directory below that of the member, or none if nothing is kept there or the host cannot tell one
// start of its own from the next.
func NewNotes(dir string) Notes {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if dir == "" || err != nil {
		return Notes{}
	}
	return Notes{dir: filepath.Join(dir, "trees"), boot: strings.TrimSpace(string(boot))}
}

// draftSuffix is that of a note that was not finished.
const draftSuffix = ".new"

// pathDigestBytes is how many bytes of a digest name a file: enough that no two marks share one.
const pathDigestBytes = 12

// path is where a tree is written down. Marks come from runners, and are no names of files.
func (s *Notes) path(t *tree.Ref) string {
	sum := sha256.Sum256([]byte(t.Mark))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:pathDigestBytes])+".json")
}

// save writes a tree down before anything of it runs. It need not outlive the host, so nothing is waited for.
func (s *Notes) save(group string, t *tree.Ref, longest time.Duration) error {
	if s.dir == "" {
		return nil
	}
	b, err := json.Marshal(Note{Boot: s.boot, Group: group, Tree: *t, Longest: longest})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	// Half a note would be none.
	draft := s.path(t) + draftSuffix
	if err := os.WriteFile(draft, b, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, s.path(t))
}

// remove forgets a tree of which nobody is left.
func (s *Notes) remove(t *tree.Ref) {
	if s.dir != "" {
		_ = os.Remove(s.path(t))
	}
}

// Load returns what an earlier start of the agent has left, and the files that say nothing: they cannot be read, are of an earlier
// start of the host, or are drafts. Nothing of a tree runs before its note has its name.
func (s *Notes) Load() (out []Note, void []string) {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, nil
	}
	for _, n := range names {
		path := filepath.Join(s.dir, n.Name())
		b, err := os.ReadFile(path)
		one, ok := parseOrphan(b, s.boot)
		if err != nil || !ok || strings.HasSuffix(path, draftSuffix) {
			void = append(void, path)
			continue
		}
		out = append(out, one)
	}
	return out, void
}

// parseOrphan reads a note. It returns false for one that says nothing, or nothing of this start of the host.
func parseOrphan(b []byte, boot string) (one Note, ok bool) {
	err := json.Unmarshal(b, &one)
	return one, err == nil && one.Boot == boot && one.Tree.Mark != ""
}

// An orphan is a tree that an earlier start of the agent looked after. It drives a machine that has found it: the runner may be alive,
// and has until every lease of that time is over.
type orphan struct {
	life *party.Party
	tree *Tree
	// gone is closed when it need not be looked for any more.
	gone chan struct{}
	once sync.Once
}

// findOrphan begins to look after a tree of an earlier start.
func (t *Trees) findOrphan(r *Note) *orphan {
	o := &orphan{gone: make(chan struct{}), tree: t.Watch(r.Group, r.Tree, t.Guard)}
	// Its runner may be alive and have begun another tree since: what belongs to this one bears a sign of its own.
	left := r.Tree.Orphan()
	o.tree.Look = left.End
	o.tree.Found = func(valid func() bool, k tenure.Kind) { o.life.GiveIf(valid, tenure.Event{Kind: k}) }
	o.life = party.New(party.Options{Clock: t.Clock, Do: o.do, Config: tenure.Config{Self: t.Self, Lower: tenure.Party,
		Guard: t.Guard, KillWithin: KillWithin}})
	o.life.Give(tenure.Event{Kind: tenure.Found, Until: t.Clock.Now().Add(t.stands(r))})
	return o
}

// stands returns for how long a lease may stand under which a tree ran.
func (t *Trees) stands(r *Note) time.Duration {
	if r.Longest <= 0 {
		return t.Longest
	}
	return min(r.Longest, t.Longest)
}

// do carries out an effect of the machine.
func (o *orphan) do(e tenure.Effect) {
	switch e.Kind {
	case tenure.Kill:
		ref := o.tree.Ref()
		found := ref.Look()
		if len(found.Left) > 0 {
			o.tree.all.Log.Warn("processes were left behind when the agent and a runner died: they are killed", "group", o.tree.group,
				"first", found.Left[0].Pid, "number", len(found.Left))
		}
		o.tree.Begin()
	case tenure.Forget:
		o.tree.Stop()
		o.once.Do(func() {
			go func() {
				o.tree.Forget()
				close(o.gone)
			}()
		})
	}
}

// KillOrphans kills the processes that an earlier start of the agent looked after: those of a dead runner at once, the others
// if they are still there when every lease of that time is over.
func (t *Trees) KillOrphans(ctx context.Context, old []Note) {
	const pause = 200 * time.Millisecond
	var left []*orphan
	for i := range old {
		left = append(left, t.findOrphan(&old[i]))
	}
	for len(left) > 0 && ctx.Err() == nil {
		left = slices.DeleteFunc(left, func(o *orphan) bool {
			select {
			case <-o.gone:
				return true
			default:
			}
			if ref := o.tree.Ref(); o.life.State() == tenure.Asked && ref.Orphaned() {
				o.life.Give(tenure.Event{Kind: tenure.ProgramDied})
			}
			return false
		})
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	for _, o := range left {
		o.tree.Stop()
	}
}
