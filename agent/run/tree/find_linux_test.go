package tree

import (
	"os"
	"testing"
)

func TestParseStatOfAProgramWithAnOddName(t *testing.T) {
	s, err := parseStat([]byte("42 (a) S 1 (b) Z 7 42 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (stat{pid: 42, name: "a) S 1 (b", parent: 7, session: 9, started: 12345, dead: true}); s != want {
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
