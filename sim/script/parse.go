package script

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// A Script is a scenario that has been parsed.
type Script struct {
	// Name is the file's name, for messages; Title the comment that the script opens with.
	Name, Title string
	Settings
	Paragraphs []Paragraph
	lines      []string
}

// A Paragraph is statements with no empty line between them, and what they are expected to print.
type Paragraph struct {
	Steps []Step
	// Checked says that there is a line of dashes; Want is what follows it.
	Checked bool
	Want    []string
	// first and end are the lines of Want, counted from zero, end not included.
	first, end int
}

// A Step is one statement that does something.
type Step struct {
	Pos
	// Text is the statement as it stands in the script, without its comment.
	Text string
	do   action
}

// dashes stand between statements and what they are expected to print.
const dashes = "----"

// maxErrors is how many errors of one script are reported.
const maxErrors = 10

// parser turns lines into a Script.
type parser struct {
	*line
	script   *Script
	protocol *suite.Protocol
	begun    bool // a statement that is no setting has been seen
	ported   bool // messages travel as packets
	errs     Errors
}

// Parse reads a script. Its error is of type Errors and says what is wrong, where, and what would be right.
func Parse(name string, text []byte) (*Script, error) {
	p := &parser{script: &Script{Name: name}}
	if i := firstInvalid(text); i >= 0 {
		line, col := 1+strings.Count(string(text[:i]), "\n"), 1+i-(strings.LastIndexByte(string(text[:i]), '\n')+1)
		return nil, Errors{{name, Pos{line, col}, "not UTF-8: a script is plain text"}}
	}
	p.script.lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	p.script.Title = title(p.script.lines)
	p.parseLines()
	p.missing()
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	return p.script, nil
}

func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// title returns the first paragraph of the comment at the beginning of the script as one line.
func title(lines []string) string {
	var words []string
	for _, l := range lines {
		rest, ok := strings.CutPrefix(strings.TrimSpace(l), "#")
		more := strings.Fields(rest)
		if !ok || len(more) == 0 && len(words) > 0 {
			break
		}
		words = append(words, more...)
	}
	return strings.Join(words, " ")
}

// parseLines parses all paragraphs.
func (p *parser) parseLines() {
	lines := p.script.lines
	var para Paragraph
	flush := func() {
		if len(para.Steps) > 0 || para.Checked {
			p.script.Paragraphs = append(p.script.Paragraphs, para)
		}
		para = Paragraph{}
	}
	for i := 0; i < len(lines); i++ {
		switch text := strings.TrimSpace(lines[i]); {
		case text == "":
			flush()
		case text == dashes:
			if len(para.Steps) == 0 {
				p.err(Pos{i + 1, 1}, "---- without a statement above it that prints something, such as run 1s")
			}
			para.Checked, para.first = true, i+1
			for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" {
				i++
				para.Want = append(para.Want, strings.TrimRight(lines[i], " \t\r"))
			}
			para.end = i + 1
			flush()
		default:
			if step, ok := p.parseLine(i+1, lines[i]); ok {
				para.Steps = append(para.Steps, step)
			}
		}
		if len(p.errs) >= maxErrors {
			return
		}
	}
	flush()
}

// parseLine parses one statement. ok is false for a setting, a comment, and an error, which it notes.
func (p *parser) parseLine(num int, text string) (step Step, ok bool) {
	tokens := lex(text)
	if len(tokens) == 0 {
		return Step{}, false
	}
	last := tokens[len(tokens)-1]
	p.line = &line{tokens: tokens, num: num, width: last.col + utf8.RuneCountInString(last.text)}
	defer func() {
		if r := recover(); r != nil {
			bad, is := r.(problem)
			if !is {
				panic(r)
			}
			p.err(Pos{num, bad.col}, "%s", bad.msg)
			step, ok = Step{}, false
		}
	}()
	do := p.statement()
	p.end()
	step = Step{Pos: Pos{num, tokens[0].col}, Text: statementText(text), do: do}
	return step, do != nil
}

