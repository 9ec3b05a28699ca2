package demo

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/why"
)

// entries are the entries of a log as text.
func entries(log []news) string {
	var out []string
	for _, e := range incidents(log) {
		out = append(out, fmt.Sprint(e.ID, " ", e.Text, "|", e.Group, "|", strings.Join(e.Groups, " ")))
	}
	return strings.Join(out, "\n")
}

// What several members say of several groups at about the same time is one entry. Orders of the person who looks stay as they are.
func TestEntriesThatSayTheSameAreOne(t *testing.T) {
	var log []news
	put := func(at time.Duration, member, group, text, tone string) {
		log = append(log, news{Entry: web.Entry{ID: uint64(len(log) + 1), At: at, Member: member, Group: group, Text: text, Tone: tone}})
	}
	put(0, "", "", "you: crash a", "you")
	put(0, "", "", "you: crash a", "you")
	for i, member := range []string{"e", "d"} {
		for _, group := range []string{"mail", "billing"} {
			put(time.Duration(i)*time.Millisecond, member, group, member+" sees no leader: lease expired a", "")
		}
	}
	put(2*time.Millisecond, "b", "mail", "b sees no leader: resigned a", "")
	put(2*time.Second, "b", "", "b: the disk is full", "bad")
	put(2*time.Second, "b", "", "b: the disk is full", "bad")
	want := []string{"1 you: crash a||", "2 you: crash a||", "3 d, e see no leader: lease expired a (billing, mail)||billing mail", "7 b sees no leader: resigned a|mail|",
		"8 b: the disk is full||", "9 b: the disk is full||"}
	if got := entries(log); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A crash that costs two groups their leader is one entry with one cause, whatever members report, and in whatever order.
func TestOneChangeOfLeaderIsOneEntry(t *testing.T) {
	const ms = cluster.Time(time.Millisecond)
	leads := func(at cluster.Time, member, group string, token uint64) cluster.Event {
		return cluster.Event{Member: member, What: cluster.Leads, Group: group, Token: token, At: at}
	}
	saw := func(at cluster.Time, member, group string, v regent.View) cluster.Event {
		v.Group = group
		return cluster.Event{Member: member, What: cluster.Saw, Group: group, View: &v, At: at}
	}
	expired := regent.View{Cause: regent.Cause{Why: why.LeaseExpired, Member: "a"}}
	for name, c := range map[string]struct {
		events []cluster.Event
		want   []string
	}{
		"a crash": {[]cluster.Event{
			leads(0, "a", "g", 1), leads(0, "a", "h", 1), {Member: "a", What: cluster.Gone, At: 100 * ms}, saw(300*ms, "b", "g", expired), saw(300*ms, "c", "h", expired),
			leads(310*ms, "b", "g", 2), saw(311*ms, "c", "g", expired), leads(320*ms, "b", "h", 2)},
			[]string{"a was elected (2 groups: g, h)", "a is gone", "a fell silent; b leads after 220 ms (2 groups: g, h)"}},
		"no leader yet": {[]cluster.Event{leads(0, "a", "g", 1), {Member: "a", What: cluster.Gone, At: 100 * ms}}, []string{"a was elected", "a fell silent; no leader", "a is gone"}},
		"handed over": {[]cluster.Event{
			leads(0, "a", "g", 1), saw(10*ms, "a", "g", regent.View{Leader: "a", Token: 1, Mine: true, Stopping: true, Cause: regent.Cause{Why: why.Transferred, Member: "b"}}),
			leads(20*ms, "b", "g", 2), saw(21*ms, "a", "g", regent.View{Cause: regent.Cause{Why: why.Resigned, Member: "a"}}),
			{Member: "a", What: cluster.Stops, Group: "g", Token: 1, Text: "must stop leading g: transferred b", At: 21 * ms}},
			[]string{"a was elected", "a handed over; b leads after 10 ms"}},
		"the program stops before it is seen that it was asked to": {[]cluster.Event{
			leads(0, "a", "g", 1), {Member: "a", What: cluster.Stops, Group: "g", Token: 1, At: 20 * ms, Cause: &regent.Cause{Why: why.Transferred, Member: "b"}},
			saw(21*ms, "a", "g", regent.View{Leader: "a", Token: 1, Mine: true, Stopping: true, Cause: regent.Cause{Why: why.Transferred, Member: "b"}}), leads(25*ms, "b", "g", 2)},
			[]string{"a was elected", "a handed over; b leads after 5 ms"}},
		"the next leader is heard of first": {[]cluster.Event{
			leads(0, "a", "g", 1), leads(502*ms, "b", "g", 2), saw(500*ms, "c", "g", regent.View{Cause: regent.Cause{Why: why.Transferred, Member: "b"}}),
			leads(2000*ms, "c", "g", 3), {Member: "b", What: cluster.Stops, Group: "g", Token: 2, At: 1990 * ms, Cause: &regent.Cause{Why: why.LeaseExpired, Member: "b"}}},
			[]string{"a was elected", "a handed over; b leads after 2 ms", "b did not renew its lease; c leads after 10 ms"}},
		"a paused leader goes on": {[]cluster.Event{
			leads(0, "a", "g", 1), saw(300*ms, "b", "g", expired), leads(301*ms, "b", "g", 2), {Member: "a", What: cluster.Stops, Group: "g", Token: 1, Text: "must stop leading g: lease expired a", At: 3000 * ms}},
			[]string{"a was elected", "a did not renew its lease; b leads after 1 ms", "a learns that it no longer leads: lease expired a"}},
		"a member that is cut off": {[]cluster.Event{
			{Member: "a", What: cluster.Leads, Group: "g", Token: 1, Remaining: time.Hour}, saw(1500*ms, "c", "g", regent.View{Cause: regent.Cause{Why: why.NoQuorum, Bound: time.Second}})},
			[]string{"a was elected", "c sees no leader: no quorum (for 1s)"}},
		"members report before the lease is known to be over": {[]cluster.Event{
			{Member: "a", What: cluster.Leads, Group: "g", Token: 1, Remaining: time.Second}, saw(900*ms, "b", "g", expired), leads(920*ms, "b", "g", 2)},
			[]string{"a was elected", "a did not renew its lease; b leads after 20 ms"}},
		"handed over by a program that stops at once": {[]cluster.Event{
			{Member: "a", What: cluster.Leads, Group: "g", Token: 1, Remaining: time.Second}, saw(500*ms, "c", "g", regent.View{Cause: regent.Cause{Why: why.Transferred, Member: "b"}}),
			leads(502*ms, "b", "g", 2), saw(503*ms, "b", "g", expired)},
			[]string{"a was elected", "a handed over; b leads after 2 ms"}},
	} {
		m := newModel([]string{"a", "b", "c"}, cluster.Group{Name: "g", Mode: regent.Quorum}, cluster.Group{Name: "h", Mode: regent.Quorum})
		for i := range c.events {
			m.apply(&c.events[i], plain)
		}
		var got []string
		for _, e := range incidents(m.log) {
			got = append(got, e.Text)
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
