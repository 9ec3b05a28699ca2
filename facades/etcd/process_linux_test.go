//go:build engines

package etcd_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/facades/etcd"
	"github.com/regentproject/regent/fence"
)

// What a child of the tests is, and where its façade listens.
const (
	roleVar    = "REGENT_FACADE_TEST_ROLE"
	addressVar = "REGENT_FACADE_TEST_ADDRESS"
)

func TestMain(m *testing.M) {
	cluster.Main()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	switch os.Getenv(roleVar) {
	case "":
		os.Exit(m.Run())
	case "agent":
		err = agent.Run(ctx, agent.Options{Config: os.Args[3], Log: os.Stderr, EtcdListen: os.Getenv(addressVar),
			Etcd: func(a *core.Agent, g *access.Gate) agent.EtcdServer { return etcd.New(a, g) }})
	case "program":
		err = program(ctx, os.Getenv(addressVar))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The words of a program, which it prints with the host's clock before them, and its Rev() behind.
const (
	leads    = "leads"
	believes = "believes" // its session was not over
	write    = "write"    // it writes to the receiver, whatever its session says
	over     = "over"     // its session is over
)

// program campaigns once, and reports what it believes until its session is over. It goes on to write after that.
func program(ctx context.Context, address string) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	s, err := concurrency.NewSession(c)
	if err != nil {
		return err
	}
	e := concurrency.NewElection(s, "g")
	if err := e.Campaign(ctx, "v"); err != nil {
		return err
	}
	say := func(word string, at cluster.Time) { fmt.Println(int64(at), word, e.Rev()) }
	say(leads, cluster.Now())
	ended := false
	for i := 0; ctx.Err() == nil; i++ {
		at := cluster.Now() // first: if the session is not over after that, it was not then
		select {
		case <-s.Done():
			if !ended {
				ended = true
				say(over, cluster.Now())
			}
		default:
			say(believes, at)
		}
		if i%10 == 0 {
			say(write, cluster.Now())
		}
		time.Sleep(5 * time.Millisecond) // wall clock: a real program at work
	}
	return nil
}

// An event is a line of a program.
type event struct {
	who, what string
	at        cluster.Time
	rev       uint64
	admitted  bool // of a write
}

// A town is three agents with façades.
type town struct {
	*cluster.Cluster
	t         *testing.T
	addresses map[string]string
	mu        sync.Mutex
	events    []event
	gate      fence.Gate
}

func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{t: t, addresses: map[string]string{"a": free(t), "b": free(t), "c": free(t)}}
	w.Cluster = cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c"}, Regent: w.agent})
	for _, name := range w.Names {
		_, err := w.StartAgent(name)
		must(t, err)
	}
	must(t, w.AwaitAgents(w.Names...))
	return w
}

// agent makes the command of an agent: the arguments are "agent", "--config" and a file.
func (w *town) agent(args ...string) *exec.Cmd {
	cmd := cluster.Self(args...)()
	name := strings.TrimSuffix(filepath.Base(args[2]), ".yaml")
	cmd.Env = append(os.Environ(), roleVar+"=agent", addressVar+"="+w.addresses[name])
	return cmd
}

// campaign starts a program at an agent.
func (w *town) campaign(who, at string) {
	w.t.Helper()
	cmd := cluster.Self(who)()
	cmd.Env = append(os.Environ(), roleVar+"=program", addressVar+"="+w.addresses[at])
	_, err := w.Spawn(who, at, cmd, func(line string) { w.take(who, line) })
	must(w.t, err)
}

// take takes a line. Writes go to the receiver in the order in which they come.
func (w *town) take(who, line string) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return
	}
	at, _ := strconv.ParseInt(f[0], 10, 64)
	rev, _ := strconv.ParseUint(f[2], 10, 64)
	w.mu.Lock()
	defer w.mu.Unlock()
	e := event{who: who, what: f[1], at: cluster.Time(at), rev: rev}
	if e.what == write {
		e.admitted = w.gate.Admit(fence.Token(rev)) == nil
	}
	w.events = append(w.events, e)
}

// of returns the events of a program.
func (w *town) of(who, what string) (found []event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.who == who && e.what == what {
			found = append(found, e)
		}
	}
	return found
}

// await waits until a program has reported something, and returns the first.
func (w *town) await(who, what string) event {
	w.t.Helper()
	cluster.Eventually(w.t, who+" "+what, func() bool { return len(w.of(who, what)) > 0 })
	return w.of(who, what)[0]
}

// lagged says whether a program was held up for so long that it may have read an answer, or looked, too late.
func (w *town) lagged(who string) bool {
	all := w.of(who, believes)
	for i := range all[1:] {
		if all[i+1].at.Sub(all[i].at) > 300*time.Millisecond {
			return true
		}
	}
	return false
}

