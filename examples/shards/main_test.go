//go:build linux

package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// The test binary is also the program: with this variable set it is a member of a cluster. If it is careless it goes on whatever
// happens.
const (
	programEnv = "SHARDS_TEST_PROGRAM"
	careful    = "careful"
	careless   = "careless"
)

const keyCount = 20

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
	os.Stdout = os.Stderr // the cluster takes the other for its own
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o cluster.Order
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
	// wall clock: this is the work, in a process of its own.
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
	before := int64(cluster.Now())
	valid := l.Valid() || d.careless
	after := int64(cluster.Now())
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

// office is a cluster with a work table and a test.
type office struct {
	*cluster.Cluster
	t     *testing.T
	keys  []string
	begun int64
	mu    sync.Mutex
	tally tally
}

// tally is how often each member was taken in, and how often managers have said that they gave its share away.
type tally struct{ in, out map[string]int }

// openOffice starts five programs of a kind, and waits until all are in and every key has an owner.
func openOffice(t *testing.T, kind string) *office {
	t.Helper()
	o := &office{t: t, tally: tally{make(map[string]int), make(map[string]int)}}
	for i := range keyCount {
		o.keys = append(o.keys, fmt.Sprintf("key%02d", i))
	}
	self := cluster.Self()
	timing := regent.LAN
	timing.Renew, timing.Lease = 100*time.Millisecond, 600*time.Millisecond // survive pauses of a busy machine
	w, err := cluster.New(cluster.Options{Names: []string{"a", "b", "c", "d", "e"}, Dir: t.TempDir(), Timing: timing, Relay: true, Log: o.log,
		Command: func() *exec.Cmd {
			c := self()
			c.Env = append(os.Environ(), programEnv+"="+kind)
			return c
		}})
	if err != nil {
		t.Fatal(err)
	}
	o.Cluster = w
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	o.each(w.Start, w.Names)
	o.await("all to be taken in", func() bool { return len(o.count().in) == len(w.Names) })
	o.takenOver(tally{})
	o.begun = int64(cluster.Now())
	return o
}

func (o *office) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// losses finds the members that a manager says it has lost.
var losses = regexp.MustCompile(`(?:failed|unfinished): ([a-z, ]*[a-z])`)

func (o *office) log(member, line string) {
	o.t.Logf("%s: %s", member, line)
	o.mu.Lock()
	defer o.mu.Unlock()
	if strings.HasPrefix(line, "taken in:") {
		o.tally.in[member]++
	}
	if strings.HasPrefix(line, "shared out:") {
		for _, found := range losses.FindAllStringSubmatch(line, -1) {
			for name := range strings.SplitSeq(found[1], ", ") {
				o.tally.out[name]++
			}
		}
	}
}

// count returns the tally so far.
func (o *office) count() tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	return tally{maps.Clone(o.tally.in), maps.Clone(o.tally.out)}
}

// await waits until something is so.
func (o *office) await(what string, so func() bool) {
	o.t.Helper()
	limit := time.After(30 * time.Second)
	for !so() {
		select {
		case <-o.Events(): // the programs say nothing, but that they have ended
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			o.t.Fatalf("waited too long for %s", what)
		}
	}
}

// takenIn waits until members were taken in once more than before.
func (o *office) takenIn(before tally, names ...string) {
	o.t.Helper()
	for _, n := range names {
		o.await(n+" to be taken in", func() bool { return o.count().in[n] > before.in[n] })
	}
}

