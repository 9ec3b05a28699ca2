package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/why"
)

var topNow = time.Date(2026, 11, 19, 14, 30, 0, 0, time.UTC)

// topWith returns the model of a host in a council of three, of which one is silent, with groups of all kinds.
func topWith() *topModel {
	m := newTopModel(filter{})
	at := func(ago time.Duration) time.Time { return topNow.Add(-ago) }
	take := func(name string, mode regent.Mode, leader string, token uint64, mine bool, ago time.Duration, k why.Kind, of string) {
		m.take(&api.GroupInfo{Change: api.Change{View: regent.View{Group: name, Mode: mode, Leader: leader, Token: token, Mine: mine, At: at(ago), Cause: because(k, of)}}})
	}
	take("billing", regent.Quorum, "b", 2, false, time.Hour, why.Elected, "b")
	take("billing", regent.Quorum, "", 0, false, 10*time.Minute, why.LeaseExpired, "b")
	take("billing", regent.Quorum, "a", 3, true, 10*time.Minute-31*time.Millisecond, why.Elected, "a")
	take("mail", regent.Quorum, "c", 9, false, time.Minute, why.Elected, "c")
	take("shop-1", regent.Quorum, "a", 4, true, 2*time.Minute, why.Elected, "a")
	take("shop-2", regent.Quorum, "c", 5, false, 2*time.Hour, why.Elected, "c")
	take("shop-2", regent.Quorum, "", 0, false, 5*time.Second, why.NoQuorum, "")
	take("cache", regent.Local, "a", 0, true, 24*time.Hour, why.Elected, "a")
	take("old", regent.Quorum, "", 0, false, time.Hour, why.Resigned, "b")
	m.pulse(&api.AgentStatus{Status: regent.Status{Name: "a", Leading: 2}, Joined: true},
		[]regent.PeerStatus{{Name: "a", Self: true, Heard: true}, {Name: "b", Heard: true, Silent: true, Silence: time.Minute}, {Name: "c", Heard: true, Incarnation: 1}})
	return m
}

// press presses keys, which are separated by spaces, and returns the orders.
func press(t *testing.T, m *topModel, keys string) (orders []topOrder) {
	t.Helper()
	for _, k := range strings.Fields(keys) {
		order, quit := m.key(k, topPage(24), topNow)
		if quit {
			t.Fatalf("%q quits", k)
		}
		if order != nil {
			orders = append(orders, *order)
		}
	}
	return orders
}