// The agent of a leader is killed, or stands still: another is elected with a larger Rev(), and the first client did not believe by then.
func TestTheAgentOfALeaderIsKilled(t *testing.T) {
	w := newTown(t)
	w.judge(t, func() { must(t, w.Crash("a")) }, func() {
		_, err := w.StartAgent("a")
		must(t, err)
		must(t, w.AwaitAgents("a"))
	})
}

func TestTheAgentOfALeaderIsPaused(t *testing.T) {
	w := newTown(t)
	w.judge(t, func() { must(t, w.Pause("a")) }, func() { must(t, w.Resume("a")) })
}

// judge applies a fault to the agent of a leader until two rounds could be judged.
func (w *town) judge(t *testing.T, fault, undo func()) {
	t.Helper()
	judged := 0
	for round := 0; judged < 2; round++ {
		if round == 8 {
			t.Fatal("the programs were held up in all rounds: this host is too busy")
		}
		first, second := fmt.Sprint("p", round), fmt.Sprint("q", round)
		w.campaign(first, "a")
		one := w.await(first, leads)
		w.campaign(second, "b")
		time.Sleep(3 * time.Second) // wall clock: the second waits, and keeps its session alive
		if len(w.of(second, leads)) > 0 {
			t.Fatal("two lead")
		}
		fault()
		two := w.await(second, leads)
		undo()
		last := w.await(first, over)
		if two.rev <= one.rev {
			t.Errorf("Rev() is %d after %d", two.rev, one.rev)
		}
		believed := w.of(first, believes)
		if end := believed[len(believed)-1].at; w.lagged(first) {
			t.Logf("round %d: held up, not judged", round)
		} else {
			judged++
			t.Logf("round %d: the client believed until %v before the other led, its session was over %v before", round, two.at.Sub(end), two.at.Sub(last.at))
			if end >= two.at {
				t.Errorf("round %d: the client of the dead agent believed for %v after another was elected", round, end.Sub(two.at))
			}
		}
		must(t, w.Crash(first))
		must(t, w.Crash(second))
	}
}

// A client is paused for longer than its TTL. All that is promised is the order of Rev(): the receiver refuses what it writes.
func TestAPausedClientIsFenced(t *testing.T) {
	w := newTown(t)
	w.campaign("p", "a")
	one := w.await("p", leads)
	w.campaign("q", "b")
	w.await("p", write)
	must(t, w.Pause("p"))
	two := w.await("q", leads)
	if two.rev <= one.rev {
		t.Errorf("Rev() is %d after %d", two.rev, one.rev)
	}
	w.await("q", write)
	before := len(w.of("p", write))
	must(t, w.Resume("p"))
	cluster.Eventually(t, "a write after the pause", func() bool { return len(w.of("p", write)) > before })
	for _, e := range w.of("p", write)[before:] {
		if e.admitted {
			t.Errorf("the receiver took a write with Rev() %d after one with %d", e.rev, two.rev)
		}
	}
	w.await("p", over)
}

// etcdctl elect of Debian, unmodified.
func TestEtcdctlElects(t *testing.T) {
	w := newTown(t)
	var mu sync.Mutex
	lines := make(map[string][]string)
	elect := func(who, at string, args ...string) {
		t.Helper()
		cmd := exec.Command("etcdctl", append([]string{"--endpoints", w.addresses[at], "elect"}, args...)...)
		cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
		_, err := w.Spawn(who, at, cmd, func(line string) {
			mu.Lock()
			defer mu.Unlock()
			lines[who] = append(lines[who], line)
		})
		must(t, err)
	}
	said := func(who, word string) bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(lines[who], word)
	}
	elect("observer", "c", "-l", "shop")
	elect("one", "a", "shop", "alice")
	cluster.Eventually(t, "alice is elected", func() bool { return said("one", "alice") })
	elect("two", "b", "shop", "bob")
	cluster.Eventually(t, "the observer sees alice", func() bool { return said("observer", "alice") })
	if said("two", "bob") {
		t.Error("two lead")
	}
	must(t, w.Crash("one"))
	cluster.Eventually(t, "bob is elected", func() bool { return said("two", "bob") })
	cluster.Eventually(t, "the observer sees bob", func() bool { return said("observer", "bob") })
	elect("three", "a", "shop", "carol")
	time.Sleep(time.Second) // wall clock: it waits
	begin := time.Now()
	must(t, w.Process("two").Signal(syscall.SIGTERM))
	cluster.Eventually(t, "carol is elected", func() bool { return said("three", "carol") })
	t.Logf("carol is elected %v after bob resigned", time.Since(begin))

	out, err := exec.Command("etcdctl", "--endpoints", w.addresses["a"], "lock", "shop", "true").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("regent run GROUP -- COMMAND")) {
		t.Errorf("etcdctl lock: %v, %s", err, out)
	}
}

// free returns an address on loopback.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}
