package agent

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestKilledProgramIsReplacedWithoutWaitingForItsLease(t *testing.T) {
	t.Parallel()
	// With a lease of eight seconds nobody waits for it by accident.
	v := newVillage(t, 3, "timing: {lease: 8s}\n")
	p, q := v.startProgram("p", "a", task{}), v.startProgram("q", "b", task{})
	for round := range 4 {
		leader, w := v.first(p, q)
		other := p
		if leader == p {
			other = q
		}
		start := shared()
		leader.kill()
		_, next := v.first(other)
		took := time.Duration(next.At - start)
		if next.Token <= w.Token {
			t.Errorf("token %d after %d", next.Token, w.Token)
		}
		if took > 4*time.Second {
			t.Errorf("round %d: the next program was told after %v", round, took)
		}
		if leader == p {
			p = v.startProgram("p", "a", task{})
		} else {
			q = v.startProgram("q", "b", task{})
		}
		// The other one is killed next, and the new one has to be waiting by then.
		fresh := p
		if other == p {
			fresh = q
		}
		v.await(fresh, "waits")
		other.words <- next
	}
	v.judge(4)
}

func TestProgramsOfOneHostTakeTurns(t *testing.T) {
	t.Parallel()
	v := newVillage(t, 3, "")
	p := v.startProgram("p", "a", task{})
	v.await(p, "leads")
	q := v.startProgram("q", "a", task{})
	v.await(q, "waits")
	p.kill()
	v.await(q, "leads")
	v.judge(2)
}

func TestHungUpProgramThatLivesIsNotReplacedBeforeItsLastEnd(t *testing.T) {
	t.Parallel()
	v := newVillage(t, 3, "")
	p := v.startProgram("p", "a", task{Abandon: 300 * time.Millisecond})
	v.await(p, "leads")
	q := v.startProgram("q", "a", task{})
	gone := v.await(p, "abandons")
	next := v.await(q, "leads")
	if waited := time.Duration(next.At - gone.At); waited < 1200*time.Millisecond {
		t.Errorf("replaced %v after it hung up, while it still led", waited)
	}
	reigns := v.judge(2)
	if led := time.Duration(reigns[0].until - gone.At); led < 300*time.Millisecond {
		t.Errorf("the program led only %v after it hung up: the test shows nothing", led)
	}
}

func TestStoppedProgramIsCaughtByItsHeartbeat(t *testing.T) {
	t.Parallel()
	v := newVillage(t, 3, "")
	p := v.startProgram("p", "a", task{Heartbeat: 300 * time.Millisecond})
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	start := shared()
	p.signal(syscall.SIGSTOP)
	next := v.await(q, "leads")
	if took := time.Duration(next.At - start); took > 10*time.Second {
		t.Errorf("a hung program was replaced after %v", took)
	}
	p.signal(syscall.SIGCONT)
	v.await(p, "waits")
	v.judge(2)
}

func TestStoppedProgramIsCaughtWhenItReadsNoMore(t *testing.T) {
	t.Parallel()
	v := newVillage(t, 3, "")
	p := v.startProgram("p", "a", task{})
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	start := shared()
	p.signal(syscall.SIGSTOP)
	next := v.await(q, "leads")
	t.Logf("replaced after %v", time.Duration(next.At-start))
	p.signal(syscall.SIGCONT)
	v.await(p, "waits")
	v.judge(2)
}

func TestProgramStopsWithItsAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		signal syscall.Signal
	}{{"killed", syscall.SIGKILL}, {"stopped", syscall.SIGSTOP}} {
		t.Run(c.name, func(t *testing.T) {
			v := newVillage(t, 3, "")
			p := v.startProgram("p", "a", task{})
			v.await(p, "leads")
			q := v.startProgram("q", "b", task{})
			v.await(q, "waits")
			v.agents["a"].signal(c.signal)
			v.await(q, "leads")
			v.await(p, "stopped")
			if c.signal == syscall.SIGSTOP {
				v.agents["a"].signal(syscall.SIGCONT)
				v.await(p, "waits")
			}
			v.judge(2)
		})
	}
}

