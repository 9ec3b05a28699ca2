package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/why"
)

// changed makes a change of a group, some milliseconds after the first.
func changed(mode regent.Mode, after int, leader string, token uint64, cause regent.Cause) api.Change {
	return api.Change{
		View: regent.View{Group: "g", Mode: mode, Leader: leader, Token: token, Cause: cause, At: time.Unix(1, 0).Add(time.Duration(after) * time.Millisecond)}}
}

// ledHere makes a change that of a program of the asked agent.
func ledHere(c api.Change) api.Change {
	c.Mine = true
	return c
}

func because(k why.Kind, member string) regent.Cause { return regent.Cause{Why: k, Member: member} }

// What is said of a change is what the agent that was asked can know, and the same in both forms.
func TestExplainClaimsNoMoreThanIsKnown(t *testing.T) {
	ended := changed("quorum", 10, "", 0, because(why.Resigned, "a"))
	ended.Ended = "the program died"
	handed := changed("quorum", 10, "b", 2, because(why.Transferred, "b"))
	handed.Ended = "the program stopped for that"
	for name, c := range map[string]struct {
		changes  []api.Change
		says     []string
		saysNot  string
		means    string
		unlooked bool // there is nothing to look at
	}{
		"first": {
			changes:  []api.Change{changed("quorum", 0, "", 0, because(why.Started, "")), ledHere(changed("quorum", 0, "a", 1, because(why.Elected, "a")))},
			says:     []string{"a began to lead with token 1: no member had led before, as far as this member knows"},
			means:    "no member had led before, as far as this member knows",
			unlooked: true,
		},
		"first, after a crash": {
			changes:  []api.Change{changed("quorum", 0, "", 0, because(why.Started, "")), ledHere(changed("quorum", 0, "a", 461, because(why.Elected, "a")))},
			says:     []string{"a began to lead with token 461: ", "token: 461 and not 1: tokens only grow; leaders that this agent has not seen"},
			means:    "no member had led before, as far as this member knows",
			unlooked: true,
		},
		"led before the agent was started": {
			changes:  []api.Change{changed("quorum", 0, "b", 461, because(why.Elected, "b"))},
			says:     []string{"b leads with token 461, as first seen here: this member saw no leader before, and does not know since when it leads\n"},
			saysNot:  "token: ",
			means:    "this member saw no leader before, and does not know since when it leads",
			unlooked: true,
		},
		"learned after the agent was started": {
			changes:  []api.Change{changed("quorum", 0, "", 0, because(why.Started, "")), changed("quorum", 10, "b", 461, because(why.Elected, "b"))},
			says:     []string{"b leads with token 461, as first seen here: this member saw no leader before, and does not know since when it leads\n"},
			saysNot:  "token: ",
			means:    "this member saw no leader before, and does not know since when it leads",
			unlooked: true,
		},
		"gave up, seen from elsewhere": {
			changes: []api.Change{changed("quorum", 0, "a", 1, because(why.Elected, "a")), changed("quorum", 10, "", 0, because(why.Resigned, "a")), changed("quorum", 20, "b", 2, because(why.Elected, "b"))},
			says:    []string{"a stopped leading (token 1), and b led 10 ms later (token 2)", "killed because it did not answer", "its agent was stopped", "look: 'regent explain' and the log at a"},
			means:   "a gave it up: its program ended or stopped, or was killed because it did not answer or stop in time, or its agent was stopped, or an operator ran 'regent resign' or 'regent drain'",
		},
		"gave up, seen at home": {
			changes:  []api.Change{changed("quorum", 0, "a", 1, because(why.Elected, "a")), ended, changed("quorum", 20, "b", 2, because(why.Elected, "b"))},
			says:     []string{"why:  resigned a: the program died\n"},
			saysNot:  "regent resign",
			means:    "the program died",
			unlooked: true,
		},
		"handed over, seen at home": {
			changes:  []api.Change{changed("quorum", 0, "a", 1, because(why.Elected, "a")), handed},
			says:     []string{"why:  transferred b: the group was handed over to b\n", "here: the program stopped for that\n"},
			means:    "the group was handed over to b",
			unlooked: true,
		},
		"eventual leader that is silent": {
			changes: []api.Change{changed("eventual", 0, "a", 0, because(why.Elected, "a")), changed("eventual", 10, "c", 0, because(why.Doubted, "b"))},
			says:    []string{"a stopped leading, and c led at once\n", "a may have died, been paused, or been cut off", "whether a runs"},
			saysNot: "token",
			means:   "b had not heard a for too long, or knew of a later election: a may have died, been paused, or been cut off",
		},
		"eventual leader that doubts itself": {
			changes: []api.Change{changed("eventual", 0, "a", 0, because(why.Elected, "a")), changed("eventual", 10, "c", 0, because(why.Doubted, "a"))},
			says:    []string{"a knew of a later election"},
			saysNot: "had not heard a",
			means:   "a knew of a later election: another member may not have heard it for too long",
		},
		"local leader whose agent stops": {
			changes:  []api.Change{changed("local", 0, "a", 0, because(why.Elected, "a")), changed("local", 10, "", 0, because(why.Resigned, "a")), changed("local", 20, "b", 0, because(why.Elected, "b"))},
			says:     []string{"a stopped leading, and b led 10 ms later\n", "as when its agent is stopped"},
			saysNot:  "program",
			means:    "a gave it up, as when its agent is stopped",
			unlooked: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := explainChanges(c.changes, &filter{}, time.Now())
			last := &told[len(told)-1]
			var b strings.Builder
			last.print(&b, time.Now(), false)
			for _, want := range c.says {
				if !strings.Contains(b.String(), want) {
					t.Errorf("said\n%swant %q", b.String(), want)
				}
			}
			if c.saysNot != "" && strings.Contains(b.String(), c.saysNot) {
				t.Errorf("said\n%sand so %q", b.String(), c.saysNot)
			}
			if last.Means != c.means || (last.Do == "") != c.unlooked {
				t.Errorf("as JSON it means %q, look %q", last.Means, last.Do)
			}
		})
	}
}

