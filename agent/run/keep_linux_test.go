package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/tenure"
)

// A keeper is started from /proc/self/exe, and ps and top show its own name.
func TestKeeperHasANameOfItsOwn(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine, its := os.NewFile(uintptr(fds[0]), "test"), os.NewFile(uintptr(fds[1]), "keeper")
	c := &exec.Cmd{Path: "/proc/self/exe", Args: []string{keeperName}, ExtraFiles: []*os.File{its}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = its.Close()
	cluster.Eventually(t, "the keeper has its name", func() bool {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", c.Process.Pid))
		return err == nil && string(comm) == keeperName+"\n"
	})
	_ = mine.Close() // its runner is gone
	_ = c.Wait()
}

// A keeper takes a late line about an earlier candidacy for none about this one.
func TestKeeperIgnoresLinesAboutAnotherCandidacy(t *testing.T) {
	for _, c := range []struct {
		key  string
		want tenure.State
	}{{"earlier", tenure.Waiting}, {"now", tenure.Over}} {
		mine, its := net.Pipe()
		n := &keeping{key: "now", party: party.New(party.Options{Clock: new(fakeClock), Do: func(tenure.Effect) {},
			Config: tenure.Config{Lower: tenure.Tree, Backup: true}})}
		go func() {
			_ = json.NewEncoder(mine).Encode(keeperOrder{Key: c.key, Ended: &protocol.Cause{Code: protocol.Resigned}})
			_ = mine.Close()
		}()
		(&keeperProcess{runner: its, now: n}).read()
		if got := n.party.State(); got != c.want {
			t.Errorf("after the end of %q: %v, want %v", c.key, got, c.want)
		}
	}
}

// A runner whose tenure is over may still look for what is left of the program. Its keeper does so too if the runner dies then.
func TestKeeperLearnsOfTheEndWhenNothingIsLeft(t *testing.T) {
	mine, its := net.Pipe()
	r := &runner{Options: Options{Group: "g", Log: t.Logf}, agent: newFake(0)}
	l := r.newLife(new(tree.Tree))
	l.key, l.keeper = "now", newKeeper(mine, t.Logf)
	ends := make(chan bool, 2)
	go func() {
		in := json.NewDecoder(its)
		for o := (keeperOrder{}); in.Decode(&o) == nil; {
			ends <- o.Ended != nil
		}
	}()
	l.do(tenure.Effect{Kind: tenure.End})
	if len(ends) > 0 {
		t.Error("the keeper learns of the end before nothing is left")
	}
	l.do(tenure.Effect{Kind: tenure.Forget})
	if !<-ends {
		t.Error("the keeper does not learn of the end")
	}
	_ = mine.Close()
}

// Runner and keeper may read late. Then they get lines late, and whole.
func TestLinesBetweenRunnerAndKeeperAreWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const halfALine = 5
		late := func(c net.Conn) *json.Decoder { // after the writer has lost its patience
			half := make([]byte, halfALine)
			if _, err := io.ReadFull(c, half); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * keeperWrite)
			return json.NewDecoder(io.MultiReader(bytes.NewReader(half), c))
		}
		mine, its := net.Pipe()
		k := newKeeper(mine, t.Logf)
		go func() {
			k.lostDone("key")
			k.ended("key", protocol.Cause{Code: protocol.Resigned})
		}()
		in := late(its)
		var first, second keeperOrder
		if err := errors.Join(in.Decode(&first), in.Decode(&second)); err != nil || !first.LostDone || second.Ended == nil {
			t.Errorf("the keeper reads %+v, %+v, %v", first, second, err)
		}
		k.close()

		mine, its = net.Pipe()
		p := &keeperProcess{runner: mine, answers: make(chan keeperAnswer, maxAnswers)}
		go p.write()
		p.answer(keeperAnswer{Key: "key", Prepared: true})
		p.answer(keeperAnswer{Key: "key", Freeze: &protocol.Cause{Code: protocol.LeaseExpired}})
		in = late(its)
		var prepared, frozen keeperAnswer
		if err := errors.Join(in.Decode(&prepared), in.Decode(&frozen)); err != nil || !prepared.Prepared || frozen.Freeze == nil {
			t.Errorf("the runner reads %+v, %+v, %v", prepared, frozen, err)
		}
		close(p.answers)
	})
}

// A keeper that never reads holds its runner up for a moment only, and is left behind. The next candidacy has another one.
func TestKeeperThatNeverReadsIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, its := net.Pipe()
		k := newKeeper(mine, t.Logf)
		for range maxLines + 2 { // one is being written
			k.lostDone("key")
		}
		synctest.Wait()
		select {
		case <-k.gone:
		default:
			t.Error("the keeper is not left behind")
		}
		_ = its.Close()
	})
}

