package tree

import (
	"fmt"
	"os"
	"path/filepath"
)

// Verify returns what of a reference can be believed that another process handed over: whoever is asked to kill must not
// kill what the asker has no business with. The runner is the asker itself. Its cgroup is right below that of the asker
// and named after the mark, and the first process is left out, as any session might be claimed.
//
// What remains to be believed is the mark. A process can be killed by it only if it has the mark in its environment,
// which others than its user cannot read.
func (r Ref) Verify(asker int) (Ref, error) {
	if r.Runner != asker {
		return Ref{}, fmt.Errorf("runner %d: is not the process that asks, %d: a runner in a container needs an agent there, or the host's pid namespace", r.Runner, asker)
	}
	s, err := readStat(asker)
	if err != nil {
		return Ref{}, fmt.Errorf("runner %d: %w", asker, err)
	}
	r.RunnerStarted, r.First, r.FirstStarted = s.started, 0, 0
	if r.Cgroup == "" {
		return r, nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Ref{}, err
	}
	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", asker))
	if err != nil {
		return Ref{}, err
	}
	parent, err := cgroupDir(string(mounts), string(own))
	if err != nil {
		return Ref{}, err
	}
	if want := filepath.Join(parent, "regent-"+filepath.Base(r.Mark)); r.Cgroup != want {
		return Ref{}, fmt.Errorf("cgroup %s: is not the runner's: want %s", r.Cgroup, want)
	}
	return r, nil
}
