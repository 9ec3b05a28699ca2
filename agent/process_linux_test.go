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

	"github.com/regentproject/regent/agent/cluster"
)

func TestKilledProgramIsReplacedWithoutWaitingForItsLease(t *testing.T) {
	t.Parallel()
	// With a lease of eight seconds nobody waits for it by accident.
	v := startAgents(t, 3, "timing: {lease: 8s}\n")
	p, q := v.startProgram("p", "a", task{}), v.startProgram("q", "b", task{})
	leader, other, leads := v.first(p, q)
	for round := range 4 {
		start := cluster.Now()
		v.must(leader.Kill())
		next := v.await(other, "leads")
		if next.Token <= leads.Token {
			t.Errorf("token %d after %d", next.Token, leads.Token)
		}
		if took := next.At.Sub(start); took > 4*time.Second {
			t.Errorf("round %d: the next program was told after %v", round, took)
		}
		again := v.startProgram(leader.Name, leader.Host, task{})
		v.await(again, "waits") // before the other one is killed
		leader, other, leads = other, again, next
	}
	v.judge(4)
}

func TestProgramsOfOneHostTakeTurns(t *testing.T) {
	t.Parallel()
	v := startAgents(t, 3, "")
	p := v.startProgram("p", "a", task{})
	v.await(p, "leads")
	q := v.startProgram("q", "a", task{})
	v.await(q, "waits")
	v.must(p.Kill())
	v.await(q, "leads")
	v.judge(2)
}

func TestHungUpProgramThatLivesIsNotReplacedBeforeItsLastEnd(t *testing.T) {
	t.Parallel()
	v := startAgents(t, 3, "")
	p := v.startProgram("p", "a", task{Abandon: 300 * time.Millisecond, Stopping: time.Minute, Once: true})
	v.await(p, "leads")
	q := v.startProgram("q", "a", task{})
	gone := v.await(p, "abandons")
	next := v.await(q, "leads")
	if waited := next.At.Sub(gone.At); waited < 1200*time.Millisecond {
		t.Errorf("replaced %v after it hung up, while it still led", waited)
	}
	v.await(p, "stopped") // when it finds its lease over, and no sooner
	spans := v.judge(2)
	if led := spans[0].Seen.Sub(gone.At); led < 300*time.Millisecond {
		t.Errorf("the program led only %v after it hung up: the test shows nothing", led)
	}
}

func TestStoppedProgramIsCaughtByItsHeartbeat(t *testing.T) {
	t.Parallel()
	v := startAgents(t, 3, "")
	p := v.startProgram("p", "a", task{Heartbeat: 300 * time.Millisecond})
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	start := cluster.Now()
	v.must(p.Pause())
	next := v.await(q, "leads")
	if took := next.At.Sub(start); took > 10*time.Second {
		t.Errorf("a hung program was replaced after %v", took)
	}
	v.must(p.Resume())
	v.await(p, "waits")
	v.judge(2)
}

func TestStoppedProgramIsCaughtWhenItReadsNoMore(t *testing.T) {
	t.Parallel()
	v := startAgents(t, 3, "")
	p := v.startProgram("p", "a", task{})
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	start := cluster.Now()
	v.must(p.Pause())
	next := v.await(q, "leads")
	t.Logf("replaced after %v", next.At.Sub(start))
	v.must(p.Resume())
	v.await(p, "waits")
	v.judge(2)
}

// A program that ignores the request to stop is renewed for its grace. Then its lease runs out, and another host leads after it.
func TestProgramThatDoesNotStopIsReplacedWhenItsLeaseHasRunOut(t *testing.T) {
	t.Parallel()
	const grace = time.Second
	v := startAgents(t, 3, "stop_grace: 1s\n")
	p := v.startProgram("p", "a", task{Stopping: time.Minute, Once: true})
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	ordered := make(chan error, 1)
	go func() {
		answer, err := http.Post("http://"+v.address("a")+"/v1/groups/g/resign", "application/json", strings.NewReader("{}"))
		if err == nil {
			err = answer.Body.Close()
		}
		ordered <- err
	}()
	asked := v.await(p, "stops")
	next := v.await(q, "leads")
	// Renewals come at least every 800 ms, so that the last end that it knew is 1.2 s off or more.
	if took := next.At.Sub(asked.At); took < grace+1200*time.Millisecond {
		t.Errorf("replaced %v after it was asked to stop, with a grace of %v and the lease after it", took, grace)
	}
	v.await(p, "stopped") // when it finds its lease over, and no sooner
	v.must(<-ordered)
	v.judge(2)
}

