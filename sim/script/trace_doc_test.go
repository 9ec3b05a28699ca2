//go:build !race

package script_test

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/script"
	"github.com/regentproject/regent/sim/suite"
)

// common are the fields that any line of a trace may have.
var common = []string{"t", "node", "inc", "group", "dom", "ev"}

// described is what docs/trace.md says about one.
type described struct {
	fields  map[string]bool // true: in every line
	example string
}

// describedEvents reads docs/trace.md.
func describedEvents(t *testing.T) map[string]*described {
	t.Helper()
	text, err := os.ReadFile("../../docs/trace.md")
	if err != nil {
		t.Fatal(err)
	}
	heading := regexp.MustCompile("^### `([a-z]+)`$")
	field := regexp.MustCompile("^\\* (`[a-z]+`(?:, `[a-z]+`)*)( \\(sometimes\\))?: ")
	events := map[string]*described{}
	var now *described
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch h, f := heading.FindStringSubmatch(line), field.FindStringSubmatch(line); {
		case h != nil:
			now = &described{fields: map[string]bool{}}
			events[h[1]] = now
		case strings.HasPrefix(line, "#"):
			now = nil
		case now != nil && f != nil:
			for name := range strings.SplitSeq(f[1], ", ") {
				now.fields[strings.Trim(name, "`")] = f[2] == ""
			}
		case now != nil && strings.HasPrefix(line, "{"):
			now.example = line
		}
	}
	return events
}

// An eventLog collects which fields the lines of traces have, by event.
type eventLog struct {
	seen   map[string]int // how often it happened
	lines  map[string]int // how many of those were looked at
	fields map[string]map[string]int
}

// Of each event the first lines are looked at, and then one in so many: there are millions of some events.
const (
	firstLines = 20_000
	oneIn      = 17
)

// Observe notes the fields of one line.
func (l *eventLog) Observe(r *sim.Record) error {
	ev := string(r.Ev)
	l.seen[ev]++
	if n := l.seen[ev]; n > firstLines && n%oneIn != 0 {
		return nil
	}
	line, err := r.AppendJSON(nil)
	if err != nil {
		return err
	}
	l.lines[ev]++
	if l.fields[ev] == nil {
		l.fields[ev] = map[string]int{}
	}
	for name := range names(line) {
		l.fields[ev][string(name)]++
	}
	return nil
}

// names yields the names in a line, but not in what its values consist of. There are millions of lines, and a decoder would
// take a minute for them.
func names(line []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		depth, from := 0, 0 // from: where the present string begins, 0 outside of strings
		for i := 0; i < len(line); i++ {
			switch c := line[i]; {
			case from > 0 && c == '\\':
				i++
			case from > 0 && c == '"':
				if depth == 1 && i+1 < len(line) && line[i+1] == ':' && !yield(line[from:i]) {
					return
				}
				from = 0
			case from > 0:
			case c == '"':
				from = i + 1
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			}
		}
	}
}

