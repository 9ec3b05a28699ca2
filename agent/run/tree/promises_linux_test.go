package tree

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/tenure"
)

func TestMarksAre128RandomBits(t *testing.T) {
	seen := make(map[string]bool)
	for range 2 {
		plan := prepared(t)
		b, err := hex.DecodeString(plan.Ref().Mark)
		if err != nil || len(b)*8 != 128 || seen[string(b)] {
			t.Errorf("mark %q: %v", plan.Ref().Mark, err)
		}
		seen[string(b)] = true
	}
}

// Nobody else looks for the tree in this test.
func TestTheKernelKillsTheProgramOfADeadRunner(t *testing.T) {
	f := startFamily(t, false)
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.wait()
	cluster.Eventually(t, "the first process is dead", func() bool {
		s, err := readStat(f.pids[3])
		return err != nil || s.dead
	})
}

// Inside the cgroup a process belongs to the tree whatever its user is, and though nothing else tells.
func TestInTheCgroupProcessesOfAllUsersAreKilled(t *testing.T) {
	plan, noCgroup, err := mustReap(t).Prepare()
	if err != nil || noCgroup != nil {
		t.Fatal(err, noCgroup)
	}
	defer plan.Forget()
	foreign := sleeper(t, other)
	if err := os.WriteFile(filepath.Join(plan.Ref().Cgroup, "cgroup.procs"), fmt.Append(nil, foreign.Pid), 0); err != nil {
		t.Fatal(err)
	}
	r := Ref{Ref: tenure.Ref{Runner: sleeper(t, nobody), UID: nobody}, Mark: plan.Ref().Mark, Cgroup: plan.Ref().Cgroup}
	if found := r.End(within(t)); !found.Gone() || alive(foreign) {
		t.Errorf("a process of another user is alive in the cgroup: %v, %v", alive(foreign), &found)
	}
}
