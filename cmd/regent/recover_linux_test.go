package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster"
)

// Two of three hosts are lost. The third goes on alone, once that may be, and its programs lead with higher tokens. The others come back, one with its
// directory and one without, and cannot join in. The long run waits until the council may be given up.
func TestLostMajorityIsGivenUp(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	before := h.next()
	ask := func(args ...string) (string, error) {
		out, err := command(append(args, "--socket", h.Socket("a"))...).CombinedOutput()
		return string(out), err
	}
	id := statusOf(t, h, "a").CouncilID
	give := func(more ...string) (string, error) {
		return ask(append([]string{"recover", "--i-lost-a-majority", "--council", id, "--lost", "b,c"}, more...)...)
	}
	for _, name := range []string{"b", "c"} {
		h.check(h.Crash(runnerOf(name)), h.Crash(name))
	}
	if out, err := give("--yes"); err == nil || !strings.Contains(out, "it must be silent for 1m0s") {
		t.Fatalf("at once: %v: %s", err, out)
	}
	if os.Getenv("REGENT_TEST") != "long" {
		return
	}
	h.check(os.Rename(filepath.Join(h.Dir, "c"), filepath.Join(h.Dir, "c.away")))
	h.check(cluster.Wait(2*time.Minute, "the council may be given up", func() bool { _, err := give(); return err == nil }))
	out, err := give()
	if err != nil || !strings.Contains(out, "what can no longer be promised") || !strings.Contains(out, "nothing was changed") || statusOf(t, h, "a").CouncilID != id {
		t.Fatalf("without --yes: %v: %s", err, out)
	}
	out, err = give("--json")
	var printedJSON any
	if err != nil || json.Unmarshal([]byte(out), &printedJSON) != nil {
		t.Fatalf("with --json: %v: %s", err, out)
	}
	if err := fits("recover", printedJSON, reflect.TypeOf(printed["recover"])); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = give("--yes")
	if err != nil || !strings.Contains(out, "done: a are council ") {
		t.Fatalf("%v: %s", err, out)
	}
	after := h.next()
	if after.Holder != "a" || after.Token < before.Token+1<<40 {
		t.Errorf("%s leads with token %d after %d", after.Holder, after.Token, before.Token)
	}
	s := statusOf(t, h, "a")
	if s.CouncilID == id || s.Council.GivenUp == nil || s.Council.Warning() == "" {
		t.Errorf("council %s, given up %+v", s.CouncilID, s.Council.GivenUp)
	}
	// b is back with its directory: it learns what has become of its council, ends in good order, and does not start again.
	for _, start := range []string{"first", "second"} {
		h.startAgent("b")
		cluster.Eventually(t, "b ends", func() bool { return h.Process("b").Ended() })
		if logs := h.Logs(); !strings.Contains(logs, "council "+id+" was given up on ") {
			t.Errorf("after its %s start it does not say why it ends:\n%s", start, logs)
		}
	}
	// c is back without one. It waits, and says for what.
	h.check(os.Mkdir(filepath.Join(h.Dir, "c"), 0o700), h.WriteKeys("c"))
	h.startAgent("c")
	cluster.Eventually(t, "c says why it does not take part", func() bool { return strings.Contains(h.Logs(), "and c with it; council "+s.CouncilID+" goes on") })
	if !h.Alive(after) {
		t.Error("a does not lead any more")
	}
	if out, err := ask("recover", "--acknowledge"); err != nil || !strings.Contains(out, "acknowledged: council "+s.CouncilID) {
		t.Errorf("acknowledge: %v: %s", err, out)
	}
	if s := statusOf(t, h, "a"); s.Council.Warning() != "" {
		t.Errorf("it still warns: %s", s.Council.Warning())
	}
}

func statusOf(t *testing.T, h *runCluster, name string) (s api.AgentStatus) {
	t.Helper()
	out, _ := command("status", "--json", "--socket", h.Socket(name)).Output() // the exit status tells of problems
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("status of %s: %v: %s", name, err, out)
	}
	return s
}
