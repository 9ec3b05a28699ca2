package tree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// The test binary is also the runner and the program that it runs.
func TestMain(m *testing.M) {
	switch os.Getenv("REGENT_TEST_AS") {
	case "runner":
		os.Exit(runner(os.Getenv("REGENT_TEST_CGROUP") != ""))
	case "daemon":
		// A daemon that covers its tracks: a session of its own, an empty environment, and no parent.
		c := exec.Command("/bin/sleep", "1000")
		c.Env, c.SysProcAttr = []string{}, &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Println(c.Process.Pid)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runner runs a shell that starts three processes, one of which is a daemon and one an orphan, and says who they are:
// first the mark and the cgroup, then the pids. It ends with its input, after the tree.
func runner(cgroup bool) int {
	n, err := ProcessReaper()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	t, _, err := n.Prepare()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if !cgroup && t.Cgroup != "" {
		t.clear()
		t.Cgroup = ""
	}
	fmt.Println(t.Mark)
	fmt.Println(t.Cgroup)
	self, _ := os.Executable()
	script := `sleep 1000 & echo $!; (setsid nohup sleep 1000 2>/dev/null & echo $!); REGENT_TEST_AS=daemon "$0"; echo $$; wait`
	env := append(os.Environ(), "REGENT_TEST_AS=")
	if err := t.Start(Options{Path: "/bin/sh", Args: []string{"sh", "-c", script, self}, Env: env, Files: []*os.File{nil, os.Stdout, os.Stderr}}); err != nil {
		fmt.Println(err)
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := t.End(context.Background()); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// family is a runner and the tree that it started.
type family struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ref   Ref
	pids  []int
}

// startFamily starts a runner and waits until its tree is complete.
func startFamily(t *testing.T, cgroup bool) *family {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &family{cmd: exec.Command(self)}
	f.cmd.Env = append(os.Environ(), "REGENT_TEST_AS=runner", "GORACE=atexit_sleep_ms=0")
	if cgroup {
		f.cmd.Env = append(f.cmd.Env, "REGENT_TEST_CGROUP=1")
	}
	in, err := f.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.stdin = in
	lines := bufio.NewScanner(out)
	next := func() string {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the runner said no more: %v", lines.Err())
		}
		return lines.Text()
	}
	f.ref = Ref{Mark: next(), Cgroup: next(), Runner: f.cmd.Process.Pid}
	s, err := readStat(f.ref.Runner)
	if err != nil {
		t.Fatal(err)
	}
	f.ref.RunnerStarted = s.started
	for range 4 {
		pid, err := strconv.Atoi(next())
		if err != nil {
			t.Fatal(err)
		}
		f.pids = append(f.pids, pid)
	}
	t.Cleanup(func() {
		_ = f.cmd.Process.Kill()
		_ = f.cmd.Wait()
		_ = f.ref.End(context.Background())
		for _, pid := range f.pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return f
}

// alive returns those of the family's tree that live.
func (f *family) alive() []int {
	var out []int
	for _, pid := range f.pids {
		if s, err := readStat(pid); err == nil && !s.dead {
			out = append(out, pid)
		}
	}
	return out
}

func (f *family) mustBeComplete(t *testing.T) {
	t.Helper()
	got, err := f.ref.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range f.pids {
		found := false
		for _, p := range got {
			found = found || p.Pid == pid
		}
		if !found {
			t.Errorf("process %d was not found to be of the tree: %v", pid, got)
		}
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// variants runs a test with a cgroup and without.
func variants(t *testing.T, f func(*testing.T, *family)) {
	for _, cgroup := range []bool{true, false} {
		t.Run(fmt.Sprintf("cgroup=%v", cgroup), func(t *testing.T) { f(t, startFamily(t, cgroup)) })
	}
}

func TestTheRunnerEndsItsWholeTree(t *testing.T) {
	variants(t, func(t *testing.T, f *family) {
		f.mustBeComplete(t)
		f.stdin.Close()
		if err := f.cmd.Wait(); err != nil {
			t.Fatalf("the runner: %v", err)
		}
		if left := f.alive(); len(left) > 0 {
			t.Errorf("still alive: %v", left)
		}
		if f.ref.Cgroup != "" {
			if _, err := os.Stat(f.ref.Cgroup); err == nil {
				t.Errorf("the cgroup %s was left behind", f.ref.Cgroup)
			}
		}
	})
}

func TestAnotherEndsTheTreeOfARunnerThatIsStopped(t *testing.T) {
	variants(t, func(t *testing.T, f *family) {
		if err := f.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		f.mustBeComplete(t)
		if err := f.ref.MayKill(); err != nil {
			t.Error(err)
		}
		if err := f.ref.End(within(t)); err != nil {
			t.Fatal(err)
		}
		if left := f.alive(); len(left) > 0 {
			t.Errorf("still alive: %v", left)
		}
		if s, err := readStat(f.ref.Runner); err != nil || s.dead {
			t.Errorf("the runner was killed with its tree: %+v, %v", s, err)
		}
	})
}

// The shell dies with its runner. What it started is found by cgroup, or by mark where there is none; only the daemon
// that covered its tracks needs the cgroup.
func TestAnotherEndsTheTreeOfARunnerThatDied(t *testing.T) {
	variants(t, func(t *testing.T, f *family) {
		if err := f.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = f.cmd.Wait()
		if err := f.ref.End(within(t)); err != nil {
			t.Fatal(err)
		}
		left := f.alive()
		if f.ref.Cgroup == "" && len(left) == 1 && left[0] == f.pids[2] {
			return
		}
		if len(left) > 0 {
			t.Errorf("still alive: %v of %v", left, f.pids)
		}
	})
}

func TestEndSaysWhoIsLeft(t *testing.T) {
	f := startFamily(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := f.ref.End(ctx)
	if err == nil || !strings.Contains(err.Error(), "still there: ") || !strings.Contains(err.Error(), strconv.Itoa(f.pids[3])) {
		t.Errorf("error %v, want to hear of %d", err, f.pids[3])
	}
}

func TestMayKillMissesTheRunner(t *testing.T) {
	r := Ref{Mark: "x", Runner: os.Getpid(), RunnerStarted: 1}
	if err := r.MayKill(); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("error %v", err)
	}
}

// Orphans that a runner adopts do not stay behind as zombies, while the first process is left for whoever waits for it.
func TestTheReaperTakesNoteOfAdoptedDeaths(t *testing.T) {
	n, err := ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		tree, _, err := n.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		err = tree.Start(Options{Path: "/bin/sh", Args: []string{"sh", "-c", "(true & echo $!); exit 7"}, Env: os.Environ(), Files: []*os.File{nil, in, os.Stderr}})
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		said, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		<-tree.Exited()
		if got := tree.Status(); got != 7 {
			t.Errorf("status %d, want 7", got)
		}
		orphan, err := strconv.Atoi(strings.TrimSpace(string(said)))
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.End(within(t)); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, fmt.Sprintf("the orphan %d is gone", orphan), func() bool {
			_, err := readStat(orphan)
			return err != nil
		})
	}
}

func TestForwardReachesTheGroup(t *testing.T) {
	n, err := ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1} {
		tree, _, err := n.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.Start(Options{Path: "/bin/sleep", Args: []string{"sleep", "1000"}, Env: os.Environ(), Files: []*os.File{nil, nil, nil}}); err != nil {
			t.Fatal(err)
		}
		if err := tree.Forward(sig); err != nil {
			t.Fatal(err)
		}
		<-tree.Exited()
		if got, want := tree.Status(), 128+int(sig); got != want {
			t.Errorf("status %d, want %d", got, want)
		}
		if err := tree.End(within(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestAProgramThatCannotBeStartedLeavesNothing(t *testing.T) {
	n, err := ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	tree, _, err := n.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	err = tree.Start(Options{Path: "/nowhere/nothing", Args: []string{"nothing"}, Files: []*os.File{nil, nil, nil}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(tree.Cgroup); err == nil {
		t.Errorf("the cgroup %s was left behind", tree.Cgroup)
	}
}

// An orphan that has left the session is still seen; and once it is dead nobody has to be looked for.
func TestARunnerSeesAtAGlanceThatNobodyIsLeft(t *testing.T) {
	n, err := ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	for _, cgroup := range []bool{true, false} {
		plan, noCgroup, err := n.Prepare()
		if err != nil || noCgroup != nil {
			t.Fatal(err, noCgroup)
		}
		if !cgroup {
			plan.clear()
			plan.Cgroup = ""
		}
		options := Options{Path: "/bin/sh", Args: []string{"sh", "-c", "setsid sleep 1000 & exit 0"}, Env: []string{}, Files: []*os.File{nil, nil, nil}}
		if err := plan.Start(options); err != nil {
			t.Fatal(err)
		}
		<-plan.Exited()
		if plan.gone() {
			t.Errorf("cgroup %v: gone, although an orphan lives", cgroup)
		}
		if err := plan.End(within(t)); err != nil {
			t.Fatal(err)
		}
		other := Ref{Mark: plan.Mark, Runner: os.Getppid()}
		cluster.Eventually(t, "the kernel reports the death", childless)
		plan.Cgroup = "" // it was removed
		if !plan.gone() {
			t.Errorf("cgroup %v: not gone, although it has ended", cgroup)
		}
		if other.gone() {
			t.Error("somebody else's tree is gone because this process has no children")
		}
	}
}

func TestACgroupIsEmptyOnlyIfTheKernelSaysSo(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]bool{"": false, "populated 1\nfrozen 0\n": false, "populated 0\nfrozen 0\n": true, "frozen 0\npopulated 0\n": true} {
		if err := os.WriteFile(dir+"/cgroup.events", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cgroupEmpty(dir); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if cgroupEmpty(dir + "/none") {
		t.Error("a cgroup that cannot be read is empty")
	}
}

// BenchmarkEnd is what an orderly stop costs beside the program's own: to see that nobody is left, by the runner and by
// another process, which has to walk through /proc.
func BenchmarkEnd(b *testing.B) {
	n, err := ProcessReaper()
	if err != nil {
		b.Fatal(err)
	}
	plan, _, err := n.Prepare()
	if err != nil {
		b.Fatal(err)
	}
	plan.clear()
	plan.Cgroup = ""
	b.Run("runner", func(b *testing.B) {
		for b.Loop() {
			if err := plan.End(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			if left, err := plan.Processes(); err != nil || len(left) > 0 {
				b.Fatal(left, err)
			}
		}
	})
}
