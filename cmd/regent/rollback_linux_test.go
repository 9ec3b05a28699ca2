package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/transport/loopback"
	"golang.org/x/sys/unix"
)

// statusOf runs status at a socket, and returns what it prints, as text for people, and its exit status.
func (h *runCluster) statusOf(socket string) (text string, code int) {
	h.t.Helper()
	out, err := command("status", "--socket", socket).Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		h.t.Fatal(err)
	}
	if failed != nil {
		code = failed.ExitCode()
	}
	return string(out), code
}

// says waits until status at a socket has a problem that says all of this in one line, and holds that it exits with 1 then.
func (h *runCluster) says(socket string, words ...string) {
	h.t.Helper()
	var last string
	err := cluster.Wait(cluster.Patience, "the status", func() bool {
		var code int
		last, code = h.statusOf(socket)
		for line := range strings.Lines(last) {
			if !strings.HasPrefix(line, "problem: ") || !containsAll(line, words) {
				continue
			}
			if code != 1 {
				h.t.Errorf("status says %q and exits with %d", line, code)
			}
			return true
		}
		return false
	})
	if err != nil {
		h.t.Fatalf("no problem says %q:\n%s", words, last)
	}
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// incarnation returns under which incarnation the member at a socket speaks; zero if it does not.
func (h *runCluster) incarnation(socket string) uint64 {
	out, _ := command("status", "--json", "--socket", socket).Output()
	var s api.AgentStatus
	if json.Unmarshal(out, &s) != nil || !s.Joined {
		return 0
	}
	return s.Incarnation
}

// takesPart waits until the member at a socket takes part, above an incarnation, and all is well.
func (h *runCluster) takesPart(socket string, above uint64) (inc uint64) {
	h.t.Helper()
	cluster.Eventually(h.t, "the member takes part", func() bool { inc = h.incarnation(socket); return inc > above })
	cluster.Eventually(h.t, "all is well", func() bool { _, code := h.statusOf(socket); return code == 0 })
	return inc
}

// copyFiles copies the files of a directory into another one, which stays the same directory if it is there.
func (h *runCluster) copyFiles(from, to string) {
	h.t.Helper()
	h.check(os.MkdirAll(to, 0o700))
	files, err := os.ReadDir(from)
	h.check(err)
	for _, f := range files {
		if !f.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, f.Name()))
		h.check(err)
		h.check(os.WriteFile(filepath.Join(to, f.Name()), b, 0o600))
	}
}

// image makes the record of a directory look as after an image of its disk was put back: as if it was written to the file that it is in.
func (h *runCluster) image(dir string) {
	h.t.Helper()
	name := filepath.Join(dir, "record")
	b, err := os.ReadFile(name)
	h.check(err)
	header, record, _ := strings.Cut(string(b), "\n")
	var s unix.Statx_t
	h.check(unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_BTIME, &s))
	words := strings.Split(header, " ") // regent record 2 SUM LENGTH "BIRTH" "MEMBER"
	birth, member := fmt.Sprintf("%d.%09d", s.Btime.Sec, s.Btime.Nsec), strings.Trim(words[6], `"`)
	if s.Mask&unix.STATX_BTIME == 0 {
		birth = ""
	}
	words[3] = fmt.Sprintf("%08x", crc32.Checksum([]byte(member+birth+record), crc32.MakeTable(crc32.Castagnoli)))
	words[5] = strconv.Quote(birth)
	h.check(os.WriteFile(name, []byte(strings.Join(words, " ")+"\n"+record), 0o600))
}

// rotations makes another program lead, so that tokens grow.
func (h *runCluster) rotations(n int) {
	h.t.Helper()
	if h.token > 0 {
		h.token-- // the one that leads now is the first
	}
	for range n {
		e := h.next()
		h.check(h.regent("resign", "g", "--socket", h.Socket(e.Holder)))
	}
	h.next()
}

