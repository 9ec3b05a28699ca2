package regent

import (
	"context"
	"errors"
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
	"github.com/regentproject/regent/internal/transport/memory"
	"github.com/regentproject/regent/roster"
)

// A changingCouncil is one of members in memory, of which some begin and others join.
type changingCouncil struct {
	t       *testing.T
	network *memory.Network
	first   []Peer
	peers   map[string]Peer
	own     map[string]OwnKeys
	dirs    string
	mu      sync.Mutex
	members map[string]*Member
	kill    map[string]func()
	log     slog.Handler
	out     string        // a member that may learn while it joins that it was removed
	tune    func(*Config) // what the configurations of all members have besides
}

func newChanging(t *testing.T, first []string, others ...string) *changingCouncil {
	t.Helper()
	return newChangingWith(t, func(*Config) {}, first, others...)
}

func newChangingWith(t *testing.T, tune func(*Config), first []string, others ...string) *changingCouncil {
	t.Helper()
	all := append(slices.Clone(first), others...)
	c := &changingCouncil{t: t, network: memory.New(1, all...), peers: make(map[string]Peer), members: make(map[string]*Member), kill: make(map[string]func()),
		dirs: t.TempDir(), log: slog.DiscardHandler, tune: tune}
	var peers []Peer
	for _, name := range all {
		peers = append(peers, Peer{Name: name, Addrs: []string{name + ":7400"}})
	}
	c.own = DrawKeys(peers)
	for _, p := range peers {
		c.peers[p.Name] = p
	}
	c.first = peers[:len(first)]
	t.Cleanup(func() {
		for _, m := range c.members {
			m.closing.Do(m.end)
		}
		c.network.Close()
	})
	var wait sync.WaitGroup
	for _, name := range first {
		wait.Go(func() { c.join(name, Config{Council: slices.Clone(c.first), Bootstrap: true}) })
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// join starts a member. It returns nil if it learns that it was removed.
func (c *changingCouncil) join(name string, config Config) *Member {
	config.Name, config.Key, config.Dir, config.Logger = name, []byte("0123456789abcdef"), c.dirs+"/"+name, slog.New(c.log)
	config.OwnKeys = c.own[name]
	c.tune(&config)
	w := inmemory.World(c.network, name)
	w.Started = func(kill func()) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.kill[name] = kill
	}
	m, err := Join(world.Into(c.t.Context(), w), config)
	if errors.Is(err, roster.ErrRemoved) {
		return nil
	}
	if err != nil {
		if name != c.out || !errors.Is(err, roster.ErrRemoved) {
			c.t.Errorf("join %s: %v", name, err)
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[name] = m
	return m
}

// at returns a member.
func (c *changingCouncil) at(name string) *Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[name]
}

// welcome starts a member that joins, and returns once it takes part.
func (c *changingCouncil) welcome(name string) {
	c.join(name, Config{Join: c.first, Bind: name + ":7400"})
}

// change changes the council at a member.
func (c *changingCouncil) change(at string, change roster.Change) roster.Council {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	now, err := c.at(at).Change(ctx, change)
	if err != nil {
		c.t.Fatalf("change at %s: %v\n%+v", at, err, now)
	}
	return now
}

func memberNames(c roster.Council) []string {
	var out []string
	for i := range c.Members {
		out = append(out, c.Members[i].Name)
	}
	slices.Sort(out)
	return out
}

func peerNames(list []PeerStatus) (out []string) {
	for i := range list {
		out = append(out, list[i].Name)
	}
	slices.Sort(out)
	return out
}

// A leader leads a group, and counts how often it has lost it.
type aLeader struct {
	lease *Lease
}

func (c *changingCouncil) lead(at, group string) *aLeader {
	c.t.Helper()
	l, err := must(c.at(at).Group(group)).Campaign(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return &aLeader{l}
}

func (c *changingCouncil) stillLeads(l *aLeader, what string) {
	c.t.Helper()
	if !l.lease.Valid() {
		c.t.Errorf("%s: the leader has lost its lease: %v", what, l.lease.Cause())
	}
}

// A living member of three is replaced by a new host. Leaders that stay notice nothing.
func TestMemberIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		lead := c.lead("a", "g")
		token := lead.lease.Token()
		go c.welcome("d")
		now := c.change("b", roster.Change{Add: []Peer{c.peers["d"]}, Remove: []string{"c"}})
		if got := memberNames(now); !slices.Equal(got, []string{"a", "b", "d"}) || now.Number < 3 {
			t.Errorf("the council is %v, number %d", got, now.Number)
		}
		c.stillLeads(lead, "after c was replaced by d")
		time.Sleep(5 * time.Second)
		if m := c.at("d"); m == nil || m.Council().Number != now.Number {
			t.Fatal("d does not take part")
		}
		next := make(chan *Lease, 1)
		go func() {
			l, err := must(c.at("d").Group("g")).Campaign(t.Context())
			if err != nil {
				t.Error(err)
			}
			next <- l
		}()
		time.Sleep(time.Second)
		_ = lead.lease.Resign(t.Context())
		l := <-next
		if l.Token() <= token {
			t.Errorf("the token of d is %d, and that of a was %d", l.Token(), token)
		}
	})
}