// takenOver waits until the shares of the lost were given away, and every key is owned, from now on, by somebody else.
func (o *office) takenOver(before tally, lost ...string) {
	o.t.Helper()
	for _, n := range lost {
		o.await("the share of "+n+" to be given away", func() bool { return o.count().out[n] > before.out[n] })
	}
	now := int64(cluster.Now())
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

// patience is for how long a key may be without an owner. The tests log for how long it was: a second or two.
const patience = 10 * time.Second

// judge judges all that programs have done since all keys had owners.
func (o *office) judge(patience time.Duration) error {
	o.t.Helper()
	now := int64(cluster.Now())
	for _, name := range o.Names {
		if o.Pid(name) != 0 {
			o.must(o.Crash(name))
		}
	}
	longest, err := judge(o.claims(), o.keys, o.begun, now, patience)
	o.t.Logf("keys were without owner for at most %v", longest)
	return err
}

// owner returns who owned the first key last. The first manager may not have seen all members, so that some own nothing.
func (o *office) owner() string {
	var last claim
	for _, c := range o.claims() {
		if c.key == o.keys[0] && c.until > last.until {
			last = c
		}
	}
	return last.owner
}

// lose takes members away and gives them back: an owner, the first manager, two at once, and again owners until all who came
// back work.
func (o *office) lose(lose, giveBack func(names ...string)) {
	o.t.Helper()
	back := make(map[string]int64)
	replace := func(lost ...string) {
		before := o.count()
		lose(lost...)
		o.takenOver(before, lost...)
		for _, name := range lost {
			back[name] = int64(cluster.Now())
		}
		giveBack(lost...)
		o.takenIn(before, lost...)
	}
	for _, lost := range [][]string{{"c"}, {"a"}, {"b", "d"}} {
		replace(lost...)
	}
	// Who came back had nothing, and so is the first to be given keys of an owner that is lost next.
	since, idle := maps.Clone(back), []string(nil)
	for range 5 {
		replace(o.owner())
		claims := o.claims()
		idle = slices.DeleteFunc([]string{"a", "b", "d"}, func(name string) bool {
			return slices.ContainsFunc(claims, func(c claim) bool { return c.owner == name && c.since > since[name] })
		})
		if len(idle) == 0 {
			break
		}
	}
	if err := o.judge(patience); err != nil {
		o.t.Error(err)
	}
	if len(idle) > 0 {
		o.t.Errorf("lost, came back, and never worked again: %v", idle)
	}
}

func TestOthersTakeOverTheKeysOfOwnersThatAreKilled(t *testing.T) {
	o := openOffice(t, careful)
	o.lose(func(names ...string) { o.each(o.Crash, names) }, func(names ...string) { o.each(o.Start, names) })
}

func TestOthersTakeOverTheKeysOfOwnersThatLeave(t *testing.T) {
	o := openOffice(t, careful)
	o.lose(func(names ...string) {
		for _, n := range names {
			o.Stop(n, 10*time.Second)
		}
	}, func(names ...string) { o.each(o.Start, names) })
}

func TestOthersTakeOverTheKeysOfOwnersThatAreCutOff(t *testing.T) {
	o := openOffice(t, careful)
	o.lose(func(names ...string) { o.must(o.Part(names...)) }, func(...string) { o.must(o.HealAll()) })
}

func TestOwnerThatWasStoppedDoesNotWorkOnWhenItGoesOn(t *testing.T) {
	o := openOffice(t, careful)
	o.lose(func(names ...string) { o.each(o.pause, names) }, func(names ...string) { o.each(o.Resume, names) })
}

// pause stops a member, but not in the middle of a write: SQLite would keep everybody else waiting for it, and that is not what
// these tests are about.
func (o *office) pause(name string) error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(o.Dir, "db")+"?_pragma=busy_timeout(200)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	for range 20 {
		if err = o.Pause(name); err != nil {
			return err
		}
		var lock *sql.Tx
		if lock, err = db.Begin(); err == nil {
			return lock.Rollback()
		}
		if err := o.Resume(name); err != nil {
			return err
		}
	}
	return err
}

func (o *office) each(do func(string) error, names []string) {
	o.t.Helper()
	for _, n := range names {
		o.must(do(n))
	}
}

// The judge would find programs that go on when their membership is over.
func TestOwnerThatDoesNotCareWhetherItIsInIsFound(t *testing.T) {
	o := openOffice(t, careless)
	before, lost := o.count(), o.owner()
	o.must(o.Cut(lost))
	o.takenOver(before, lost)
	want := fmt.Sprintf("%s is owned by %s and by", o.keys[0], lost)
	if err := o.judge(patience); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s went on while it was out; found: %v", lost, err)
	}
}

// The judge would find keys that nobody takes over; and a manager that cannot write does not give up.
func TestKeysHaveNoOwnerWhileTheTableCannotBeWritten(t *testing.T) {
	o := openOffice(t, careful)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(o.Dir, "db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	o.must(err)
	defer db.Close()
	lock, err := db.Begin()
	o.must(err)
	before, lost := o.count(), o.owner()
	o.must(o.Crash(lost))
	const held = 3 * time.Second
	begun := int64(cluster.Now())
	o.await("the lock to be held long enough", func() bool { return int64(cluster.Now())-begun > int64(held) })
	o.must(lock.Rollback())
	o.takenOver(before, lost)
	want := fmt.Sprintf("%s has no owner", o.keys[0])
	if err := o.judge(held); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "owned") {
		t.Errorf("keys of %s had no owner for %v; found: %v", lost, held, err)
	}
}
