package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// inPython are the members whose program is fractal.py, which takes part through an agent. All others are Go programs that are members themselves.
var inPython = []string{"a", "g"}

// agentConfig has the options that the other members have by the code: members notice after 1.6 s that one is gone.
const agentConfig = "council_id: \"\"\nprofile: lan\ntiming: {renew: 400ms, lease: 2s, evict: 20s}\nconsistent: true\ngroups: [{name: fractal, mode: consistent}]\n"

func programOf(name string) string { return name + ".py" }

// begin starts a member: a Go program, or an agent and a program in Python.
func (s *show) begin(name string) error {
	if !slices.Contains(inPython, name) {
		return s.Start(name)
	}
	if _, err := s.StartAgent(name); err != nil {
		return err
	}
	return s.beginPython(name)
}

// beginPython starts the program of a host. Only the first start has the seed.
func (s *show) beginPython(name string) error {
	var shares []string
	for _, n := range s.Names {
		shares = append(shares, n+"="+socketFile(s.Dir, n))
	}
	file := filepath.Join(s.Dir, "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		return err
	}
	args := []string{"fractal.py", "--name", name, "--agent", s.Socket(name), "--shares", strings.Join(shares, ","), "--dir", filepath.Join(s.Dir, name),
		"--secret", file, "--frames", strconv.FormatUint(s.frames, 10), "--every", strconv.Itoa(every), "--pace", "0.1"}
	if _, err := os.Stat(filepath.Join(s.Dir, name, "shares")); err != nil {
		args = append(args, "--seed", strconv.Itoa(seed))
	}
	if err := cluster.Wait(s.patience, "the agent of "+name+" listens", func() bool { _, err := os.Stat(s.Socket(name)); return err == nil }); err != nil {
		return err
	}
	p := exec.Command("python3", args...)
	p.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	_, err := s.Spawn(programOf(name), name, p, func(line string) { s.log(name, line) })
	return err
}

// did counts what members in Python did, or those in Go.
func did(events []entry, what string, python bool) (n int) {
	for _, e := range events {
		if e.What == what && slices.Contains(inPython, e.member) == python {
			n++
		}
	}
	return n
}

// Two of the seven members are programs in Python. They compute tiles, keep shares, manage recoveries, inherit tiles from programs in Go, and these
// inherit theirs. The picture is the one without faults.
func TestMembersInPythonTakePart(t *testing.T) {
	timing := regent.LAN
	timing.Renew, timing.Lease, timing.Evict = 400*time.Millisecond, 2*time.Second, 20*time.Second
	s := prepare(t, 64, cluster.Options{Timing: timing, Config: agentConfig, Regent: func(args ...string) *exec.Cmd {
		c := cluster.Self()()
		c.Env = append(os.Environ(), agentEnv+"="+args[len(args)-1])
		return c
	}})
	s.patience = 2 * time.Minute
	s.each(s.begin, s.Names...)
	s.until("all tiles have a checkpoint of all seven", func(e []entry) bool { return safe(e, s.Names...) })
	kill := func(n ...string) { s.each(s.Crash, n...) }
	start := func(n ...string) { s.each(s.begin, n...) }
	s.allow(every)
	s.until("all tiles have a second checkpoint", func(e []entry) bool { return reached(e, every) })
	s.damage("g")
	// The program of the manager dies, while its agent lives on, and a member in Go.
	s.lose(3*every, []string{"a", "b"}, func(...string) { kill(programOf("a"), "b") }, func(...string) { s.each(s.beginPython, "a"); start("b") })
	from := s.mark()
	// A whole host with a program in Python fails, and one with a program in Go. The members that are back inherit: they own nothing.
	s.lose(5*every, []string{"c", "g"}, func(...string) { kill(programOf("g"), "g", "c") }, start)
	s.allow(s.frames)
	s.until("all tiles are done", func(e []entry) bool { return reached(e, s.frames) })
	want := s.judge()
	for _, n := range s.Names {
		if slices.Contains(inPython, n) {
			continue
		}
		s.must(cluster.Wait(s.patience, n+" has the picture", func() bool { _, err := os.Stat(filepath.Join(s.Dir, n, "picture.png")); return err == nil }))
		if got, err := os.ReadFile(filepath.Join(s.Dir, n, "picture.png")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has another picture than a run without faults (%v)", n, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Logf("programs in Python began %d tiles, resumed %d, and recovered %d views; those in Go resumed %d", did(s.events, "begin", true), did(s.events, "resume", true),
		did(s.events, "recovered", true), did(s.events, "resume", false))
	for what, n := range map[string]int{"inherits a tile": did(s.events, "resume", true),
		"recovers a view": did(s.events, "recovered", true), "completes a checkpoint": did(s.events[from:], "complete", true)} {
		if n == 0 {
			t.Errorf("no program in Python %s", what)
		}
	}
}
