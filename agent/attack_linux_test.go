package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/session"
	"golang.org/x/sys/unix"
)

// The users of the attacks.
const (
	attackerUID = 65534
	victimUID   = 1234
)

// connectOnly connects the socket that it inherited and waits until its input ends: the connection then belongs to this process,
// even if another one holds it.
func connectOnly() {
	if err := unix.Connect(3, &unix.SockaddrUnix{Name: os.Getenv(taskVar)}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// An attack is an unprivileged process that has connected to an agent of root, and the connection, which the test holds.
type attack struct {
	t     *testing.T
	agent *testAgent
	cmd   *exec.Cmd
	input io.Closer
	conn  net.Conn
	lines *bufio.Scanner
}

// begin lets an unprivileged process connect.
func begin(t *testing.T) *attack {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("needs root, to be others")
	}
	a := &attack{t: t, agent: open(t, 1, "").agents[0]}
	for dir := filepath.Dir(a.agent.socket); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		a.must(os.Chmod(dir, 0o755))
	}
	a.must(os.Chmod(a.agent.socket, 0o666))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	a.must(err)
	file := os.NewFile(uintptr(fd), "socket")
	defer file.Close()
	a.cmd = exec.Command("/proc/self/exe")
	a.cmd.Dir, a.cmd.ExtraFiles = "/", []*os.File{file}
	a.cmd.Env = []string{partVar + "=" + partConnect, taskVar + "=" + a.agent.socket}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: attackerUID, Gid: attackerUID}}
	out, err := a.cmd.StdoutPipe()
	a.must(err)
	a.input, err = a.cmd.StdinPipe()
	a.must(err)
	a.must(a.cmd.Start())
	t.Cleanup(a.die)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "connected\n" {
		t.Fatalf("the attacker prints %q, %v", line, err)
	}
	a.conn, err = net.FileConn(file)
	a.must(err)
	t.Cleanup(func() { _ = a.conn.Close() })
	a.lines = bufio.NewScanner(a.conn)
	return a
}

func (a *attack) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// die ends the attacking process. The connection remains.
func (a *attack) die() {
	_ = a.input.Close()
	_ = a.cmd.Wait()
}

// campaign campaigns with a claim and returns the error of the agent; none: it leads.
func (a *attack) campaign(claim tree.Claim) string {
	a.t.Helper()
	_ = a.conn.SetDeadline(time.Now().Add(cluster.Patience))
	_, err := fmt.Fprintf(a.conn, `{"do":"campaign","id":1,"group":"g","tree":{"mark":%q,"runner":%d,"cgroup":%q}}`+"\n", claim.Mark, claim.Runner, claim.Cgroup)
	a.must(err)
	for a.lines.Scan() {
		switch line := a.lines.Text(); {
		case strings.Contains(line, `"event":"`+session.Leads+`"`):
			return ""
		case strings.Contains(line, `"event":"`+session.Failed+`"`):
			return line
		}
	}
	a.t.Fatalf("the agent hung up: %v", a.lines.Err())
	return ""
}

// hangUp ends the connection and the attacker, and returns when the agent has ended all that it did for them: the group has another leader.
func (a *attack) hangUp() {
	a.t.Helper()
	_ = a.conn.Close()
	a.die()
	c, err := session.Dial(patience(a.t), a.agent.socket)
	a.must(err)
	defer c.Close()
	_, err = c.Campaign(patience(a.t), session.Candidate{Group: "g"})
	a.must(err)
}

