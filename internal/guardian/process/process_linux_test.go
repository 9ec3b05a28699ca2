package process

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"golang.org/x/sys/unix"
)

// memberVar makes this program a member with a guardian: its value is the address of the voter.
const memberVar = "REGENT_TEST_GUARDED"

var letter = obituary.Letter{Head: [obituary.HeadSize]byte{5}, Key: [obituary.KeySize]byte{6}}

func TestMain(m *testing.M) {
	if addr := os.Getenv(memberVar); addr != "" {
		if err := member(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// member takes orders, one in each line, and answers each with a line.
func member(addr string) error {
	g, err := Start(4, false)
	if err != nil {
		return err
	}
	g.Page().SetMode(guardian.WithinProcess)
	g.Page().Number(2, 9)
	if err := g.Tell([]Voter{{Rank: 2, Addrs: []netip.AddrPort{netip.MustParseAddrPort(addr)}, Letter: letter}}); err != nil {
		return err
	}
	fmt.Println(g.Pid())
	var ballast []byte
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "keep":
			g.Page().Keep(protocol.Group(words[1]))
		case "entrust":
			if err := entrust(g, words[1:]); err != nil {
				return err
			}
		case "prove":
			d, _ := time.ParseDuration(words[1])
			lease, err := clock.System()
			if err != nil {
				return err
			}
			if err := g.Prove(lease, lease.Now().Add(d)); err != nil {
				return err
			}
		case "grow":
			ballast = make([]byte, 1<<28)
			for i := 0; i < len(ballast); i += 4096 {
				ballast[i] = 1
			}
		case "become": // another program, in the same process
			return syscall.Exec("/bin/cat", []string{"cat"}, nil)
		case "close":
			if err := errors.Join(g.Close(), g.Err()); err != nil { // a guardian that does not end by itself is killed
				return err
			}
		}
		fmt.Println("done", len(ballast))
	}
	return nil
}

// entrust hands over a program: its group, the process of its runner, and a file that stands for its cgroup.events.
func entrust(g *Guardian, words []string) error {
	pid, _ := strconv.Atoi(words[1])
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	runner := os.NewFile(uintptr(fd), "runner")
	cgroup, err := os.Open(words[2])
	if err != nil {
		return err
	}
	return errors.Join(g.Entrust(g.Page().Keep(protocol.Group(words[0])), runner, cgroup), runner.Close(), cgroup.Close())
}

// A guarded is a member in a process of its own, with the voter that its guardian reports to.
type guarded struct {
	*testing.T
	cmd      *exec.Cmd
	in       interface{ Write([]byte) (int, error) }
	out      *bufio.Reader
	voter    *net.UDPConn
	guardian int
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	voter, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = voter.Close() })
	g := &guarded{T: t, voter: voter}
	g.cmd = exec.Command(os.Args[0])
	g.cmd.Env = append(os.Environ(), memberVar+"="+voter.LocalAddr().String())
	g.cmd.Stderr = os.Stderr
	in, err := g.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	g.in, g.out = in, bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.cmd.Process.Kill(); _ = g.cmd.Wait() })
	line, err := g.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	g.guardian, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *guarded) order(words ...string) {
	g.Helper()
	if _, err := fmt.Fprintln(g.in, strings.Join(words, " ")); err != nil {
		g.Fatal(err)
	}
	if _, err := g.out.ReadString('\n'); err != nil {
		g.Fatal(err)
	}
}

func (g *guarded) kill() time.Time {
	g.Helper()
	begin := time.Now()
	if err := g.cmd.Process.Kill(); err != nil {
		g.Fatal(err)
	}
	return begin
}

// await returns the next report, and false if the guardian has ended without one.
func (g *guarded) await() (obituary.Report, bool) {
	g.Helper()
	ended := false // before the read
	for deadline, buf := time.Now().Add(20*time.Second), make([]byte, 1<<16); time.Now().Before(deadline); {
		_ = g.voter.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		n, _, err := g.voter.ReadFrom(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if ended {
				return obituary.Report{}, false
			}
			ended = !alive(g.guardian)
			continue
		}
		if err != nil {
			g.Fatal(err)
		}
		r, err := obituary.Open(&letter.Key, buf[:n])
		if err != nil {
			g.Fatal(err)
		}
		return r, true
	}
	g.Fatal("the guardian neither reports nor ends")
	return obituary.Report{}, false
}