// playAll plays scenarios of all kinds and a random run of every protocol. What those do not show has a script here.
func playAll(t *testing.T) *eventLog {
	t.Helper()
	log := &eventLog{seen: map[string]int{}, lines: map[string]int{}, fields: map[string]map[string]int{}}
	scenarios, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(scenarios) == 0 {
		t.Fatalf("%d scenarios, %v", len(scenarios), err)
	}
	for _, file := range scenarios {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		playLogged(t, string(text), script.Options{Observers: []sim.Observer{log}})
	}
	playLogged(t, "protocol rank\nmembers 3\nrun 1s\ncrash a\nrun 1s\nrestart a\nrun 1s",
		script.Options{Protocol: refusing(t), Observers: []sim.Observer{log}})
	playLogged(t, "protocol nerio\nmembers 3\ngroups blue\nprograms stop 1s\nrun 1s\nresign leader\nrun 2s\nleave * within 5s\nrun 5s",
		script.Options{Observers: []sim.Observer{log}})
	playLogged(t, "protocol nerio\nmembers 3\nrun 1s", script.Options{Protocol: unstamped(t), Observers: []sim.Observer{log}})
	playLogged(t, "protocol nerio\nmembers 3\nrun 1s", script.Options{Protocol: announcing(t), Observers: []sim.Observer{log}})
	playLogged(t, "protocol nerio\nmembers 3\nrun 1s\ncrash a for 50ms\nrun 1s\ncrash a from backup 9 for 50ms\nrun 1s",
		script.Options{Protocol: rekeyed(t), Observers: []sim.Observer{log}})
	playLogged(t, "protocol nerio\nmembers 3\nrun 1s\ncrash leader for 50ms\nrun 1s", script.Options{Protocol: outlived(t), Observers: []sim.Observer{log}})
	for _, p := range suite.All() {
		if _, _, err := fuzz.Seed(p, p.Members, 1, fuzz.LengthOf(p), log); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

func playLogged(t *testing.T, text string, o script.Options) {
	t.Helper()
	s, err := script.Parse("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := script.Play(s, o); err != nil {
		t.Fatal(err)
	}
}

// refusing is rank with a machine that does not start twice.
func refusing(t *testing.T) *suite.Protocol {
	p := forgetful(t)
	spawn := p.Spawn
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		if b.Inc > 1 {
			return nil, errors.New("once is enough")
		}
		return spawn(b)
	}
	return p
}

// unstamped is nerio with programs that read their leases plainly and stamp nothing.
func unstamped(t *testing.T) *suite.Protocol {
	p, err := suite.Lookup("nerio")
	if err != nil {
		t.Fatal(err)
	}
	p.Configure = nil
	return p
}

// announcing is nerio with programs that announce values.
func announcing(t *testing.T) *suite.Protocol {
	p := unstamped(t)
	p.Configure = func(c *sim.Config) { c.Program.Announce = sim.Between(time.Millisecond, 100*time.Millisecond) }
	return p
}

// outlived is nerio with guardians, and with programs that outlive their members.
func outlived(t *testing.T) *suite.Protocol {
	p := unstamped(t)
	p.Configure = func(c *sim.Config) {
		c.Guardian = sim.GuardianSpec{Message: func(r obituary.Report) protocol.Message { return &nerio.Died{Report: r} }, Outlive: sim.Percent(100)}
	}
	return p
}

// rekeyed is nerio with members that have another key in each start, so that nothing can be proved to them.
func rekeyed(t *testing.T) *suite.Protocol {
	p, err := suite.Lookup("nerio")
	if err != nil {
		t.Fatal(err)
	}
	spawn := p.Spawn
	p.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		tag, start := b.Tag, b.Inc
		b.Tag = func(inc protocol.Inc, bits protocol.StartBits) protocol.Tag { return tag(inc+1000*start, bits) }
		return spawn(b)
	}
	return p
}

func TestTheTraceIsAsDocumented(t *testing.T) {
	events := describedEvents(t)
	log := playAll(t)
	for _, ev := range slices.Sorted(maps.Keys(log.lines)) {
		d := events[ev]
		if d == nil {
			t.Errorf("docs/trace.md does not describe %q, which has the fields %v", ev, slices.Sorted(maps.Keys(log.fields[ev])))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(log.fields[ev])) {
			if _, ok := d.fields[name]; !ok && !slices.Contains(common, name) {
				t.Errorf("docs/trace.md does not describe the field %q of %q", name, ev)
			}
		}
		for name, always := range d.fields {
			if n := log.fields[ev][name]; always && n < log.lines[ev] {
				t.Errorf("docs/trace.md does not say that %q has %q only sometimes: in %d of %d lines", ev, name, n, log.lines[ev])
			}
		}
	}
	for _, ev := range slices.Sorted(maps.Keys(events)) {
		if log.lines[ev] == 0 {
			t.Errorf("docs/trace.md describes %q, which never happened", ev)
		}
		for name := range events[ev].fields {
			if log.fields[ev][name] == 0 && log.lines[ev] > 0 {
				t.Errorf("docs/trace.md describes the field %q of %q, which it never had", name, ev)
			}
		}
	}
}

func TestEveryExampleOfATraceLineHasTheFieldsThatItShould(t *testing.T) {
	for ev, d := range describedEvents(t) {
		var object map[string]any
		if err := json.Unmarshal([]byte(d.example), &object); err != nil {
			t.Errorf("%s: the example %q: %v", ev, d.example, err)
			continue
		}
		if object["ev"] != ev {
			t.Errorf("%s: the example is of %v", ev, object["ev"])
		}
		for name, always := range d.fields {
			if _, ok := object[name]; always && !ok {
				t.Errorf("%s: the example lacks %q", ev, name)
			}
		}
		for name := range object {
			if _, ok := d.fields[name]; !ok && !slices.Contains(common, name) {
				t.Errorf("%s: the example has %q, which is not described", ev, name)
			}
		}
		r, err := sim.ParseRecord([]byte(d.example))
		if err != nil {
			t.Errorf("%s: the example cannot be read: %v", ev, err)
		} else if again, err := r.AppendJSON(nil); err != nil || string(again) != d.example {
			t.Errorf("%s: the example, read and written again, is %s, %v", ev, again, err)
		}
		if !beginning.MatchString(d.example) {
			t.Errorf("%s: the example does not begin with t, node, inc, group, dom, ev: %s", ev, d.example)
		}
	}
}

// beginning is how every line begins.
var beginning = regexp.MustCompile(`^\{"t":\d+(,"node":"\w+","inc":\d+)?(,"group":"\w+")?(,"dom":"\w+")?,"ev":"\w+"[,}]`)
