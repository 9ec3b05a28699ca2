package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster"
)

// buildNext builds this program as a later version might be: one that reads and writes another version of packets as
// well. The tree is not touched.
func (h *runCluster) buildNext(lowest, highest string) string {
	h.t.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/regentproject/regent").Output()
	h.check(err)
	header := filepath.Join(strings.TrimSpace(string(root)), "internal", "wire", "header.go")
	source, err := os.ReadFile(header)
	h.check(err)
	text := strings.Replace(string(source), "LowestVersion  = 3", "LowestVersion  = "+lowest, 1)
	text = strings.Replace(text, "HighestVersion = 3", "HighestVersion = "+highest, 1)
	if text == string(source) {
		h.t.Fatal("the versions are no longer where this test looks for them")
	}
	changed, overlay := filepath.Join(h.Dir, "header.go"), filepath.Join(h.Dir, "overlay.json")
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{header: changed}})
	h.check(err, os.WriteFile(changed, []byte(text), 0o644), os.WriteFile(overlay, b, 0o644))
	out := filepath.Join(h.Dir, "regent-"+lowest+"-"+highest)
	if said, err := exec.Command("go", "build", "-overlay", overlay, "-ldflags", "-X main.version=next", "-o", out, ".").CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, said)
	}
	return out
}

// upgrade restarts an agent with another program.
func (h *runCluster) upgrade(name, program string) {
	h.t.Helper()
	h.Finish(h.t, name)
	_, err := h.Spawn(name, name, exec.Command(program, "agent", "--config", h.ConfigFile(name)), nil)
	h.check(err)
}

// members returns what a member knows of the others.
func (h *runCluster) members(name string) []regent.PeerStatus {
	out, _ := command("members", "--json", "--socket", h.Socket(name)).Output()
	var list api.MemberList
	_ = json.Unmarshal(out, &list)
	return list.Members
}

// agree waits until all hear all, and have it proven who leads.
func (h *runCluster) agree(when string) {
	h.t.Helper()
	for _, name := range h.Names {
		cluster.Eventually(h.t, when+" "+name+" hears all", func() bool {
			list := h.members(name)
			for i := range list {
				if !well(&list[i]) {
					return false
				}
			}
			return len(list) == len(h.Names)
		})
		cluster.Eventually(h.t, when+" "+name+" knows who leads", func() bool { return h.regent("verify", "g", "--socket", h.Socket(name)) == nil })
	}
}

// A council is upgraded member by member to a version that speaks another version of the wire: at each step all hear all
// and somebody leads. A member that no longer reads the old version is not heard by those that read nothing else.
func TestACouncilIsUpgradedMemberByMember(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	h.agree("at first")
	next := h.buildNext("3", "4")
	for _, name := range h.Names {
		h.upgrade(name, next)
		h.agree("with the next version at " + name)
	}
	h.judge()
	h.Finish(h.t, "c") // back again
	h.startAgent("c")
	h.agree("with the old version at c")

	only := h.buildNext("4", "4")
	before := h.members("c")[1].Incarnation
	h.upgrade("b", only)
	cluster.Eventually(h.t, "a, which reads both, hears the new b", func() bool {
		list := h.members("a")
		return len(list) == 3 && well(&list[1]) && list[1].Incarnation > before
	})
	// The header is the same in all versions, so c may learn that b was restarted; it hears nothing of it.
	cluster.Eventually(h.t, "c, which reads the old version only, does not hear b", func() bool {
		list := h.members("c")
		return len(list) == 3 && !well(&list[1])
	})
	for _, name := range h.Names {
		h.Finish(h.t, runnerOf(name))
	}
	h.judge()
}