func TestProgramOfACutOffAgentIsToldInTime(t *testing.T) {
	t.Parallel()
	// A busy host may not run the program for longer than the guard time of the profile.
	v := newVillage(t, 3, "timing: {lease: 3s, guard: 1s}\n")
	p := v.startProgram("p", "a", task{Stopping: time.Minute}) // it goes on for as long as it may
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	for range 2 {
		v.cut("a", "cut")
		v.await(p, "stops")
		v.await(q, "leads")
		v.cut("a", "heal")
		v.await(p, "waits")
		q.signal(syscall.SIGSTOP) // and back, by the lease
		v.await(p, "leads")
		q.signal(syscall.SIGCONT)
		v.await(q, "waits")
	}
	v.judge(4)
}

func TestAgentThatStopsWaitsForItsProgramsAndHandsOver(t *testing.T) {
	t.Parallel()
	v := newVillage(t, 3, "timing: {lease: 8s}\nstop_grace: 10s\n")
	p := v.startProgram("p", "a", task{Stopping: 500 * time.Millisecond})
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	v.agents["a"].signal(syscall.SIGTERM)
	stops := v.await(p, "stops")
	if stops.Text != "closed" {
		t.Errorf("told to stop because of %q", stops.Text)
	}
	stopped := v.await(p, "stopped")
	next := v.await(q, "leads")
	if took := time.Duration(next.At - stopped.At); took > 4*time.Second {
		t.Errorf("handed over %v after the program had stopped", took)
	}
	if took := time.Duration(stopped.At - stops.At); took < 400*time.Millisecond {
		t.Errorf("the program was given %v to stop", took)
	}
	<-v.agents["a"].gone
	if code := v.agents["a"].cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the agent ended with %d:\n%s", code, v.agents["a"].errs)
	}
	v.judge(2)
}

// The member's thread finds one of Go's processors even if those of the host are all with threads that do not run.
func TestAgentHasProcessorsToSpare(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	v := foundVillage(t, 1, "", false)
	answer, err := http.Get("http://" + v.http["a"] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if want := fmt.Sprintf("\ngo_sched_gomaxprocs_threads %d\n", runtime.NumCPU()+2); err != nil || !strings.Contains(string(body), want) {
		t.Errorf("%v; want %s in:\n%s", err, want, body)
	}
}

// However a balancer asks, two agents never both say yes: not even when one has been cut off and does not know it yet.
func TestRoleEndpointsOfTwoHostsNeverBothSayYes(t *testing.T) {
	t.Parallel()
	v := newVillage(t, 3, "default_group: g\n")
	p, q := v.startProgram("p", "a", task{Stopping: time.Minute}), v.startProgram("q", "b", task{Stopping: time.Minute})
	// Of each leadership: the end of the first question that was answered with yes, and the start of the last one. The
	// lease ran at an instant within each question.
	type answers struct{ first, last int64 }
	var mu sync.Mutex
	all := make(map[uint64]*answers)
	stop := make(chan struct{})
	var pollers sync.WaitGroup
	for _, agent := range []string{"a", "b"} {
		pollers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				asked := shared()
				status, body := v.ask(agent, "/primary")
				told := shared()
				if status != 200 {
					continue
				}
				mu.Lock()
				token := uint64(body["token"].(float64))
				if all[token] == nil {
					all[token] = &answers{first: told}
				}
				all[token].last = asked
				mu.Unlock()
			}
		})
	}
	leader, _ := v.first(p, q)
	for range 4 {
		host, other := "a", q
		if leader == q {
			host, other = "b", p
		}
		v.cut(host, "cut")
		v.await(other, "leads")
		v.cut(host, "heal")
		v.await(leader, "waits")
		leader = other
		time.Sleep(200 * time.Millisecond) // wall clock: the council settles
	}
	close(stop)
	pollers.Wait()
	if len(all) < 3 {
		t.Errorf("only %d leaderships were seen", len(all))
	}
	for x, before := range all {
		for y, after := range all {
			if x < y && before.last > after.first {
				t.Errorf("the leader with token %d was said to lead %v after the one with token %d was", x, time.Duration(before.last-after.first), y)
			}
		}
	}
	v.judge(4)
}
