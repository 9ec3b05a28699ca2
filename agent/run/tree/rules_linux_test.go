package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/runtime/thread"
	"github.com/regentproject/regent/internal/tenure"
)

// The users of tests that need two.
const (
	nobody = 65534
	other  = 1234
)

// lookAs has another process of a user look for a tree, and returns what it prints.
func lookAs(t *testing.T, r *Ref, uid uint32) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("/proc/self/exe")
	c.Dir, c.Env, c.Stdin = "/", []string{"REGENT_TEST_AS=search"}, bytes.NewReader(b)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	n := mustReap(t)
	if err := n.Start(c); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	_, _ = text.ReadFrom(out)
	if err := n.Wait(c); err != nil {
		t.Fatal(err, text.String())
	}
	return text.String()
}

// searcher looks for a tree that it reads of, and prints the verdict and what is left.
func searcher() {
	var r Ref
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	found := r.End(ctx)
	kind, ok := found.Verdict()
	fmt.Println(kind, ok, found.String())
	os.Exit(0)
}

func mustReap(t *testing.T) *Reaper {
	t.Helper()
	n, err := ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// sleeper starts a process of a user with an environment, and returns it.
func sleeper(t *testing.T, uid uint32, env ...string) tenure.Identity {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root, to be others")
	}
	n, c := mustReap(t), exec.Command("/bin/sleep", "1000")
	c.Dir, c.Env = "/", append([]string{}, env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := n.Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = n.Wait(c) })
	s, err := readStat(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return s.identity()
}

// On a host without cgroups that is short of CPU the walk takes seconds: what is known is dead before it begins.
func TestWhoIsKnownIsKilledBeforeTheWalk(t *testing.T) {
	f := startFamily(t, false)
	if err := f.ref.Learn(f.pids[3]); err != nil {
		t.Fatal(err)
	}
	looked := false
	w := &walk{strike: true}
	w.cpu = func() time.Duration { w.cpu = threadTime; return -time.Hour } // the first turn is over at once
	w.pause = func(time.Duration) {
		looked = true
		for _, pid := range []int{f.pids[3], f.pids[0]} { // the shell, and what is in its process group
			cluster.Eventually(t, fmt.Sprintf("process %d is dead while the walk begins", pid), func() bool {
				s, err := readStat(pid)
				return err != nil || s.dead
			})
		}
	}
	end(within(t), f.ref.killerBy(w))
	if !looked {
		t.Error("the walk made no pause")
	}
}

// Between fork and exec a lost hook has the environment of its runner: others must not take it for a part of the tree, nor take the tree
// for gone before they know what it becomes.
func TestChildOfTheRunnerThatHasNotCalledExecIsUndecided(t *testing.T) {
	own, err := readStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	for pid == 0 { // the child
		unix.RawSyscall(unix.SYS_PPOLL, 0, 0, 0)
	}
	defer func() {
		_ = unix.Kill(int(pid), unix.SIGKILL)
		_, _ = unix.Wait4(int(pid), nil, 0, nil)
	}()
	execed := exec.Command("sleep", "1000")
	if err := execed.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = execed.Process.Kill(); _ = execed.Wait() }()
	r := Ref{Ref: tenure.Ref{Runner: own.identity(), UID: os.Getuid()}}
	found := r.Look()
	left := func(pid int) bool {
		return slices.ContainsFunc(found.Left, func(p Process) bool { return p.Pid == pid })
	}
	if left(int(pid)) || !found.forking {
		t.Errorf("process %d has not called exec and is taken for a part of the tree: %v", pid, &found)
	}
	if !left(execed.Process.Pid) {
		t.Errorf("process %d has called exec and is not taken for a part of the tree: %v", execed.Process.Pid, &found)
	}
	found.Left, found.Search = nil, tenure.Search{Adopter: true}
	if verdict, ok := found.Verdict(); ok {
		t.Errorf("the tree is %v before it is known what a child becomes", verdict)
	}
}

