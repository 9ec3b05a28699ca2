package process

import (
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/page/shared"
	"golang.org/x/sys/unix"
)

// The process is not waited for: the kernel still has its threads.
func TestScannerTellsTheDeadFromTheLiving(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = c.Wait() }()
	s := newScanner(c.Process.Pid)
	if s == nil {
		t.Fatal("there is no /proc")
	}
	defer unix.Close(s.tasks)
	if s.dead() {
		t.Error("a process that runs is dead")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, c.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if !s.dead() {
		t.Error("a zombie lives")
	}
}

// A C program that has Go in a library would be started once more, and run.
func TestProgramsThatDoNotStartInGoHaveNoGuardian(t *testing.T) {
	for mode, want := range map[string]bool{"exe": true, "pie": true, "c-shared": false, "c-archive": false, "plugin": false} {
		if got := startsAsGo(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "-buildmode", Value: mode}}}); got != want {
			t.Errorf("%s: %v", mode, got)
		}
	}
	if !startsAsGo(&debug.BuildInfo{}) {
		t.Error("a program without a build mode has none")
	}
}

// Who starts a program chooses its argument zero. It must start no guardian with rights that he does not have, nor keep a program from running that has the name.
func TestOnlyTheMemberStartsAGuardian(t *testing.T) {
	for _, args := range [][]string{{Marker, ordinaryArg}, {Marker, realtimeArg}} {
		if !summoned(args) {
			t.Errorf("%q is no guardian", args)
		}
	}
	for _, args := range [][]string{{}, {Marker}, {Marker, "run"}, {Marker, ordinaryArg, "more"}, {"/usr/bin/" + Marker, ordinaryArg}} {
		if summoned(args) {
			t.Errorf("%q is a guardian", args)
		}
	}
	if borrowed(5, 5, 6, 6) || !borrowed(5, 0, 6, 6) || !borrowed(5, 5, 6, 0) || !borrowed(0, 5, 0, 0) {
		t.Error("rights of another user are not seen")
	}
}

func TestDeathOfAThreadWakes(t *testing.T) {
	m, err := shared.New(guardian.Size(0))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	w := wakeOf(m)
	armed, die := make(chan struct{}), make(chan struct{})
	var hold func()
	hold = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			go hold() // the first thread never ends, and is nobody else's from now on
			return
		}
		w.arm()
		close(armed)
		<-die
	}
	go hold()
	<-armed
	seen := w.state()
	close(die)
	for w.state() == seen { // a signal ends a wait early
		w.wait(seen)
	}
}
