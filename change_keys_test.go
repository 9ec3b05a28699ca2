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
	if err := c.members[name].Rekey(Config{Name: name, Key: []byte("0123456789abcdef"), OwnKeys: own, Council: slices.Clone(c.first)}); err != nil {
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
				if at != name && c.members[at].trusts(was) {
					t.Errorf("%s believes the old key of %s", at, name)
				}
				if !c.members[at].trusts(is) {
					t.Errorf("%s does not believe the new key of %s", at, name)
				}
				for _, p := range c.members[at].Members() {
					if p.Problem != "" || p.KeyProblem != "" || p.Silent {
						t.Errorf("%s shows %s: %s %s, silent %v", at, p.Name, p.Problem, p.KeyProblem, p.Silent)
					}
				}
			}
			c.rekey("b", c.own["b"].PrivateKeys...) // by a file that still lists the old key
			if name == "a" && (c.members["b"].trusts(was) || !c.members["b"].trusts(is)) {
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
		if c.members["a"].trusts(key) {
			t.Error("a believes a key that nobody has enrolled")
		}
		go c.welcome("d")
		c.change("a", roster.Change{Add: []Peer{c.peers["d"]}})
		c.expect("with d", []string{"a", "b", "c"}, "a", "b", "c", "d")
		if !c.members["b"].trusts(key) {
			t.Error("b does not believe the key of d")
		}
		c.crash("d")
		c.change("a", roster.Change{Remove: []string{"d"}})
		c.expect("without d", []string{"a", "b", "c"}, "a", "b", "c")
		if c.members["b"].trusts(key) {
			t.Error("b still believes the key of d")
		}
		if m := c.restart("d"); m != nil { // it learns that it is out, by a question under that key
			select {
			case <-m.closed:
			case <-time.After(time.Minute):
				t.Errorf("d goes on: %+v", m.Council())
			}
		}
	})
}