// crash ends a member as kill -9 does.
func (c *changingCouncil) crash(name string) {
	c.t.Helper()
	c.mu.Lock()
	kill := c.kill[name]
	c.mu.Unlock()
	kill()
}

// wipe takes the disk of a member that does not run.
func (c *changingCouncil) wipe(name string) {
	c.t.Helper()
	if err := os.RemoveAll(c.dirs + "/" + name); err != nil {
		c.t.Fatal(err)
	}
}

// restart starts a member again from its directory. The file lists the first council, or is that of a member that joins.
func (c *changingCouncil) restart(name string) *Member {
	c.t.Helper()
	if !slices.ContainsFunc(c.first, func(p Peer) bool { return p.Name == name }) {
		return c.join(name, Config{Join: c.first, Bind: name + ":7400"})
	}
	return c.join(name, Config{Council: slices.Clone(c.first), Bootstrap: true})
}

// expect waits until members of a council show what is expected.
func (c *changingCouncil) expect(what string, at []string, want ...string) {
	c.t.Helper()
	slices.Sort(want)
	late := time.After(time.Minute)
	for _, name := range at {
		m := c.at(name)
		for done := false; !done; {
			moved := m.changing.moved.Wait()
			now := m.Council()
			done = slices.Equal(memberNames(now), want) && now.Settled && now.Goal == nil
			if done {
				break
			}
			select {
			case <-moved:
			case <-late:
				c.t.Fatalf("%s: at %s the council is %+v", what, name, now)
			}
		}
	}
}

// One becomes three, five and one again, and the leader that is there all the time never loses its lease.
func TestCouncilGrowsAndShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a"}, "b", "c", "d", "e")
		lead := c.lead("a", "g")
		for _, name := range []string{"b", "c"} {
			go c.welcome(name)
		}
		three := c.change("a", roster.Change{Add: []Peer{c.peers["b"], c.peers["c"]}})
		c.stillLeads(lead, "as one of three")
		for _, name := range []string{"d", "e"} {
			go c.welcome(name)
		}
		five := c.change("b", roster.Change{Add: []Peer{c.peers["d"], c.peers["e"]}})
		c.stillLeads(lead, "as one of five")
		if len(three.Members) != 3 || len(five.Members) != 5 {
			t.Errorf("the council was %v, and then %v", memberNames(three), memberNames(five))
		}
		c.expect("five", []string{"a", "c", "e"}, "a", "b", "c", "d", "e")
		c.change("a", roster.Change{Remove: []string{"b", "c", "d", "e"}})
		c.stillLeads(lead, "alone again")
		for _, name := range []string{"b", "c", "d", "e"} {
			select {
			case <-c.at(name).closed:
			case <-time.After(time.Minute):
				t.Errorf("%s was removed, and goes on", name)
			}
		}
		again := Config{Name: "b", Key: []byte("0123456789abcdef"), Dir: c.dirs + "/b", OwnKeys: c.own["b"], Logger: slog.New(c.log), Join: c.first, Bind: "b:7400"}
		if _, err := Join(world.Into(t.Context(), inmemory.World(c.network, "b")), again); !errors.Is(err, roster.ErrRemoved) {
			t.Errorf("a member that was removed starts again from its directory: %v", err)
		}
	})
}

// A member that is dead is replaced, while it is dead, and is refused when it comes back.
func TestDeadMemberIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		lead := c.lead("a", "g")
		c.crash("c")
		time.Sleep(time.Second)
		go c.welcome("d")
		now := c.change("b", roster.Change{Add: []Peer{c.peers["d"]}, Remove: []string{"c"}})
		c.stillLeads(lead, "after c, which was dead, was replaced by d")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w := inmemory.World(c.network, "c")
		m, err := Join(world.Into(ctx, w), Config{Name: "c", Key: []byte("0123456789abcdef"), Dir: c.dirs + "/c", OwnKeys: c.own["c"], Council: slices.Clone(c.first),
			Logger: slog.New(c.log), Bootstrap: true})
		if err == nil {
			select {
			case <-m.closed:
			case <-time.After(time.Minute):
				t.Errorf("c was removed, and goes on: %+v", m.Council())
			}
		}
		c.expect("after c came back", []string{"a", "b", "d"}, memberNames(now)...)
		c.stillLeads(lead, "after c came back")
	})
}