func TestProgramStopsWithItsAgent(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*cluster.Process) error{"killed": (*cluster.Process).Kill, "stopped": (*cluster.Process).Pause} {
		t.Run(name, func(t *testing.T) {
			v := startAgents(t, 3, "")
			p := v.startProgram("p", "a", task{})
			v.await(p, "leads")
			q := v.startProgram("q", "b", task{})
			v.await(q, "waits")
			a := v.Process("a")
			v.must(lose(a))
			v.await(q, "leads")
			v.await(p, "stopped")
			if !a.Ended() {
				v.must(a.Resume())
				v.await(p, "waits")
			}
			v.judge(2)
		})
	}
}

func TestProgramOfACutOffAgentIsAskedInTime(t *testing.T) {
	t.Parallel()
	// A busy host may not run the program for longer than the guard time of the profile.
	v := startAgents(t, 3, "timing: {lease: 3s, guard: 1s}\n")
	p := v.startProgram("p", "a", task{Stopping: time.Minute}) // it goes on for as long as it may
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	for range 2 {
		v.must(v.Cut("a"))
		v.await(p, "stops")
		v.await(q, "leads")
		v.must(v.Heal("a"))
		v.await(p, "waits")
		v.must(q.Pause()) // and back, by the lease
		v.await(p, "leads")
		v.must(q.Resume())
		v.await(q, "waits")
	}
	v.judge(4)
}

func TestAgentThatStopsWaitsForItsProgramsAndHandsOver(t *testing.T) {
	t.Parallel()
	v := startAgents(t, 3, "timing: {lease: 8s}\nstop_grace: 10s\n")
	p := v.startProgram("p", "a", task{Stopping: 500 * time.Millisecond})
	v.await(p, "leads")
	q := v.startProgram("q", "b", task{})
	v.await(q, "waits")
	a := v.Process("a")
	v.must(a.Signal(syscall.SIGTERM))
	stops := v.await(p, "stops")
	if stops.Text != "closed" {
		t.Errorf("told to stop because of %q", stops.Text)
	}
	stopped := v.await(p, "stopped")
	next := v.await(q, "leads")
	if took := next.At.Sub(stopped.At); took > 4*time.Second {
		t.Errorf("handed over %v after the program had stopped", took)
	}
	if took := stopped.At.Sub(stops.At); took < 400*time.Millisecond {
		t.Errorf("the program was given %v to stop", took)
	}
	<-a.Gone()
	if code := a.ExitCode(); code != 0 {
		t.Errorf("the agent ended with %d", code)
	}
	v.judge(2)
}

// The member's thread finds one of Go's processors even if those of the host are all with threads that do not run.
func TestAgentHasProcessorsToSpare(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	v := start(t, cluster.Options{Names: hosts(1)})
	answer, err := http.Get("http://" + v.address("a") + "/metrics")
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
	v := startAgents(t, 3, "default_group: g\n")
	p, q := v.startProgram("p", "a", task{Stopping: time.Minute}), v.startProgram("q", "b", task{Stopping: time.Minute})
	// Of each leadership: the end of the first question that was answered with yes, and the start of the last one. The
	// lease ran at an instant within each question.
	type answers struct{ first, last cluster.Time }
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
				asked := cluster.Now()
				status, body := v.ask(agent, "/primary")
				told := cluster.Now()
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
	leader, other, _ := v.first(p, q)
	for range 4 {
		v.must(v.Cut(leader.Host))
		v.await(other, "leads")
		v.must(v.Heal(leader.Host))
		v.await(leader, "waits")
		leader, other = other, leader
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
				t.Errorf("the leader with token %d was said to lead %v after the one with token %d was", x, before.last.Sub(after.first), y)
			}
		}
	}
	v.judge(4)
}
