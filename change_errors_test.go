package regent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/runtime/inmemory"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/roster"
)

// ask asks for a change in the background, and returns what becomes of it.
func (c *changingCouncil) ask(at string, change roster.Change) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.at(at).Change(c.t.Context(), change)
		done <- err
	}()
	return done
}

// reads checks that an error says all that it should.
func reads(t *testing.T, what string, err error, is error, words ...string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Errorf("%s: %v, want %v", what, err, is)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: nothing says %q: %v", what, w, err)
		}
	}
}

// troubles returns what a member says about those that a change waits for.
func (c *changingCouncil) troubles(at string) string {
	now := c.at(at).Council()
	return strings.Join(now.Troubles(), "; ")
}

// A new member that never comes up is named after a while, with what is unchanged and what to do. Another change is refused meanwhile. After ten minutes
// the council is as it was.
func TestNewMemberThatNeverComesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d", "e")
		lead := c.lead("a", "g")
		began := time.Now()
		done := c.ask("b", roster.Change{Add: []Peer{c.peers["d"]}})
		time.Sleep(40 * time.Second)
		for _, w := range []string{"d does not answer at d:7400 for ", "start its agent", "nothing has changed for the others", "'regent members cancel'"} {
			if got := c.troubles("c"); !strings.Contains(got, w) {
				t.Errorf("nothing says %q: %s", w, got)
			}
		}
		_, err := c.at("a").Change(t.Context(), roster.Change{Add: []Peer{c.peers["e"]}})
		reads(t, "another change", err, roster.ErrChanging, "asked for at b 40s ago", "adding d", "waits for d", "cancel it, or wait")
		err = <-done
		reads(t, "the end", err, roster.ErrCancelled, "given up: d was not heard for 10m0s; nothing was risked", "the council is a b c")
		if took := time.Since(began); took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("it was given up after %v", took)
		}
		c.expect("after it was given up", []string{"a", "b", "c"}, "a", "b", "c")
		c.stillLeads(lead, "after it was given up")
	})
}

// A caller repeats the request to add a member: the council leaves the member as it is. With the same key it is no new host of the name either.
func TestMemberIsAddedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		go c.welcome("d")
		first := c.change("a", roster.Change{Add: []Peer{c.peers["d"]}})
		lead := c.lead("d", "g")
		again := c.change("b", roster.Change{Add: []Peer{c.peers["d"]}})
		joined := func(now roster.Council) uint64 {
			return now.Members[slices.IndexFunc(now.Members, func(m roster.Member) bool { return m.Name == "d" })].Joined
		}
		if joined(again) != joined(first) || again.Number > first.Number+1 {
			t.Errorf("d joined in number %d, and was added again in number %d", joined(first), joined(again))
		}
		moved := c.peers["d"]
		moved.Addrs = []string{"d:7401"}
		_, err := c.at("a").Change(t.Context(), roster.Change{Add: []Peer{moved}})
		if err == nil || !strings.Contains(err.Error(), "the member d has this key already: nothing has changed") {
			t.Errorf("with another address: %v", err)
		}
		c.stillLeads(lead, "after d was added twice")
	})
}

// A dead member is to be replaced by a new one that never comes up. It has lost its vote meanwhile, and the two that are left go on.
func TestReplacementThatNeverComesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		lead := c.lead("a", "g")
		c.crash("c")
		err := <-c.ask("a", roster.Change{Add: []Peer{c.peers["d"]}, Remove: []string{"c"}, Within: 3 * time.Minute})
		reads(t, "the end", err, roster.ErrCancelled, "d was not heard for 3m0s")
		c.stillLeads(lead, "after it was given up")
		if now := c.at("b").Council(); slices.Contains(memberNames(now), "d") {
			t.Errorf("d is still there: %+v", now)
		}
		c.restart("c")
		set := c.peers["c"]
		now := c.change("b", roster.Change{Set: []Peer{set}})
		if i := slices.IndexFunc(now.Members, func(m roster.Member) bool { return m.Name == "c" }); i < 0 || now.Members[i].Observer {
			t.Errorf("c does not get its vote again: %+v", now)
		}
	})
}

// Too few members are heard: a change is refused soon, and is not carried out once they are back.
func TestChangeWithTooFewMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		time.Sleep(time.Minute)
		c.crash("b")
		c.crash("c")
		began := time.Now()
		_, err := c.at("a").Change(t.Context(), roster.Change{Remove: []string{"c"}})
		reads(t, "a change", err, roster.ErrNoQuorum, "b, c did not answer for 5s", "2 of 3 voters must agree", "nothing has changed", "start their agents")
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("it is refused after %v", took)
		}
		c.restart("b")
		c.restart("c")
		time.Sleep(2 * time.Minute)
		if now := c.at("a").Council(); now.Number != 0 || now.Running() {
			t.Errorf("a change that was refused has begun: %+v", now)
		}
		if now := c.change("a", roster.Change{Remove: []string{"c"}}); !slices.Equal(memberNames(now), []string{"a", "b"}) {
			t.Errorf("the council is %+v", now)
		}
	})
}