// All hosts of a council are replaced one by one. Nobody that stays loses a lease, and tokens grow.
func TestAllMembersAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d", "e", "f")
		lead := c.lead("a", "g")
		for i, name := range []string{"d", "e"} {
			go c.welcome(name)
			c.change("a", roster.Change{Add: []Peer{c.peers[name]}, Remove: []string{[]string{"c", "b"}[i]}})
			c.stillLeads(lead, "after "+name+" came")
		}
		token := lead.lease.Token()
		next := make(chan *Lease, 1)
		go func() { next <- must(must(c.at("d").Group("g")).Campaign(t.Context())) }()
		go func() { // the program of a stops as soon as it is asked to
			<-lead.lease.Done()
			_ = lead.lease.Resign(t.Context())
		}()
		go c.join("f", Config{Join: []Peer{c.peers["d"]}, Bind: "f:7400"})
		c.change("e", roster.Change{Add: []Peer{c.peers["f"]}, Remove: []string{"a"}})
		l := <-next
		if l.Token() <= token || !l.Valid() {
			t.Errorf("d leads with token %d, and a had %d", l.Token(), token)
		}
		c.expect("all are others", []string{"d", "e", "f"}, "d", "e", "f")
		if cause := lead.lease.Cause(); cause.Why.String() != "transferred" {
			t.Errorf("a lost its lease for another reason than the change: %v", cause)
		}
	})
}

// A change is cancelled while it waits for a member that never comes up.
func TestChangeIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d", "e")
		done := make(chan error, 1)
		go func() {
			_, err := c.at("a").Change(t.Context(), roster.Change{Add: []Peer{c.peers["d"]}})
			done <- err
		}()
		time.Sleep(20 * time.Second)
		now := c.at("b").Council()
		if now.Phase != roster.Learning || !slices.Equal(now.WaitsFor, []string{"d"}) || now.By != "a" || len(now.Goal) != 4 {
			t.Errorf("while d is not up: %+v", now)
		}
		if _, err := c.at("b").Change(t.Context(), roster.Change{Add: []Peer{c.peers["e"]}}); !errors.Is(err, roster.ErrChanging) {
			t.Errorf("another change meanwhile: %v", err)
		}
		c.change("c", roster.Change{Cancel: true})
		c.expect("after the cancel", []string{"a", "b", "c"}, "a", "b", "c")
		if err := <-done; !errors.Is(err, roster.ErrCancelled) {
			t.Errorf("the change that was cancelled: %v", err)
		}
		if _, err := c.at("a").Change(t.Context(), roster.Change{Cancel: true}); !errors.Is(err, roster.ErrUnchanged) {
			t.Errorf("one more cancel: %v", err)
		}
	})
}

func TestChangesThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		diskless := assemble(t, func(c *Config) { c.Dir, c.CouncilID = "", "00112233445566778899aabbccddeeff" }, "a", "b", "c")
		if _, err := diskless["a"].Change(t.Context(), roster.Change{Remove: []string{"b"}}); !errors.Is(err, roster.ErrDiskless) {
			t.Errorf("diskless: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		votes := assemble(t, func(c *Config) { c.Council[0].Votes = 2 }, "a", "b", "c", "d")
		if _, err := votes["a"].Change(t.Context(), roster.Change{Remove: []string{"b"}}); !errors.Is(err, roster.ErrFixed) {
			t.Errorf("votes: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		keyless, copied := c.peers["d"], c.peers["d"]
		keyless.PublicKeys, copied.PublicKeys = nil, c.peers["b"].PublicKeys
		for what, change := range map[string]roster.Change{
			"no such member":     {Remove: []string{"x"}},
			"has no public key":  {Add: []Peer{keyless}},
			"draws its own":      {Add: []Peer{copied}},
			"has no address":     {Add: []Peer{{Name: "d"}}},
			"no member may lead": {Set: []Peer{{Name: "a", Addrs: []string{"a:1"}, Observer: true}}, Remove: []string{"b", "c"}},
			"another number":     {Remove: []string{"c"}, Number: 7},
		} {
			if _, err := c.at("a").Change(t.Context(), change); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if now := c.at("a").Council(); now.Number != 0 || now.Phase != roster.Idle {
			t.Errorf("the council has changed: %+v", now)
		}
	})
}

// One member of three keeps no record. A change would leave it behind, so there is none.
func TestChangeIsRefusedForAMemberWithoutADisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mixed := assemble(t, func(c *Config) {
			c.CouncilID = "00112233445566778899aabbccddeeff"
			if c.Name == "c" {
				c.Dir = ""
			}
		}, "a", "b", "c")
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := mixed["a"].Change(ctx, roster.Change{Remove: []string{"b"}})
		if !errors.Is(err, roster.ErrDiskless) || !strings.Contains(err.Error(), "c cannot follow") {
			t.Errorf("the change is refused with: %v", err)
		}
		if now := mixed["b"].Council(); now.Number != 0 || now.Phase != roster.Idle {
			t.Errorf("the council has changed: %+v", now)
		}
	})
}
