package main

import (
	"encoding/binary"
	"fmt"
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

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/transport/relay"
)

// hostClock reads the clock that all processes of the host share.
func hostClock() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// diarist is a program that leads: diarist DIR. As long as it lives it writes readings of the host's clock to a file that
// is named after its token, its member and itself, and so does a daemon that it starts. It ignores SIGTERM.
func diarist() {
	dir, role := os.Args[1], "first"
	if len(os.Args) > 2 {
		role = os.Args[2]
	} else {
		c := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"diarist", dir, "daemon"}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
		if err := c.Start(); err != nil {
			panic(err)
		}
	}
	if os.Getenv("STUBBORN") != "" {
		ignoreTerm()
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%s-%d-%s", os.Getenv("REGENT_TOKEN"), os.Getenv("REGENT_MEMBER"), os.Getpid(), role)))
	if err != nil {
		panic(err)
	}
	for {
		if _, err := f.Write(binary.LittleEndian.AppendUint64(nil, uint64(hostClock()))); err != nil {
			panic(err)
		}
		// wall clock: this is a program of a real process, whose readings of the clock the test compares.
		time.Sleep(200 * time.Microsecond)
	}
}

// An entry is what one process wrote.
type entry struct {
	token       uint64
	member      string
	pid         int
	role        string
	first, last int64
}

// house is a council of three agents, each with a runner.
type house struct {
	t       *testing.T
	dir     string // of diaries
	work    string
	relay   *relay.Relay
	agents  map[string]*exec.Cmd
	runners map[string]*exec.Cmd
	token   uint64          // the highest that was seen
	lost    map[uint64]bool // tokens whose leases were not renewed
}

// houseTiming leaves room for a guard time that is long beside an election and beside the pauses of a busy host, so that the
// one is not taken for the other.
const houseTiming = "timing:\n  lease: 3s\n"

// houseGuard is how long before the end of its lease a program is killed.
const houseGuard = 1500 * time.Millisecond

var houseNames = []string{"a", "b", "c"}

func newHouse(t *testing.T) *house {
	h := &house{t: t, work: t.TempDir(), agents: make(map[string]*exec.Cmd), runners: make(map[string]*exec.Cmd), lost: make(map[uint64]bool)}
	h.dir = filepath.Join(h.work, "diaries")
	self, err := os.Executable()
	h.check(err, os.Mkdir(h.dir, 0o755), os.Symlink(self, filepath.Join(h.work, "regent")), os.Symlink(self, filepath.Join(h.work, "diarist")))
	var ends []relay.Member
	addrs := make(map[string]string)
	for _, name := range houseNames {
		addrs[name] = freeAddr(t)
		ends = append(ends, relay.Member{Name: name, Addr: netip.MustParseAddrPort(addrs[name])})
	}
	h.relay, err = relay.Start(relay.Config{Members: ends})
	h.check(err)
	for _, name := range houseNames {
		d := config.Draft{Name: name, Dir: filepath.Join(h.work, name), Bootstrap: true, Socket: h.socket(name), Listen: freeAddr(t)}
		for _, peer := range houseNames {
			addr := addrs[peer]
			if peer != name {
				way, err := h.relay.Addr(name, peer)
				h.check(err)
				addr = way.String()
			}
			d.Members = append(d.Members, config.Member{Name: peer, Address: addr})
		}
		h.check(os.WriteFile(filepath.Join(h.work, name+".yaml"), []byte(d.YAML()+houseTiming), 0o644))
	}
	t.Cleanup(h.close)
	for _, name := range houseNames {
		h.startAgent(name)
	}
	for _, name := range houseNames {
		h.eventually(name+" takes part", func() bool { return h.regent("members", "--socket", h.socket(name)) == nil })
		h.startRunner(name)
	}
	return h
}