// The directory of a member is put back as it was some starts ago, while the council goes on. The member is found out, says so, asks the
// others, and takes part without a restart; the same if its record is of another identity. Tokens never fall.
func TestRolledBackDirectoryIsFoundOut(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	dir, saved := filepath.Join(h.Dir, "c"), filepath.Join(h.Dir, "saved")
	h.copyFiles(dir, saved)
	h.rotations(1)
	for range 2 { // two starts that the copy knows nothing of
		h.check(h.Crash("c"))
		h.startAgent("c")
		h.takesPart(h.Socket("c"), 0)
	}
	before := h.incarnation(h.Socket("c"))
	h.rotations(1)

	h.check(h.Crash("c"))
	h.copyFiles(saved, dir)
	h.image(dir)
	h.startAgent("c")
	h.says(h.Socket("c"), "does not take part: its record is an old copy: it waits for enough others")
	after := h.takesPart(h.Socket("c"), before)
	if log := h.Process("c").Log(); strings.Count(log, "the durable record is an old copy: the member stops and asks the others") != 1 {
		t.Errorf("the log does not say once what happened:\n%s", log)
	}
	h.rotations(1)

	// The file alone is put back.
	h.check(h.Crash("c"))
	h.copyFiles(saved, dir)
	h.startAgent("c")
	h.says(h.Socket("c"), "does not take part: its record was written on another machine, in another directory or to another file")
	after = h.takesPart(h.Socket("c"), after)
	h.rotations(1)

	// A new identity over an old record.
	h.check(h.Crash("c"))
	h.copyFiles(saved, dir)
	h.check(os.Remove(filepath.Join(dir, "private.key")))
	h.list(h.output("keys", "exchange", "--config", h.ConfigFile("c")), "a", "b")
	h.startAgent("c")
	h.says(h.Socket("c"), "does not take part: its record was written under another identity")
	h.takesPart(h.Socket("c"), after)
	if log := h.Process("c").Log(); !strings.Contains(log, "the durable record was written under another identity of this member") || strings.Contains(log, "no proof") {
		t.Errorf("the log does not say what happened:\n%s", log)
	}
	h.rotations(1)
	for _, name := range h.Names {
		h.Finish(h.t, runnerOf(name))
	}
	h.judge()
	for _, name := range h.Names {
		h.Finish(h.t, name)
	}
}

// clone copies the directory and the configuration of a member as they are now, for a second process at another address. It returns what starts
// that process, and its socket.
func (h *runCluster) clone(member, bind string) (start func() *cluster.Process, socket string) {
	h.t.Helper()
	http, err := loopback.Free()
	h.check(err)
	dir, file := filepath.Join(h.Dir, "clone"), filepath.Join(h.Dir, "clone.yaml")
	h.copyFiles(filepath.Join(h.Dir, member), dir)
	socket = filepath.Join(h.Dir, "clone.sock")
	text, err := os.ReadFile(h.ConfigFile(member))
	h.check(err)
	lines := []string{"dir: " + dir + "\nbind: \"" + bind + "\"\nsocket: {path: " + socket + "}\nhttp: {listen: \"" + http + "\"}\n"}
	for line := range strings.Lines(string(text)) {
		switch key, _, _ := strings.Cut(line, ":"); key {
		case "dir", "bind", "socket", "http":
		default:
			lines = append(lines, line)
		}
	}
	h.check(os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600))
	return func() *cluster.Process {
		h.t.Helper()
		p, err := h.Spawn("clone", member, command("agent", "--config", file), nil)
		h.check(err)
		return p
	}, socket
}

// oneOf waits until exactly one of two processes of a member takes part.
func (h *runCluster) oneOf(first, second string) {
	h.t.Helper()
	cluster.Eventually(h.t, "one of two processes takes part", func() bool { return (h.incarnation(first) != 0) != (h.incarnation(second) != 0) })
}

// dropped returns how many packets a member has dropped for a reason.
func (h *runCluster) dropped(name, reason string) uint64 {
	out, _ := command("status", "--json", "--socket", h.Socket(name)).Output()
	var s api.AgentStatus
	_ = json.Unmarshal(out, &s)
	return s.Dropped[reason]
}

