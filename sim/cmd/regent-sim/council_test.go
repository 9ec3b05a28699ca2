package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/sim/replay"
)

// councilAt shows the council of a recording at an instant: the ribbon, and of each member its number, role, and marks.
func councilAt(r *replay.Recording, at time.Duration) string {
	st := r.State(r.StepAt(at))
	c := st.About.Council
	if c == nil {
		return "no council"
	}
	text := c.Change
	if text == "" {
		text = fmt.Sprintf("number %d", c.Number)
	}
	for _, m := range st.Members {
		text += "; " + m.Name
		if m.Number != nil {
			text += fmt.Sprint(" ", *m.Number)
		}
		for _, x := range []struct {
			is   bool
			what string
		}{{m.State == web.Removed, "removed"}, {m.State == web.Down, "down"}, {m.State == web.Joining, "joining"}, {m.Learning, "learning"}, {m.Leaving, "leaving"},
			{m.Accepted, "accepted"}, {m.Adopted, "adopted"}, {m.Settled, "settled"}} {
			if x.is {
				text += " " + x.what
			}
		}
	}
	return text
}

// The embedded scenarios of councils show the number of each member, and who has adopted it and settled, as their lines have it.
func TestReplayShowsTheScenariosOfCouncils(t *testing.T) {
	for name, at := range map[string]map[time.Duration]string{
		"council/add_a_member": {
			500 * time.Millisecond: "number 0; a 0; b 0; c 0; d joining; e joining",
			// a has the chosen configuration first.
			1020 * time.Millisecond: "number 1: adding d; settling; waits for a, b, c; a 1 adopted; b 0 accepted; c 0 accepted; d learning; e joining",
			1300 * time.Millisecond: "number 1 to 2: adding d; agreeing; a 1 adopted settled; b 1 adopted settled; c 1 adopted settled; d 1 learning adopted settled; e joining",
			4 * time.Second:         "number 3; a 3; b 3; c 3; d 3; e joining",
		},
		"council/cancelled":           {2 * time.Second: "number 1 to 2: adding d; learning; waits for d; a 1 adopted settled; b 1 adopted settled; c 1 adopted settled; d down learning; e joining", 5 * time.Second: "number 2; a 2; b 2; c 2; d down; e joining"},
		"council/away_for_many_steps": {8 * time.Second: "number 4; a 4; b 4; c 0 removed; d 4", 11 * time.Second: "number 4; a 4; b 4; c 4 removed; d 4"},
		"council/replace_everybody":   {13 * time.Second: "number 8; a 8 removed; b 8 removed; c 8 removed; d 8; e 8; f 8"},
		"hall/fig1":                   {time.Second: "no council"},
	} {
		recording, err := readRecording(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for when, want := range at {
			if got := councilAt(recording, when); want != "" && got != want {
				t.Errorf("%s at %v: %s\nwant %s", name, when, got, want)
			}
		}
		var marks []string
		for _, m := range recording.Marks() {
			if strings.HasPrefix(m.Text, "council: ") {
				marks = append(marks, m.Text)
			}
		}
		if want := "council: number 1 is chosen: member d added; council: number 2 is chosen: member d became a voter; council: number 3 is chosen: the change is over"; name == "council/add_a_member" && strings.Join(marks, "; ") != want {
			t.Errorf("%s can be sought to %s\nwant %s", name, strings.Join(marks, "; "), want)
		}
	}
}
