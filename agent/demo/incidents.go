package demo

import (
	"slices"
	"strings"

	"github.com/regentproject/regent/agent/web"
)

// incidents makes one entry of those that say the same at about the same time: of several members, of several groups, or both. It has the
// number of the first of them.
func incidents(log []web.Entry) []web.Entry {
	type incident struct {
		web.Entry
		members, groups []string
		rest            string
	}
	var all []*incident
	last := make(map[string]*incident)
	for _, e := range log {
		rest, shared := sharedNews(&e)
		key := e.Tone + " " + rest
		if !shared {
			key = e.Tone + " " + e.Text
		}
		x := last[key]
		if x == nil || e.At-x.At >= sameNews || e.Tone == "you" || e.Group == "" && !shared {
			x = &incident{Entry: e, rest: rest}
			all, last[key] = append(all, x), x
		}
		if shared && !slices.Contains(x.members, e.Member) {
			x.members = append(x.members, e.Member)
		}
		if e.Group != "" && !slices.Contains(x.groups, e.Group) {
			x.groups = append(x.groups, e.Group)
		}
	}
	out := make([]web.Entry, 0, len(all))
	for _, x := range all {
		if len(x.members) > 1 {
			x.Text = together(x.members, x.rest)
		}
		if len(x.groups) > 1 {
			slices.Sort(x.groups)
			x.Text += " (" + strings.Join(x.groups, ", ") + ")"
			x.Group, x.Groups = "", x.groups
		}
		out = append(out, x.Entry)
	}
	return out
}

// sharedNews returns what an entry says of its member, and whether others may say the same.
func sharedNews(e *web.Entry) (rest string, shared bool) {
	rest, ok := strings.CutPrefix(e.Text, e.Member+" ")
	return rest, ok && (rest == "takes part" || strings.HasPrefix(rest, "sees no leader: "))
}

// together says of several members what was said of one.
func together(members []string, rest string) string {
	verb, more, _ := strings.Cut(rest, " ")
	return strings.Join(slices.Sorted(slices.Values(members)), ", ") + " " + strings.TrimSuffix(verb, "s") + " " + more
}
