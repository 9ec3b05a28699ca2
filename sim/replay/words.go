package replay

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/sim"
)

// sameNews is how far apart lines may be that say the same of several members or links, to be one entry of the log.
const sameNews = 100 * time.Millisecond

// A told is an entry of the log that others may join.
type told struct {
	id  uint64
	at  time.Duration
	key string
	// subjects are the members that the entry is about, or pairs the links; rest is what it says of them.
	subjects []string
	pairs    map[[2]string]bool
	rest     string
}

// recentKept is how many entries can be joined.
const recentKept = 12

// tell notes something about a member. What lines say of several members at about the same time is one entry.
func (w *world) tell(r *sim.Record, group, subject, rest, tone string) {
	rest = rounded(rest)
	head, _, _ := strings.Cut(rest, " (") // how long each of them waited differs
	t := w.join(r, "member|"+group+"|"+tone+"|"+head, rest)
	if slices.Contains(t.subjects, subject) {
		t = &told{key: t.key, at: time.Duration(r.T), rest: rest}
	}
	t.subjects = append(slices.Clone(t.subjects), subject)
	slices.Sort(t.subjects)
	say := t.rest
	if len(t.subjects) > 1 {
		say = plural(say)
	}
	w.again(r, t, group, strings.Join(t.subjects, ", ")+" "+say, tone)
}

// onLinks are faults of links in words: while they last, and when they are over.
var onLinks = map[string][2]string{"cut": {nothingPasses, passAgain}, "slow": {"packets are slow", "packets are no longer slow"},
	"lose": {"packets are lost", "packets are no longer lost"}, "duplicate": {"packets arrive twice", "packets no longer arrive twice"}}

const (
	nothingPasses = "nothing passes"
	passAgain     = "packets pass again"
)

// tellLinks notes something about a link.
func (w *world) tellLinks(r *sim.Record, f *fault, over bool, tone string) {
	say, rest := onLinks[f.kind][0], rounded(strings.TrimSpace(strings.TrimPrefix(f.text, strings.Join([]string{f.kind, f.from, f.to}, " "))))
	if over {
		say, rest = onLinks[f.kind][1], ""
	}
	t := w.join(r, "link|"+say+"|"+rest, rest)
	t.pairs = maps.Clone(t.pairs)
	if t.pairs == nil {
		t.pairs = make(map[[2]string]bool)
	}
	t.pairs[[2]string{f.from, f.to}] = true
	w.again(r, t, "", say+" "+where(t.pairs)+strings.TrimSuffix(", "+rest, ", "), tone)
}

// join returns a copy of a recent entry with a key, or a new one.
func (w *world) join(r *sim.Record, key, rest string) *told {
	for i, t := range w.recent {
		if t.key == key && time.Duration(r.T)-t.at < sameNews {
			w.recent = slices.Delete(slices.Clone(w.recent), i, i+1)
			return &t
		}
	}
	return &told{key: key, at: time.Duration(r.T), rest: rest}
}

// again notes an entry in place of the one that it is made of, under a new number.
func (w *world) again(r *sim.Record, t *told, group, text, tone string) {
	if i := slices.IndexFunc(w.log, func(e web.Entry) bool { return t.id > 0 && e.ID == t.id }); i >= 0 {
		w.replaced = t.id
		w.entries++
		w.log = slices.Clone(w.log)
		w.log[i].ID, w.log[i].Text = w.entries, text
	} else {
		w.note(r, group, text, tone)
	}
	t.id = w.entries
	w.recent = append(slices.Clone(w.recent[max(0, len(w.recent)-recentKept):]), *t)
}

