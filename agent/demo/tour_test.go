package demo

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// shown returns five members of which b leads, and the cluster that they are of.
func shown(t *testing.T) (*model, *cluster.Cluster) {
	t.Helper()
	w, err := cluster.New(cluster.Options{Names: []string{"a", "b", "c", "d", "e"}, Timing: regent.LAN})
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(w.Names, Groups...)
	for i, name := range w.Names {
		at := cluster.Time(i) * cluster.Time(time.Millisecond)
		m.apply(&cluster.Event{Member: name, What: cluster.Joined, At: at}, plain)
		m.apply(&cluster.Event{Member: name, What: cluster.Saw, Group: "billing", View: &regent.View{Leader: "b", Token: 123456}, At: at}, plain)
		m.apply(&cluster.Event{Member: name, What: cluster.Said, Status: &regent.Status{PauseLongest: 1564123 * time.Microsecond}, Members: []regent.PeerStatus{{RoundTrip: 123456 * time.Nanosecond}}}, plain)
	}
	m.apply(&cluster.Event{Member: "b", What: cluster.Leads, Group: "billing", Token: 123456, Remaining: 200 * time.Millisecond, At: cluster.Time(time.Second)}, plain)
	return m, w
}

// Five members, any step of the tour and all groups fit a terminal of 80 by 24, and nothing is cut off but what happened.
func TestTheTableAndTheTourFitASmallTerminal(t *testing.T) {
	m, w := shown(t)
	for _, others := range []bool{false, true} {
		m.others = others
		for m.tour = (tour{}); !m.tour.ended; m.tour.take("next") {
			for _, m.tour.did = range []bool{false, true} {
				if got := len(m.table(w, time.Second, "http://127.0.0.1:41234/", 80, 24)); got != 24 && !(others && got == 22) {
					t.Errorf("step %d: %d lines", m.tour.at+1, got)
				}
				for _, l := range m.table(w, time.Second, "http://127.0.0.1:41234/", 0, 24) {
					if len([]rune(l)) > 80 {
						t.Errorf("step %d: %q has %d characters", m.tour.at+1, l, len([]rune(l)))
					}
				}
			}
		}
	}
}

// What members report at about the same time is one line, and what happens in other groups is shown with them only.
func TestOneLineForWhatSeveralMembersReport(t *testing.T) {
	m, _ := shown(t)
	if got := fmt.Sprint(m.latest(10)); got != "[   0.000s  a, b, c, d, e take part    1.000s  b was elected]" {
		t.Errorf("the news are %s", got)
	}
	m.apply(&cluster.Event{Member: "c", What: cluster.Leads, Group: "mail", Token: 7, At: cluster.Time(2 * time.Second)}, plain)
	if got := len(m.latest(10)); got != 2 {
		t.Errorf("%d lines with one of another group", got)
	}
	m.others = true
	if got := m.latest(1); len(got) != 1 || !strings.HasSuffix(got[0], "c was elected (mail)") {
		t.Errorf("the news are %q", got)
	}
}

// What a paused member believes is said as its belief: its lease ends while it cannot notice.
func TestABeliefOfAPausedMemberIsNoFact(t *testing.T) {
	m, w := shown(t)
	m.members["b"].paused, m.members["c"].paused = 1100*time.Millisecond, 1300*time.Millisecond
	text := strings.Join(m.table(w, 4200*time.Millisecond, "", 80, 24), "\n")
	for _, want := range []string{"it believes that it leads until 1.2s, 3.0 s ago", "it believes that b leads, as at 1.3s", "billing: nobody leads"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "LEADS") && !strings.Contains(text, "member that LEADS") {
		t.Errorf("a leader is shown as a fact:\n%s", text)
	}
	if got, want := m.elections[0].believers(4200*time.Millisecond, m), "; b is paused, and believes that it leads"; got != want {
		t.Errorf("believers: %q", got)
	}
}

// The tour goes on by a key, or when a person does what the next step is about. It ends by a key and at the end.
func TestTheTourFollowsWhatIsDone(t *testing.T) {
	var x tour
	for _, e := range []struct {
		verb string // carried out
		key  string // pressed
		want tour
	}{
		{verb: "crash", want: tour{}}, {key: "next", want: tour{at: 1}}, {verb: "pause", want: tour{at: 1}}, {verb: "crash", want: tour{at: 1, did: true}},
		{verb: "start", want: tour{at: 2, did: true}}, {key: "next", want: tour{at: 3}}, {key: "skip", want: tour{at: 3, ended: true}},
		{verb: "pause", want: tour{at: 3, ended: true}}, {key: "tour", want: tour{}},
	} {
		if e.key != "" && !x.take(e.key) {
			t.Errorf("%s is no key of the tour", e.key)
		}
		if e.verb != "" {
			x.note(e.verb)
		}
		if x != e.want {
			t.Fatalf("after %s%s: %+v, want %+v", e.verb, e.key, x, e.want)
		}
	}
	if x.take("crash") {
		t.Error("crash is a key of the tour")
	}
	for range steps {
		x.take("next")
	}
	if !x.ended {
		t.Error("the tour has no end")
	}
	for _, s := range steps {
		if _, ok := byKey[s.press[len(s.press)-1:]]; s.verb != "" && (!ok || byKey[s.press[len(s.press)-1:]] != s.verb) {
			t.Errorf("%q is not the key for %s", s.press, s.verb)
		}
	}
}