// A change waits for a new member whose host shows by its packets what is wrong: both sides say it, and the right host is taken in.
func TestNewMemberThatIsWrong(t *testing.T) {
	for what, x := range map[string]struct {
		wrong       func(c *changingCouncil, o *Config)
		here, there string
	}{
		"another key of the member": {func(c *changingCouncil, o *Config) {
			fresh := []Peer{c.peers["d"]}
			c.own["d"] = DrawKeys(fresh)["d"]
		}, "d has the key ", "lists another key for d: compare fingerprints"},
		"another cluster key": {func(_ *changingCouncil, o *Config) { o.Key = []byte("fedcba9876543210") }, "d seems to have another key", "no council has answered yet at a:7400"},
		"another council": {func(_ *changingCouncil, o *Config) { o.CouncilID = "00112233445566778899aabbccddeeff" }, "",
			"and council_id is 00112233445566778899aabbccddeeff: name the hosts of the right council"},
		"a key in the list that is not the member's": {func(c *changingCouncil, o *Config) { o.Join[0].PublicKeys = c.peers["e"].PublicKeys }, "",
			"answers under the key "},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newChanging(t, []string{"a", "b", "c"}, "d", "e")
				own := c.own["d"]
				o := Config{Name: "d", Key: []byte("0123456789abcdef"), Dir: c.dirs + "/d", Logger: slog.New(c.log), Bind: "d:7400", Join: slices.Clone(c.first[:1])}
				x.wrong(c, &o)
				o.OwnKeys = c.own["d"]
				done := c.ask("a", roster.Change{Add: []Peer{c.peers["d"]}})
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				_, err := Join(world.Into(ctx, inmemory.World(c.network, "d")), o)
				cancel()
				if err == nil || !strings.Contains(err.Error(), x.there) {
					t.Errorf("the host itself does not say %q: %v", x.there, err)
				}
				if got := c.troubles("a"); !strings.Contains(got, x.here) || x.here != "" && !strings.Contains(got, "nothing has changed for the others") {
					t.Errorf("the council does not say %q: %s", x.here, got)
				}
				c.own["d"] = own
				c.welcome("d")
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A host was away while another one got its name. It must not come back from its old directory, and the error states that.
func TestNameThatWasUsedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		time.Sleep(10 * time.Second)
		c.crash("c")
		fresh := []Peer{c.peers["c"]}
		old, dirs := c.own["c"], c.dirs
		c.own["c"] = DrawKeys(fresh)["c"]
		done := c.ask("a", roster.Change{Add: fresh})
		time.Sleep(time.Second)
		o := Config{Name: "c", Key: []byte("0123456789abcdef"), Dir: dirs + "/c", OwnKeys: old, Logger: slog.New(c.log), Council: slices.Clone(c.first), Bootstrap: true}
		again := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			m, err := Join(world.Into(ctx, inmemory.World(c.network, "c")), o)
			if err == nil {
				defer m.closing.Do(m.end)
				select {
				case <-m.closed:
				case <-ctx.Done():
					t.Errorf("it goes on: %+v", m.Council())
				}
			}
			return err
		}
		if err := again(); err == nil {
			err = again()
			reads(t, "the second start", err, roster.ErrRemoved, "a new host has had the name c since number", "must not have the directory of the one before", "empty it")
		} else {
			reads(t, "the first start", err, roster.ErrRemoved, "a new host has had the name c")
		}
		if err := os.RemoveAll(dirs + "/c"); err != nil {
			t.Fatal(err)
		}
		c.welcome("c")
		if err := <-done; err != nil {
			t.Error(err)
		}
		c.expect("with the new c", []string{"a", "b", "c"}, "a", "b", "c")
	})
}

