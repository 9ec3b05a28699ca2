package regent

import (
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/roster"
)

// The record counts, not the file: members that crash go on in the council that they agreed on, also without a disk.
func TestMembersRestartInTheCouncilThatTheyAgreedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		go c.welcome("d")
		now := c.change("a", roster.Change{Add: []Peer{c.peers["d"]}, Remove: []string{"a"}})
		if got := memberNames(now); !slices.Equal(got, []string{"b", "c", "d"}) {
			t.Fatalf("the council is %v", got)
		}
		<-c.at("a").closed
		lead := c.lead("b", "g")
		for _, name := range []string{"c", "d"} {
			c.crash(name)
			time.Sleep(3 * time.Second)
			c.restart(name)
			c.expect("after "+name+" restarted", []string{"b", name}, "b", "c", "d")
			c.stillLeads(lead, "after "+name+" restarted")
			time.Sleep(5 * time.Second)
		}
		c.crash("c")
		c.wipe("c")
		time.Sleep(3 * time.Second)
		c.restart("c")
		c.expect("after c lost its disk", []string{"b", "c"}, "b", "c", "d")
		c.stillLeads(lead, "after c lost its disk")
		if got := peerNames(c.at("c").Members()); !slices.Equal(got, []string{"b", "c", "d"}) {
			t.Errorf("c shows the members %v", got)
		}
	})
}

// A member that has lost its disk has a file in which members have other ranks than in the council. It takes the council over all the same.
func TestMemberWithAnotherListAndNoDiskComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		go c.welcome("d")
		now := c.change("b", roster.Change{Add: []Peer{c.peers["d"]}, Remove: []string{"a"}})
		lead := c.lead("b", "g")
		time.Sleep(5 * time.Second)
		c.crash("d")
		if err := os.RemoveAll(c.dirs + "/d"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		list := []Peer{c.peers["b"], c.peers["c"], c.peers["d"]}
		done := make(chan struct{})
		go func() {
			c.join("d", Config{Council: list, CouncilID: now.ID, Bootstrap: true})
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(2 * time.Minute):
			t.Fatal("it does not come back")
		}
		c.expect("d is back", []string{"b", "d"}, "b", "c", "d")
		c.stillLeads(lead, "after d came back")
		if rank := c.at("d").Council().Members[2].Rank; rank != 3 {
			t.Errorf("d has rank %d", rank)
		}
	})
}

// All members are started from copies of their directories. None trusts its record, and all go on once all have answered.
func TestMembersThatWereAllMovedGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		time.Sleep(time.Minute)
		var wait sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			c.crash(name)
		}
		from := c.dirs
		c.dirs = t.TempDir()
		if err := os.CopyFS(c.dirs, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		done := make(chan struct{})
		for _, name := range []string{"a", "b", "c"} {
			wait.Go(func() { c.restart(name) })
		}
		go func() { wait.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Minute):
			t.Fatal("they wait for one another without end")
		}
		c.lead("b", "g")
	})
}

// A member whose disk is lost comes back with a new identity before the council has ever changed, and the other members, which got its new key
// while they ran, take in a host afterwards.
func TestMemberWithANewIdentityComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // incarnations without a record are by the wall clock
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		c.crash("b")
		if err := os.RemoveAll(c.dirs + "/b"); err != nil {
			t.Fatal(err)
		}
		fresh := []Peer{c.peers["b"]}
		c.own["b"] = DrawKeys(fresh)["b"]
		c.peers["b"], c.first = fresh[0], []Peer{c.peers["a"], fresh[0], c.peers["c"]}
		for _, name := range []string{"a", "c"} {
			err := c.at(name).Rekey(Config{Name: name, Key: []byte("0123456789abcdef"), OwnKeys: c.own[name], Council: slices.Clone(c.first)})
			if err != nil {
				t.Fatal(err)
			}
		}
		c.restart("b")
		c.expect("after b came back", []string{"a", "b", "c"}, "a", "b", "c")
		lead := c.lead("a", "g")
		go c.welcome("d")
		c.change("a", roster.Change{Add: []Peer{c.peers["d"]}})
		c.stillLeads(lead, "after d came")
		c.crash("b")
		c.restart("b")
		for _, name := range []string{"a", "b", "c", "d"} {
			for _, p := range c.at(name).Members() {
				if p.Problem != "" {
					t.Errorf("%s shows %s: %s", name, p.Name, p.Problem)
				}
			}
		}
	})
}
