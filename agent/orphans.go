package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/run/tree"
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
	Boot   string   `json:"boot"`
	Group  string   `json:"group"`
	Tree   tree.Ref `json:"tree"`
	logged bool     // that it cannot be killed
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
	draft := s.path(t) + ".new"
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

// load returns what an earlier start of the agent has left, and the files that say nothing: they cannot be read, or are of an
// earlier start of the host.
func (s *orphanStore) load() (out []orphanRecord, void []string) {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, nil
	}
	for _, n := range names {
		var one orphanRecord
		path := filepath.Join(s.dir, n.Name())
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &one)
		}
		if err != nil || one.Boot != s.boot || one.Tree.Mark == "" {
			void = append(void, path)
			continue
		}
		out = append(out, one)
	}
	return out, void
}

// killOrphans kills the processes that an earlier start of the agent looked after: those of a dead runner at once, the others
// if they are still there when every lease of that time is over. A runner that is alive has killed its own by then, unless it is
// stopped.
func (a *Agent) killOrphans(ctx context.Context, old []orphanRecord) {
	const pause = 200 * time.Millisecond
	over := time.Now().Add(max(a.timing.Lease, a.timing.LongestLease))
	for len(old) > 0 && ctx.Err() == nil {
		late := time.Now().After(over)
		left := old[:0]
		for _, l := range old {
			if !late && !l.Tree.Orphaned() || !a.killOrphan(ctx, &l, late) {
				left = append(left, l)
			}
		}
		old = left
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// killOrphan kills one tree, and says whether it need not be looked for any more: nothing is left, or every lease is over and
// nothing more can be found.
func (a *Agent) killOrphan(ctx context.Context, l *orphanRecord, late bool) bool {
	// Its runner may be alive and have begun another tree since: what belongs to this one bears a sign of its own.
	t := l.Tree.Orphan()
	if found := t.Look(); len(found.Left) > 0 && !l.logged {
		a.log.Warn("processes were left behind when the agent and a runner died: they are killed", "group", l.Group, "first", found.Left[0].Pid, "number", len(found.Left))
	}
	within, cancel := context.WithTimeout(ctx, killAttempt)
	defer cancel()
	found := t.End(within)
	kind, ok := found.Verdict()
	switch {
	case ok && (kind == tenure.TreeGone || late):
		t.Forget()
		a.orphans.remove(&l.Tree)
		return true
	case ctx.Err() == nil && !ok && !l.logged:
		a.log.Error("processes that were left behind cannot be killed: run the agent as root, or as the user of the runner", "group", l.Group, "left", found.String())
		l.logged = true
	}
	return false
}
