package regent

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/roster"
)

// public returns the public key of a private one.
func public(t *testing.T, private string) identity.Public {
	t.Helper()
	k, err := identity.ParsePrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	return k.Public()
}

// rekey gives a member other private keys while it runs.
func (c *changingCouncil) rekey(name string, private ...string) {
	c.t.Helper()
	own := c.own[name]
	own.PrivateKeys = private
	c.own[name] = own
	if err := c.at(name).Rekey(Config{Name: name, Key: []byte("0123456789abcdef"), OwnKeys: own, Council: slices.Clone(c.first)}); err != nil {
		c.t.Fatal(err)
	}
}

// Once a council has changed, keys are part of what members agree on: the key of a member is replaced by steps, also where it was added later, and no
// file brings the old one back. Leaders notice nothing.
func TestKeyIsReplacedBySteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		go c.welcome("d")
		c.change("a", roster.Change{Add: []Peer{c.peers["d"]}})
		lead := c.lead("a", "g")
		for _, name := range []string{"d", "a"} {
			old, next := c.own[name].PrivateKeys[0], DrawKeys([]Peer{c.peers[name]})[name].PrivateKeys[0]
			was, is := public(t, old), public(t, next)
			c.rekey(name, old, next)
			set := c.peers[name]
			set.PublicKeys = []string{was.String(), is.String()}
			c.change("b", roster.Change{Set: []Peer{set}})
			c.expect("with two keys", []string{"a", "b", "c", "d"}, "a", "b", "c", "d")
			time.Sleep(5 * time.Second)
			c.rekey(name, next)
			set.PublicKeys = set.PublicKeys[1:]
			c.change("c", roster.Change{Set: []Peer{set}})
			c.peers[name] = set
			c.expect("with the new key", []string{"a", "b", "c", "d"}, "a", "b", "c", "d")
			time.Sleep(5 * time.Second)
			c.stillLeads(lead, "after "+name+" got another key")
			for _, at := range []string{"a", "b", "c", "d"} {
				if at != name && c.at(at).trusts(was) {
					t.Errorf("%s believes the old key of %s", at, name)
				}
				if !c.at(at).trusts(is) {
					t.Errorf("%s does not believe the new key of %s", at, name)
				}
				for _, p := range c.at(at).Members() {
					if p.Problem != "" || p.KeyProblem != "" || p.Silent {
						t.Errorf("%s shows %s: %s %s, silent %v", at, p.Name, p.Problem, p.KeyProblem, p.Silent)
					}
				}
			}
			c.rekey("b", c.own["b"].PrivateKeys...) // by a file that still lists the old key
			if name == "a" && (c.at("b").trusts(was) || !c.at("b").trusts(is)) {
				t.Error("the file of b brings the old key of a back")
			}
		}
	})
}

// The keys that members agreed on by files, while they ran, are those of the first change: a member with such a key is not cut off during its steps.
func TestKeyThatWasReplacedByFilesCountsInTheFirstStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		next := DrawKeys([]Peer{c.peers["b"]})["b"].PrivateKeys[0]
		is := public(t, next)
		c.first[1].PublicKeys = append(slices.Clone(c.first[1].PublicKeys), is.String())
		for _, name := range []string{"a", "c"} {
			c.rekey(name, c.own[name].PrivateKeys...)
		}
		c.rekey("b", c.own["b"].PrivateKeys[0], next)
		time.Sleep(5 * time.Second)
		c.first[1].PublicKeys = c.first[1].PublicKeys[1:]
		c.rekey("b", next)
		for _, name := range []string{"a", "c"} {
			c.rekey(name, c.own[name].PrivateKeys...)
		}
		lead := c.lead("b", "g")
		done := c.ask("a", roster.Change{Add: []Peer{c.peers["d"]}}) // and d is not up yet
		time.Sleep(30 * time.Second)
		c.stillLeads(lead, "while d is waited for")
		c.crash("c")
		time.Sleep(10 * time.Second)
		c.stillLeads(lead, "by b, which has a new key, and a")
		c.restart("c")
		c.welcome("d")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Adding a member enrols its key, and removing it revokes that for all but the question for the configuration.
func TestKeyOfARemovedMemberIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		key := public(t, c.own["d"].PrivateKeys[0])
		if c.at("a").trusts(key) {
			t.Error("a believes a key that nobody has enrolled")
		}
		go c.welcome("d")
		c.change("a", roster.Change{Add: []Peer{c.peers["d"]}})
		c.expect("with d", []string{"a", "b", "c"}, "a", "b", "c", "d")
		if !c.at("b").trusts(key) {
			t.Error("b does not believe the key of d")
		}
		c.crash("d")
		c.change("a", roster.Change{Remove: []string{"d"}})
		c.expect("without d", []string{"a", "b", "c"}, "a", "b", "c")
		if c.at("b").trusts(key) {
			t.Error("b still believes the key of d")
		}
		c.out = "d"
		if m := c.restart("d"); m != nil { // it learns that it is out, by a question under that key
			select {
			case <-m.closed:
			case <-time.After(time.Minute):
				t.Errorf("d goes on: %+v", m.Council())
			}
		}
	})
}

