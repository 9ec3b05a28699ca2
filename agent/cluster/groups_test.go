package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

// calm is a timing that a busy machine can keep.
var calm = func() regent.Timing {
	t := regent.LAN
	t.Lease, t.LongestLease, t.Renew, t.Delay = time.Second, time.Second, 200*time.Millisecond, 60*time.Millisecond
	return t
}()

// neighbours starts three members with a relay between them.
func neighbours(t *testing.T, groups ...Group) *Cluster {
	t.Helper()
	w := Open(t, Options{Names: []string{"a", "b", "c"}, Timing: calm, Command: Child(), Relay: true, Groups: groups,
		Poll: 5 * time.Millisecond, Status: 50 * time.Millisecond})
	for _, n := range w.Names {
		if err := w.Start(n); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestMembersThatAreCutOffHaveALocalLeaderBesideTheGroup(t *testing.T) {
	w := neighbours(t, Group{Name: "g", Mode: regent.Quorum, Beside: true})
	awaitAll(t, w, func(e *Event) bool { return e.What == Leads && e.Group == "g" && !e.Local },
		// Before it has a record it takes no part, and would have no local leader either.
		func(e *Event) bool { return e.What == Joined && e.Member == "c" })
	if err := w.Cut("c"); err != nil {
		t.Fatal(err)
	}
	// The others may have one for a moment too, if c led.
	local := await(t, w, func(e *Event) bool { return e.What == Leads && e.Local && e.Member == "c" })
	if local.Token != 0 || local.Mode != regent.Quorum || !slices.Equal(local.Support, []string{"c"}) {
		t.Errorf("the local leader is %+v", local)
	}
	if _, cut := w.State("c"); !cut {
		t.Error("c does not count as cut off")
	}
	if err := w.HealAll(); err != nil {
		t.Fatal(err)
	}
	await(t, w, func(e *Event) bool { return e.What == Stops && e.Local && e.Member == "c" })
}

func TestGroupsOfEveryModeReportWhatHappens(t *testing.T) {
	w := neighbours(t, Group{Name: "q", Mode: regent.Quorum}, Group{Name: "l", Mode: regent.Local}, Group{Name: "e", Mode: regent.Eventual}, Group{Name: "c", Mode: regent.Consistent},
		Group{Name: "x", Mode: "odd"})
	missing := map[string]bool{"no such mode": true, "quorum": true, "local": true, "eventual": true, "consistent": true, "status": true}
	var leader Event
	await(t, w, func(e *Event) bool {
		switch {
		case e.What == Failed && strings.Contains(e.Text, `group x: no mode "odd"`):
			delete(missing, "no such mode")
		case e.What == Leads && e.Group == "q" && e.Token > 0 && e.Remaining > 0:
			leader = *e
			delete(missing, "quorum")
		case e.What == Leads && e.Group == "l" && e.Local && len(e.Support) > 0:
			delete(missing, "local")
		case e.What == Saw && e.Group == "e" && e.View.Leader != "":
			delete(missing, "eventual")
		case e.What == Saw && e.Group == "c" && e.View.Leader != "" && len(e.Support) == 3:
			delete(missing, "consistent")
		case e.What == Said && slices.ContainsFunc(e.Standings, func(s Standing) bool { return s.Group == "q" && s.Token == leader.Token }):
			delete(missing, "status")
		}
		return len(missing) == 0
	})
	to := "a"
	if leader.Member == to {
		to = "b"
	}
	transfer := func() {
		if err := w.Say(leader.Member, "transfer "+to+" q"); err != nil {
			t.Fatal(err)
		}
	}
	transfer()
	await(t, w, func(e *Event) bool {
		if e.What == Failed && strings.HasPrefix(e.Text, "transfer") { // it has not heard yet that somebody campaigns there
			transfer()
		}
		return e.What == Leads && e.Group == "q" && e.Member == to
	})
	Eventually(t, to+" has an entry in the journal", func() bool {
		s, err := w.LastSpan(to, "q")
		return err == nil && s.Token > leader.Token && s.Seen >= s.Since
	})
}

func TestAnotherIsTrustedWhenTheProcessOfAnEventualLeaderIsKilled(t *testing.T) {
	w := neighbours(t, Group{Name: "e", Mode: regent.Eventual})
	trusted := make(map[string]string)
	// agree waits until these members trust the same one among them.
	agree := func(names ...string) (leader string) {
		t.Helper()
		await(t, w, func(e *Event) bool {
			if e.What == Saw && e.Group == "e" {
				trusted[e.Member] = e.View.Leader
			}
			leader = trusted[names[0]]
			return slices.Contains(names, leader) && !slices.ContainsFunc(names, func(n string) bool { return trusted[n] != leader })
		})
		return leader
	}
	first := agree(w.Names...)
	if err := w.Crash(first); err != nil {
		t.Fatal(err)
	}
	left := slices.DeleteFunc(slices.Clone(w.Names), func(n string) bool { return n == first })
	agree(left...)
	delete(trusted, first)
	if err := w.Start(first); err != nil {
		t.Fatal(err)
	}
	agree(w.Names...)
}

func TestAFaultManagerRecoversWhoFailed(t *testing.T) {
	w := neighbours(t, Group{Name: "c", Mode: regent.Consistent})
	await(t, w, func(e *Event) bool { return e.What == Saw && e.View.Leader != "" && len(e.Support) == 3 })
	if err := w.Crash("c"); err != nil {
		t.Fatal(err)
	}
	await(t, w, func(e *Event) bool { return e.What == Recovered && strings.Contains(e.Text, "c") })
}

func TestLinksAreBrokenOneByOne(t *testing.T) {
	w := Open(t, Options{Names: []string{"a", "b", "c"}, Relay: true})
	broken := func() string {
		var all []string
		for _, from := range w.Names {
			for _, to := range w.Names {
				if from == to {
					continue
				}
				if cut, delay := w.Fault(from, to); cut {
					all = append(all, from+to)
				} else if delay > 0 {
					all = append(all, from+to+"~")
				}
			}
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"cut a link", func() error { return w.CutLink("a", "b") }, "ab ba"},
		{"slow another", func() error { return w.SlowLink("b", "c", time.Millisecond) }, "ab ba bc~ cb~"},
		{"heal the first", func() error { return w.HealLink("b", "a") }, "bc~ cb~"},
		{"slow a member", func() error { return w.Slow("a", time.Millisecond) }, "ab~ ac~ ba~ bc~ ca~ cb~"},
		{"heal everything", w.HealAll, ""},
		{"part two from one", func() error { return w.Part("a", "b") }, "ac bc ca cb"},
		{"cut one of them off", func() error { return w.Cut("a") }, "ab ac ba bc ca cb"},
		{"heal the other: the one that is cut off stays so", func() error { return w.Heal("b") }, "ab ac ba ca"},
		{"heal it too", func() error { return w.Heal("a") }, ""},
	} {
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		if got := broken(); got != c.want {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	if err := w.CutOneWay("a", "b"); err != nil || broken() != "ab" {
		t.Errorf("cut one way: %s, %v", broken(), err)
	}
	if err := w.Cut("z"); err == nil {
		t.Error("a member that is not there was cut off")
	}
}

func TestAManagerNamesEachLostMemberOnce(t *testing.T) {
	got := lost(&regent.Agreement{Failed: []string{"a", "d"}, Unfinished: []string{"c", "d", "a"}})
	if want := []string{"a", "d", "c"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
