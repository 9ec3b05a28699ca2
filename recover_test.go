package regent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/roster"
)

// give gives the council up at a member, which goes on with those that are not lost.
func (c *changingCouncil) give(at string, try bool, lost ...string) (roster.Outlook, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	m := c.members[at]
	return m.Recover(ctx, roster.Recovery{Council: m.Council().ID, Lost: lost, Try: try})
}

func TestSurvivorGoesOnAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c"}, "d")
		before := c.lead("b", "g").lease.Token()
		old := c.members["a"].Council().ID
		if _, err := c.give("a", false, "b", "c"); !errors.Is(err, roster.ErrNotLost) || !strings.Contains(err.Error(), "was heard") {
			t.Errorf("while all run: %v", err)
		}
		if _, err := c.give("a", false, "b"); !errors.Is(err, roster.ErrNotLost) || !strings.Contains(err.Error(), "majority of the voters") {
			t.Errorf("while a majority is left: %v", err)
		}
		c.crash("b")
		c.crash("c")
		time.Sleep(30 * time.Second)
		if _, err := c.give("a", true, "b", "c"); !errors.Is(err, roster.ErrNotLost) || !strings.Contains(err.Error(), "must be silent for 5m0s") {
			t.Errorf("too soon: %v", err)
		}
		time.Sleep(5 * time.Minute)
		look, err := c.give("a", true, "b", "c")
		if err != nil || look.Heir != "" || !slices.Equal(look.Survivors, []string{"a"}) || c.members["a"].Council().ID != old {
			t.Fatalf("a dry run: %+v, %v", look, err)
		}
		look, err = c.give("a", false, "b", "c")
		if err != nil || look.Heir == "" || look.Heir == old {
			t.Fatalf("%+v, %v", look, err)
		}
		now := c.members["a"].Council()
		if now.ID != look.Heir || now.GivenUp == nil || now.GivenUp.ID != old || now.GivenUp.Acknowledged || !slices.Equal(now.GivenUp.Lost, []string{"b", "c"}) {
			t.Errorf("%+v, given up %+v", now, now.GivenUp)
		}
		if c.members["a"].Status().CouncilID != now.ID {
			t.Error("its status has another council")
		}
		leader := c.lead("a", "g")
		if leader.lease.Token() < before+1<<40 {
			t.Errorf("C-TOK: token %d after %d", leader.lease.Token(), before)
		}
		if now, err := c.members["a"].Acknowledge(t.Context()); err != nil || !now.GivenUp.Acknowledged {
			t.Errorf("acknowledged: %+v, %v", now.GivenUp, err)
		}
		if _, err := c.members["a"].Acknowledge(t.Context()); !errors.Is(err, roster.ErrNothing) {
			t.Errorf("acknowledged twice: %v", err)
		}
		// The lost members are back. They learn it before they lead, and do not start again.
		b, d := c.restart("b"), c.restart("c")
		for _, m := range []*Member{b, d} {
			if m == nil {
				continue // it learnt so before it took part
			}
			<-m.loop.Ended()
			if last := m.Council(); !last.Removed || last.GivenUp == nil {
				t.Errorf("%+v", last)
			}
		}
		if err := c.refused("b"); !errors.Is(err, roster.ErrGivenUp) || !strings.Contains(err.Error(), "was given up on") {
			t.Errorf("started again: %v", err)
		}
		c.stillLeads(leader, "the lost members were told")
		// It starts again by itself, though its file has the list of the first council, and another host joins.
		c.crash("a")
		c.restart("a")
		if now := c.members["a"].Council(); now.ID != look.Heir || !now.GivenUp.Acknowledged {
			t.Errorf("after a restart: %+v", now)
		}
		go c.welcome("d")
		c.change("a", roster.Change{Add: []Peer{c.peers["d"]}})
		c.expect("added", []string{"a", "d"}, "a", "d")
	})
}

// refused starts a member from its directory, which must not be possible.
func (c *changingCouncil) refused(name string) error {
	_, err := Join(c.t.Context(), Config{Name: name, Key: []byte("0123456789abcdef"), Dir: c.dirs + "/" + name, OwnKeys: c.own[name], Council: slices.Clone(c.first)})
	return err
}

// Two of five are left. Both must agree, and a third that runs and was named as lost keeps them from it.
func TestSurvivorsGoOnTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChanging(t, []string{"a", "b", "c", "d", "e"})
		before := c.lead("c", "g").lease.Token()
		for _, name := range []string{"c", "d", "e"} {
			c.crash(name)
		}
		time.Sleep(5*time.Minute + time.Second)
		if _, err := c.give("a", false, "b", "c", "d", "e"); !errors.Is(err, roster.ErrNotLost) || !strings.Contains(err.Error(), "b was heard") {
			t.Errorf("without b, which runs: %v", err)
		}
		look, err := c.give("a", false, "c", "d", "e")
		if err != nil {
			t.Fatal(err)
		}
		c.expect("given up", []string{"a", "b"}, "a", "b")
		for _, name := range []string{"a", "b"} {
			if now := c.members[name].Council(); now.ID != look.Heir {
				t.Errorf("%s: %+v", name, now)
			}
		}
		if token := c.lead("b", "g").lease.Token(); token < before+1<<40 {
			t.Errorf("C-TOK: token %d after %d", token, before)
		}
		// It survives a restart of all that is left, and one that has lost its disk comes in again.
		c.crash("a")
		c.crash("b")
		c.restart("a")
		c.restart("b")
		c.expect("restarted", []string{"a", "b"}, "a", "b")
	})
}