// alive says whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return !strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

func (g *guarded) awaitEnd() {
	g.Helper()
	for deadline := time.Now().Add(20 * time.Second); alive(g.guardian); {
		if time.Now().After(deadline) {
			g.Fatal("the guardian does not end")
		}
		time.Sleep(time.Millisecond) // wall clock: a process ends
	}
}

func TestKilledMemberIsReportedTenTimesAndItsGuardianEnds(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	begin := g.kill()
	r, ok := g.await()
	if !ok || r.First != "" || r.Last != "" || len(r.Kept) > 0 {
		t.Fatalf("got %+v, %t", r, ok)
	}
	t.Logf("the first report after %v", time.Since(begin))
	n := 1
	for ; ok; n++ {
		_, ok = g.await()
		if !ok {
			break
		}
	}
	if n != 10 {
		t.Errorf("%d reports", n)
	}
	g.awaitEnd()
}

// The pidfd comes only when the kernel has freed the memory. The report does not wait for that.
func TestLargeMemberIsReportedBeforeItsMemoryIsFree(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.order("grow")
	begin := g.kill()
	if _, ok := g.await(); !ok {
		t.Fatal("no report")
	}
	reported := time.Since(begin)
	_ = g.cmd.Wait()
	t.Logf("256 MB: the first report after %v, the process is gone after %v", reported, time.Since(begin))
	g.awaitEnd()
}

func TestKeptGroupsAreInTheReport(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.order("keep", "billing")
	g.kill()
	if r, ok := g.await(); !ok || !slices.Equal(r.Kept, []protocol.Group{"billing"}) || r.Covers("billing") || !r.Covers("other") {
		t.Fatalf("got %+v, %t", r, ok)
	}
}

// program is a runner, and a file that stands for the cgroup.events of what it has started.
func program(t *testing.T) (runner *exec.Cmd, events string) {
	t.Helper()
	runner = exec.Command("sleep", "1000")
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runner.Process.Kill(); _ = runner.Wait() })
	events = filepath.Join(t.TempDir(), "cgroup.events")
	populate(t, events, "1")
	return runner, events
}

