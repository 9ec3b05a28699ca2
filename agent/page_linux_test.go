package agent

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
	"golang.org/x/sys/unix"
)

// lines speaks to an agent as a program in another language does.
func lines(t *testing.T, a *testAgent, requests string) *bufio.Scanner {
	t.Helper()
	in, _ := dialogue(t, a, requests)
	return in
}

// dialogue does the same, and returns how to write more.
func dialogue(t *testing.T, a *testAgent, requests string) (*bufio.Scanner, func(string)) {
	t.Helper()
	c, err := net.Dial("unix", a.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	write := func(requests string) {
		t.Helper()
		if _, err := c.Write([]byte(requests)); err != nil {
			t.Fatal(err)
		}
	}
	write(requests)
	return bufio.NewScanner(c), write
}

// await returns the next event of a kind, and how many others came before it.
func await(t *testing.T, in *bufio.Scanner, kind string) (session.Event, int) {
	t.Helper()
	for others := 0; in.Scan(); others++ {
		var e session.Event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event == kind {
			return e, others
		}
	}
	t.Fatalf("no %s came: %v", kind, in.Err())
	return session.Event{}, 0
}

func TestProgramWithAPageIsRenewedWithoutLines(t *testing.T) {
	a := open(t, 1, "").agents[0]
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	k := a.agent.leader("g")
	if _, number := k.onPage(); number == 0 {
		t.Fatal("the program has no place on the page")
	}
	first := l.Until()
	cluster.Eventually(t, "the program sees a renewal", func() bool { return l.Until() > first && l.Valid() })
	k.life.Give(tenure.Event{Kind: tenure.Freeze, Cause: protocol.Cause{Code: protocol.Unhealthy, Peer: protocol.Nobody}})
	frozen := l.Until()
	later, renewed := frozen, false
	cluster.Eventually(t, "the frozen deadline passes", func() bool {
		later = max(later, l.Until())
		renewed = renewed || k.currentLease().Until()-regent.Instant(k.margin) > k.announced()
		return !l.Valid()
	})
	if !renewed {
		t.Error("the lease was not renewed after the freeze")
	}
	if later > frozen {
		t.Errorf("the program saw %v after the deadline was frozen at %v", later, frozen)
	}
}

// The page never shows more than the member's lease, and what it showed is what the machine counts when it freezes.
func TestPageShowsNoMoreThanTheLease(t *testing.T) {
	a := open(t, 1, "").agents[0]
	if _, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"}); err != nil {
		t.Fatal(err)
	}
	k, d := a.agent.leader("g"), a.agent.deadlines
	look := func() (page, lease protocol.Time) {
		d.mu.Lock()
		shown := k.slot.Load().Until()
		d.mu.Unlock()
		now := protocol.Time(d.now()) // first: what passes makes the result earlier
		host, err := clock.HostHigh()
		if err != nil {
			t.Fatal(err)
		}
		return now.Add(shown.Sub(host)), protocol.Time(k.currentLease().Until()) // last: it only grows
	}
	seen := make(map[protocol.Time]bool)
	cluster.Eventually(t, "the page shows ten renewals", func() bool {
		page, lease := look()
		if page > lease {
			t.Fatalf("the page shows %v, and the lease ends at %v", page, lease)
		}
		if lease.Sub(page) < time.Millisecond {
			seen[lease] = true
		}
		return len(seen) > 10
	})
	k.life.Give(tenure.Event{Kind: tenure.Freeze, Cause: protocol.Cause{Code: protocol.Unhealthy, Peer: protocol.Nobody}})
	page, _ := look()
	if known, _ := k.life.Announced(); known < page.Add(-k.margin) {
		t.Errorf("the page shows %v, and the machine knows of %v", page.Add(-k.margin), known)
	}
}