// Groups that hosts lead have no tokens and no programs, and say what they are.
func TestGroupsThatHostsLeadAreShownAsSuch(t *testing.T) {
	quorum := api.GroupInfo{Change: changed("quorum", 0, "a", 7, because(why.Elected, "a"))}
	local := api.GroupInfo{Change: changed("local", 0, "a", 0, because(why.Elected, "a"))}
	local.Support = []string{"a", "b"}
	eventual := api.GroupInfo{Change: changed("eventual", 0, "a", 0, because(why.Elected, "a"))}
	for _, c := range []struct {
		group *api.GroupInfo
		mine  bool
		row   []string // token, and what is special
		line  string
	}{
		{&quorum, true, []string{"7", "a program here leads"}, " (token 7)"},
		{&quorum, false, []string{"7", ""}, " (token 7)"},
		{&local, true, []string{"-", "this host leads; local, supported by a, b"}, ", local, supported by a, b"},
		{&local, false, []string{"-", "local, supported by a, b"}, ", local, supported by a, b"},
		{&eventual, true, []string{"-", "this host leads; eventual"}, ", eventual"},
	} {
		c.group.Mine = c.mine
		var table, line, history strings.Builder
		cmd := &cobra.Command{}
		cmd.SetOut(&table)
		showGroups(cmd, false, []groupRow{newGroupRow(c.group, nil)}, c.group.At)
		row := strings.TrimSpace(strings.Split(table.String(), "\n")[1])
		if f := strings.Fields(row); f[2] != c.row[0] || !strings.HasSuffix(row, strings.TrimSpace("a was elected  "+c.row[1])) {
			t.Errorf("the table has %q, want token %s and %q", row, c.row[0], c.row[1])
		}
		want := "  g: a leads since " + timeOfDay(c.group.At, time.Now()) + c.line + "\n"
		if err := newWatchView(&line, nil, 0, false).line(c.group); err != nil || !strings.HasSuffix(line.String(), want) {
			t.Errorf("watch says %q, %v; want %q", line.String(), err, want)
		}
		cmd.SetOut(&history)
		newHistory(&api.History{Changes: []api.Change{c.group.Change}}, &filter{}).print(cmd, c.group.At, true, 1)
		if f := strings.Fields(strings.Split(history.String(), "\n")[1]); f[3] != c.row[0] {
			t.Errorf("the history has token %s, want %s", f[3], c.row[0])
		}
	}
}

// Tokens that are skipped need an explanation, those that candidates have used do not.
func TestExplainSaysWhyTokensSkipNumbers(t *testing.T) {
	for _, c := range []struct {
		from, to uint64
		says     bool
	}{{1, 2, false}, {1, 9, false}, {1, 10, true}, {40, 1 << 30, true}} {
		told := explainChanges([]api.Change{changed("quorum", 0, "a", c.from, because(why.Elected, "a")),
			changed("quorum", 10, "", 0, because(why.LeaseExpired, "a")), changed("quorum", 20, "b", c.to, because(why.Elected, "b"))}, &filter{}, time.Now())
		var out strings.Builder
		for i := range told {
			told[i].print(&out, time.Now(), false)
		}
		if got := strings.Contains(out.String(), "tokens only grow"); got != c.says {
			t.Errorf("from %d to %d: %s", c.from, c.to, out.String())
		}
	}
}

// The group has the length of its leader: programs that want another one are named.
func TestExplainNamesOtherLengths(t *testing.T) {
	var g api.GroupInfo
	g.Leader, g.Lease = "b", 200*time.Millisecond
	g.Candidates = []api.SessionInfo{{Program: "billing", State: "waiting", Lease: 5 * time.Second}, {Program: "same", State: "waiting", Lease: g.Lease},
		{Program: "old", State: "stopping", Lease: time.Second}}
	const want = "the group has the leases of its leader b, 200ms; here billing wants 5s, and gets that when it leads (give all programs of a group the same length)"
	if got := otherLengths(&g); got != want {
		t.Errorf("said %q", got)
	}
	g.Candidates = g.Candidates[1:]
	if got := otherLengths(&g); got != "" {
		t.Errorf("said %q", got)
	}
	g.Leader = ""
	if got := otherLengths(&g); got != "" {
		t.Errorf("without a leader: %q", got)
	}
}
