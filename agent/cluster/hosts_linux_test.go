package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bestHosts returns Namespaces, and Loopback for users that cannot have any, who have to be given the reason. Root always can.
func bestHosts(t *testing.T) Hosts {
	t.Helper()
	why := CanNamespaces()
	if why == nil {
		return Namespaces
	}
	c, err := New(Options{Names: []string{"a"}, Hosts: Namespaces})
	if err == nil {
		_ = c.Close()
	}
	if os.Geteuid() == 0 || err == nil || err.Error() != why.Error() || !strings.Contains(err.Error(), "as root") {
		t.Fatalf("namespaces: %v; a cluster of them: %v", why, err)
	}
	return Loopback
}

// bestClocks returns clocks that differ, where hosts can have some of their own.
func bestClocks(t *testing.T) map[string]time.Duration {
	t.Helper()
	if err := CanClocks(); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return nil
	}
	return map[string]time.Duration{"b": 5000 * time.Second, "c": -60 * time.Second}
}

func TestMembersInNamespacesElectCutOffAndElectAgain(t *testing.T) {
	w := OpenWatch(t, Options{Names: []string{"a", "b", "c"}, Hosts: bestHosts(t), Timing: calm, Command: Child(), Groups: OneGroup, Relay: true,
		Poll: time.Millisecond, Clocks: bestClocks(t)})
	w.BeginAll()
	last := w.Leader(0)
	unplug, plug := w.Unplug, w.Plug
	if w.Hosts != Namespaces {
		unplug, plug = w.Cut, w.Heal
	}
	for _, c := range []struct{ lose, back func(string) error }{{w.Cut, w.Heal}, {unplug, plug}, {w.Pause, w.Resume}, {w.Crash, w.Start}} {
		if err := c.lose(last.Member); err != nil {
			t.Fatal(err)
		}
		next := w.Leader(last.Token)
		if next.Member == last.Member || next.At < last.At || next.At > Now() {
			t.Errorf("%s led at %v, after %s at %v; now it is %v", next.Member, next.At, last.Member, last.At, Now())
		}
		if err := c.back(last.Member); err != nil {
			t.Fatal(err)
		}
		last = next
	}
	w.Judge(t, 5, Rules{})
}

// Hosts do not see one another but by the switch, and this host sees none of them.
func TestNamespacesAreHostsOfTheirOwn(t *testing.T) {
	if bestHosts(t) != Namespaces {
		return
	}
	w := Open(t, Options{Names: []string{"a", "b"}, Hosts: Namespaces})
	addr := netip.AddrPortFrom(w.hosts.addr("a").Addr(), 8000).String()
	lines := make(chan string, 1)
	var l net.Listener
	if err := within(w.hosts.(*namespaces).hosts["a"], func() (err error) { l, err = net.Listen("tcp", addr); return err }); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reach := func(from string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		conn, err := w.hosts.dial(ctx, from, "tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err
	}
	Eventually(t, "b reaches a", func() bool { return reach("b") == nil })
	mine, err := net.InterfaceAddrs()
	if err != nil || slices.ContainsFunc(mine, func(a net.Addr) bool { return strings.HasPrefix(a.String(), "198.18.") }) {
		t.Errorf("this host is part of the network: %v, %v", mine, err)
	}
	if err := w.Unplug("a"); err != nil {
		t.Fatal(err)
	}
	if reach("b") == nil {
		t.Error("b reaches a without a cable")
	}
	if err := w.Plug("a"); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "b reaches a again", func() bool { return reach("b") == nil })
	if _, err := w.Spawn("who", "b", exec.Command("cat", "/proc/net/dev"), func(l string) {
		if strings.Contains(l, "eth0") {
			lines <- l
		}
	}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lines:
	case <-time.After(Patience):
		t.Error("a process on b does not see its interface")
	}
}

// Readings of processes whose clocks are ahead can be compared with others.
func TestReadingsDoNotDependOnTheTimeNamespace(t *testing.T) {
	for _, by := range append(slices.Collect(maps.Values(bestClocks(t))), 0) {
		c := exec.Command(os.Args[0], "-test.run", "^$")
		c.Env = append(os.Environ(), "REGENT_TEST_READING=1")
		if by != 0 {
			if err := shift(c, by); err != nil {
				t.Fatal(err)
			}
		}
		before := Now()
		out, err := c.Output()
		after := Now()
		if err != nil {
			t.Fatal(err)
		}
		reading, err := time.ParseDuration(strings.TrimSpace(string(out)) + "ns")
		if err != nil || Time(reading) < before || Time(reading) > after {
			t.Errorf("a process whose clocks are %v ahead reads %v, between %v and %v: %v", by, reading, before, after, err)
		}
	}
}

func init() { abandon = makeAndWait }

// makeAndWait makes a cluster and reports where it is: it will be killed.
func makeAndWait(hosts string) {
	kind, err := strconv.Atoi(hosts)
	if err != nil {
		panic(err)
	}
	w, err := New(Options{Names: []string{"a"}, Hosts: Hosts(kind), Relay: true, Timing: calm, Command: Child(), Groups: OneGroup, Poll: time.Millisecond})
	if err != nil {
		panic(err)
	}
	if err := w.Start("a"); err != nil {
		panic(err)
	}
	actor := exec.Command("env", w.Acting(true)[1:]...)
	actor.Env = append(os.Environ(), "REGENT_TOKEN=1", "REGENT_MEMBER=p", "REGENT_GROUP=h")
	actor.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it survives its parent
	if err := actor.Start(); err != nil {
		panic(err)
	}
	for {
		if spans, _ := w.Spans(); len(spans) == 2 {
			break
		}
		time.Sleep(lookLast) // wall clock: other processes are waited for
	}
	fmt.Println(w.Dir, w.Pid("a"), actor.Process.Pid)
	select {}
}

func TestNothingIsLeftOfAClusterThatIsKilled(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), fmt.Sprintf("REGENT_TEST_ABANDON=%d", bestHosts(t)))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	var member, actor int
	if _, err := fmt.Fscan(out, &dir, &member, &actor); err != nil {
		t.Fatal(err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	Eventually(t, "its directory "+dir+" is removed", func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) })
	for _, pid := range []int{member, actor} {
		Eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool { return !exists(pid) })
	}
}