// A process without arguments may be within exec, and is undecided. One that bears the mark is a program, and is killed at once.
func TestMarkedProcessWithoutArgumentsIsPartOfTheTree(t *testing.T) {
	const mark = "a secret"
	own, err := readStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	r := Ref{Ref: tenure.Ref{Runner: own.identity(), UID: os.Geteuid()}, Mark: mark}
	for env, want := range map[string]bool{Mark + "=" + mark: true, "NONE=": false} {
		id := sleeper(t, uint32(os.Geteuid()), env)
		cluster.Eventually(t, "it has called exec", func() bool {
			b, err := readProc(id.Pid, "environ")
			return err == nil && strings.Contains(string(b), env)
		})
		id.Started = now() // as if it were born now: an exec takes less than a second
		s := stat{pid: id.Pid, parent: own.pid, started: id.Started}
		w := &walk{arguments: func(int) ([]byte, error) { return nil, nil }}
		w.begin()
		var found Result
		rows, _ := r.rows(w, []stat{s}, nil, &found)
		if got := len(rows) == 1; got != want || found.forking == want {
			t.Errorf("%s: part of the tree %v, undecided %v", env, got, found.forking)
		}
	}
}

func TestTheWalkLetsOthersRun(t *testing.T) {
	pauses, spent := 0, time.Duration(0)
	w := &walk{cpu: func() time.Duration { spent += time.Millisecond; return spent }, pause: func(time.Duration) { pauses++ }}
	r := Ref{Ref: tenure.Ref{Runner: tenure.Identity{Pid: os.Getpid(), Started: now() + 1}}}
	r.search(w)
	if steps := int(spent / time.Millisecond); pauses < steps/7 || pauses > steps/4 {
		t.Errorf("%d pauses in %d ms of CPU, want one after 5 ms", pauses, steps)
	}
}

// A session that has ended leaves its number to others. What was born into it while its leader was known to live belongs to the
// tree; of later ones that is not known.
func TestASessionCountsAsFarAsItsLeaderWasSeen(t *testing.T) {
	id := sleeper(t, uint32(os.Geteuid()))
	r := Ref{Ref: tenure.Ref{Runner: tenure.Identity{Started: id.Started}, First: tenure.Identity{Pid: id.Pid, Started: id.Started - 1}, UID: os.Geteuid()}}
	for seen, want := range map[uint64]bool{id.Started - 1: false, id.Started: true} {
		r.Seen = seen
		found := r.Look()
		if got := len(found.Left) == 1 && found.Left[0].Identity == id; got != want {
			t.Errorf("seen until %d, started at %d: found %v, want %v", seen, id.Started, &found, want)
		}
	}
	r.First = id
	r.Seen = 0
	cluster.Eventually(t, "the first process was seen later than it started", func() bool { r.See(); return r.Seen >= id.Started })
	r.First.Started--
	r.Seen = 0
	if r.See(); r.Seen != 0 {
		t.Error("another process with the number of the first was taken for it")
	}
}

// Outside the cgroup only what the runner's user may signal is killed. The rest is named, and may still act.
func TestProcessesOfOtherUsersAreNamed(t *testing.T) {
	const mark = "a secret"
	r := Ref{Ref: tenure.Ref{Runner: sleeper(t, nobody, helper+"=1"), UID: nobody}, Mark: mark}
	foreign, mine := sleeper(t, other, Mark+"="+mark), sleeper(t, nobody, Mark+"="+mark)
	found := r.End(within(t))
	if kind, ok := found.Verdict(); !ok || kind != tenure.TreeUnknown {
		t.Errorf("verdict %v, %v", kind, ok)
	}
	if text := fmt.Sprintf("%d (sleep, user %d)", foreign.Pid, other); !strings.Contains(found.String(), text) {
		t.Errorf("found %v, want %s", &found, text)
	}
	if !alive(foreign) || alive(mine) {
		t.Errorf("alive: that of another user %v, that of the runner's %v", alive(foreign), alive(mine))
	}
	r.UID = 0 // a runner of root may signal all
	if found := r.End(within(t)); alive(foreign) {
		t.Errorf("a runner of root has not killed it: %v", &found)
	}
}

// A process that may not look does not take what it cannot see for gone.
func TestWhatCannotBeReadIsUnknown(t *testing.T) {
	r := Ref{Ref: tenure.Ref{Runner: sleeper(t, other), UID: other}, Mark: "a secret"}
	if got := lookAs(t, &r, other); !strings.HasPrefix(got, "TreeGone true") {
		t.Fatalf("the runner's user finds %s", got)
	}
	if got := lookAs(t, &r, nobody); !strings.HasPrefix(got, "TreeUnknown true some processes cannot be seen") {
		t.Errorf("another user finds %s", got)
	}
}