// A thief has all files of a member. The member is revoked, and admitted again with a new key. With the old one the thief is heard by nobody,
// before and after, and disturbs neither the member nor the leader.
func TestThiefOfARevokedKeyIsHeardByNobody(t *testing.T) {
	t.Parallel()
	h := &runCluster{t: t, lost: make(map[uint64]bool), Cluster: cluster.OpenCrash(t, cluster.Options{
		Names: []string{"a", "b", "c"}, Config: runConfig, Regent: command,
	})}
	for _, name := range h.Names {
		h.startAgent(name)
	}
	h.check(h.AwaitAgents(h.Names...))
	h.startRunner("a")
	h.startRunner("b")
	leader := h.next()
	bind, err := loopback.Free()
	h.check(err)
	steal, socket := h.clone("c", bind)
	for _, name := range []string{"a", "b"} {
		h.check(h.regent("keys", "revoke", "c", "--config", h.ConfigFile(name)))
		h.reload(name)
	}
	h.Finish(h.t, "c")
	thief := steal()
	for _, name := range []string{"a", "b"} {
		cluster.Eventually(t, name+" drops packets of the revoked member", func() bool { return h.dropped(name, "revoked") > 0 })
	}
	h.check(os.Remove(filepath.Join(h.Dir, "c", "private.key")))
	h.list(h.output("keys", "exchange", "--config", h.ConfigFile("c")), "a", "b")
	h.startAgent("c")
	h.takesPart(h.Socket("c"), 0)
	for _, name := range []string{"a", "b"} {
		cluster.Eventually(t, name+" drops packets under the stolen key", func() bool { return h.dropped(name, "unknown member key") > 0 })
	}
	if h.incarnation(socket) != 0 || !strings.Contains(thief.Log(), "written on another machine, in another directory or to another file") {
		t.Errorf("the thief takes part:\n%s", thief.Log())
	}
	if !h.Alive(leader) {
		t.Error("the leader was disturbed")
	}
	for _, name := range h.Names {
		if log := h.Process(name).Log(); strings.Contains(log, "two processes") || strings.Contains(log, "later incarnation") {
			t.Errorf("%s was told that a member is not itself:\n%s", name, log)
		}
	}
	for _, name := range []string{"a", "b"} {
		h.Finish(h.t, runnerOf(name))
	}
	h.judge()
	for _, name := range h.Names {
		h.Finish(h.t, name)
	}
}

// The directory of a member is copied, and a second process runs on the copy, at a second address of the member. The clone
// reports why it does not take part, and takes the member's place without a restart when the first process is gone. Tokens never fall.
func TestClonedMemberWaitsUntilTheOtherIsGone(t *testing.T) {
	t.Parallel()
	h := &runCluster{t: t, lost: make(map[uint64]bool), Cluster: cluster.OpenCrash(t, cluster.Options{
		Names: []string{"a", "b", "c"}, Config: runConfig, Regent: command,
	})}
	second, err := loopback.Free()
	h.check(err)
	for _, name := range h.Names {
		h.check(h.WriteConfig(name))
		text, err := os.ReadFile(h.ConfigFile(name))
		h.check(err)
		council, err := h.Council()
		h.check(err)
		first := council[2].Addrs[0]
		h.check(os.WriteFile(h.ConfigFile(name), []byte(strings.Replace(string(text), `{name: c, address: "`+first+`"`, `{name: c, addresses: ["`+first+`", "`+second+`"]`, 1)), 0o600))
		h.startAgent(name)
	}
	h.check(h.AwaitAgents(h.Names...))
	h.startRunner("a")
	h.startRunner("b")
	leader := h.next()

	start, socket := h.clone("c", second)
	before := h.takesPart(h.Socket("c"), 0)
	clone := start()
	h.says(socket, "does not take part: its record was written on another machine, in another directory or to another file")
	if !h.Alive(leader) {
		t.Error("the clone has cost the leader its lease")
	}

	h.check(h.Crash("c"))
	taken := h.takesPart(socket, before)
	h.rotations(1)

	h.startAgent("c") // its record is that of the life before the clone's
	h.says(h.Socket("c"), "does not take part: its record is an old copy")
	h.says(h.Socket("c"), "has heard incarnation", "of this member (another process speaks): stop other processes and copies of this member")
	if log := h.Process("c").Log(); !strings.Contains(log, "the durable record is an old copy: the member stops and asks the others") {
		t.Errorf("the log does not say what happened:\n%s", log)
	}
	// A process that the host holds up for longer than the longest promise loses its place to the other one. Both may show that they take part until it hears of that.
	h.oneOf(socket, h.Socket("c"))
	h.rotations(1)
	h.oneOf(socket, h.Socket("c"))
	h.Finish(h.t, "clone")
	if code := clone.ExitCode(); code != 0 {
		t.Errorf("the clone exits with %d", code)
	}
	cluster.Eventually(t, "the first one takes part again", func() bool { return h.incarnation(h.Socket("c")) > taken })
	h.rotations(1)
	for _, name := range []string{"a", "b"} {
		h.Finish(h.t, runnerOf(name))
	}
	h.judge()
	for _, name := range h.Names {
		h.Finish(h.t, name)
	}
}
