package tree

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/tenure"
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
	defer plan.Forget()
	ref, uid := plan.Ref(), os.Geteuid()
	claim := ref.Claim()
	got, err := claim.Verify(ref.Runner, uid)
	if err != nil || !reflect.DeepEqual(got, ref) {
		t.Errorf("got %+v, %v, want %+v", got, err, ref)
	}
	other := tenure.Identity{Pid: os.Getppid(), Started: 1}
	if _, err := claim.Verify(other, uid); err == nil || !strings.Contains(err.Error(), "needs an agent there, or the host's pid namespace") {
		t.Errorf("another process was believed: %v", err)
	}
	if _, err := claim.Verify(tenure.Identity{Pid: ref.Runner.Pid, Started: 1}, uid); err == nil {
		t.Error("a process that has the number of a dead runner was believed")
	}
	above := filepath.Dir(ref.Cgroup)
	for _, dir := range []string{"/sys/fs/cgroup", ref.Cgroup + "/..", ref.Cgroup + "x", above, above + "/regent-../x", ref.Cgroup + "/regent-x"} {
		claim := ref.Claim()
		claim.Cgroup = dir
		if got, err := claim.Verify(ref.Runner, uid); err == nil {
			t.Errorf("the cgroup %s was believed: %+v", dir, got)
		}
	}
}

// The mark is secret, and the cgroup's name is not.
func TestTheNameOfTheCgroupSaysNothingOfTheMark(t *testing.T) {
	n, err := ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := n.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Forget()
	ref := plan.Ref()
	name := strings.TrimPrefix(filepath.Base(ref.Cgroup), cgroupPrefix)
	if len(ref.Mark) < 2*markBytes || len(name) < 2*nameBytes || strings.Contains(ref.Mark, name[:8]) {
		t.Errorf("mark %s, cgroup %s", ref.Mark, name)
	}
}
