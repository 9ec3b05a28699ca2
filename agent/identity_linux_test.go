package agent

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// takeKeys gives all members the keys that the members of another council have, in files that are not used yet.
func (v *agentProcesses) takeKeys(of *agentProcesses) {
	v.t.Helper()
	ours, err := v.Council()
	v.must(err)
	theirs, err := of.Council()
	v.must(err)
	for _, name := range v.Names {
		v.must(v.WriteConfig(name))
		text, err := os.ReadFile(v.ConfigFile(name))
		v.must(err)
		for i := range ours {
			text = bytes.ReplaceAll(text, []byte(ours[i].PublicKeys[0]), []byte(theirs[i].PublicKeys[0]))
		}
		v.must(os.WriteFile(v.ConfigFile(name), text, 0o600))
		private, err := os.ReadFile(filepath.Join(of.Dir, name, "private.key"))
		v.must(err)
		v.must(os.WriteFile(filepath.Join(v.Dir, name, "private.key"), private, 0o600))
	}
}

// Staging that was copied from production's files, with the private keys of all members and without the council's id, agrees on another id. If it has
// production's addresses by mistake, it disturbs nothing there. Nor does production disturb staging.
func TestCopyOfACouncilCannotDisturbIt(t *testing.T) {
	t.Parallel()
	production := start(t, cluster.Options{Names: hosts(3), Config: calm("timing: {lease: 2s}\n")})
	staging := newProcesses(t, cluster.Options{Names: hosts(3), Config: calm("timing: {lease: 2s}\ncouncil_id: \"\"\n")})
	staging.takeKeys(production)
	for _, name := range staging.Names {
		staging.startAgent(name)
	}
	staging.must(staging.AwaitAgents(staging.Names...))
	p, s := production.startProgram("p", "a", task{}), staging.startProgram("s", "a", task{})
	led, alsoLed := production.await(p, "leads"), staging.await(s, "leads")

	// One member of staging has the address of production's b, and one of production that of staging's b.
	here, there := production.Bind("b"), staging.Bind("b")
	staging.change("c", there, here)
	cluster.Eventually(t, "production drops packets of the other council", func() bool {
		return strings.Contains(production.Process("b").Log(), `reason="other council"`)
	})
	production.change("c", here, there)
	cluster.Eventually(t, "staging drops packets of the other council", func() bool {
		return strings.Contains(staging.Process("b").Log(), `reason="other council"`)
	})

	// A copy of a itself, with its keys and without the id, asks for it. The answers go to a's own address: the copy learns nothing.
	text, err := os.ReadFile(production.ConfigFile("a"))
	production.must(err)
	dir := shortDir(t)
	var copied []string
	for line := range strings.Lines(string(text)) {
		switch key, _, _ := strings.Cut(line, ":"); key {
		case "council_id", "bind":
		case "dir", "socket", "http":
		default:
			copied = append(copied, line)
		}
	}
	file := filepath.Join(dir, "copy.yaml")
	more := "dir: " + dir + "/a\nbind: \"" + port(t) + "\"\nsocket: {path: " + dir + "/a.sock}\n"
	production.must(os.WriteFile(file, []byte(strings.Join(copied, "")+more), 0o600))
	private, err := os.ReadFile(filepath.Join(production.Dir, "a", "private.key"))
	production.must(err)
	production.must(os.Mkdir(filepath.Join(dir, "a"), 0o700))
	production.must(os.WriteFile(filepath.Join(dir, "a", "private.key"), private, 0o600))
	copy, err := production.Spawn("copy", "copy", production.Options.Regent("agent", "--config", file), nil)
	production.must(err)
	cluster.Eventually(t, "the copy asks for the id of the council", func() bool { return strings.Contains(copy.Log(), "the council has no id yet") })
	if w, again := p.hears("stops", 3*time.Second); again {
		t.Errorf("the program of production with token %d was disturbed: %v", led.Token, w)
	}
	if strings.Contains(copy.Log(), "the council has an id") {
		t.Error("the copy has become a member")
	}
	if w, again := s.hears("stops", 10*time.Millisecond); again {
		t.Errorf("the program of staging with token %d was disturbed: %v", alsoLed.Token, w)
	}
	for _, v := range []*agentProcesses{production, staging} {
		if logs := v.Logs(); strings.Contains(logs, "old copy") || strings.Contains(logs, "two processes") {
			t.Error("a member was told that it is not itself")
		}
	}
}

// Without an id in their files the members agree on one when all of them are there, keep it across restarts, and tell it to a
// member that lost its disk. Status and metrics count what a member drops before it has the id.
func TestCouncilWithoutAnIDAgreesOnOne(t *testing.T) {
	t.Parallel()
	v := newProcesses(t, cluster.Options{Names: hosts(3), Config: calm("timing: {lease: 2s, longest_lease: 2s}\ncouncil_id: \"\"\n")})
	v.startAgent("a")
	junk, err := net.Dial("udp", v.Bind("a"))
	v.must(err)
	defer junk.Close()
	cluster.Eventually(t, "a counts junk while it waits for the id", func() bool {
		_, _ = junk.Write([]byte("junk"))
		return v.dropped("a", "short") > 0
	})
	answer, err := v.Client("a").Get("http://" + v.address("a") + "/metrics")
	v.must(err)
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), `regent_dropped_total{reason="short"}`) {
		t.Errorf("the metrics do not count it: %v", err)
	}
	v.startAgent("b")
	v.startAgent("c")
	v.must(v.AwaitAgents(v.Names...))
	if v.dropped("a", "short") == 0 {
		t.Error("what was dropped before the council had an id is no longer counted")
	}
	id := func(name string) string {
		_, after, ok := strings.Cut(v.Process(name).Log(), "the council has an id")
		if !ok {
			return ""
		}
		line, _, _ := strings.Cut(after, "\n")
		_, id, _ := strings.Cut(line, "council=")
		return strings.TrimSpace(id)
	}
	first := id("a")
	if len(first) != 32 || id("b") != first || id("c") != first {
		t.Fatalf("a has %q, b has %q, c has %q", first, id("b"), id("c"))
	}
	v.Stop("c", cluster.Patience)
	v.must(os.RemoveAll(filepath.Join(v.Dir, "c")))
	v.must(v.WriteKeys("c")) // its own key is not lost
	v.startAgent("c")
	cluster.Eventually(t, "c learns the id", func() bool {
		return strings.HasSuffix(strings.TrimSpace(v.Process("c").Log()), first) || id("c") == first
	})
	v.Stop("b", cluster.Patience)
	v.startAgent("b")
	v.must(v.AwaitAgents("a", "b", "c"))
}