func TestTopScreens(t *testing.T) {
	for _, c := range []struct {
		name, keys    string
		width, height int
	}{
		{"first", "", 80, 24},
		{"wide", "down down", 120, 12},
		{"narrow", "end", 40, 8},
		{"filtered", "/ s h o p enter", 80, 12},
		{"trouble", "s s s", 80, 12},
		{"all", "a r", 80, 12},
		{"member", "down down t b", 80, 12},
		{"confirm", "t b enter", 80, 12},
		{"help", "?", 80, 20},
		{"changes", "c", 80, 14},
		{"changes-filtered", "c / m a i l enter", 80, 8},
		{"tiny", "", 10, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := topWith()
			press(t, m, c.keys)
			lines := m.screen(c.width, c.height, topNow)
			if len(lines) != c.height {
				t.Errorf("%d lines on a screen of %d", len(lines), c.height)
			}
			for i, line := range lines {
				if n := visible(line); n > c.width {
					t.Errorf("%d columns: %q", n, line)
				}
				lines[i] = strings.TrimRight(line, " ")
			}
			got := strings.Join(lines, "\n") + "\n"
			got = strings.NewReplacer(reversed, "[", bold, "[", plain, "]").Replace(got)
			file := filepath.Join("testdata", "top", c.name+".txt")
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("%v; got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// No meaning is in colours: nothing but bold and reversed text is written.
func TestTopHasNoColours(t *testing.T) {
	m := topWith()
	for _, line := range m.screen(80, 24, topNow) {
		for _, s := range regexp.MustCompile("\x1b\\[[0-9;]*m").FindAllString(line, -1) {
			if s != reversed && s != bold && s != plain {
				t.Errorf("%q in %q", s, line)
			}
		}
	}
}

// What is on the screen is what is acted on, and nothing without a yes.
func TestTopActsAfterAConfirmation(t *testing.T) {
	for keys, want := range map[string]string{
		"t b enter y":             "[{transfer billing 3 b}]",
		"t b enter n":             "[]",
		"t b esc y":               "[]",
		"t x enter y":             "[]", // there is no such member
		"down down g y":           "[{resign mail 9 }]",
		"down down g q":           "[]",
		"d y":                     "[{drain  0 a}]",
		"u y":                     "[{undrain  0 a}]",
		"down g y":                "[]", // led by hosts
		"end t":                   "[]", // has no leader
		"/ n o n e enter t y":     "[]", // nothing is listed
		"/ m a i l enter g y":     "[{resign mail 9 }]",
		"d enter":                 "[]",
		"t b backspace c enter y": "[{transfer billing 3 c}]",
	} {
		m := topWith()
		if got := fmt.Sprint(press(t, m, keys)); got != want {
			t.Errorf("%s: got %s, want %s", keys, got, want)
		}
	}
	for _, k := range []string{"q", "ctrl+c"} {
		if _, quit := topWith().key(k, 20, topNow); !quit {
			t.Errorf("%s does not quit", k)
		}
	}
	m := topWith()
	press(t, m, "t b enter")
	if _, quit := m.key("ctrl+c", 20, topNow); !quit {
		t.Error("ctrl+c does not quit while something is asked for")
	}
}

// The leadership that was on the screen is the one that is ended, also if another one has begun by the time of the yes.
func TestTopOrdersAreForTheLeadershipThatWasSeen(t *testing.T) {
	m := topWith()
	press(t, m, "g")
	m.take(&api.GroupInfo{Change: api.Change{View: regent.View{Group: "billing", Mode: regent.Quorum, Leader: "c", Token: 8, At: topNow}}})
	if got := press(t, m, "y"); len(got) != 1 || got[0].token != 3 {
		t.Errorf("got %v", got)
	}
}

// Of ten thousand groups only those on the screen are formatted, and the cursor stays on its group while others change.
func TestTopFormatsOnlyWhatIsOnTheScreen(t *testing.T) {
	m := newTopModel(filter{})
	group := func(i int, token uint64) *api.GroupInfo {
		return &api.GroupInfo{Change: api.Change{View: regent.View{Group: fmt.Sprintf("g%05d", i), Mode: regent.Quorum, Leader: "a", Token: token, At: topNow}}}
	}
	for i := range 10_000 {
		m.take(group(i, 1))
	}
	m.screen(80, 24, topNow)
	if m.formatted != topPage(24) {
		t.Errorf("%d rows were formatted for %d", m.formatted, topPage(24))
	}
	press(t, m, "end up")
	if m.chosen != "g09998" {
		t.Errorf("the cursor is on %s", m.chosen)
	}
	m.formatted = 0
	lines := m.screen(80, 24, topNow)
	if m.formatted != topPage(24) || !strings.Contains(strings.Join(lines, "\n"), "> g09998") {
		t.Errorf("%d rows were formatted:\n%s", m.formatted, strings.Join(lines, "\n"))
	}
	m.take(&api.GroupInfo{Change: api.Change{View: regent.View{Group: "a new one", Mode: regent.Quorum, Leader: "a", Token: 1, At: topNow}}})
	if lines := m.screen(80, 24, topNow); !strings.Contains(strings.Join(lines, "\n"), "> g09998") {
		t.Error("the cursor moved to another group")
	}
	press(t, m, "home pgdown")
	if m.chosen != "g00019" {
		t.Errorf("a page further is %s", m.chosen)
	}
}

// The pane of changes shows those of the groups and of the time that the command line asks for, scrolls, and acts on nothing.
func TestTopShowsChanges(t *testing.T) {
	texts := func(m *topModel) (out []string) {
		for _, c := range m.shownChanges() {
			out = append(out, c.Group)
		}
		return out
	}
	m := topWith()
	m.only = filter{pattern: "?*i*", from: topNow.Add(-10*time.Minute - time.Second)}
	if got := texts(m); fmt.Sprint(got) != "[mail billing]" {
		t.Errorf("shown %v", got)
	}
	for keys, want := range map[string]string{"c t y": "choose a group first", "c g y": "choose a group first", "c d y": "choose a group first"} {
		m := topWith()
		if orders := press(t, m, strings.TrimSuffix(keys, " y")); len(orders) > 0 || m.asks != asksNothing || !strings.Contains(m.message, want) {
			t.Errorf("%s: %v, %q", keys, orders, m.message)
		}
	}
	m = topWith()
	press(t, m, "c end")
	m.screen(80, 6, topNow)
	if first := m.changesTop; first == 0 || first != len(m.shownChanges())-topPage(6) {
		t.Errorf("the end begins with row %d of %d", first, len(m.shownChanges()))
	}
	press(t, m, "c t b enter")
	if m.showChanges || m.asks != asksYes {
		t.Error("the groups are not back")
	}
	for i := range 2 * changesKept {
		m.take(&api.GroupInfo{Change: api.Change{View: regent.View{Group: "g", Mode: regent.Quorum, Leader: "a", Token: uint64(i + 1), At: topNow}}})
	}
	if len(m.changes) > changesKept {
		t.Errorf("%d changes are kept", len(m.changes))
	}
}

func TestTopNeedsATerminal(t *testing.T) {
	var out, errOut strings.Builder
	if got := run(t.Context(), []string{"top"}, strings.NewReader(""), &out, &errOut); got != 2 || errOut.String() != "regent: standard input and output must be a terminal: use 'regent watch'\n" {
		t.Errorf("status %d: %q", got, errOut.String())
	}
}
