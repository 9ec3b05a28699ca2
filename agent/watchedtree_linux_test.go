package agent

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// Runners learn whether the agent's configuration allows real-time threads.
func TestOrdinaryAgentsTellTheirRunners(t *testing.T) {
	r := open(t, 1, "").agents[0] // whose configuration has realtime: false
	if !r.dial(t).Greeting().Ordinary {
		t.Error("runners do not learn of it")
	}
}

// A runner's first process is known by more than its number: it is a child of the runner that leads a session.
func TestAgentLearnsTheFirstProcessOfARunner(t *testing.T) {
	r := open(t, 1, "").agents[0]
	c := r.dial(t)
	elected := make(chan struct{}, 1)
	claim := session.Tree{Mark: "a mark of this test", Runner: os.Getpid()}
	k, err := c.Enter(session.Candidate{Group: "g", Claim: &claim}, func(e *session.Event) {
		if e.Event == session.Leads {
			elected <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	<-elected
	first := exec.Command("/bin/sleep", "1000")
	first.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	second := exec.Command("/bin/sleep", "1000")
	late := exec.Command("/bin/sleep", "1000")
	late.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, p := range []*exec.Cmd{first, second, late} {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		defer p.Wait()
		defer p.Process.Kill()
	}
	known := func() int { return r.agent.core.Candidates()[0].Tree.Ref().First.Pid }
	for _, pid := range []int{second.Process.Pid, os.Getppid(), first.Process.Pid} {
		if err := k.Started(pid); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually(t, "the agent knows the first process", func() bool { return known() != 0 })
	if pid := known(); pid != first.Process.Pid {
		t.Errorf("the agent takes %d for the first process, which is %d", pid, first.Process.Pid)
	}
	cluster.Eventually(t, "the note names it", func() bool {
		notes, _ := r.agent.core.Trees.Notes.Load()
		return len(notes) == 1 && notes[0].Tree.First.Pid == first.Process.Pid
	})
	if err := r.agent.core.Candidates()[0].Learn(late.Process.Pid); err == nil || known() != first.Process.Pid {
		t.Errorf("another first process was taken: %v, now it is %d", err, known())
	}
	_ = k.Stopped(why.Cause{})
}
