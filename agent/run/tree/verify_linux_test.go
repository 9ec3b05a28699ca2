package tree

import (
	"os"
	"strings"
	"testing"
)

func TestAnAskerIsBelievedOnlyAboutItself(t *testing.T) {
	n, err := ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	plan, noCgroup, err := n.Prepare()
	if err != nil || noCgroup != nil {
		t.Fatal(err, noCgroup)
	}
	defer plan.clear()
	claim := plan.Ref
	claim.First, claim.FirstStarted = 1, 1
	got, err := claim.Verify(os.Getpid())
	if err != nil || got != plan.Ref {
		t.Errorf("got %+v, %v, want %+v", got, err, plan.Ref)
	}
	if _, err := claim.Verify(os.Getppid()); err == nil || !strings.Contains(err.Error(), "needs an agent there, or the host's pid namespace") {
		t.Errorf("another process was believed: %v", err)
	}
	for _, dir := range []string{"/sys/fs/cgroup", plan.Cgroup + "/..", plan.Cgroup + "x", strings.TrimSuffix(plan.Cgroup, "regent-"+plan.Mark)} {
		claim := plan.Ref
		claim.Cgroup = dir
		if _, err := claim.Verify(os.Getpid()); err == nil || !strings.Contains(err.Error(), "is not the runner's") {
			t.Errorf("the cgroup %s was believed: %v", dir, err)
		}
	}
	claim = plan.Ref
	claim.Mark = "../x"
	claim.Cgroup = strings.TrimSuffix(plan.Cgroup, "regent-"+plan.Mark) + "regent-../x"
	if _, err := claim.Verify(os.Getpid()); err == nil {
		t.Error("a mark with a path in it was believed")
	}
	claim = plan.Ref
	claim.Cgroup, claim.RunnerStarted = "", 1
	if got, err := claim.Verify(os.Getpid()); err != nil || got.RunnerStarted != plan.RunnerStarted {
		t.Errorf("got %+v, %v", got, err)
	}
}
