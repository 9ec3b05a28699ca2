package replay

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/web"
)

// Story returns everything that happened, oldest first.
func (t *Recording) Story() []web.Entry {
	var all []web.Entry
	w := t.begin()
	all = append(all, w.log...)
	for i := range t.records {
		before := w.entries
		t.apply(w, i)
		for _, e := range w.since(before) {
			old := slices.IndexFunc(all, func(o web.Entry) bool { return o.ID == w.replaced })
			if w.replaced != 0 && old >= 0 {
				all[old] = e
			} else {
				all = append(all, e)
			}
		}
	}
	return all
}

// Write writes the story as lines.
func (t *Recording) Write(out io.Writer) error {
	groups := make(map[string]bool)
	story := t.Story()
	if t.about != "" {
		story = story[1:]
		if _, err := fmt.Fprintf(out, "%s\n\n", t.about); err != nil {
			return err
		}
	}
	for _, e := range story {
		if e.Group != "" {
			groups[e.Group] = true
		}
	}
	if _, err := fmt.Fprintln(out, "     time  what happened"); err != nil {
		return err
	}
	for _, e := range story {
		if e.Group != "" && len(groups) > 1 {
			e.Text += " (" + e.Group + ")"
		}
		if _, err := fmt.Fprintf(out, "%8.3fs  %s\n", e.At.Seconds(), e.Text); err != nil {
			return err
		}
	}
	return nil
}

// outcome says who leads at the end, how often members began to lead, and what came of the run.
func (t *Recording) outcome(w *world) string {
	at := time.Duration(t.records[len(t.records)-1].T)
	var parts []string
	for _, g := range w.groups {
		var leaders []string
		for _, l := range w.show(g, at).Leaders {
			text := l.Member + " leads"
			if g.mode == web.Local {
				text += " " + strings.Join(l.Support, " ")
			}
			leaders = append(leaders, text)
		}
		if len(leaders) == 0 {
			leaders = []string{"nobody leads"}
		}
		text := strings.Join(leaders, ", ")
		if len(w.groups) > 1 {
			text = fmt.Sprintf("%s (%s, %s)", text, g.name, g.mode)
		}
		parts = append(parts, text)
	}
	if w.number != 1 {
		parts = append(parts, fmt.Sprintf("%d leaderships", w.number))
	}
	out := "end of the run: " + strings.Join(parts, "; ")
	if t.result != "" {
		out += ". " + t.result
	}
	return out
}