func populate(t *testing.T, events, value string) {
	t.Helper()
	if err := os.WriteFile(events, []byte("populated "+value+"\nfrozen 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// awaitRelease returns the first report that releases a group, and false if the guardian ends without one.
func (g *guarded) awaitRelease(group protocol.Group) (obituary.Report, bool) {
	g.Helper()
	for {
		r, ok := g.await()
		if !ok || r.Covers(group) {
			return r, ok
		}
	}
}

func TestGroupOfAProgramThatDiesWithTheMemberIsReleased(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	runner, events := program(t)
	g.order("keep", "session")
	g.order("entrust", "billing", strconv.Itoa(runner.Process.Pid), events)
	g.kill()
	if r, ok := g.await(); !ok || !slices.Equal(r.Kept, []protocol.Group{"billing", "session"}) {
		t.Fatalf("while the program lives: %+v, %t", r, ok)
	}
	populate(t, events, "0")
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = runner.Wait() // its number is free
	if r, ok := g.awaitRelease("billing"); !ok || !slices.Equal(r.Kept, []protocol.Group{"session"}) {
		t.Fatalf("once it is gone: %+v, %t", r, ok)
	}
	g.awaitEnd()
}

func TestGroupIsKeptWhileTheRunnerLivesOrItsCgroupIsOccupied(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	lives, empty := program(t)
	populate(t, empty, "0")
	dead, occupied := program(t)
	g.order("entrust", "living", strconv.Itoa(lives.Process.Pid), empty)
	g.order("entrust", "occupied", strconv.Itoa(dead.Process.Pid), occupied)
	if err := dead.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	g.kill()
	for reports := 0; ; reports++ {
		r, ok := g.await()
		if !ok {
			if reports == 0 {
				t.Error("no report: the test shows nothing")
			}
			break
		}
		if !slices.Equal(r.Kept, []protocol.Group{"living", "occupied"}) {
			t.Fatalf("got %+v", r)
		}
	}
}

func TestKeepingMoreGroupsThanThePageListsReportsNothing(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	for _, group := range []string{"a", "b", "c", "d", "e"} {
		g.order("keep", group)
	}
	g.kill()
	if r, ok := g.await(); ok {
		t.Fatalf("got %+v", r)
	}
}

func TestReportWaitsForAProof(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	const proof = 500 * time.Millisecond
	before := time.Now()
	g.order("prove", proof.String())
	g.kill()
	if _, ok := g.await(); !ok {
		t.Fatal("no report")
	}
	if took := time.Since(before); took < proof {
		t.Errorf("reported %v after the proof, which is believed for %v", took, proof)
	}
}

func TestMemberThatClosesIsNotReported(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	g.order("close")
	if alive(g.guardian) {
		t.Error("the guardian is still there")
	}
	g.kill()
	if r, ok := g.await(); ok {
		t.Fatalf("got %+v", r)
	}
}

// A program that starts anew in its own process leaves no guardians behind.
func TestMemberThatBecomesAnotherProgramIsNotReported(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	if _, err := fmt.Fprintln(g.in, "become"); err != nil {
		t.Fatal(err)
	}
	if r, ok := g.await(); ok {
		t.Fatalf("got %+v", r)
	}
	if !alive(g.cmd.Process.Pid) {
		t.Fatal("the process has ended: the test shows nothing")
	}
}

func TestKilledGuardianReportsNothing(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	if err := syscall.Kill(g.guardian, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.awaitEnd()
	g.kill()
	if r, ok := g.await(); ok {
		t.Fatalf("got %+v", r)
	}
}

// A member that is stopped is not dead, and one whose threads come and go is not either.
func TestStoppedMemberIsNotReported(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	if err := g.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = g.voter.SetReadDeadline(time.Now().Add(300 * time.Millisecond)) // wall clock: nothing comes from a process
	if n, _, err := g.voter.ReadFrom(make([]byte, 1<<12)); err == nil {
		t.Errorf("a report of %d bytes", n)
	}
	if !alive(g.guardian) {
		t.Error("the guardian has ended")
	}
	if err := g.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	g.order("close")
}

// hasNobody says whether the user namespace has the user that guardians become.
func hasNobody(t *testing.T) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var first, outside, count int
		if _, err := fmt.Sscan(line, &first, &outside, &count); err == nil && first <= nobody && nobody-first < count {
			return true
		}
	}
	return false
}

func TestGuardianIsSmallAndHoldsNothingOfItsMember(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	_ = syscall.Kill(g.guardian, syscall.SIGTERM)
	dir := fmt.Sprintf("/proc/%d", g.guardian)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && slices.Contains([]string{"VmRSS:", "RssAnon:", "Threads:", "Uid:"}, f[0]) {
			t.Log(strings.TrimSpace(line))
			if kb, _ := strconv.Atoi(f[1]); f[0] == "RssAnon:" && kb > 16<<10 { // the race detector takes 13 MB of it
				t.Errorf("%d kB of memory of its own", kb)
			}
			if f[0] == "Uid:" && f[1] == "0" && hasNobody(t) {
				t.Error("it runs as root")
			}
		}
	}
	if comm, err := os.ReadFile(filepath.Join(dir, "comm")); err != nil || string(comm) != Marker+"\n" {
		t.Errorf("ps shows it as %q, %v", comm, err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		t.Logf("descriptors: %v", err) // they belong to root
	}
	for _, e := range entries {
		to, _ := os.Readlink(filepath.Join(dir, "fd", e.Name()))
		t.Log(e.Name(), to)
	}
	if to, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil && to != "/" {
		t.Errorf("it runs in %s", to)
	}
	if sid, err := syscall.Getpgid(g.guardian); err != nil || sid != g.guardian {
		t.Errorf("process group %d, %v", sid, err)
	}
	g.order("close")
	g.awaitEnd()
}