func TestProgramWithoutAPageIsToldInLines(t *testing.T) {
	a := open(t, 1, "").agents[0]
	in := lines(t, a, `{"do":"campaign","id":1,"group":"g"}`+"\n")
	e, _ := await(t, in, session.Leads)
	if e.Tenure != 0 {
		t.Errorf("it has a place on a page that it did not ask for: %+v", e)
	}
	for range 3 {
		next, _ := await(t, in, session.Until)
		if next.Until <= e.Until {
			t.Errorf("it was told %v after %v", next.Until, e.Until)
		}
		e = next
	}
	if left := a.agent.leader("g").announced().Sub(a.agent.now()); e.Remaining > left-a.agent.timing.Guard/2 {
		t.Errorf("remaining is %v, and %v are left: there is no allowance", e.Remaining, left)
	}
}

func TestPageIsForThoseWithTheSameClocksAndSignsOfLife(t *testing.T) {
	a := open(t, 1, "").agents[0]
	e, _ := await(t, lines(t, a, `{"do":"campaign","id":1,"group":"g","page":true}`+"\n"), session.Failed)
	if !strings.Contains(e.Error, "signs of life") {
		t.Errorf("a page without a heartbeat: %+v", e)
	}
	await(t, lines(t, a, `{"do":"page","id":1}`+"\n"), session.Mapped)
	c := &conn{agent: a.agent}
	if err := c.mayMap(); err == nil {
		t.Error("an unknown process gets the page")
	}
	for name, other := range map[string]uintptr{"its own clocks": unix.CLONE_NEWTIME, "the clocks of the host": 0} {
		p := exec.Command("sleep", "60")
		p.SysProcAttr = &syscall.SysProcAttr{Unshareflags: other, Pdeathsig: syscall.SIGKILL}
		if err := p.Start(); err != nil {
			if other != 0 && os.Geteuid() != 0 {
				continue // only root may make such a process
			}
			t.Fatal(err)
		}
		defer func() { _ = p.Wait() }()
		defer func() { _ = p.Process.Kill() }()
		fd, err := unix.PidfdOpen(p.Process.Pid, unix.PIDFD_NONBLOCK)
		if err != nil {
			t.Fatal(err)
		}
		c.peer = &peer{pid: p.Process.Pid, process: os.NewFile(uintptr(fd), "pidfd")}
		defer c.peer.close()
		if err := c.mayMap(); (err != nil) != (other != 0) || err != nil && !strings.Contains(err.Error(), "time namespace") {
			t.Errorf("a process with %s: %v", name, err)
		}
		c.mapped.Store(true) // while it had the clocks of the host
		if reads, err := c.readsPage(&session.Request{Page: true}); reads != (other == 0) || (err == nil) != reads {
			t.Errorf("a process with %s that has the page reads it: %t, %v", name, reads, err)
		}
	}
}

// A program that reads the page and hangs is noticed: nothing else would.
func TestProgramWithAPageThatGivesNoSignOfLifeIsAsked(t *testing.T) {
	a := open(t, 1, "").agents[0]
	in, write := dialogue(t, a, `{"do":"page","id":1}`+"\n")
	await(t, in, session.Mapped)
	write(`{"do":"campaign","id":1,"group":"g","page":true,"heartbeat":500000000}` + "\n")
	if e, _ := await(t, in, session.Leads); e.Tenure == 0 {
		t.Fatalf("it has no place on the page: %+v", e)
	}
	e, others := await(t, in, session.Stop)
	if others != 0 || e.Cause == nil || e.Cause.Why.String() != "unhealthy" {
		t.Errorf("after %d other lines it is asked to stop: %+v", others, e.Cause)
	}
	await(t, in, session.Over)
}

// One that hangs while it waits would cost a lease if it were elected. It learns why its candidacy is over.
func TestProgramThatIsSilentWhileItWaitsIsNotElected(t *testing.T) {
	a := open(t, 1, "").agents[0]
	if _, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"}); err != nil {
		t.Fatal(err)
	}
	in := lines(t, a, `{"do":"campaign","id":1,"group":"g","heartbeat":100000000}`+"\n")
	if e, _ := await(t, in, session.Over); e.Cause == nil || e.Cause.Why.String() != "unhealthy" {
		t.Errorf("its candidacy is over for %+v", e.Cause)
	}
}
