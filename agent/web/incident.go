package web

import (
	"time"

	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/view"
)

// groupsListed is how many groups of an incident are found by their names.
const groupsListed = 20

// EntryOf returns the line of the log for an incident that happened at an instant.
func EntryOf(x *view.Incident, at time.Duration) Entry {
	e := Entry{At: at, Member: x.To, Group: names.Label(x.Group), Text: x.String(), Tone: "good"}
	if x.To == "" {
		e.Member, e.Tone = x.From, "bad"
	}
	if groups := x.Groups(); groups != "" {
		e.Group, e.Text = "", e.Text+" ("+groups+")"
		for i := range min(groupsListed, len(x.All)) {
			e.Groups = append(e.Groups, names.Label(x.All[i].Group))
		}
	}
	return e
}