func (h *house) check(errs ...error) {
	h.t.Helper()
	for _, err := range errs {
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *house) socket(name string) string { return filepath.Join(h.work, name+".sock") }

// regent runs the command line to its end.
func (h *house) regent(args ...string) error {
	c := exec.Command(filepath.Join(h.work, "regent"), args...)
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}

func (h *house) start(log string, args ...string) *exec.Cmd {
	h.t.Helper()
	c := exec.Command(filepath.Join(h.work, "regent"), args...)
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "STUBBORN=1")
	out, err := os.OpenFile(filepath.Join(h.work, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	h.check(err)
	defer out.Close()
	c.Stdout, c.Stderr = out, out
	h.check(c.Start())
	return c
}

func (h *house) startAgent(name string) {
	h.agents[name] = h.start(name+".log", "agent", "--config", filepath.Join(h.work, name+".yaml"))
}

func (h *house) startRunner(name string) {
	h.runners[name] = h.start("run-"+name+".log", "run", "g", "--socket", h.socket(name), "--restart", "--delay", "10ms", "--grace", "200ms",
		"--guard", houseGuard.String(), "--", filepath.Join(h.work, "diarist"), h.dir)
}

// close ends what is left, and shows the logs of a test that failed.
func (h *house) close() {
	for _, all := range []map[string]*exec.Cmd{h.runners, h.agents} {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	_ = h.relay.Close()
	for _, e := range h.diaries() {
		_ = syscall.Kill(e.pid, syscall.SIGKILL)
	}
	if h.t.Failed() {
		for _, log := range []string{"a.log", "b.log", "c.log", "run-a.log", "run-b.log", "run-c.log"} {
			b, _ := os.ReadFile(filepath.Join(h.work, log))
			h.t.Logf("%s:\n%s", log, b)
		}
	}
}

func (h *house) eventually(what string, is func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if is() {
			return
		}
		// wall clock: other processes are waited for
		time.Sleep(2 * time.Millisecond)
	}
	h.t.Fatalf("waited too long until %s", what)
}

// diaries reads what was written so far.
func (h *house) diaries() []entry {
	files, err := os.ReadDir(h.dir)
	h.check(err)
	var out []entry
	for _, f := range files {
		part := strings.Split(f.Name(), "-")
		token, _ := strconv.ParseUint(part[0], 10, 64)
		pid, _ := strconv.Atoi(part[2])
		e := entry{token: token, member: part[1], pid: pid, role: part[3]}
		b, err := os.ReadFile(filepath.Join(h.dir, f.Name()))
		h.check(err)
		b = b[:len(b)/8*8]
		if len(b) > 0 {
			e.first = int64(binary.LittleEndian.Uint64(b))
			e.last = int64(binary.LittleEndian.Uint64(b[len(b)-8:]))
		}
		out = append(out, e)
	}
	return out
}

// next waits for a program that leads with a higher token than any before, and its daemon, and returns the first.
func (h *house) next() entry {
	h.t.Helper()
	var found entry
	h.eventually("somebody else leads", func() bool {
		all := h.diaries()
		for _, e := range all {
			complete := slices.ContainsFunc(all, func(d entry) bool { return d.token == e.token && d.role == "daemon" && d.last > 0 })
			if e.token > h.token && e.role == "first" && e.last > 0 && complete && alive(e.pid) {
				found = e
				return true
			}
		}
		return false
	})
	h.token = found.token
	return found
}

// gone sees that nobody of a leadership is left.
func (h *house) gone(token uint64) {
	h.t.Helper()
	h.eventually(fmt.Sprintf("nobody with token %d is left", token), func() bool {
		return !slices.ContainsFunc(h.diaries(), func(e entry) bool { return e.token == token && alive(e.pid) })
	})
}

// alive says whether a process runs, or could.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// judge sees that no two leaderships overlap, by the readings of the leading programs, daemons included.
func (h *house) judge() {
	h.t.Helper()
	type span struct {
		token       uint64
		first, last int64
	}
	byToken := make(map[uint64]*span)
	for _, e := range h.diaries() {
		if e.last == 0 {
			continue
		}
		s := byToken[e.token]
		if s == nil {
			s = &span{e.token, e.first, e.last}
			byToken[e.token] = s
		}
		s.first, s.last = min(s.first, e.first), max(s.last, e.last)
	}
	var all []*span
	for _, s := range byToken {
		all = append(all, s)
	}
	slices.SortFunc(all, func(x, y *span) int { return int(x.first - y.first) })
	for i := 1; i < len(all); i++ {
		x, y := all[i-1], all[i]
		if y.first <= x.last {
			h.t.Errorf("token %d acted until %v after token %d began", x.token, time.Duration(x.last-y.first), y.token)
		}
		// Nobody is elected before the lease is over, and the program was killed a guard time before. Half of that is left for a
		// busy host to do so.
		if gap := time.Duration(y.first - x.last); h.lost[x.token] && gap < houseGuard/2 {
			h.t.Errorf("token %d acted until %v before token %d began: want more than %v", x.token, gap, y.token, houseGuard/2)
		}
		if y.token <= x.token {
			h.t.Errorf("token %d follows %d", y.token, x.token)
		}
	}
	h.t.Logf("%d leaderships, none overlaps another", len(all))
}

func (h *house) cut(name string, verb string) {
	h.t.Helper()
	for _, other := range houseNames {
		if other == name {
			continue
		}
		for _, line := range []string{verb + " " + name + " " + other, verb + " " + other + " " + name} {
			_, err := h.relay.Do(line)
			h.check(err)
		}
	}
}

func (h *house) signal(c *exec.Cmd, s syscall.Signal) {
	h.t.Helper()
	h.check(c.Process.Signal(s))
}

// Whatever is killed, stopped or cut off: programs never lead at the same time, and nothing of them is left behind.
func TestProgramsNeverLeadAtTheSameTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, scenario := range []struct {
		name string
		do   func(e entry)
		undo func(e entry)
		lost bool
	}{
		{"the program is killed", func(e entry) { _ = syscall.Kill(e.pid, syscall.SIGKILL) }, nil, false},
		{"the runner is killed", func(e entry) {
			h.signal(h.runners[e.member], syscall.SIGKILL)
			_ = h.runners[e.member].Wait()
		}, func(e entry) { h.startRunner(e.member) }, false},
		{"the host is cut off", func(e entry) { h.cut(e.member, "cut") }, func(e entry) { h.cut(e.member, "heal") }, true},
		{"the runner is stopped and the host cut off", func(e entry) {
			h.signal(h.runners[e.member], syscall.SIGSTOP)
			h.cut(e.member, "cut")
		}, func(e entry) {
			h.gone(e.token)
			h.cut(e.member, "heal")
			h.signal(h.runners[e.member], syscall.SIGCONT)
		}, true},
		{"the runner is stopped and the group given up", func(e entry) {
			h.signal(h.runners[e.member], syscall.SIGSTOP)
			// The runner cannot say that it has stopped: the agent kills, and gives up what ran out.
			_ = h.regent("resign", "g", "--socket", h.socket(e.member))
		}, func(e entry) {
			h.gone(e.token)
			h.signal(h.runners[e.member], syscall.SIGCONT)
		}, false},
		{"the agent is killed", func(e entry) {
			h.signal(h.agents[e.member], syscall.SIGKILL)
			_ = h.agents[e.member].Wait()
		}, func(e entry) { h.startAgent(e.member) }, true},
		{"the agent is stopped", func(e entry) { h.signal(h.agents[e.member], syscall.SIGSTOP) },
			func(e entry) { h.signal(h.agents[e.member], syscall.SIGCONT) }, true},
		{"the group is given up under a program that does not stop", func(e entry) {
			_ = h.regent("resign", "g", "--socket", h.socket(e.member))
		}, nil, false},
	} {
		e := h.next()
		t.Logf("%s leads with token %d: %s", e.member, e.token, scenario.name)
		h.lost[e.token] = scenario.lost
		scenario.do(e)
		after := h.next()
		h.gone(e.token)
		if scenario.undo != nil {
			scenario.undo(e)
		}
		h.token = after.token - 1 // it is the next to suffer
	}
	h.next()
	for name, c := range h.runners {
		h.signal(c, syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("the runner of %s: %v", name, err)
		}
	}
	h.judge()
	for _, e := range h.diaries() {
		if alive(e.pid) {
			t.Errorf("process %d of token %d was left behind", e.pid, e.token)
		}
	}
	for name, c := range h.agents {
		h.signal(c, syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("the agent of %s: %v", name, err)
		}
	}
}
