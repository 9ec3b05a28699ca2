package library_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// longLease is so long that a failover which waits for it cannot be taken for one that does not, on however busy a host.
const longLease = 20 * time.Second

// newGuarded returns a cluster of member processes with guardians.
func newGuarded(t *testing.T, lease time.Duration) *cluster.Watch {
	t.Helper()
	return newWatch(t, func(o *cluster.Options) {
		o.Guardian = true
		o.Timing = regent.LAN
		o.Timing.Lease, o.Timing.LongestLease = lease, lease
	}, "a", "b", "c")
}

// guardianOf returns the process of a member's guardian; 0 if there is none.
func guardianOf(t *testing.T, member int) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if fields[1] == strconv.Itoa(member) && strings.HasPrefix(string(line), "regent-guardian\x00") {
			return pid
		}
	}
	return 0
}

// needGuardian waits until a member's guardian is there.
func needGuardian(t *testing.T, w *cluster.Watch, name string) (pid int) {
	t.Helper()
	cluster.Eventually(t, "the guardian of "+name, func() bool {
		pid = guardianOf(t, w.Pid(name))
		return pid != 0
	})
	return pid
}

// ended says whether a process has ended; a zombie has.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

func TestKilledLeaderWithAGuardianIsReplacedLongBeforeItsLeaseExpires(t *testing.T) {
	t.Parallel()
	w := newGuarded(t, longLease)
	w.BeginAll()
	old := w.Leader(0)
	pid := needGuardian(t, w, old.Member)
	killed := cluster.Now()
	w.Must(w.Crash(old.Member))
	next := w.Leader(old.Token)
	if took := next.At.Sub(killed); took > longLease/2 {
		t.Errorf("%s leads %v after %s was killed, whose lease lasts %v", next.Member, took, old.Member, longLease)
	} else {
		t.Logf("%s leads after %v", next.Member, took)
	}
	cluster.Eventually(t, "the guardian to end", func() bool { return ended(pid) })
}

func TestLeaderWhoseGuardianWasKilledIsReplacedWhenItsLeaseExpires(t *testing.T) {
	t.Parallel()
	w := newGuarded(t, 2*time.Second)
	w.BeginAll()
	old := w.Leader(0)
	pid := needGuardian(t, w, old.Member)
	w.Must(syscall.Kill(pid, syscall.SIGKILL))
	cluster.Eventually(t, "the guardian to end", func() bool { return ended(pid) })
	w.Must(w.Crash(old.Member))
	w.Leader(old.Token)
}

func TestGuardianEndsWithAMemberThatLeaves(t *testing.T) {
	t.Parallel()
	w := newGuarded(t, 2*time.Second)
	w.BeginAll()
	w.Leader(0)
	pid := needGuardian(t, w, "a")
	w.Stop("a", cluster.Patience)
	cluster.Eventually(t, "the guardian to end", func() bool { return ended(pid) })
}
