package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// imagined is a host on which targets get a part of the processor.
type imagined struct {
	t     *testing.T
	share time.Duration // of a second
	fails string        // the name of a target that fails
	idle  bool          // they execute nothing
	asked []string
	stop  func() // after the first attempt; nil: never
}

func (i *imagined) fuzz(_ context.Context, t target, length time.Duration) (attempt, error) {
	i.asked = append(i.asked, t.name+" "+length.String())
	if i.stop != nil {
		i.stop()
	}
	if i.idle {
		return attempt{cpu: length * i.share / time.Second}, nil
	}
	return attempt{executions: 10, inputs: 1, cpu: length * i.share / time.Second, failed: t.name == i.fails, text: "the output of " + t.name}, nil
}

func (i *imagined) campaign(cpu time.Duration, path string) (*campaign, *bytes.Buffer) {
	rows, err := readReport(path)
	if err != nil {
		i.t.Fatal(err)
	}
	var out bytes.Buffer
	return &campaign{cpu: cpu, commit: "abc", out: &out, fuzz: i.fuzz, now: func() time.Time { return time.Unix(0, 0) }, rows: rows,
		save: func(rows []row) error { return writeReport(path, rows) }}, &out
}

var twoTargets = []target{{rel: "p", name: "FuzzA"}, {rel: "q", name: "FuzzB"}}

// A busy host makes a campaign longer: each target gets its processor time in any case.
func TestTargetsGetTheirProcessorTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	i := &imagined{t: t, share: time.Second / 2}
	c, out := i.campaign(4*time.Second, path)
	if err := c.run(t.Context(), twoTargets); err != nil {
		t.Fatal(err)
	}
	want := []string{"FuzzA 4s", "FuzzA 2s", "FuzzA 1s", "FuzzA 1s", "FuzzB 4s", "FuzzB 2s", "FuzzB 1s", "FuzzB 1s"}
	if !slices.Equal(i.asked, want) {
		t.Errorf("attempts %q, want %q", i.asked, want)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "40 executions") || !strings.Contains(lines[1], "4.0 s of CPU  ok") {
		t.Errorf("printed %q", lines)
	}
	rows, err := readReport(path)
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	if r := rows[1]; r.Package != "q" || r.Target != "FuzzB" || r.Executions != 40 || r.NewInputs != 4 || r.CPUSeconds != 4 || r.Result != passed || r.Commit != "abc" || r.Date.IsZero() {
		t.Errorf("row %+v", r)
	}
}

// A second call goes on where the first was interrupted, and does nothing that is done. More time is added to what there was.
func TestCampaignGoesOnWithWhatIsNotDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	ctx, cancel := context.WithCancel(t.Context())
	i := &imagined{t: t, share: time.Second / 2, stop: cancel}
	c, _ := i.campaign(2*time.Second, path)
	if err := c.run(ctx, twoTargets); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for _, step := range []struct {
		cpu  time.Duration
		want []string
	}{
		{2 * time.Second, []string{"FuzzA 1s", "FuzzA 1s", "FuzzB 2s", "FuzzB 1s", "FuzzB 1s"}},
		{2 * time.Second, nil},
		{3 * time.Second, []string{"FuzzA 1s", "FuzzA 1s", "FuzzB 1s", "FuzzB 1s"}},
	} {
		i.asked, i.stop = nil, nil
		c, _ = i.campaign(step.cpu, path)
		if err := c.run(t.Context(), twoTargets); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(i.asked, step.want) {
			t.Errorf("for %v: attempts %q, want %q", step.cpu, i.asked, step.want)
		}
	}
}

// A target that fails stays to be done. The others have their time all the same.
func TestTargetThatFailsIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	i := &imagined{t: t, share: time.Second, fails: "FuzzA"}
	for range 2 {
		i.asked = nil
		c, out := i.campaign(2*time.Second, path)
		err := c.run(t.Context(), twoTargets)
		if err == nil || !strings.Contains(err.Error(), "p FuzzA failed") || !strings.Contains(out.String(), "the output of FuzzA") {
			t.Errorf("%v, printed %s", err, out)
		}
		if len(i.asked) == 0 || i.asked[0] != "FuzzA 2s" {
			t.Errorf("attempts %q", i.asked)
		}
	}
	rows, err := readReport(path)
	if err != nil || len(rows) != 2 || rows[0].Result != broken || rows[1].Result != passed {
		t.Errorf("rows %+v, %v", rows, err)
	}
}

func TestOutputOfTheFuzzerIsRead(t *testing.T) {
	const log = "fuzz: elapsed: 0s, gathering baseline coverage: 0/40 completed\nfuzz: elapsed: 0s, gathering baseline coverage: 40/40 completed, now fuzzing with 1 workers\n" +
		"fuzz: elapsed: 3s, execs: 1000 (333/sec), new interesting: 3 (total: 43)\nfuzz: elapsed: 4s, execs: 1234 (300/sec), new interesting: 5 (total: 45)\n"
	if a := parseOutput(log + "PASS\n"); a.executions != 1234 || a.inputs != 5 || a.late {
		t.Errorf("%+v", a)
	}
	if a := parseOutput("fuzz: elapsed: 3s, execs: 7 (2/sec)\n"); a.executions != 7 || a.inputs != 0 {
		t.Errorf("without coverage: %+v", a)
	}
	if a := parseOutput(log + "--- FAIL: FuzzA (4.10s)\n    context deadline exceeded\nFAIL\n"); !a.late {
		t.Error("a missed deadline of the fuzzer is a failure of the target")
	}
	if a := parseOutput(log + "--- FAIL: FuzzA (4.10s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzA/1\nFAIL\n"); a.late {
		t.Error("a failure of the target is a missed deadline")
	}
	for _, text := range []string{
		"failure while testing seed corpus entry: FuzzA/seed#0\n--- FAIL: FuzzA (0.10s)\n    --- FAIL: FuzzA (0.00s)\n        a_test.go:9: context deadline exceeded\nFAIL\n",
		"failure while testing seed corpus entry: FuzzA/seed#0\n--- FAIL: FuzzA (0.10s)\n    context deadline exceeded\nFAIL\n",
		"--- FAIL: FuzzA (0.10s)\n    a_test.go:7: dial: context deadline exceeded\nFAIL\n",
	} {
		if parseOutput(log + text).late {
			t.Errorf("a failure with the words of a missed deadline is none: %s", text)
		}
	}
}

// Time in which no input was executed proves nothing: the target fails, and has its time again.
func TestTargetWithoutExecutionsIsNotOK(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	i := &imagined{t: t, share: time.Second, idle: true}
	for range 2 {
		i.asked = nil
		c, out := i.campaign(2*time.Second, path)
		if err := c.run(t.Context(), twoTargets[:1]); err == nil || !strings.Contains(out.String(), "no input was executed") || len(i.asked) != 1 {
			t.Errorf("%v after %q, printed %s", err, i.asked, out)
		}
	}
	rows, err := readReport(path)
	if err != nil || len(rows) != 1 || rows[0].Result != broken {
		t.Errorf("rows %+v, %v", rows, err)
	}
}

func TestListFindsTargets(t *testing.T) {
	for names, want := range map[string]int{"": 1, "^FuzzCheck$": 1, "Other": 0} {
		all, err := list(t.Context(), regexp.MustCompile(names), []string{"github.com/regentproject/regent/internal/names"})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != want || want > 0 && (all[0].rel != "internal/names" || all[0].name != "FuzzCheck" || !filepath.IsAbs(all[0].dir)) {
			t.Errorf("%q: %+v", names, all)
		}
	}
}
