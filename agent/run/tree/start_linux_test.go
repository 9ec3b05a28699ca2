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
	"github.com/regentproject/regent/internal/tenure"
)

// The test binary is also the runner and the program that it runs.
func TestMain(m *testing.M) {
	switch os.Getenv("REGENT_TEST_AS") {
	case "runner":
		os.Exit(runner(os.Getenv("REGENT_TEST_CGROUP") != ""))
	case "search":
		searcher()
	case "hide":
		hide()
	case "hidden":
		os.Exit(hiddenRunner())
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
	if !cgroup && t.ref.Cgroup != "" {
		t.Forget()
		t.ref.Cgroup = ""
	}
	fmt.Println(t.ref.Mark)
	fmt.Println(t.ref.Cgroup)
	self, _ := os.Executable()
	script := `sleep 1000 & echo $!; (setsid nohup sleep 1000 2>/dev/null & echo $!); REGENT_TEST_AS=daemon "$0"; echo $$; wait`
	env := append(os.Environ(), "REGENT_TEST_AS=")
	if err := run(t, Options{Path: "/bin/sh", Args: []string{"sh", "-c", script, self}, Env: env, Files: []*os.File{nil, os.Stdout, os.Stderr}}); err != nil {
		fmt.Println(err)
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if found := t.End(context.Background()); !found.Gone() {
		fmt.Println(found)
		return 1
	}
	t.Forget()
	return 0
}

// run starts a program and lets it run.
func run(t *Tree, o Options) error {
	if err := t.Start(o); err != nil {
		return err
	}
	return t.Exec()
}

// family is a runner and the tree that it started.
type family struct {
	reaper *Reaper
	cmd    *exec.Cmd
	stdin  io.Closer
	ref    Ref
	pids   []int
}

// wait waits for the runner.
func (f *family) wait() error { return f.reaper.Wait(f.cmd) }

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
	// The reaper of this process would take the runner for adopted.
	f.reaper, err = ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.reaper.Start(f.cmd); err != nil {
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
	s, err := readStat(f.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	f.ref = Ref{Mark: next(), Cgroup: next(), Ref: tenure.Ref{Runner: s.identity(), UID: os.Geteuid()}}
	for range 4 {
		pid, err := strconv.Atoi(next())
		if err != nil {
			t.Fatal(err)
		}
		f.pids = append(f.pids, pid)
	}
	t.Cleanup(func() {
		_ = f.cmd.Process.Kill()
		_ = f.wait()
		f.ref.End(context.Background())
		f.ref.Forget()
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
	got := f.ref.Look()
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	for _, pid := range f.pids {
		found := false
		for _, p := range got.Left {
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
		if err := f.wait(); err != nil {
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
		if found := f.ref.End(within(t)); !found.Gone() {
			t.Fatal(found)
		}
		if left := f.alive(); len(left) > 0 {
			t.Errorf("still alive: %v", left)
		}
		if s, err := readStat(f.ref.Runner.Pid); err != nil || s.dead {
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
		_ = f.wait()
		found := f.ref.End(within(t))
		kind, ok := found.Verdict()
		if want := map[bool]tenure.Kind{true: tenure.TreeGone, false: tenure.TreeUnknown}[f.ref.Cgroup != ""]; !ok || kind != want {
			t.Errorf("%v, %v, want %v: %v", kind, ok, want, &found)
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
	found := f.ref.End(ctx)
	if _, ok := found.Verdict(); ok || !strings.Contains(found.String(), "still there: ") || !strings.Contains(found.String(), strconv.Itoa(f.pids[3])) {
		t.Errorf("found %v, want to hear of %d", &found, f.pids[3])
	}
}

func TestMayKillMissesTheRunner(t *testing.T) {
	r := Ref{Mark: "x", Ref: tenure.Ref{Runner: tenure.Identity{Pid: os.Getpid(), Started: 1}}}
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
		err = run(tree, Options{Path: "/bin/sh", Args: []string{"sh", "-c", "(true & echo $!); exit 7"}, Env: os.Environ(), Files: []*os.File{nil, in, os.Stderr}})
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
		if found := tree.End(within(t)); !found.Gone() {
			t.Fatal(&found)
		}
		tree.Forget()
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
		if err := run(tree, Options{Path: "/bin/sleep", Args: []string{"sleep", "1000"}, Env: os.Environ(), Files: []*os.File{nil, nil, nil}}); err != nil {
			t.Fatal(err)
		}
		if err := tree.Forward(sig); err != nil {
			t.Fatal(err)
		}
		<-tree.Exited()
		if got, want := tree.Status(), 128+int(sig); got != want {
			t.Errorf("status %d, want %d", got, want)
		}
		if found := tree.End(within(t)); !found.Gone() {
			t.Error(&found)
		}
		tree.Forget()
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
	err = run(tree, Options{Path: "/nowhere/nothing", Args: []string{"nothing"}, Files: []*os.File{nil, nil, nil}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	<-tree.Exited()
	if found := tree.End(within(t)); !found.Gone() {
		t.Error(&found)
	}
	tree.Forget()
	if _, err := os.Stat(tree.ref.Cgroup); err == nil {
		t.Errorf("the cgroup %s was left behind", tree.ref.Cgroup)
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
			plan.Forget()
			plan.ref.Cgroup = ""
		}
		options := Options{Path: "/bin/sh", Args: []string{"sh", "-c", "setsid sleep 1000 & exit 0"}, Env: []string{}, Files: []*os.File{nil, nil, nil}}
		if err := run(plan, options); err != nil {
			t.Fatal(err)
		}
		<-plan.Exited()
		ref := plan.Ref()
		if plan.gone(&ref) {
			t.Errorf("cgroup %v: gone, although an orphan lives", cgroup)
		}
		if found := plan.End(within(t)); !found.Gone() {
			t.Fatal(&found)
		}
		plan.Forget()
		cluster.Eventually(t, "nobody is left at a glance", func() bool { return plan.gone(&ref) })
	}
}

func TestACgroupIsEmptyOnlyIfTheKernelSaysSo(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]tenure.Cgroup{"": tenure.NoCgroup, "populated 1\nfrozen 0\n": tenure.Occupied,
		"populated 0\nfrozen 0\n": tenure.Empty, "frozen 0\npopulated 0\n": tenure.Empty} {
		if err := os.WriteFile(dir+"/cgroup.events", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cgroupState(dir); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got := cgroupState(dir + "/none"); got != tenure.NoCgroup {
		t.Errorf("a directory that is not there and whose parent is no cgroup: %v", got)
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
	plan.Forget()
	plan.ref.Cgroup = ""
	b.Run("runner", func(b *testing.B) {
		for b.Loop() {
			if found := plan.End(b.Context()); !found.Gone() {
				b.Fatal(&found)
			}
		}
	})
	b.Run("walk", func(b *testing.B) {
		for b.Loop() {
			if found := plan.ref.Look(); found.Err != nil || len(found.Left) > 0 {
				b.Fatal(&found)
			}
		}
	})
}
