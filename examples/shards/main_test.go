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
	"github.com/regentproject/regent/agent/cluster/journal"
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
	j, err := journal.Open(o.Journals, o.Name)
	if err != nil {
		return err
	}
	d := owner{journal: j, entries: make(map[slot]*journal.Entry), careless: os.Getenv(programEnv) == careless}
	work = d.work
	c := regent.Config{Name: o.Name, Dir: o.Dir, Bind: o.Bind, Council: o.Council, OwnKeys: o.OwnKeys, Bootstrap: true, Timing: o.Timing, Consistent: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if err := run(ctx, c, filepath.Join(dir, "db"), keyCount, 5*time.Millisecond); ctx.Err() == nil {
		return err
	}
	return nil
}

// An owner keeps a journal of what it owns, with an entry for each key in each membership.
type owner struct {
	journal  *journal.Journal
	mu       sync.Mutex
	entries  map[slot]*journal.Entry
	careless bool
}

type slot struct {
	lease *regent.Membership
	key   string
}

// work observes that the key is owned, and a moment later again if it still is. One that is careless never stops.
func (o *owner) work(_ context.Context, l *regent.Membership, key string) {
	o.observe(l, key)
	// wall clock: this is the work, in a process of its own.
	time.Sleep(time.Millisecond)
	o.observe(l, key)
	if o.careless {
		go func() {
			for range time.Tick(5 * time.Millisecond) {
				o.observe(l, key)
			}
		}()
	}
}

func (o *owner) observe(l *regent.Membership, key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.entries[slot{l, key}]
	if e == nil {
		e = o.journal.Begin(key, 0)
		o.entries[slot{l, key}] = e
	}
	e.Observe(func() bool { return l.Valid() || o.careless })
	if err := e.Err(); err != nil {
		panic(err)
	}
}

// shardCluster is a cluster with a shard table and a test.
type shardCluster struct {
	*cluster.Cluster
	t     *testing.T
	keys  []string
	begun cluster.Time
	mu    sync.Mutex
	tally tally
}

// tally is how often each member was taken in, and how often managers have said that they gave its share away.
type tally struct{ in, out map[string]int }

// openShards starts five programs of a kind, and waits until all are in and every key has an owner.
func openShards(t *testing.T, kind string) *shardCluster {
	t.Helper()
	o := &shardCluster{t: t, tally: tally{make(map[string]int), make(map[string]int)}}
	for i := range keyCount {
		o.keys = append(o.keys, fmt.Sprintf("key%02d", i))
	}
	self := cluster.Self()
	timing := regent.LAN
	timing.Renew, timing.Lease = 100*time.Millisecond, 600*time.Millisecond // survive pauses of a busy machine
	w := cluster.OpenCrash(t, cluster.Options{Names: []string{"a", "b", "c", "d", "e"}, Timing: timing, Relay: true, Log: o.log,
		Command: func() *exec.Cmd {
			c := self()
			c.Env = append(os.Environ(), programEnv+"="+kind)
			return c
		}})
	o.Cluster = w
	o.each(w.Start, w.Names)
	cluster.Eventually(o.t, "all are taken in", func() bool { return len(o.count().in) == len(w.Names) })
	o.takenOver(tally{})
	o.begun = cluster.Now()
	return o
}

func (o *shardCluster) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// losses finds the members that a manager says it has lost.
var losses = regexp.MustCompile(`(?:failed|unfinished): ([a-z, ]*[a-z])`)

func (o *shardCluster) log(member, line string) {
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
func (o *shardCluster) count() tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	return tally{maps.Clone(o.tally.in), maps.Clone(o.tally.out)}
}

// takenIn waits until members were taken in once more than before.
func (o *shardCluster) takenIn(before tally, names ...string) {
	o.t.Helper()
	for _, n := range names {
		cluster.Eventually(o.t, n+" is taken in", func() bool { return o.count().in[n] > before.in[n] })
	}
}

// takenOver waits until the shares of the lost were given away, and every key is owned, from now on, by somebody else.
func (o *shardCluster) takenOver(before tally, lost ...string) {
	o.t.Helper()
	for _, n := range lost {
		cluster.Eventually(o.t, "the share of "+n+" is given away", func() bool { return o.count().out[n] > before.out[n] })
	}
	now := cluster.Now()
	cluster.Eventually(o.t, fmt.Sprintf("all keys have owners other than %v", lost), func() bool {
		owned := make(map[string]bool)
		for _, s := range o.spans() {
			if s.Seen > now && !slices.Contains(lost, s.Holder) {
				owned[s.Group] = true
			}
		}
		return len(owned) == len(o.keys)
	})
}

