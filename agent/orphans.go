package agent

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
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/tenure"
)

// orphanStore is a directory in which there is a file for each tree of processes that this agent looks after. An agent that is
// killed together with a runner leaves the processes of that runner behind; its next start finds the file, and kills them.
type orphanStore struct {
	dir  string // empty: there is none
	boot string // numbers mean something until the host starts anew
}

// A orphanRecord is what is in such a file.
type orphanRecord struct {
	Boot  string   `json:"boot"`
	Group string   `json:"group"`
	Tree  tree.Ref `json:"tree"`
}

// newOrphanStore returns the directory below that of the member, or none if nothing is kept there or the host cannot tell one
// start of its own from the next.
func newOrphanStore(dir string) orphanStore {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if dir == "" || err != nil {
		return orphanStore{}
	}
	return orphanStore{dir: filepath.Join(dir, "trees"), boot: strings.TrimSpace(string(boot))}
}

// draftSuffix is that of a note that was not finished.
const draftSuffix = ".new"

// pathDigestBytes is how many bytes of a digest name a file: enough that no two marks share one.
const pathDigestBytes = 12

// path is where a tree is written down. Marks come from runners, and are no names of files.
func (s *orphanStore) path(t *tree.Ref) string {
	sum := sha256.Sum256([]byte(t.Mark))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:pathDigestBytes])+".json")
}

// save writes a tree down before anything of it runs. It need not outlive the host, so nothing is waited for.
func (s *orphanStore) save(group string, t *tree.Ref) error {
	if s.dir == "" {
		return nil
	}
	b, err := json.Marshal(orphanRecord{Boot: s.boot, Group: group, Tree: *t})
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
func (s *orphanStore) remove(t *tree.Ref) {
	if s.dir != "" {
		_ = os.Remove(s.path(t))
	}
}

// load returns what an earlier start of the agent has left, and the files that say nothing: they cannot be read, are of an earlier
// start of the host, or are drafts. Nothing of a tree runs before its note has its name.
func (s *orphanStore) load() (out []orphanRecord, void []string) {
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
func parseOrphan(b []byte, boot string) (one orphanRecord, ok bool) {
	err := json.Unmarshal(b, &one)
	return one, err == nil && one.Boot == boot && one.Tree.Mark != ""
}

// An orphan is a tree that an earlier start of the agent looked after. It drives a machine that has found it: the runner may be alive,
// and has until every lease of that time is over.
type orphan struct {
	life *party.Party
	tree *watchedTree
	// gone is closed when it need not be looked for any more.
	gone chan struct{}
	once sync.Once
}

// findOrphan begins to look after a tree of an earlier start.
func (a *Agent) findOrphan(r *orphanRecord) *orphan {
	o := &orphan{gone: make(chan struct{}), tree: newWatchedTree(a, r.Group, r.Tree, a.timing.Guard)}
	// Its runner may be alive and have begun another tree since: what belongs to this one bears a sign of its own.
	t := r.Tree.Orphan()
	o.tree.look = t.End
	o.tree.found = func(valid func() bool, k tenure.Kind) { o.life.GiveIf(valid, tenure.Event{Kind: k}) }
	o.life = party.New(party.Options{Clock: agentClock{a}, Do: o.do, Config: tenure.Config{Self: a.names.Rank(a.name), Lower: tenure.Party,
		Guard: a.timing.Guard, KillWithin: killWithin}})
	longest := max(a.timing.Lease, a.timing.LongestLease)
	o.life.Give(tenure.Event{Kind: tenure.Found, Until: protocol.Time(a.now()).Add(longest)})
	return o
}

// do carries out an effect of the machine.
func (o *orphan) do(e tenure.Effect) {
	switch e.Kind {
	case tenure.Kill:
		ref := o.tree.ref()
		found := ref.Look()
		if len(found.Left) > 0 {
			o.tree.agent.log.Warn("processes were left behind when the agent and a runner died: they are killed", "group", o.tree.group,
				"first", found.Left[0].Pid, "number", len(found.Left))
		}
		o.tree.begin()
	case tenure.Forget:
		o.tree.stop()
		o.once.Do(func() {
			go func() {
				o.tree.forget()
				close(o.gone)
			}()
		})
	}
}

// killOrphans kills the processes that an earlier start of the agent looked after: those of a dead runner at once, the others
// if they are still there when every lease of that time is over.
func (a *Agent) killOrphans(ctx context.Context, old []orphanRecord) {
	const pause = 200 * time.Millisecond
	var left []*orphan
	for i := range old {
		left = append(left, a.findOrphan(&old[i]))
	}
	for len(left) > 0 && ctx.Err() == nil {
		left = slices.DeleteFunc(left, func(o *orphan) bool {
			select {
			case <-o.gone:
				return true
			default:
			}
			if ref := o.tree.ref(); o.life.State() == tenure.Told && ref.Orphaned() {
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
		o.tree.stop()
	}
}
