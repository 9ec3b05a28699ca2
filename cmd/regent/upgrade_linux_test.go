package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent"
)

// buildNext builds this program as a later version might be: one that reads and writes another version of packets as
// well. The tree is not touched.
func (h *house) buildNext(lowest, highest string) string {
	h.t.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/regentproject/regent").Output()
	h.check(err)
	header := filepath.Join(strings.TrimSpace(string(root)), "internal", "wire", "header.go")
	source, err := os.ReadFile(header)
	h.check(err)
	text := strings.Replace(string(source), "LowestVersion  = 1", "LowestVersion  = "+lowest, 1)
	text = strings.Replace(text, "HighestVersion = 1", "HighestVersion = "+highest, 1)
	if text == string(source) {
		h.t.Fatal("the versions are no longer where this test looks for them")
	}
	changed, overlay := filepath.Join(h.work, "header.go"), filepath.Join(h.work, "overlay.json")
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{header: changed}})
	h.check(err, os.WriteFile(changed, []byte(text), 0o644), os.WriteFile(overlay, b, 0o644))
	out := filepath.Join(h.work, "regent-"+lowest+"-"+highest)
	if said, err := exec.Command("go", "build", "-overlay", overlay, "-ldflags", "-X main.version=next", "-o", out, ".").CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, said)
	}
	return out
}

// upgrade restarts an agent with another program.
func (h *house) upgrade(name, program string) {
	h.t.Helper()
	h.signal(h.agents[name], syscall.SIGTERM)
	if err := h.agents[name].Wait(); err != nil {
		h.t.Errorf("the agent of %s did not leave in good order: %v", name, err)
	}
	c := exec.Command(program, "agent", "--config", filepath.Join(h.work, name+".yaml"))
	log, err := os.OpenFile(filepath.Join(h.work, name+".log"), os.O_APPEND|os.O_WRONLY, 0o644)
	h.check(err)
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	h.check(c.Start())
	h.agents[name] = c
}

// members returns what a member knows of the others.
func (h *house) members(name string) []agent.MemberInfo {
	c := exec.Command(filepath.Join(h.work, "regent"), "members", "--json", "--socket", h.socket(name))
	c.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	out, _ := c.Output()
	var list agent.MemberList
	_ = json.Unmarshal(out, &list)
	return list.Members
}

// agree waits until all hear all, and have it proven who leads.
func (h *house) agree(when string) {
	h.t.Helper()
	for _, name := range houseNames {
		h.eventually(when+" "+name+" hears all", func() bool {
			list := h.members(name)
			for i := range list {
				if !well(&list[i]) {
					return false
				}
			}
			return len(list) == len(houseNames)
		})
		h.eventually(when+" "+name+" knows who leads", func() bool { return h.regent("verify", "g", "--socket", h.socket(name)) == nil })
	}
}

// A council is upgraded member by member to a version that speaks another version of the wire: at each step all hear all
// and somebody leads. A member that no longer reads the old version is not heard by those that read nothing else.
func TestACouncilIsUpgradedMemberByMember(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.agree("at first")
	next := h.buildNext("1", "2")
	for _, name := range houseNames {
		h.upgrade(name, next)
		h.agree("with the next version at " + name)
	}
	h.judge()
	h.upgrade("c", filepath.Join(h.work, "regent")) // back again
	h.agree("with the old version at c")

	only := h.buildNext("2", "2")
	before := h.members("c")[1].Incarnation
	h.upgrade("b", only)
	h.eventually("a, which reads both, hears the new b", func() bool {
		list := h.members("a")
		return len(list) == 3 && well(&list[1]) && list[1].Incarnation > before
	})
	if got := h.members("c")[1].Incarnation; got != before {
		t.Errorf("c, which reads the old version only, heard the incarnation %d of b", got)
	}
	for name, c := range h.runners {
		h.signal(c, syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("the runner of %s: %v", name, err)
		}
	}
	h.judge()
}