// A member whose keys were replaced while it ran is asked for another change. That leaves its keys as members have agreed on them: neither does the key that
// it started with come back, nor one that it still has a private key for.
func TestChangeAtAMemberWithANewKeyKeepsThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		old, next := c.own["a"].PrivateKeys[0], DrawKeys([]Peer{c.peers["a"]})["a"].PrivateKeys[0]
		was, is := public(t, old), public(t, next)
		set := c.peers["a"]
		set.PublicKeys = []string{was.String(), is.String()}
		c.rekey("a", old, next)
		c.change("b", roster.Change{Set: []Peer{set}})
		set.PublicKeys = []string{is.String()}
		c.change("b", roster.Change{Set: []Peer{set}})
		time.Sleep(5 * time.Second)                                                          // a has it, too
		c.change("a", roster.Change{Timing: &roster.Timing{LongestLease: 20 * time.Second}}) // and a has its old key still
		if !c.at("b").trusts(is) || c.at("b").trusts(was) {
			t.Fatal("a change at a brings its old key back")
		}
		c.rekey("a", next)
		lead := c.lead("a", "g")
		c.change("a", roster.Change{Timing: &roster.Timing{LongestLease: 25 * time.Second}})
		if !c.at("b").trusts(is) || c.at("b").trusts(was) {
			t.Error("a change at a puts the key in force that a had when it started")
		}
		time.Sleep(5 * time.Second)
		c.stillLeads(lead, "after a change at a, which has another key than when it started")
	})
}

// Two operators ask for a change at the same time, and one of the changes has a key or an address in it. The change that did not take place returns an error.
func TestChangeThatWasOvertakenIsNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		key := c.peers["c"]
		key.PublicKeys = append(slices.Clone(key.PublicKeys), DrawKeys([]Peer{key})["c"].PrivateKeys[0])
		key.PublicKeys[1] = public(t, key.PublicKeys[1]).String()
		address := c.peers["b"]
		address.Addrs = []string{"b:7401", "b:7400"}
		first, second := c.ask("a", roster.Change{Set: []Peer{key}}), c.ask("b", roster.Change{Set: []Peer{address}})
		errs := []error{<-first, <-second}
		time.Sleep(5 * time.Second)
		now := c.at("a").Council()
		done := []bool{len(now.Members[2].PublicKeys) == 2, now.Members[1].Addrs[0] == "b:7401"}
		for i, err := range errs {
			if (err == nil) != done[i] {
				t.Errorf("change %d: done %v, and the error is %v", i, done[i], err)
			}
		}
		if done[0] == done[1] {
			t.Errorf("done: %v", done)
		}
	})
}

// An address that was replaced does not come back with the next change, though the file of the member that is asked still lists it.
func TestReplacedAddressDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"})
		moved, other := c.peers["b"], c.peers["c"]
		moved.Addrs, other.Priority = []string{"b:7401"}, 3
		for _, p := range []Peer{moved, other} {
			c.change("a", roster.Change{Set: []Peer{p}})
		}
		c.expect("changed twice", []string{"a", "b", "c"}, "a", "b", "c")
		for _, at := range []string{"a", "c"} {
			if got := c.at(at).authority.Council().Conf().Named("b").Addrs; !slices.Equal(got, moved.Addrs) {
				t.Errorf("%s has the addresses %v of b", at, got)
			}
		}
	})
}

// A leader that is to leave, and whose key was replaced by files before the first change, keeps its lease while a newcomer is waited for.
func TestKeyOfALeavingMemberThatWasReplacedByFilesCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		next := DrawKeys([]Peer{c.peers["c"]})["c"].PrivateKeys[0]
		both := []string{c.first[2].PublicKeys[0], public(t, next).String()}
		for i, private := range [][]string{{c.own["c"].PrivateKeys[0], next}, {next}} {
			c.first[2].PublicKeys = both[i:]
			for _, name := range []string{"a", "b"} {
				c.rekey(name, c.own[name].PrivateKeys...)
			}
			c.rekey("c", private...)
			time.Sleep(5 * time.Second)
		}
		lead := c.lead("c", "g")
		done := c.ask("a", roster.Change{Add: []Peer{c.peers["d"]}, Remove: []string{"c"}}) // and d is not up yet
		time.Sleep(30 * time.Second)
		c.stillLeads(lead, "which leaves, and has a new key")
		go func() {
			<-lead.lease.Done()
			_ = lead.lease.Resign(t.Context())
		}()
		c.welcome("d")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A member that was revoked by files is replaced. The newcomer, whose file does not name it, believes nothing under its key.
func TestNewcomerBelievesNoMemberThatWasRevokedByFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		key := public(t, c.own["c"].PrivateKeys[0])
		c.first[2].Revoked = true
		for _, name := range []string{"a", "b"} {
			c.rekey(name, c.own[name].PrivateKeys...)
		}
		c.first = c.first[:2] // of which d knows
		done := c.ask("a", roster.Change{Add: []Peer{c.peers["d"]}, Remove: []string{"c"}})
		c.welcome("d")
		if c.members["d"].trusts(key) {
			t.Error("d believes the key of c")
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A file silences a member that was added later, too, if it has a key of that member. Under another key it means a member that had the name before.
func TestFileRevokesAMemberThatWasAddedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		go c.welcome("d")
		c.change("a", roster.Change{Add: []Peer{c.peers["d"]}})
		c.expect("with d", []string{"b"}, "a", "b", "c", "d")
		key := public(t, c.own["d"].PrivateKeys[0])
		d := c.peers["d"]
		d.Revoked = true
		before := c.first
		for _, x := range []struct {
			key  string
			says bool
		}{{public(t, DrawKeys([]Peer{d})["d"].PrivateKeys[0]).String(), true}, {key.String(), false}} {
			d.PublicKeys = []string{x.key}
			c.first = append(slices.Clone(before), d)
			c.rekey("b", c.own["b"].PrivateKeys...)
			if c.members["b"].trusts(key) != x.says {
				t.Errorf("the file of b revokes d with the key %.8s, and b trusts it: %v", x.key, !x.says)
			}
		}
	})
}
