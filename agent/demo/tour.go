package demo

import (
	"fmt"
	"strconv"
	"strings"
)

// A step is one step of the guided tour.
type step struct {
	// says is the sentence of the step. press is what to press, in which LEADER and OTHER stand for the numbers of members. look is what to look at.
	says, press, look string
	// verb is the command that the step is about; empty: it is about none.
	verb string
}

var steps = []step{
	{says: "MEMBERS processes on this machine have elected the member that LEADS.", press: "enter",
		look: "its lease: it is renewed 20 times a second, so the bar never runs out"},
	{says: "Kill the leader's process: another member leads after its lease.", press: "LEADER, then c", verb: "crash",
		look: "the row that LEADS; its token is higher, and may skip numbers"},
	{says: "Start it again: it does not take the leadership back.", press: "s", verb: "start",
		look: "its row: it follows, because a healthy leader stays"},
	{says: "Pause the leader: it cannot notice that its lease ends.", press: "LEADER, then p", verb: "pause",
		look: "what it believes; meanwhile another member LEADS, with a higher token"},
	{says: "Let it go on: it learns that it leads no more.", press: "r", verb: "resume",
		look: "its row: it follows; receivers reject its late orders by their token"},
	{says: "Cut the leader off from all others: it loses its lease.", press: "LEADER, then x", verb: "cut",
		look: "who leads: it steps down before another member LEADS"},
	{says: "Connect it again.", press: "h", verb: "heal",
		look: "its row: it follows, and the token stays"},
	{says: "Hand the group over to another member.", press: "OTHER, then t", verb: "transfer",
		look: "the times below: the next leader does not wait for a lease"},
	{says: "That was the tour. The page cuts single links; o shows more.", press: "q, or any key below",
		look: "the summary that is printed at the end"},
}

// A tour is how far the guided tour has got.
type tour struct {
	at    int
	did   bool // what the step is about was done
	ended bool
}

// take moves the tour by a key; false if the key is not about it.
func (t *tour) take(verb string) bool {
	switch verb {
	case "next":
		t.at, t.did = t.at+1, false
		t.ended = t.ended || t.at >= len(steps)
	case "skip":
		t.ended = true
	case "tour":
		*t = tour{}
	default:
		return false
	}
	return true
}

// note notes that a command was carried out.
func (t *tour) note(verb string) {
	if t.ended {
		return
	}
	if t.did && t.at+1 < len(steps) && steps[t.at+1].verb == verb {
		t.at++
		return
	}
	t.did = t.did || steps[t.at].verb == verb
}

// tourLines are the step as lines of the table; none if the tour has ended.
func (m *model) tourLines() []string {
	t := &m.tour
	if t.ended {
		return nil
	}
	leader, other := "the number of the leader", "the number of another member"
	for i, n := range m.names {
		switch {
		case n == m.leader():
			leader = strconv.Itoa(i + 1)
		case m.members[n].joined && m.members[n].paused == 0:
			other = strconv.Itoa(i + 1)
		}
	}
	s := &steps[t.at]
	press := s.press + "   (enter: next step, esc: end the tour)"
	switch {
	case t.did:
		press = "enter for the next step"
	case t.at == len(steps)-1:
		press = s.press + "   (esc: hide this)"
	case s.verb == "":
		press = s.press + "   (esc: end the tour)"
	}
	fill := strings.NewReplacer("MEMBERS", numbers[min(len(m.names), len(numbers)-1)], "LEADER", leader, "OTHER", other)
	return []string{
		fmt.Sprintf("tour %d of %d: %s", t.at+1, len(steps), fill.Replace(s.says)),
		"  press    " + fill.Replace(press),
		"  look at  " + s.look,
	}
}

// numbers are numbers of members in words.
var numbers = []string{"No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"}