// spans returns all that programs wrote into their journals: the group is the key.
func (o *shardCluster) spans() []cluster.Span {
	o.t.Helper()
	all, err := o.Spans()
	o.must(err)
	return all
}

// patience is for how long a key may be without an owner. The tests log for how long it was: a second or two.
const patience = 10 * time.Second

// judge judges all that programs have done since all keys had owners: no key had two owners at one instant, be it two memberships of
// one program, and none was without an owner for longer than the patience.
func (o *shardCluster) judge(patience time.Duration) error {
	o.t.Helper()
	now := cluster.Now()
	o.must(o.CrashAll())
	rep, err := o.Check(cluster.Rules{Gap: patience, From: o.begun, To: now})
	o.t.Logf("keys were without owner for at most %v", rep.Longest)
	return err
}

// owner returns who owned the first key last. The first manager may not have seen all members, so that some own nothing.
func (o *shardCluster) owner() string {
	var last cluster.Span
	for _, s := range o.spans() {
		if s.Group == o.keys[0] && s.Seen > last.Seen {
			last = s
		}
	}
	return last.Holder
}

// lose takes members away and gives them back: an owner, the first manager, two at once, and again owners until all who came
// back work.
func (o *shardCluster) lose(lose, giveBack func(names ...string)) {
	o.t.Helper()
	back := make(map[string]cluster.Time)
	replace := func(lost ...string) {
		before := o.count()
		lose(lost...)
		o.takenOver(before, lost...)
		for _, name := range lost {
			back[name] = cluster.Now()
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
		spans := o.spans()
		idle = slices.DeleteFunc([]string{"a", "b", "d"}, func(name string) bool {
			return slices.ContainsFunc(spans, func(s cluster.Span) bool { return s.Holder == name && s.Since > since[name] })
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
	o := openShards(t, careful)
	o.lose(func(names ...string) { o.each(o.Crash, names) }, func(names ...string) { o.each(o.Start, names) })
}

func TestOthersTakeOverTheKeysOfOwnersThatLeave(t *testing.T) {
	o := openShards(t, careful)
	o.lose(func(names ...string) {
		for _, n := range names {
			o.Stop(n, 10*time.Second)
		}
	}, func(names ...string) { o.each(o.Start, names) })
}

func TestOthersTakeOverTheKeysOfOwnersThatAreCutOff(t *testing.T) {
	o := openShards(t, careful)
	o.lose(func(names ...string) { o.must(o.Part(names...)) }, func(...string) { o.must(o.HealAll()) })
}

func TestOwnerThatWasStoppedDoesNotWorkOnWhenItGoesOn(t *testing.T) {
	o := openShards(t, careful)
	o.lose(func(names ...string) { o.each(o.pause, names) }, func(names ...string) { o.each(o.Resume, names) })
}

// pause stops a member, but not in the middle of a write: SQLite would keep everybody else waiting for it, and that is not what
// these tests are about.
func (o *shardCluster) pause(name string) error {
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

func (o *shardCluster) each(do func(string) error, names []string) {
	o.t.Helper()
	for _, n := range names {
		o.must(do(n))
	}
}

// The judge would find programs that go on when their membership is over.
func TestOwnerThatDoesNotCareWhetherItIsInIsFound(t *testing.T) {
	o := openShards(t, careless)
	before, lost := o.count(), o.owner()
	o.must(o.Cut(lost))
	o.takenOver(before, lost)
	want := fmt.Sprintf("group %s: %s and ", o.keys[0], lost)
	if err := o.judge(patience); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s went on while it was out; found: %v", lost, err)
	}
}

// The judge would find keys that nobody takes over; and a manager that cannot write does not give up.
func TestKeysHaveNoOwnerWhileTheTableCannotBeWritten(t *testing.T) {
	o := openShards(t, careful)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(o.Dir, "db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	o.must(err)
	defer db.Close()
	lock, err := db.Begin()
	o.must(err)
	before, lost := o.count(), o.owner()
	o.must(o.Crash(lost))
	const held = 3 * time.Second
	begun := cluster.Now()
	cluster.Eventually(o.t, "the lock is held long enough", func() bool { return cluster.Now().Sub(begun) > held })
	o.must(lock.Rollback())
	o.takenOver(before, lost)
	want := fmt.Sprintf("group %s: no leader for", o.keys[0])
	if err := o.judge(held); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "both led") {
		t.Errorf("keys of %s had no owner for %v; found: %v", lost, held, err)
	}
}
