package demo

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/web"
)

// What several members say of several groups at about the same time is one entry. Orders of the person who looks stay as they are.
func TestEntriesThatSayTheSameAreOne(t *testing.T) {
	var log []web.Entry
	put := func(at time.Duration, member, group, text, tone string) {
		log = append(log, web.Entry{ID: uint64(len(log) + 1), At: at, Member: member, Group: group, Text: text, Tone: tone})
	}
	put(0, "", "", "you: crash a", "you")
	put(0, "", "", "you: crash a", "you")
	for i, member := range []string{"e", "d"} {
		for _, group := range []string{"mail", "billing"} {
			put(time.Duration(i)*time.Millisecond, member, group, member+" sees no leader: lease expired a", "")
		}
	}
	put(2*time.Millisecond, "b", "mail", "b sees no leader: resigned a", "")
	for _, group := range []string{"mail", "billing"} {
		put(10*time.Millisecond, "b", group, "b leads with token 7", "good")
	}
	put(time.Second+10*time.Millisecond, "b", "mail", "b leads with token 7", "good")
	put(2*time.Second, "b", "", "b: the disk is full", "bad")
	put(2*time.Second, "b", "", "b: the disk is full", "bad")
	var got []string
	for _, e := range incidents(log) {
		got = append(got, fmt.Sprint(e.ID, " ", e.Text, "|", e.Group, "|", strings.Join(e.Groups, " ")))
	}
	want := []string{"1 you: crash a||", "2 you: crash a||", "3 d, e see no leader: lease expired a (billing, mail)||billing mail", "7 b sees no leader: resigned a|mail|",
		"8 b leads with token 7 (billing, mail)||billing mail", "10 b leads with token 7|mail|", "11 b: the disk is full||", "12 b: the disk is full||"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