// A host that was away while all others were replaced knows none of their keys. The error asks to join again.
func TestHostThatKnowsNoKeyIsToldToJoinAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d", "e", "f")
		time.Sleep(10 * time.Second)
		c.crash("c")
		for i, name := range []string{"d", "e", "f"} {
			at, leaves := "a", []string{"c", "b", "a"}[i]
			if leaves == "a" {
				at = "d"
			}
			go c.join(name, Config{Join: slices.Clone(c.present(at)), Bind: name + ":7400"})
			c.change(at, roster.Change{Add: []Peer{c.peers[name]}, Remove: []string{leaves}})
			time.Sleep(time.Minute) // the others know of the end of it, too
		}
		// The names of a and b now lead to d and e, as after hosts were exchanged under their names.
		list := slices.Clone(c.first)
		list[0].Addrs, list[1].Addrs = []string{"d:7400"}, []string{"e:7400"}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		m, err := Join(world.Into(ctx, inmemory.World(c.network, "c")), Config{Name: "c", Key: []byte("0123456789abcdef"), Dir: c.dirs + "/c", OwnKeys: c.own["c"],
			Council: list, Logger: slog.New(c.log), Bootstrap: true})
		if err != nil {
			t.Fatal(err)
		}
		defer m.closing.Do(m.end)
		time.Sleep(3 * time.Minute)
		if got := m.Status().Waiting; !strings.Contains(got, "which this host was not told to believe") || !strings.Contains(got, "let this host join again") {
			t.Errorf("c is told %q", got)
		}
		if now := m.Council(); now.Number != 0 {
			t.Errorf("c has believed an unknown key: %+v", now)
		}
	})
}

// present lists the members of the council as a member knows them, with their keys.
func (c *changingCouncil) present(at string) (all []Peer) {
	for _, name := range memberNames(c.at(at).Council()) {
		all = append(all, c.peers[name])
	}
	return all
}

// A forecast says what a change will do, and changes nothing.
func TestForecastOfAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		time.Sleep(10 * time.Second)
		f, err := c.at("a").Forecast(roster.Change{Add: []Peer{c.peers["d"]}}, map[string]string{"a": "x", "b": "x", "c": "y", "d": "y"})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{"step 1: d joins as an observer", "takes up to ", "leases of 200ms last: not shorter than 50ms + 3 x 20ms + 2 x ", "a new member waits for 30s"} {
			if !strings.Contains(strings.Join(f.Lines, "\n"), w) {
				t.Errorf("nothing says %q: %q", w, f.Lines)
			}
		}
		if got := strings.Join(f.Warnings, "\n"); !strings.Contains(got, "4 votes survive the loss of 1, like 3") || !strings.Contains(got, "the loss of site y stops the council from then on") {
			t.Errorf("it warns of %q", f.Warnings)
		}
		if f.Steps != 3 || f.Takes <= 0 || len(f.Short) != 0 {
			t.Errorf("%+v", f)
		}
		if _, err := c.at("a").Forecast(roster.Change{Remove: []string{"x"}}, nil); err == nil {
			t.Error("what cannot be is foreseen")
		}
		if now := c.at("a").Council(); now.Number != 0 || now.Running() {
			t.Errorf("it has changed something: %+v", now)
		}
	})
}

// All members are replaced by one change, as a list of other members wants it, and a leader that leaves hands all its groups over at once: many take no
// longer than one.
func TestAllMembersAreReplacedByOneChange(t *testing.T) {
	const groups = 300
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d", "e", "f")
		var led, next sync.WaitGroup
		tokens := make([]uint64, groups)
		for i := range groups {
			led.Add(1)
			go func() {
				l, err := must(c.at("a").Group(fmt.Sprint("g", i))).Campaign(t.Context())
				tokens[i] = l.Token()
				led.Done()
				if err == nil {
					<-l.Done()
					_ = l.Resign(t.Context())
				}
			}()
		}
		led.Wait()
		var join sync.WaitGroup
		for _, name := range []string{"d", "e", "f"} {
			join.Go(func() { c.welcome(name) })
		}
		done := c.ask("b", roster.Change{Add: []Peer{c.peers["d"], c.peers["e"], c.peers["f"]}, Remove: []string{"a", "b", "c"}})
		join.Wait()
		began := time.Now()
		for i := range groups {
			next.Go(func() {
				l, err := must(c.at("d").Group(fmt.Sprint("g", i))).Campaign(t.Context())
				for err != nil && t.Context().Err() == nil && time.Since(began) < time.Minute { // d has no vote yet
					time.Sleep(10 * time.Millisecond)
					l, err = must(c.at("d").Group(fmt.Sprint("g", i))).Campaign(t.Context())
				}
				if err != nil {
					t.Errorf("group %d: %v", i, err)
				} else if l.Token() <= tokens[i] {
					t.Errorf("group %d has token %d, and had %d", i, l.Token(), tokens[i])
				}
			})
		}
		next.Wait()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the groups were handed over after %v", took)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		c.expect("all are others", []string{"d", "e", "f"}, "d", "e", "f")
	})
}