// statementText returns a line without its comment.
func statementText(text string) string {
	tokens := lex(text)
	last := tokens[len(tokens)-1]
	runes := []rune(text)
	return string(runes[tokens[0].col-1 : last.col-1+utf8.RuneCountInString(last.text)])
}

// statement parses a whole statement. It returns nil for a setting.
func (p *parser) statement() action {
	t := p.take("a statement")
	v, known := verbs[t.text]
	switch {
	case !known:
		p.failAt(t, "%q: no such statement%s", t.text, suggest(t.text, verbNames()))
	case v.set != nil && (v.parse == nil || !p.begun):
		if p.begun {
			p.failAt(t, "%s is a setting: it belongs before the first statement that does something", t.text)
		}
		v.set(p)
		return nil
	}
	p.needProtocol(t)
	p.begun = true
	do := v.parse(p)
	if do == nil {
		panic("script: " + t.text + " does nothing")
	}
	return do
}

// needProtocol says that a script must say what it is about before anything happens.
func (p *parser) needProtocol(t token) {
	if p.script.Protocol == "" {
		p.failAt(t, "%q: say first which protocol the members run, such as: protocol rank", t.text)
	}
	p.needMembers(t)
}

// missing says what a script lacks that has no error otherwise.
func (p *parser) missing() {
	if len(p.errs) > 0 || p.begun {
		return
	}
	p.err(Pos{len(p.script.lines), 1}, "nothing happens in this script: it needs at least: protocol rank, members 3, run 1s")
}

func (p *parser) err(at Pos, format string, args ...any) {
	p.errs = append(p.errs, &Error{p.script.Name, at, fmt.Sprintf(format, args...)})
}

// A verb is the first word of a statement.
type verb struct {
	// set parses a setting, parse a statement that does something. A verb that has both is a setting at the beginning.
	set   func(*parser)
	parse func(*parser) action
	// usage shows its form, for the reference.
	usage string
}

// Usage returns the form of every statement, in alphabetical order.
func Usage() []string {
	var all []string
	for _, name := range verbNames() {
		all = append(all, strings.Split(verbs[name].usage, "\n")...)
	}
	return all
}

func verbNames() []string {
	names := make([]string, 0, len(verbs))
	for name := range verbs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// suggest names what was probably meant, or all there is.
func suggest(word string, valid []string) string {
	best, least := "", 3
	for _, v := range valid {
		if d := distance(word, v); d < least && d < len(v) {
			best, least = v, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; there are " + strings.Join(valid, ", ")
}

// distance counts the letters to change, add or leave out between two words.
func distance(a, b string) int {
	if max(len(a), len(b)) > 32 {
		return 32
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// group takes a group's name.
func (p *parser) group() protocol.Group {
	t := p.take("a group")
	if !slices.Contains(p.script.Groups, protocol.Group(t.text)) {
		hint := groupHint(p.script.Groups)
		if r, ok := sim.RankNamed(t.text); ok && int(r) < p.script.Members {
			hint = ", but a member: write several members as {a b}"
		}
		p.failAt(t, "%q: no such group%s", t.text, hint)
	}
	return protocol.Group(t.text)
}

func groupHint(groups []protocol.Group) string {
	if len(groups) == 0 {
		return "; name groups at the beginning, such as: groups billing"
	}
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = string(g)
	}
	return suggest("", names)
}

// ParseFault reads one statement that begins faults, in a script of so many members without groups.
func ParseFault(text string, members int) ([]sim.Fault, error) {
	p := &parser{script: &Script{Name: "fault", Settings: Settings{Protocol: "?", Members: members}}, begun: true}
	step, ok := p.parseLine(1, text)
	if len(p.errs) > 0 {
		return nil, p.errs
	}
	f, is := step.do.(faults)
	if !ok || !is || len(f) == 0 {
		return nil, fmt.Errorf("%q: expected a statement that begins a fault, such as: crash a", text)
	}
	return f, nil
}
