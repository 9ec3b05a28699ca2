package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
	"golang.org/x/sys/unix"
)

// The parts that a process of the test program plays.
const (
	partVar     = "REGENT_TEST_PART"
	partAgent   = "agent"
	partEcho    = "echo"
	partProgram = "program"
	partConnect = "connect"
	partRecord  = "record"
	partFlood   = "flood"

	taskVar      = "REGENT_TEST_TASK"       // of a program
	fileLimitVar = "REGENT_TEST_FILE_LIMIT" // of an agent: like a full disk
)

// The test program is also the agents and the programs that lead through them, as processes of their own.
func TestMain(m *testing.M) {
	switch os.Getenv(partVar) {
	case partAgent: // agent --config FILE
		if os.Getenv(fileLimitVar) != "" {
			if err := unix.Setrlimit(unix.RLIMIT_FSIZE, new(unix.Rlimit)); err != nil {
				panic(err)
			}
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := Run(ctx, Options{Config: os.Args[3]}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case partEcho:
		echo()
	case partConnect:
		connectOnly()
	case partRecord:
		record()
	case partFlood:
		flood()
	case partProgram:
		var o task
		if err := json.Unmarshal([]byte(os.Getenv(taskVar)), &o); err != nil {
			panic(err)
		}
		o.run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// part makes a command that runs this program as one of its parts.
func part(name string, more ...string) *exec.Cmd {
	c := cluster.Self()()
	c.Env = append(append(os.Environ(), partVar+"="+name), more...)
	return c
}

// echo sends packets back until it is killed.
func echo() {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	say(word{What: "echoes", Text: c.LocalAddr().String()})
	p := make([]byte, 64)
	for {
		n, from, err := c.ReadFrom(p)
		if err != nil {
			panic(err)
		}
		_, _ = c.WriteTo(p[:n], from)
	}
}

// agentProcesses is a cluster of agent processes with programs.
type agentProcesses struct {
	*cluster.Cluster
	t testing.TB
}

// A program is a process that writes words.
type program struct {
	*cluster.Process
	words chan word
}

// startAgents starts n agent processes with a relay between them. more is put into every configuration.
func startAgents(t testing.TB, n int, more string) *agentProcesses {
	t.Helper()
	return start(t, cluster.Options{Names: hosts(n), Config: calm(more), Relay: true})
}

// start starts agent processes.
func start(t testing.TB, o cluster.Options) *agentProcesses {
	t.Helper()
	v := newProcesses(t, o)
	for _, name := range v.Names {
		v.startAgent(name)
	}
	v.must(v.AwaitAgents(v.Names...))
	return v
}

// newProcesses makes a cluster without starting its agents.
func newProcesses(t testing.TB, o cluster.Options) *agentProcesses {
	t.Helper()
	o.Regent = func(args ...string) *exec.Cmd {
		c := part(partAgent)
		c.Args = append(c.Args, args...)
		return c
	}
	return &agentProcesses{Cluster: cluster.OpenCrash(t, o), t: t}
}

func (v *agentProcesses) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *agentProcesses) startAgent(name string) *cluster.Process {
	v.t.Helper()
	p, err := v.StartAgent(name)
	v.must(err)
	return p
}

// address returns the address of an agent's HTTP interface.
func (v *agentProcesses) address(name string) string {
	v.t.Helper()
	addr, err := v.HTTP(name)
	v.must(err)
	return addr
}

// startProgram starts a program that campaigns at an agent.
func (v *agentProcesses) startProgram(name, agent string, o task) *program {
	v.t.Helper()
	o.Socket, o.Name, o.Journals = v.Socket(agent), name, v.JournalDir()
	if o.Group == "" {
		o.Group = "g"
	}
	b, err := json.Marshal(o)
	v.must(err)
	return v.spawn(name, agent, part(partProgram, taskVar+"="+string(b)))
}

// spawn starts a command that writes words.
func (v *agentProcesses) spawn(name, host string, cmd *exec.Cmd) *program {
	v.t.Helper()
	p := &program{words: make(chan word, 1<<12)}
	var err error
	p.Process, err = v.Spawn(name, host, cmd, func(line string) {
		var w word
		if json.Unmarshal([]byte(line), &w) == nil {
			p.words <- w
		}
	})
	v.must(err)
	return p
}

// await waits until a program writes a word.
func (v *agentProcesses) await(p *program, what string) word {
	v.t.Helper()
	w, ok := p.hears(what, cluster.Patience)
	if !ok {
		v.t.Fatalf("%s never wrote %q", p.Name, what)
	}
	return w
}

func (p *program) hears(what string, within time.Duration) (word, bool) {
	limit := time.After(within)
	for {
		select {
		case w := <-p.words:
			if w.What == what {
				return w, true
			}
		case <-limit:
			return word{}, false
		}
	}
}

// first waits until one of two programs leads.
func (v *agentProcesses) first(p, q *program) (leader, other *program, leads word) {
	v.t.Helper()
	limit := time.After(cluster.Patience)
	for {
		select {
		case leads = <-p.words:
			leader, other = p, q
		case leads = <-q.words:
			leader, other = q, p
		case <-limit:
			v.t.Fatal("neither program leads")
		}
		if leads.What == "leads" {
			return leader, other, leads
		}
	}
}

// judge fails the test if by the journals two programs led at once, or if they tell of fewer leaderships than the test needs.
func (v *agentProcesses) judge(atLeast int) []cluster.Span {
	v.t.Helper()
	return v.Judge(v.t, atLeast, cluster.Rules{}).Spans
}