// victim starts a process of another user that has the mark, and returns it.
func victim(t *testing.T, mark string, uid uint32) *exec.Cmd {
	t.Helper()
	c := exec.Command("/bin/sleep", "1000")
	c.Dir, c.Env = "/", []string{tree.Mark + "=" + mark}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// lives says whether a process is there and is no zombie.
func lives(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err == nil && rest != "" && rest[0] != 'Z'
}

// An unprivileged process that is older than its victim, and has learned the victim's mark, has nothing killed that it could not kill
// itself.
func TestAMarkReachesNoOtherUser(t *testing.T) {
	for _, uid := range []uint32{0, victimUID} {
		t.Run(fmt.Sprint("user ", uid), func(t *testing.T) {
			a := begin(t)
			const mark = "0123456789abcdef0123456789abcdef"
			time.Sleep(20 * time.Millisecond) // wall clock: start times have ticks of 10 ms
			v, own := victim(t, mark, uid), victim(t, mark, attackerUID)
			if why := a.campaign(tree.Claim{Mark: mark, Runner: a.cmd.Process.Pid}); why != "" {
				t.Fatalf("the attacker does not lead: %s", why)
			}
			a.hangUp()
			if !lives(v.Process.Pid) {
				t.Error("a process of another user was killed by its mark")
			}
			if lives(own.Process.Pid) {
				t.Error("a process of the same user was not killed: the test shows nothing")
			}
		})
	}
}

// Nor does it get at the cgroup of another user by its name, though the cgroup is empty when it asks.
func TestACgroupReachesNoOtherUser(t *testing.T) {
	if !inOwnNumbers(t) { // a reaper takes the deaths of all processes that it did not start: those of other tests are not its
		return
	}
	a := begin(t)
	reaper, err := tree.ProcessReaper()
	a.must(err)
	plan, noCgroup, err := reaper.Prepare()
	a.must(err)
	a.must(noCgroup)
	defer plan.Forget()
	ref := plan.Ref()
	a.must(os.Chown(ref.Cgroup, victimUID, victimUID))
	why := a.campaign(tree.Claim{Mark: "0123456789abcdef", Runner: a.cmd.Process.Pid, Cgroup: ref.Cgroup})
	v := victim(t, "another mark of its own", victimUID)
	a.must(os.WriteFile(filepath.Join(ref.Cgroup, "cgroup.procs"), []byte(strconv.Itoa(v.Process.Pid)), 0))
	a.hangUp()
	if !lives(v.Process.Pid) {
		t.Error("a process of another user was killed by the name of its cgroup")
	}
	if !strings.Contains(why, "belongs to user") {
		t.Errorf("the agent answered %q", why)
	}
	_ = v.Process.Kill()
	_ = v.Wait()
}

// inOwnNumbers plays the test once more in a pid namespace of its own, and says whether this is that run. Who sets the next number of
// all processes of the host lets numbers of the dead return there, and others signal by number.
func inOwnNumbers(t *testing.T) bool {
	t.Helper()
	const inside = "REGENT_TEST_OWN_NUMBERS"
	if os.Getenv(inside) != "" {
		if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("proc", "/proc", "proc", 0, "")); err != nil {
			t.Fatal(err)
		}
		return true
	}
	c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), inside+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// daemonWith starts a daemon of root that has the number, and returns the number of its child.
func daemonWith(t *testing.T, pid int) (child int) {
	t.Helper()
	for range 2000 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Fatal("cannot choose the number of a process:", err)
		}
		c := exec.Command("/bin/sh", "-c", "sleep 1000 & echo $!; wait")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		kill := func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL); _ = c.Wait() }
		if c.Process.Pid != pid {
			kill()
			continue
		}
		t.Cleanup(kill)
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		return child
	}
	t.Fatalf("no process got the number %d", pid)
	return 0
}

// A runner is the process that connected. One that has its number later, and what that one started, is left alone: whether the number
// changed hands before the claim or after it.
func TestARunnersNumberIsNotTheRunner(t *testing.T) {
	if !inOwnNumbers(t) {
		return
	}
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint("reused before the claim: ", before), func(t *testing.T) {
			a := begin(t)
			pid := a.cmd.Process.Pid
			claim := tree.Claim{Mark: "0123456789abcdef", Runner: pid}
			why := ""
			if !before {
				why = a.campaign(claim)
			}
			a.die()
			child := daemonWith(t, pid)
			if before {
				why = a.campaign(claim)
			}
			a.hangUp()
			if !lives(child) || !lives(pid) {
				t.Error("a daemon of root, or its child, was killed by the number of a dead runner")
			}
			if before != strings.Contains(why, "runner") {
				t.Errorf("the agent answered %q", why)
			}
		})
	}
}

// Where the kernel cannot open a pidfd of a connection's peer, the process with the number must have the user as well.
func TestAPeerByNumberMustHaveTheUser(t *testing.T) {
	v := victim(t, "a mark", victimUID)
	if fd, err := tree.OpenPeer(v.Process.Pid, attackerUID); err == nil {
		_ = unix.Close(fd)
		t.Error("a process of another user was taken for the peer")
	}
	fd, err := tree.OpenPeer(v.Process.Pid, victimUID)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	id, err := tree.Identify(fd)
	if err != nil || id.Pid != v.Process.Pid || id.Started == 0 {
		t.Errorf("it is %+v, %v", id, err)
	}
	_ = v.Process.Kill()
	_ = v.Wait()
	if id, err := tree.Identify(fd); err == nil {
		t.Errorf("a dead process is %+v", id)
	}
}