// hide hides the processes of others, and becomes a runner without privileges.
func hide() {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("proc", "/proc", "proc", 0, "hidepid=2")
	}
	c := exec.Command("/proc/self/exe")
	c.Env, c.Stdout = append(os.Environ(), "REGENT_TEST_AS=hidden"), os.Stdout
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err == nil {
		err = c.Run()
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// hiddenRunner runs a program that starts a child of root, which it cannot see, and prints what it finds.
func hiddenRunner() int {
	n, err := ProcessReaper()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for hidden, program := range map[bool]string{false: "sleep", true: os.Getenv("REGENT_TEST_SETUID")} {
		command := "setsid " + program + " 1000 & exit 0"
		t, _, err := n.Prepare()
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if err := run(t, Options{Path: "/bin/sh", Args: []string{"sh", "-c", command}, Files: []*os.File{nil, nil, nil}}); err != nil {
			fmt.Println(err)
			return 1
		}
		<-t.Exited()
		if err := cluster.Wait(cluster.Patience, "the program of root runs", func() bool { return hidden == hidesChild() }); err != nil {
			fmt.Println(err)
		}
		found := t.End(context.Background())
		kind, ok := found.Verdict()
		fmt.Println("hidden", hidden, kind, ok, len(found.Foreign), blind())
		t.Forget()
		children, _ := childrenNow()
		for _, pid := range children {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := cluster.Wait(cluster.Patience, "they are dead", childless); err != nil {
			fmt.Println(err)
		}
	}
	return 0
}

// hidesChild says that this process has a child that it cannot see.
func hidesChild() bool {
	children, _ := childrenNow()
	return slices.ContainsFunc(children, func(pid int) bool { _, err := readStat(pid); return err != nil })
}

// Under hidepid a runner counts its children, which the kernel lists to it: those that it cannot see are of others.
func TestARunnerCountsChildrenThatItCannotSee(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("needs root, to hide processes")
	}
	dir, err := os.MkdirTemp("", "tree")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	b, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "sleep")
	if err := os.WriteFile(program, b, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	n, c := mustReap(t), exec.Command("/proc/self/exe")
	c.Dir, c.Env = "/", append(os.Environ(), "REGENT_TEST_AS=hide", "REGENT_TEST_SETUID="+program)
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(c); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	_, _ = text.ReadFrom(out)
	if err := n.Wait(c); err != nil {
		t.Fatal(err, text.String())
	}
	for _, want := range []string{"hidden false TreeGone true 0 true\n", "hidden true TreeUnknown true 1 true\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it found %q, want %q", text.String(), want)
		}
	}
}

func TestHidingMounts(t *testing.T) {
	const line = "24 1 0:22 / %s rw - proc proc rw%s\n"
	for _, c := range []struct {
		at, options string
		want        bool
	}{{"/proc", "", false}, {"/proc", ",hidepid=0", false}, {"/proc", ",hidepid=off", false}, {"/proc", ",gid=5,hidepid=2", true},
		{"/proc", ",hidepid=invisible", true}, {"/proc", ",hidepid=ptraceable", true}, {"/elsewhere", ",hidepid=2", false}} {
		if got := hidesProcesses(fmt.Sprintf(line, c.at, c.options)); got != c.want {
			t.Errorf("%s with %s: %v", c.at, c.options, got)
		}
	}
}

// prepared returns a tree that can be started, without a cgroup.
func prepared(t *testing.T) *Tree {
	t.Helper()
	plan, _, err := mustReap(t).Prepare()
	if err != nil {
		t.Fatal(err)
	}
	plan.Forget()
	plan.ref.Cgroup = ""
	return plan
}

