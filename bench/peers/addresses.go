package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// keepalivedSystem has keepalived on three hosts, and candidates that read what it says. It watches hosts and not programs, so only hosts can be lost. Length is three
// times the interval of its advertisements, after which a backup takes over.
func keepalivedSystem() *system {
	of := func(interval time.Duration) setting {
		return setting{Name: interval.String(), Length: 3 * interval, second: interval, rest: 4 * interval, Says: fmt.Sprintf("VRRP 3, advertisements every %v, priorities 254, 253 and 252, nopreempt", interval)}
	}
	s := &system{name: "keepalived", says: "keepalived on three hosts, and programs that read its pipe; no quorum", defaults: of(time.Second), kinds: []string{"host", "cut"}}
	for _, ms := range []time.Duration{10, 20, 50, 100, 200, 500} {
		s.fastest = append(s.fastest, of(ms*time.Millisecond))
	}
	s.missing = func(set *settings) string {
		if !set.apart {
			return "hosts must be network namespaces (run as root, with iproute2 and util-linux installed)"
		}
		return needs(built("keepalived"), need{"keepalived", "install keepalived (Debian package keepalived)"})(set)
	}
	s.version = func(set *settings) string { return asked(set.program("keepalived"), "--version") }
	pipe := func(r *rig, host string) string { return filepath.Join(r.c.Dir, "pipe-"+host) }
	s.servers = func(r *rig, host string) (*exec.Cmd, error) {
		if err := syscall.Mkfifo(pipe(r, host), 0o600); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		config := filepath.Join(r.c.Dir, "keepalived-"+host+".conf")
		text := fmt.Sprintf(`global_defs {
	vrrp_version 3
	script_user root
	vrrp_notify_fifo %s
}
vrrp_instance peers {
	state BACKUP
	nopreempt
	interface eth0
	virtual_router_id 51
	priority %d
	advert_int %.2f
	virtual_ipaddress {
		198.18.0.200/32
	}
}
`, pipe(r, host), 254-slices.Index(hosts, host), r.setting.second.Seconds())
		pids := filepath.Join(r.c.Dir, "keepalived-"+host)
		return exec.Command(r.program("keepalived"), "--dont-fork", "--log-console", "--vrrp", "-f", config, "-p", pids+".pid", "-r", pids+".vrrp.pid"), os.WriteFile(config, []byte(text), 0o600)
	}
	s.candidate = func(r *rig, host string) (*exec.Cmd, []byte, error) {
		return exec.Command(r.program("peer-keepalived"), "-journals", r.c.JournalDir(), "-name", host, "-pipe", pipe(r, host)), nil, nil
	}
	return s
}

// children returns the processes that a process has started, and theirs.
func children(pid int) (all []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(word); err == nil {
				all = append(append(all, n), children(n)...)
			}
		}
	}
	return all
}
