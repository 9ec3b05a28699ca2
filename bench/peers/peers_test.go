package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster/journal"
)

func TestFlags(t *testing.T) {
	s, err := parse([]string{"-systems", "regent,raft", "-fastest", "raft=20ms", "-hosts", "loopback", "-kinds", "kill,host"}, io.Discard)
	if err != nil || len(s.systems) != 2 || s.given["raft"] != "20ms" || len(s.kinds) != 1 || s.apart {
		t.Errorf("%+v, %v", s, err)
	}
	if s.trialsOf(setting{Length: time.Minute}) != s.slow || s.trialsOf(setting{Length: time.Second}) != s.trials {
		t.Error("slow settings have not their own number of trials")
	}
	for _, bad := range []string{"-systems=paxos", "-settings=best", "-fastest=raft", "-fastest=raft=7ms", "-hosts=moon", "-kinds=shout", "-blocks=0", "-trials=-1", "extra"} {
		if _, err := parse([]string{bad}, io.Discard); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// The fastest settings come first, so that the search ends with the fastest that is calm. All names differ.
func TestSettingsAreInOrder(t *testing.T) {
	for _, x := range systems() {
		seen := map[string]bool{x.defaults.Name: true}
		var last setting
		for _, w := range x.fastest {
			if w.Length < last.Length || w.second < last.second || w.Length > x.defaults.Length || seen[w.Name] || w.Says == "" {
				t.Errorf("%s: %+v after %+v", x.name, w, last)
			}
			last, seen[w.Name] = w, true
		}
		if _, err := x.setting(x.defaults.Name); err != nil {
			t.Error(err)
		}
	}
}

func TestQuantilesAndShares(t *testing.T) {
	var s sample
	for i := range 100 {
		s = append(s, float64(100-i))
	}
	if s.at(0.5) != 50 || s.at(0.9) != 90 || s.at(1) != 100 || (sample{}).at(0.5) != 0 {
		t.Errorf("p50 %v, p90 %v, max %v", s.at(0.5), s.at(0.9), s.at(1))
	}
	sum := 0
	for block := range 4 {
		sum += share(10, 4, block)
	}
	if sum != 10 {
		t.Errorf("the blocks have %d of 10 trials", sum)
	}
}

// Two leaders are two holders that believed so at one instant; what one process says twice is not that.
func TestTwoLeadersAreFoundInJournals(t *testing.T) {
	at := func(holder string, since, seen int) journal.Span {
		return journal.Span{Group: "peers", Holder: holder, Since: journal.Time(since * 1e6), Seen: journal.Time(seen * 1e6)}
	}
	got := overlaps([]journal.Span{at("b", 90, 150), at("a", 0, 100), at("c", 149, 151), at("a", 50, 60), at("b", 300, 400), at("a", 400, 500)})
	if want := (together{Pairs: 2, TotalMS: 11, WorstMS: 10}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	got.add(together{1, 20, 20})
	if want := (together{3, 31, 20}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWordsOfCandidates(t *testing.T) {
	e, ok := parseEvent("a", "lost 1234 the session is over")
	if !ok || e.what != "lost" || e.at != 1234 || e.text != "the session is over" || e.host != "a" {
		t.Errorf("%+v", e)
	}
	for _, bad := range []string{"", "leads", "leads x", "go version"} {
		if _, ok := parseEvent("a", bad); ok {
			t.Errorf("%q is an event", bad)
		}
	}
	r := &rig{settings: &settings{log: io.Discard}, system: &system{}, leading: make(map[string]event), lives: map[string]int{"a": 2, "b": 1}}
	for _, e := range []event{{host: "a", what: "leads", at: 5, life: 1}, {host: "b", what: "leads", at: 7, life: 1}, {host: "a", what: "leads", at: 8, life: 2}, {host: "a", what: "lost", life: 1}} {
		r.record(e)
	}
	if l := r.leader(); l.host != "a" || r.changes != 2 {
		t.Errorf("%+v leads after %d changes: the word of an earlier life counts", l, r.changes)
	}
}

func TestWhatTheKernelSays(t *testing.T) {
	out, inside := devices("Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs\n" +
		"    lo: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n  eth0: 300 3 0 0 0 0 0 0 400 4 0 0 0 0 0 0\n")
	if out != [2]uint64{4, 400} || inside != [2]uint64{2, 200} {
		t.Errorf("%v outside, %v inside", out, inside)
	}
	if got := field("Name:\tx\nVmRSS:\t   12 kB\n", "VmRSS:"); got != 12 {
		t.Errorf("%d kB", got)
	}
	if n, ok := perfCount("1234;;raw_syscalls:sys_enter;1000;100.00;;\n"); !ok || n != 1234 {
		t.Errorf("%v calls, %v", n, ok)
	}
	if _, ok := perfCount("<not supported>;;raw_syscalls:sys_enter;0;100.00;;\n"); ok {
		t.Error("what perf cannot count is a number")
	}
	c := between(usage{cpu: time.Second, packets: 100}, usage{cpu: 2 * time.Second, packets: 300, memory: 5e6}, 10*time.Second, true)
	if c.Cores != 10 || *c.Packets != 20 || c.Memory != 5 {
		t.Errorf("%+v", c)
	}
	if between(usage{}, usage{}, time.Second, false).Packets != nil {
		t.Error("packets are counted where hosts share an interface")
	}
}

func TestBlocksAddUp(t *testing.T) {
	r := &run{}
	few, many := 100.0, 200.0
	r.addIdle(cost{Seconds: 10, Cores: 1, Packets: &few, Memory: 7, Changes: 1})
	r.addIdle(cost{Seconds: 30, Cores: 2, Packets: &many, Memory: 5, Changes: 2})
	if r.Idle.Cores != 1.75 || *r.Idle.Packets != 175 || r.Idle.Memory != 7 || r.Idle.Changes != 3 || r.Idle.Seconds != 40 || r.Idle.Calls != nil {
		t.Errorf("%+v", r.Idle)
	}
	if got := perHour(r.Idle.Changes, r.Idle.Seconds); got != 270 {
		t.Errorf("%v in an hour", got)
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 7: "7", 1.2345: "1.23", 12.345: "12.3", 123.45: "123", 1234.5: "1,230", 1234567: "1,230,000", 0.0123: "0.012", 0.5: "0.500", 99.96: "100.0"} {
		if got := number(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

// example is a report with two runs.
func example() *report {
	packets, more := 279.0, 1553.0
	return &report{Date: time.Date(2026, 11, 19, 20, 0, 0, 0, time.UTC), Command: "bench-peers -trials 3", Machine: machine{2, "x", "Linux", "go1", -5}, Load: []float64{1, 2}, Hosts: "y", Busy: 4,
		Missing: []gap{{"zookeeper", "install it"}}, Runs: []*run{
			{System: "regent", Role: "fastest", Setting: setting{Name: "28ms"}, Trials: map[string]*series{"kill": {MS: sample{20, 21, 22}}}, Idle: &cost{Seconds: 60, Packets: &packets, Memory: 30},
				Stale: staleness{Woke: 3}, Price: &price{Local: 50, Clock: 40}},
			{System: "raft", Role: "fastest", Setting: setting{Name: "20ms"}, Trials: map[string]*series{"kill": {MS: sample{40, 42, 60}, Failed: 1}}, Idle: &cost{Seconds: 60, Packets: &more, Memory: 45, Changes: 2},
				Busy: &busyResult{Seconds: 60, Changes: 9}, Both: together{2, 30, 20}, Stale: staleness{3, 2, sample{1, 2}}, Price: &price{Local: 25}},
		}}
}

func TestTableHasRatios(t *testing.T) {
	text := example().markdown()
	for _, want := range []string{"| regent | 28ms (fastest) | 21; p90 22, max 22 of 3 |", "| raft | 20ms (fastest) | 42 (2×); p90 60, max 60 of 3, **1 failed** |", "1,550 (5.57×)", "45 MB (1.50×)",
		"9 in 1m0s", "2, up to 20 ms", "2 of 3, for 1 ms", "25 ns (0.500×)", "* zookeeper: install it", "`nice -n -5 bench-peers -trials 3`, 19 November 2026 20:00 UTC, 2 processors (x), Linux, go1. Load averages: 1.0, 2.0. Hosts: y."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestPlotsAreWellFormedAndInTheirFrame(t *testing.T) {
	r := example()
	r.Runs[0].Setting.Name = `<28>&"`
	plots := r.plots()
	for _, name := range []string{"cdf-kill.svg", "packets.svg", "stability.svg"} {
		d := xml.NewDecoder(strings.NewReader(plots[name]))
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if plots[name] == "" || strings.Contains(plots[name], "NaN") || strings.Contains(plots[name], "Inf") {
			t.Errorf("%s: %q", name, plots[name])
		}
	}
	if x := newAxis([]float64{0, 5, 70}, true, true, left, right); x.at(0) != zeroAt || x.at(5) <= zeroAt || x.at(70) > right {
		t.Errorf("zero is at %v, 5 at %v, 70 at %v", x.at(0), x.at(5), x.at(70))
	}
	for _, a := range []axis{newAxis([]float64{0.7, 300}, true, false, left, right), newAxis([]float64{0, 5, 70}, true, true, left, right), newAxis([]float64{3, 100}, false, false, left, right), newAxis(nil, true, false, left, right)} {
		last := math.Inf(-1)
		for _, v := range append([]float64{0}, a.ticks()...) {
			if x := a.at(v); x < left-1 || x > right+1 || x < last {
				t.Errorf("%+v: %v is at %v", a, v, x)
			} else {
				last = x
			}
		}
	}
}

// Tables and plots in the documentation are those of the results that were recorded: make performance writes them.
func TestRecordedResultsAreRendered(t *testing.T) {
	const dir = "../../docs/peers"
	r, err := readReport(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.files()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is not that of the results (make performance writes it): %v", name, err)
		}
	}
}

// A whole run, with real processes.
func TestAShortRun(t *testing.T) {
	if os.Getenv("REGENT_TEST") != "long" {
		return // it takes a minute of both processors, most of it to build the candidates
	}
	bin := t.TempDir()
	for _, name := range []string{"regent", "raft"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "peer-"+name), "./"+name).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	out := t.TempDir()
	s, err := parse([]string{"-systems", "regent,raft,redis", "-redis", "/nowhere/redis-server", "-trials", "2", "-slow-trials", "1", "-for", "2s", "-busy", "2s", "-blocks", "2", "-settings", "fastest", "-fastest", "regent=100ms,raft=500ms", "-bin", bin, "-out", out}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	r := measure(ctx, s)
	if err := r.write(out); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(out, "peers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var again report
	if err := json.Unmarshal(b, &again); err != nil || again.markdown() != r.markdown() {
		t.Errorf("the file of results is not the whole report: %v", err)
	}
	if len(r.Runs) != 2 || !strings.Contains(r.markdown(), "install Redis (Debian package redis-server)") {
		t.Fatalf("runs and what is missing:\n%s", r.markdown())
	}
	for _, x := range r.Runs {
		for _, kind := range s.kinds {
			if len(x.Trials[kind].MS) != 2 {
				t.Errorf("%s, %s: %+v", x.name(), kind, x.Trials[kind])
			}
		}
		if x.Price == nil || x.Price.Verified == 0 || x.Idle == nil || x.Stale.Woke != 2 || len(x.Start) != 2 {
			t.Errorf("%s: %+v %+v %+v", x.name(), x.Price, x.Idle, x.Stale)
		}
		if x.System == "regent" && (x.Both.Pairs > 0 || x.Stale.Believed > 0) {
			t.Errorf("%s: %+v %+v", x.name(), x.Both, x.Stale)
		}
	}
}