// The first process waits until the gate opens. If it is closed instead, as by the death of the runner, nothing runs.
func TestNothingRunsBeforeTheGateOpens(t *testing.T) {
	for _, how := range []string{"exec", "abort", "runner dies"} {
		plan, file := prepared(t), filepath.Join(t.TempDir(), "ran")
		err := plan.Start(Options{Path: "/bin/sh", Args: []string{"sh", "-c", "echo $0 >" + file}, Env: os.Environ(), Files: []*os.File{nil, nil, nil}})
		if err != nil {
			t.Fatal(err)
		}
		first := plan.Ref().First
		cluster.Eventually(t, "it waits", func() bool {
			b, _ := readProc(first.Pid, "wchan")
			line, _ := readProc(first.Pid, "cmdline")
			return bytes.Contains(b, []byte("pipe")) && bytes.HasPrefix(line, []byte(gateName))
		})
		switch how {
		case "exec":
			err = plan.Exec()
		case "abort":
			plan.Abort()
		default:
			plan.gate.close() // as the kernel does
		}
		<-plan.Exited()
		if _, missing := os.Stat(file); err != nil || (missing == nil) != (how == "exec") {
			t.Errorf("%s: %v, the program's file: %v", how, err, missing)
		}
		if s, err := readStat(first.Pid); err == nil && s.started == first.Started {
			t.Errorf("%s: the first process is still there: %+v", how, s)
		}
	}
}

// policy returns how a process is scheduled.
func policy(t *testing.T, pid int) uint32 {
	t.Helper()
	attr, err := unix.SchedGetAttr(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return attr.Policy
}

// A killer runs before all ordinary threads. What it starts does not: the program, and helpers such as hooks and the keeper.
func TestWhatAnUrgentThreadStartsIsOrdinary(t *testing.T) {
	thread.Run(true, func() {
		if policy(t, 0) != unix.SCHED_FIFO {
			t.Fatal("this process may not have real-time scheduling")
		}
		plan := prepared(t)
		if err := run(plan, Options{Path: "/bin/sleep", Args: []string{"sleep", "1000"}, Files: []*os.File{nil, nil, nil}}); err != nil {
			t.Fatal(err)
		}
		if got := policy(t, plan.Ref().First.Pid); got != unix.SCHED_NORMAL {
			t.Errorf("the program has policy %d", got)
		}
		hook := exec.Command("/bin/sleep", "1000")
		hook.Env = Helper(nil)
		if err := plan.reaper.Start(hook); err != nil {
			t.Fatal(err)
		}
		if got := policy(t, hook.Process.Pid); got != unix.SCHED_NORMAL {
			t.Errorf("a helper has policy %d", got)
		}
		// A helper is no part of the tree, and does not keep its end from being seen at a glance.
		if found := plan.End(within(t)); !found.Gone() {
			t.Errorf("beside a helper: %v", &found)
		}
		ref := plan.Ref()
		cluster.Eventually(t, "the end is seen at a glance", func() bool { return plan.gone(&ref) })
		if s, err := readStat(hook.Process.Pid); err != nil || s.dead {
			t.Errorf("the helper was killed with the tree: %v", err)
		}
		_ = hook.Process.Kill()
		_ = plan.reaper.Wait(hook)
	})
}

// An agent learns of the first process by its number, and sees for itself that it is the runner's.
func TestOnlyAChildOfTheRunnerIsTheFirst(t *testing.T) {
	f := startFamily(t, false)
	for pid, want := range map[int]bool{f.pids[0]: false, f.pids[3]: true, os.Getpid(): false} { // a grandchild, the shell, a stranger
		r := f.ref
		if err := r.Learn(pid); (err == nil) != want {
			t.Errorf("process %d of %v: %v", pid, f.pids, err)
		}
	}
	r := f.ref
	r.Runner.Started--
	if err := r.Learn(f.pids[3]); err == nil {
		t.Error("the child of a process that has the runner's number was taken for the first")
	}
}

// A cgroup is believed to be made for a tree if it belongs to the runner's user and is empty.
func TestACgroupMustBeEmptyAndTheUsers(t *testing.T) {
	dir := t.TempDir()
	populated := func(n int) {
		if err := os.WriteFile(dir+"/cgroup.events", fmt.Appendf(nil, "populated %d\n", n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	populated(0)
	if err := cgroupOf(dir, os.Geteuid()); err != nil {
		t.Error(err)
	}
	if err := cgroupOf(dir, os.Geteuid()+1); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("that of another user: %v", err)
	}
	populated(1)
	if err := cgroupOf(dir, os.Geteuid()); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("one with processes in it: %v", err)
	}
}
