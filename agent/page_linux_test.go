package agent

import (
	"bufio"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
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
	k := a.agent.core.Leader("g")
	if _, number := k.OnPage(); number == 0 {
		t.Fatal("the program has no place on the page")
	}
	first := l.Until()
	cluster.Eventually(t, "the program sees a renewal", func() bool { return l.Until() > first && l.Valid() })
	k.ReportFreeze(protocol.Cause{Code: protocol.Unhealthy, Peer: protocol.Nobody})
	frozen := l.Until()
	later, renewed := frozen, false
	cluster.Eventually(t, "the frozen deadline passes", func() bool {
		later = max(later, l.Until())
		renewed = renewed || k.LeaseEnd().Add(-k.Margin) > k.Announced()
		return !l.Valid()
	})
	if !renewed {
		t.Error("the lease was not renewed after the freeze")
	}
	if later > frozen {
		t.Errorf("the program saw %v after the deadline was frozen at %v", later, frozen)
	}
}

func TestProgramWithoutAPageGetsLines(t *testing.T) {
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
	if left := a.agent.core.Leader("g").Announced().Sub(a.agent.core.Now()); e.Remaining > left-a.agent.core.Timing.Guard/2 {
		t.Errorf("remaining is %v, and %v are left: there is no allowance", e.Remaining, left)
	}
}

func TestPageIsForThoseThatGiveSignsOfLife(t *testing.T) {
	a := open(t, 1, "").agents[0]
	e, _ := await(t, lines(t, a, `{"do":"campaign","id":1,"group":"g","page":true}`+"\n"), session.Failed)
	if !strings.Contains(e.Error, "signs of life") {
		t.Errorf("a page without a heartbeat: %+v", e)
	}
	await(t, lines(t, a, `{"do":"page","id":1}`+"\n"), session.Mapped)
}

// A program that reads the page and hangs is noticed: nothing else would.
func TestProgramWithAPageThatGivesNoSignOfLifeIsAsked(t *testing.T) {
	a := open(t, 1, "").agents[0]
	in, write := dialogue(t, a, `{"do":"page","id":1}`+"\n")
	await(t, in, session.Mapped)
	write(`{"do":"campaign","id":1,"group":"g","page":true,"heartbeat_ns":500000000}` + "\n")
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
	in := lines(t, a, `{"do":"campaign","id":1,"group":"g","heartbeat_ns":100000000}`+"\n")
	if e, _ := await(t, in, session.Over); e.Cause == nil || e.Cause.Why.String() != "unhealthy" {
		t.Errorf("its candidacy is over for %+v", e.Cause)
	}
}
