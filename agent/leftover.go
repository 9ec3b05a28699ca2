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
)

// leftovers is a directory in which there is a file for each tree of processes that this agent looks after. An agent that is
// killed together with a runner leaves the processes of that runner behind; its next start finds the file, and kills them.
type leftovers struct {
	dir  string // empty: there is none
	boot string // numbers mean something until the host starts anew
}

// A leftover is what is in such a file.
type leftover struct {
	Boot  string   `json:"boot"`
	Group string   `json:"group"`
	Tree  tree.Ref `json:"tree"`
	said  bool     // that it cannot be killed
}

// newLeftovers returns the directory below that of the member, or none if nothing is kept there or the host cannot tell one
// start of its own from the next.
func newLeftovers(dir string) leftovers {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if dir == "" || err != nil {
		return leftovers{}
	}
	return leftovers{dir: filepath.Join(dir, "trees"), boot: strings.TrimSpace(string(boot))}
}

// file is where a tree is written down. Marks come from runners, and are no names of files.
func (l *leftovers) file(t *tree.Ref) string {
	sum := sha256.Sum256([]byte(t.Mark))
	return filepath.Join(l.dir, hex.EncodeToString(sum[:12])+".json")
}

// note writes a tree down before anything of it runs. It need not outlive the host, so nothing is waited for.
func (l *leftovers) note(group string, t *tree.Ref) error {
	if l.dir == "" {
		return nil
	}
	b, err := json.Marshal(leftover{Boot: l.boot, Group: group, Tree: *t})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	// Half a note would be none.
	draft := l.file(t) + ".new"
	if err := os.WriteFile(draft, b, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, l.file(t))
}

// drop forgets a tree of which nobody is left.
func (l *leftovers) drop(t *tree.Ref) {
	if l.dir != "" {
		_ = os.Remove(l.file(t))
	}
}

// all returns what an earlier start of the agent has left, and the files that say nothing: they cannot be read, or are of an
// earlier start of the host.
func (l *leftovers) all() (out []leftover, void []string) {
	names, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, nil
	}
	for _, n := range names {
		var one leftover
		path := filepath.Join(l.dir, n.Name())
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &one)
		}
		if err != nil || one.Boot != l.boot || one.Tree.Mark == "" {
			void = append(void, path)
			continue
		}
		out = append(out, one)
	}
	return out, void
}

// clearLeftovers kills the processes that an earlier start of the agent looked after: those of a dead runner at once, the others
// if they are still there when every lease of that time is over. A runner that is alive has killed its own by then, unless it is
// stopped.
func (a *Agent) clearLeftovers(ctx context.Context, old []leftover) {
	const pause = 200 * time.Millisecond
	over := time.Now().Add(max(a.timing.Lease, a.timing.LongestLease))
	for len(old) > 0 && ctx.Err() == nil {
		late := time.Now().After(over)
		left := old[:0]
		for _, l := range old {
			if !late && !l.Tree.Orphaned() || !a.clearLeftover(ctx, &l) {
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

// clearLeftover kills one tree, and says whether nobody is left of it.
func (a *Agent) clearLeftover(ctx context.Context, l *leftover) bool {
	// Its runner may be alive and have begun another tree since: what belongs to this one bears a sign of its own.
	t := l.Tree
	t.Runner = 0
	if found, err := t.Processes(); err == nil && len(found) > 0 && !l.said {
		a.log.Warn("processes were left behind when the agent and a runner died: they are killed", "group", l.Group, "first", found[0].Pid, "number", len(found))
	}
	within, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := t.End(within)
	switch {
	case err == nil:
		a.leftovers.drop(&l.Tree)
		return true
	case ctx.Err() == nil && !l.said:
		a.log.Error("processes that were left behind cannot be killed: run the agent as root, or as the user of the runner", "group", l.Group, "err", err)
	}
	l.said = true
	return false
}