// A keeper that learns of the end of a waiting candidacy before it sees that its runner is dead hears nothing more of it: it ends.
func TestKeeperEndsAfterACandidacyThatWasOverFirst(t *testing.T) {
	n := &keeping{key: "now", k: &keeperProcess{idle: make(chan struct{}, 1)}, upperOver: true, party: party.New(party.Options{Clock: new(fakeClock),
		Do: func(tenure.Effect) {}, Config: tenure.Config{Lower: tenure.Tree, Backup: true}})}
	n.leave() // without a candidacy: it asks nothing of the agent
	if got := n.party.State(); got != tenure.Over {
		t.Errorf("%v after the runner has left", got)
	}
}

// A fork that is held up does not hold up the killing of what is there.
func TestKillingDoesNotWaitForForks(t *testing.T) {
	reaper, err := tree.ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	prepared, _, err := reaper.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sleep", "1000")
	detach(c)
	if err := prepared.StartBeside(c); err != nil {
		t.Fatal(err)
	}
	l := &life{tree: prepared}
	l.forks.Add(1)
	ended := make(chan tree.Result, 1)
	go func() { ended <- l.end(t.Context()) }()
	_ = reaper.Wait(c) // it is killed while the fork is under way
	if len(ended) > 0 {
		t.Error("the end is reported while something is being forked")
	}
	l.forks.Done()
	if found := <-ended; !found.Gone() {
		t.Errorf("found %s", found.String())
	}
	prepared.Forget()
}

// A hook in an uninterruptible sleep does not die. Its tree is killed again and again, what is left is named, and nothing is proven.
func TestKillingIsRepeatedBesideAHookThatDoesNotDie(t *testing.T) {
	reaper, err := tree.ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	prepared, _, err := reaper.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	l := &life{tree: prepared}
	l.forks.Add(1) // the hook
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the time of the attempt is over
		found := l.end(ctx)
		if verdict, ok := found.Verdict(); ok {
			t.Errorf("the tree is %v beside a hook that lives", verdict)
		}
		if want := "a hook has not ended"; !strings.Contains(found.String(), want) {
			t.Errorf("%q is left, want %q", found.String(), want)
		}
	}
	l.forks.Done()
	<-l.forked
	if found := l.end(t.Context()); !found.Gone() {
		t.Errorf("found %s", found.String())
	}
	prepared.Forget()
}

// What a search proved is void when another one has begun.
func TestAnEarlierSearchProvesNothing(t *testing.T) {
	found := make(chan func() bool, 2)
	k := killer{end: func(context.Context) tree.Result { return tree.Result{Search: tenure.Search{Adopter: true}} },
		found: func(valid func() bool, _ tenure.Event) { found <- valid }}
	k.begin()
	first := <-found
	if !first() {
		t.Error("the only search proves nothing")
	}
	k.begin()
	if first() {
		t.Error("an earlier search proves something")
	}
	<-found
}

// A correction that comes after the line about the end has a line of its own.
func TestLateCorrectionIsLogged(t *testing.T) {
	var lines []string
	a := newFake(0)
	l := &life{agent: a, how: &ending{why: stopRequested, cause: "asked to stop"},
		r: &runner{Options: Options{Group: "g", Log: func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }}}}
	l.close()
	l.log(tenure.Effect{Kind: tenure.Log, Line: tenure.Corrected, Cause: protocol.Cause{Code: protocol.LeaseExpired}})
	if len(lines) != 2 {
		t.Errorf("logged %q", lines)
	}
}

// The configuration of the agent decides whether killers may have real-time scheduling.
func TestKillersHaveTheSchedulingOfTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		ordinary bool
		want     uint32
	}{{false, unix.SCHED_FIFO}, {true, unix.SCHED_NORMAL}} {
		got := make(chan uint32, 1)
		k := killer{ordinary: c.ordinary, found: func(func() bool, tenure.Event) {}, end: func(context.Context) tree.Result {
			attr, err := unix.SchedGetAttr(0, 0)
			if err != nil {
				t.Error(err)
				attr = new(unix.SchedAttr)
			}
			got <- attr.Policy
			return tree.Result{Search: tenure.Search{Adopter: true}}
		}}
		k.begin()
		if p := <-got; p != c.want {
			t.Errorf("ordinary %v: policy %d, want %d", c.ordinary, p, c.want)
		}
	}
}