// where says between which members links are.
func where(pairs map[[2]string]bool) string {
	ends := func(i int) []string {
		all := make(map[string]bool)
		for p := range pairs {
			all[p[i]] = true
		}
		return slices.Sorted(maps.Keys(all))
	}
	show := func(all []string) string {
		if slices.Equal(all, []string{"*"}) {
			return "all members"
		}
		return strings.Join(all, " ")
	}
	covers := func(a, b []string, ways int) bool {
		for _, x := range a {
			for _, y := range b {
				if !pairs[[2]string{x, y}] || ways == 2 && !pairs[[2]string{y, x}] {
					return false
				}
			}
		}
		return len(pairs) == ways*len(a)*len(b)
	}
	from, to := ends(0), ends(1)
	if covers(from, to, 1) {
		return "from " + show(from) + " to " + show(to)
	}
	// Both ways: those that the first one is linked with, and those that the first of these is linked with.
	var a, b []string
	for _, y := range to {
		if pairs[[2]string{from[0], y}] {
			b = append(b, y)
		}
	}
	for _, x := range from {
		if len(b) > 0 && pairs[[2]string{x, b[0]}] {
			a = append(a, x)
		}
	}
	if covers(a, b, 2) {
		return "between " + show(a) + " and " + show(b)
	}
	var all []string
	for p := range pairs {
		all = append(all, "from "+show(p[:1])+" to "+show(p[1:]))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// plural turns what is said of one member into what is said of several.
func plural(rest string) string {
	verb, more, _ := strings.Cut(rest, " ")
	switch verb {
	case "no", "does": // no longer trusts; does not vote
		return strings.Replace(strings.Replace(rest, "no longer trusts", "no longer trust", 1), "does not", "do not", 1)
	case "has":
		verb = "have"
	case "is":
		verb = "are"
	case "goes":
		verb = "go"
	case "crashes":
		verb = "crash"
	case "loses": // its disk
		return strings.Replace(rest, "loses its disk", "lose their disks", 1)
	default:
		verb = strings.TrimSuffix(verb, "s")
	}
	return strings.TrimSpace(verb + " " + more)
}

var lengths = regexp.MustCompile(`\b\d+(\.\d+)?(ns|µs|ms|s|m|h)([\d.]+(ns|µs|ms|s|m))*\b`)

// rounded rounds the lengths of time in a text to three digits.
func rounded(text string) string {
	return lengths.ReplaceAllStringFunc(text, func(s string) string {
		d, err := time.ParseDuration(s)
		if err != nil {
			return s
		}
		to := time.Duration(1)
		for d/to >= 1000 {
			to *= 10
		}
		return d.Round(to).String()
	})
}

// spoken are faults of one member, in words. Those that lines of the member itself report are empty.
var spoken = map[string]string{"pause": "is paused", "suspend": "is suspended: its host sleeps", "halt": "is halted: its machine and its clock stand still",
	"ill": "is unhealthy", "drain": "is drained", "crash": "", "restart": "", "campaign": "", "resign": "", "transfer": "", "find": "", "verify": "", "leave": "", "change": ""}

// tellFault notes that a fault begins, or is over.
func (w *world) tellFault(r *sim.Record, f *fault, over bool) {
	tone := "bad"
	if over {
		tone = ""
	}
	words, known := spoken[f.kind]
	switch {
	case f.kind == "cut" || f.kind == "slow" || f.kind == "lose" || f.kind == "duplicate":
		w.tellLinks(r, f, over, tone)
	case f.kind == "partition" && over:
		w.note(r, "", passAgain+" between "+strings.Join(f.side, " ")+" and the others", tone)
	case f.kind == "partition":
		w.note(r, "", nothingPasses+" between "+strings.Join(f.side, " ")+" and the others"+length(f.text), tone)
	case !known && over:
		w.note(r, "", "over: "+rounded(f.text), tone)
	case !known:
		w.note(r, "", rounded(f.text), tone)
	case words == "" && !over && strings.Contains(f.text, " disk lost"):
		w.tell(r, "", f.from, "loses its disk", tone)
	case words == "" && !over && strings.Contains(f.text, " disk "):
		w.note(r, "", rounded(f.text), tone)
	case words == "":
	case over && freezing[f.kind]:
		w.tell(r, "", f.from, "goes on", tone)
	case over:
		w.tell(r, "", f.from, strings.Replace(words, "is", "is no longer", 1), tone)
	default:
		w.tell(r, "", f.from, words+length(f.text), tone)
	}
}

// length returns how long a fault lasts, by its words.
func length(text string) string {
	if _, d, ok := strings.Cut(text, " for "); ok {
		return ", for " + rounded(d)
	}
	return ""
}

// waits says why a member grants nothing.
func waits(why string) string {
	known := map[string]string{"no record": "does not vote yet (no record)", "restarted": "does not vote yet (earlier promises may still stand)",
		"bootstrap": "has agreed with the others to begin"}
	if text, ok := known[why]; ok {
		return text
	}
	return fmt.Sprintf("does not vote for now (%s)", why)
}

// stepped says why a leadership ended.
func stepped(why string) string {
	known := map[string]string{"stopped": "its program has stopped", "expired": "its lease has expired"}
	if text, ok := known[why]; ok {
		return text
	}
	return why
}
