//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/town"
)

// The test binary is also the program: with this variable set it is a member of a town, and with that value one that goes on
// whatever happens.
const (
	programEnv = "WORKTABLE_TEST_PROGRAM"
	careless   = "careless"
)

const keyCount = 12

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs the program as the member that the first line of input names, until the input ends.
func serve() error {
	os.Stdout = os.Stderr // the town takes the other for its own
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o town.Order
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	dir := filepath.Dir(o.Dir)
	d := diary{slots: make(map[slot]int), careless: os.Getenv(programEnv) == careless}
	if d.file, err = os.Create(filepath.Join(dir, fmt.Sprintf("%s.%d.claims", o.Name, os.Getpid()))); err != nil {
		return err
	}
	work = d.work
	c := regent.Config{Name: o.Name, Dir: o.Dir, Bind: o.Bind, Council: o.Council, Bootstrap: true, Timing: o.Timing, Consistent: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if err := run(ctx, c, filepath.Join(dir, "db"), keyCount, 5*time.Millisecond); ctx.Err() == nil {
		return err
	}
	return nil
}

// A diary is where a program writes down what it owns, a line of one length for each key in each membership. What it wrote is
// there after a kill -9.
type diary struct {
	file     *os.File
	mu       sync.Mutex
	slots    map[slot]int
	claims   []claim
	careless bool
}

type slot struct {
	lease *regent.ConsistentLease
	key   string
}

const lineFormat, lineLength = "%-8s%20d%20d\n", 49

// work writes down that the key is owned, and a moment later again if it still is. One that is careless never stops.
func (d *diary) work(_ context.Context, l *regent.ConsistentLease, key string) {
	d.note(l, key)
	time.Sleep(time.Millisecond)
	d.note(l, key)
	if d.careless {
		go func() {
			for range time.Tick(5 * time.Millisecond) {
				d.note(l, key)
			}
		}()
	}
}

func (d *diary) note(l *regent.ConsistentLease, key string) {
	before := town.Reading()
	valid := l.Valid() || d.careless
	after := town.Reading()
	if !valid {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.slots[slot{l, key}]
	if !ok {
		// It was owned at an instant that lies between the two readings.
		i = len(d.claims)
		d.slots[slot{l, key}] = i
		d.claims = append(d.claims, claim{key: key, since: after})
	}
	// What is owned in one membership is owned until that is over.
	c := &d.claims[i]
	c.until = max(c.since, before)
	if _, err := d.file.WriteAt(fmt.Appendf(nil, lineFormat, c.key, c.since, c.until), int64(i*lineLength)); err != nil {
		panic(err)
	}
}

// office is a town with a work table and a test.
type office struct {
	*town.Town
	t     *testing.T
	keys  []string
	begun int64
	mu    sync.Mutex
	taken map[string]int // how often each member was taken in
}

// openOffice starts five programs, and waits until every key has an owner. Those that are bad do not care whether they are in the
// group.
func openOffice(t *testing.T, bad ...string) *office {
	t.Helper()
	o := &office{t: t, taken: make(map[string]int)}
	for i := range keyCount {
		o.keys = append(o.keys, fmt.Sprintf("key%02d", i))
	}
	self, kind := town.Self(), ""
	timing := regent.LAN
	timing.Lease = 600 * time.Millisecond // survives pauses of a busy machine
	w, err := town.New(town.Options{Names: []string{"a", "b", "c", "d", "e"}, Dir: t.TempDir(), Timing: timing, Relay: true, Log: o.log,
		Command: func() *exec.Cmd {
			c := self()
			c.Env = append(os.Environ(), programEnv+"="+kind)
			return c
		}})
	if err != nil {
		t.Fatal(err)
	}
	o.Town = w
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range w.Names {
		kind = "careful"
		if slices.Contains(bad, name) {
			kind = careless
		}
		o.must(w.Start(name))
	}
	kind = "careful"
	o.takenIn(nil, w.Names...)
	o.takenOver()
	o.begun = town.Reading()
	return o
}

func (o *office) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) log(member, line string) {
	o.t.Logf("%s: %s", member, line)
	if strings.HasPrefix(line, "taken in:") {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.taken[member]++
	}
}

// times returns how often members were taken in so far.
func (o *office) times() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.taken)
}

