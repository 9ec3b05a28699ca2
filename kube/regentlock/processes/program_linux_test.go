package processes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/cluster/journal"
	"github.com/regentproject/regent/kube/regentlock"
)

// What a child of the tests is, how long leases are, and where journals go.
const (
	roleVar     = "REGENTLOCK_TEST_ROLE"
	leaseVar    = "REGENTLOCK_TEST_LEASE"
	journalsVar = "REGENTLOCK_TEST_JOURNALS"
)

func TestMain(m *testing.M) {
	cluster.Main()
	var err error
	switch os.Getenv(roleVar) {
	case "":
		os.Exit(m.Run())
	case "agent":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err = agent.Run(ctx, agent.Options{Config: os.Args[3], Log: os.Stderr})
	case "program":
		err = program(os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// agentCommand makes the command of an agent: the arguments are "agent", "--config" and a file.
func agentCommand(args ...string) *exec.Cmd {
	cmd := cluster.Self(args...)()
	cmd.Env = append(os.Environ(), roleVar+"=agent")
	return cmd
}

// The words of a program, which it prints with the host's clock before them.
const (
	started = "started" // OnStartedLeading, with the token
	stopped = "stopped" // OnStoppedLeading
	leader  = "leader"  // OnNewLeader
	write   = "write"   // the program writes to the receiver, with its token
	resumed = "resumed" // the program notices that it was paused, with what Valid returns
)

var printing sync.Mutex

func say(word string, args ...any) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(append([]any{int64(cluster.Now()), word}, args...)...)
}

// longPause is what a program takes for a pause of its process.
const longPause = 800 * time.Millisecond

// program leads by an elector whenever it can, and prints what happens.
func program(name, socket string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	lease, err := time.ParseDuration(os.Getenv(leaseVar))
	if err != nil {
		return err
	}
	diary, err := journal.Open(os.Getenv(journalsVar), name)
	if err != nil {
		return err
	}
	client, err := regent.Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer client.Close()
	group, err := client.Group("g")
	if err != nil {
		return err
	}
	lock, err := regentlock.New(group, regentlock.Config{Lease: lease, Identity: name, Timing: timing})
	if err != nil {
		return err
	}
	var leads atomic.Bool
	e, err := leaderelection.NewLeaderElector(lock.Elector(leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) {
			token := regentlock.LeaseOf(ctx).Token()
			leads.Store(true)
			say(started, token)
			work(lock, diary.Begin("g", token), token, &leads)
		},
		OnStoppedLeading: func() {
			leads.Store(false)
			say(stopped)
		},
		OnNewLeader: func(id string) { say(leader, id) },
	}))
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		e.Run(ctx)
	}
	return nil
}

// work goes on until OnStoppedLeading is called, whatever its lease says: only the fence stands between it and what it writes.
func work(lock *regentlock.Lock, e *journal.Entry, token uint64, leads *atomic.Bool) {
	last := cluster.Now()
	for i := 0; leads.Load(); i++ {
		valid := e.Observe(lock.Valid)
		now := cluster.Now()
		if now.Sub(last) > longPause {
			say(resumed, valid)
		}
		last = now
		if i%20 == 0 {
			say(write, token)
		}
		time.Sleep(time.Millisecond) // wall clock: a real program at work
	}
	e.End("the elector stopped")
}
