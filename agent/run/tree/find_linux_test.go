package tree

import (
	"os"
	"strings"
	"testing"
)

func TestParseStatOfAProgramWithAnOddName(t *testing.T) {
	s, err := parseStat([]byte("42 (a) S 1 (b) Z 7 42 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (stat{pid: 42, parent: 7, session: 9, started: 12345, dead: true}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if s, err := parseStat([]byte("42 (x) Z 7 42 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 12345 0 0\n")); err != nil || s.dead {
		t.Errorf("%+v, %v: a process whose first thread has ended lives on while it has threads", s, err)
	}
	for _, bad := range []string{"", "42", "42 (x) S 1", "42 (x) S a b c d e f g h i j k l m n o p q r s t"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a state", bad)
		}
	}
}

func TestParseStatOfThisProcess(t *testing.T) {
	s, err := readStat(os.Getpid())
	if err != nil || s.pid != os.Getpid() || s.parent != os.Getppid() || s.dead || s.started == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// world is processes as /proc might show them.
func TestWhoBelongsToATree(t *testing.T) {
	ref := Ref{Mark: "m", Runner: 100, RunnerStarted: 5, First: 200, FirstStarted: 6}
	env := map[int]string{210: Mark + "=m\x00", 300: helper + "=1\x00", 900: Mark + "=other\x00", 901: Mark + "=m\x00"}
	all := []stat{
		{pid: 1, started: 1},
		{pid: 100, parent: 50, started: 5},                           // the runner
		{pid: 50, parent: 1, started: 2},                             // its shell
		{pid: 200, parent: 100, session: 200, started: 6},            // the first
		{pid: 201, parent: 1, session: 200, started: 7},              // an orphan in its session
		{pid: 210, parent: 1, session: 210, started: 8},              // an orphan with the mark
		{pid: 211, parent: 210, session: 211, started: 9},            // its child
		{pid: 212, parent: 100, session: 212, started: 10},           // an orphan that the runner adopted
		{pid: 213, parent: 1, session: 213, started: 11},             // one in the cgroup
		{pid: 214, parent: 201, session: 3, started: 10, dead: true}, // dead
		{pid: 215, parent: 214, session: 3, started: 11},             // whose parent is
		{pid: 300, parent: 100, session: 300, started: 12},           // a helper of the runner
		{pid: 301, parent: 300, session: 300, started: 13},           // and its child
		{pid: 901, parent: 1, session: 901, started: 4},              // one that was there before the runner, whatever it says
		{pid: 900, parent: 50, session: 900, started: 14},            // a stranger
	}
	pids := func(r Ref, all []stat) string {
		var words []string
		for _, p := range r.pick(all, map[int]bool{213: true}, func(pid int) string { return env[pid] }) {
			words = append(words, string(rune('0'+p.Pid/100))+string(rune('0'+p.Pid/10%10))+string(rune('0'+p.Pid%10)))
		}
		return strings.Join(words, " ")
	}
	if got, want := pids(ref, all), "200 201 210 211 212 213 215"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}

	// The runner is gone and a stranger has its number.
	all[1].started = 99
	if got, want := pids(ref, all), "200 201 210 211 213 215"; got != want {
		t.Errorf("without the runner: found %s, want %s", got, want)
	}

	// The first is gone and a stranger has its number.
	ref.FirstStarted = 99
	if got, want := pids(ref, all), "210 211 213"; got != want {
		t.Errorf("without the first: found %s, want %s", got, want)
	}

	// The first is not known yet.
	ref.First, ref.FirstStarted = 0, 0
	if got, want := pids(ref, all), "210 211 213"; got != want {
		t.Errorf("before the first: found %s, want %s", got, want)
	}
}

func TestCgroupDir(t *testing.T) {
	const mounts = `24 1 0:22 / /proc rw - proc proc rw
40 31 0:37 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw
`
	for _, c := range []struct{ mounts, own, want string }{
		{mounts, "0::/system.slice/a.service\n", "/sys/fs/cgroup/system.slice/a.service"},
		{mounts, "4:memory:/x\n0::/\n", "/sys/fs/cgroup"},
		{mounts, "4:memory:/x\n", ""},
		{"", "0::/\n", ""},
		{"41 31 0:38 /pod/one /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/pod/one/two\n", "/sys/fs/cgroup/two"},
		{"41 31 0:38 /pod/one /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/pod/three\n", ""},
	} {
		got, err := cgroupDir(c.mounts, c.own)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q in %q: %q, %v, want %q", c.own, c.mounts, got, err, c.want)
		}
	}
}