// await waits until something is so.
func (o *office) await(what string, so func() bool) {
	o.t.Helper()
	limit := time.After(30 * time.Second)
	for !so() {
		select {
		case e := <-o.Events():
			if e.What == town.Failed {
				o.t.Fatalf("%s: %s", e.Member, e.Text)
			}
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			o.t.Fatalf("waited too long for %s", what)
		}
	}
}

// takenIn waits until members were taken in once more than before.
func (o *office) takenIn(before map[string]int, names ...string) {
	o.t.Helper()
	for _, n := range names {
		o.await(n+" to be taken in", func() bool { return o.times()[n] > before[n] })
	}
}

// takenOver waits until every key is owned, from now on, by somebody who is not lost.
func (o *office) takenOver(lost ...string) {
	o.t.Helper()
	now := town.Reading()
	o.await(fmt.Sprintf("all keys to have owners other than %v", lost), func() bool {
		owned := make(map[string]bool)
		for _, c := range o.claims() {
			if c.until > now && !slices.Contains(lost, c.owner) {
				owned[c.key] = true
			}
		}
		return len(owned) == len(o.keys)
	})
}

// claims returns all that programs wrote down.
func (o *office) claims() []claim {
	o.t.Helper()
	files, err := filepath.Glob(filepath.Join(o.Dir, "*.claims"))
	o.must(err)
	var all []claim
	for _, f := range files {
		b, err := os.ReadFile(f)
		o.must(err)
		owner, _, _ := strings.Cut(filepath.Base(f), ".")
		for line := range slices.Chunk(b, lineLength) {
			c := claim{owner: owner}
			if _, err := fmt.Sscan(string(line), &c.key, &c.since, &c.until); err != nil {
				o.t.Fatalf("%s: %q: %v", f, line, err)
			}
			all = append(all, c)
		}
	}
	return all
}

// patience is for how long a key may be without an owner. On a host with nothing else to do it is a second.
const patience = 10 * time.Second

// judge judges all that programs have done since all keys had owners.
func (o *office) judge(patience time.Duration) error {
	now := town.Reading()
	for _, name := range o.Names {
		o.Stop(name, 5*time.Second)
	}
	longest, err := judge(o.claims(), o.keys, o.begun, now, patience)
	o.t.Logf("keys were without owner for at most %v", longest)
	return err
}

func (o *office) works(name string, since int64) bool {
	return slices.ContainsFunc(o.claims(), func(c claim) bool { return c.owner == name && c.until > since })
}

// losses are who is lost at once: an owner, the first manager, two, and the first owner again.
var losses = [][]string{{"c"}, {"a"}, {"b", "d"}, {"c"}}

// lose takes members away and gives them back, and looks whether who was lost before is of use again.
func (o *office) lose(lose, giveBack func(names ...string)) {
	o.t.Helper()
	for i, lost := range losses {
		before, now := o.times(), town.Reading()
		lose(lost...)
		o.takenOver(lost...)
		if i > 0 { // it had no keys, so it was first to be given some
			for _, name := range losses[i-1] {
				o.await(name+" to work again", func() bool { return o.works(name, now) })
			}
		}
		giveBack(lost...)
		o.takenIn(before, lost...)
	}
	if err := o.judge(patience); err != nil {
		o.t.Error(err)
	}
}

func TestOthersTakeOverTheKeysOfOwnersThatAreKilled(t *testing.T) {
	o := openOffice(t)
	o.lose(func(names ...string) {
		for _, n := range names {
			o.must(o.Crash(n))
		}
	}, func(names ...string) {
		for _, n := range names {
			o.must(o.Start(n))
		}
	})
}

func TestOthersTakeOverTheKeysOfOwnersThatAreCutOff(t *testing.T) {
	o := openOffice(t)
	o.lose(func(names ...string) { o.must(o.Part(names...)) }, func(...string) { o.must(o.HealAll()) })
}

func TestOwnerThatWasStoppedDoesNotWorkOnWhenItGoesOn(t *testing.T) {
	o := openOffice(t)
	o.lose(func(names ...string) {
		for _, n := range names {
			o.must(o.Pause(n))
		}
	}, func(names ...string) {
		for _, n := range names {
			o.must(o.Resume(n))
		}
	})
}
