package main

import (
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

// A file is rewritten from what the members have agreed on, and the agent compares it when it is reloaded.
func TestRewrittenFileIsComparedAfterAReload(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	h.check(h.regent("members", "timing", "longest_lease=4s", "--socket", h.Socket("a")))
	const differs = "the file has longest_lease 3s"
	cluster.Eventually(t, "the status of a names its file", func() bool { return strings.Contains(h.output("status", "--socket", h.Socket("a")), differs) })
	h.check(h.regent("config", "sync", h.ConfigFile("a"), "--socket", h.Socket("a")))
	h.reload("a")
	if log := h.Process("a").Log(); strings.Contains(log, "some changes need a restart") {
		t.Errorf("the reload leaves something to a restart:\n%s", log)
	}
	cluster.Eventually(t, "the status of a does not name its file", func() bool { return !strings.Contains(h.output("status", "--socket", h.Socket("a")), differs) })
}
