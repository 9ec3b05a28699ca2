package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/run/tree"
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
	b, err := json.Marshal(leftover{l.boot, group, *t})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(l.file(t), b, 0o600)
}

// drop forgets a tree of which nobody is left.
func (l *leftovers) drop(t *tree.Ref) {
	if l.dir != "" {
		_ = os.Remove(l.file(t))
	}
}

// all returns what an earlier start of the agent has left. What cannot be read, or is of an earlier start of the host, goes.
func (l *leftovers) all() (out []leftover) {
	names, err := os.ReadDir(l.dir)
	if err != nil {
		return nil
	}
	for _, n := range names {
		var one leftover
		path := filepath.Join(l.dir, n.Name())
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &one)
		}
		if err != nil || one.Boot != l.boot || one.Tree.Mark == "" {
			_ = os.Remove(path)
			continue
		}
		out = append(out, one)
	}
	return out
}

// clearLeftovers kills the processes that an earlier start of the agent looked after and that are still there when every lease of
// that time is over. A runner that is alive has killed its own by then, unless it is stopped.
func (a *Agent) clearLeftovers(ctx context.Context, old []leftover) {
	if len(old) == 0 {
		return
	}
	select {
	case <-time.After(max(a.timing.Lease, a.timing.LongestLease)):
	case <-ctx.Done():
		return
	}
	for i := range old {
		l := &old[i]
		// Its runner may be alive and have begun another tree since: what belongs to this one bears a sign of its own.
		l.Tree.Runner = 0
		for said := false; ctx.Err() == nil; said = true {
			left, err := l.Tree.Processes()
			if err == nil && len(left) > 0 && !said {
				a.log.Warn("processes were left behind when the agent and a runner died: they are killed", "group", l.Group, "first", left[0].Pid, "number", len(left))
			}
			if errors.Is(err, fs.ErrNotExist) || l.endWithin(ctx, time.Second) == nil {
				a.leftovers.drop(&l.Tree)
				break
			}
			if !said {
				a.log.Error("processes that were left behind cannot be killed: run the agent as root, or as the user of the runner", "group", l.Group, "err", err)
			}
		}
	}
}

func (l *leftover) endWithin(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.Tree.End(ctx)
}
