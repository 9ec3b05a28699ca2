package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What happens to a thousand groups at about the same time is two lines for each cause, and what happens to the agent stays a line each.
func TestAnIncidentOfManyGroupsIsTwoLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out logs
		read := 0
		log, end := newLog(&out, "text", new(slog.LevelVar))
		log = log.With("member", "a")
		lines := func() []string {
			synctest.Wait()
			text := out.String()[read:]
			read += len(text)
			return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		for i := range 1000 {
			log.Info("leader changed", "group", fmt.Sprint("g", i), "leader", "", "token", 0, "cause", "lease expired b")
			log.Info("leader changed", "group", fmt.Sprint("g", i), "leader", "a", "token", i, "cause", "elected a")
			log.Warn("another", "peer", "b")
			time.Sleep(100 * time.Microsecond)
		}
		if got := lines(); len(got) != 1002 || !strings.Contains(got[0], "group=g0 ") {
			t.Errorf("%d lines at once, of which the first is %s", len(got), got[0])
		}
		time.Sleep(2 * gatherWindow)
		got := lines()
		if len(got) != 2 {
			t.Fatalf("%d lines later: %q", len(got), got)
		}
		text := strings.Join(got, "\n")
		for _, want := range []string{
			`msg="leader changed" member=a groups=999 first="g1, g2, g3" leader="" token=0 cause="lease expired b"`,
			`msg="leader changed" member=a groups=999 first="g1, g2, g3" leader=a cause="elected a"`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
		// The second group alone has its own line, and a later incident begins anew.
		log.Info("leader changed", "group", "x", "cause", "resigned a")
		log.Info("leader changed", "group", "y", "token", 7, "cause", "resigned a")
		time.Sleep(3 * gatherWindow)
		if got := lines(); len(got) != 2 || !strings.Contains(got[1], "group=y token=7") {
			t.Errorf("of two groups: %q", got)
		}
		log.Info("leader changed", "group", "z", "cause", "resigned a")
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], "group=z") {
			t.Errorf("later: %q", got)
		}
		for _, group := range []string{"l", "m", "n"} {
			log.Info("leader changed", "group", group, "support", []string{"a", "b"}, "cause", "elected b")
		}
		time.Sleep(3 * gatherWindow)
		if got := lines(); len(got) != 2 || !strings.Contains(got[1], `groups=2 first="m, n" support="[a b]"`) {
			t.Errorf("with lists: %q", got)
		}
		// A group to which the same happens again and again is one group.
		for range 4 {
			log.Info("leader changed", "group", "q", "cause", "transferred b")
		}
		time.Sleep(3 * gatherWindow)
		if got := lines(); len(got) != 2 || !strings.Contains(got[1], "group=q times=3 cause=") {
			t.Errorf("of one group: %q", got)
		}
		for _, group := range []string{"l", "m", "n", "m"} {
			log.Info("leader changed", "group", group, "cause", "transferred c")
		}
		time.Sleep(3 * gatherWindow)
		if got := lines(); len(got) != 2 || !strings.Contains(got[1], `groups=2 first="m, n" times=3 cause=`) {
			t.Errorf("of one group among others: %q", got)
		}
		// What was gathered is written when the agent ends.
		log.Info("leader changed", "group", "u", "cause", "resigned a")
		end()
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], "group=u") {
			t.Errorf("at the end: %q", got)
		}
		time.Sleep(3 * gatherWindow)
	})
}

// With level debug every group has its line at once. The audit log always has.
func TestLinesThatAreNotGathered(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log, _ := newLog(&out, "json", level)
	for range 2 {
		log.Info("audit", "group", "g")
	}
	level.Set(slog.LevelDebug)
	for range 2 {
		log.Info("leader changed", "group", "g", "for", 5*time.Second)
	}
	if !strings.Contains(out.String(), `"for":"5s"`) {
		t.Errorf("a length has no unit: %s", out.String())
	}
	n := 0
	for line := range strings.Lines(out.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil || fields["group"] != "g" {
			t.Errorf("%s: %v", line, err)
		}
		n++
	}
	if n != 4 {
		t.Errorf("%d lines", n)
	}
}
