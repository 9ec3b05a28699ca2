package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// extension ends the name of every file that holds a mutant.
const extension = ".mutant"

// A Mutant is one way to break production code, and what must notice.
type Mutant struct {
	Dir, Name string // mutants/Dir/Name.mutant
	Breaks    string // what is wrong with it, for people
	CaughtBy  string // the invariant that must catch it; a test where there is no invariant
	Test      string // the command that must fail and name it; passes on the code as it is
	Edits     []Edit
}

// An Edit replaces one passage of a file, which must occur in it exactly once.
type Edit struct {
	File          string // relative to the root of the module
	Find, Replace string // whole lines
}

// String returns dir/name.
func (m *Mutant) String() string { return m.Dir + "/" + m.Name }

// ReadAll returns the mutants of the module at root, sorted by directory and name.
func ReadAll(root string) ([]*Mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, "mutants", "*", "*"+extension))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no mutants in %s: run this at the root of the module", filepath.Join(root, "mutants"))
	}
	var mutants []*Mutant
	var wrong []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		m, err := Parse(string(text))
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
			continue
		}
		m.Dir = filepath.Base(filepath.Dir(file))
		m.Name = strings.TrimSuffix(filepath.Base(file), extension)
		mutants = append(mutants, m)
	}
	return mutants, errors.Join(wrong...)
}

// Parse reads a mutant: headers of the form "Key: value", each continued on lines that begin with white space, and
// passages to find and replace.
func Parse(text string) (*Mutant, error) {
	p := parser{m: &Mutant{}}
	for line := range strings.Lines(text) {
		p.line++
		if err := p.next(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	switch m := p.m; {
	case p.state != inHeaders:
		return nil, errors.New("the last passage is not closed by --- end")
	case m.Breaks == "":
		return nil, errors.New("no Breaks: say what is wrong with it")
	case m.CaughtBy == "":
		return nil, errors.New("no Caught-by: name the invariant that must catch it")
	case m.Test == "":
		return nil, errors.New("no Test: give the command that must fail")
	case len(m.Edits) == 0:
		return nil, errors.New("no passage between --- find and --- replace: it changes nothing")
	}
	return p.m, nil
}

// The states of the parser: between passages, or in one half of one.
const (
	inHeaders = iota
	inFind
	inReplace
)

type parser struct {
	m     *Mutant
	line  int
	state int
	file  string  // of the passages that follow
	last  *string // the header that a continuation belongs to
}

func (p *parser) next(line string) error {
	bare := strings.TrimRight(line, "\r\n")
	edits := p.m.Edits
	switch {
	case bare == "--- find" && p.state == inHeaders:
		if p.file == "" {
			return errors.New("no File before --- find: which file is to be changed?")
		}
		p.m.Edits = append(edits, Edit{File: p.file})
		p.state = inFind
	case bare == "--- replace" && p.state == inFind:
		p.state = inReplace
	case bare == "--- end" && p.state == inReplace:
		e := edits[len(edits)-1]
		if strings.TrimSpace(e.Find) == "" {
			return errors.New("the passage to find is empty")
		}
		if e.Find == e.Replace {
			return errors.New("the passage is replaced by itself")
		}
		p.state, p.last = inHeaders, nil
	case strings.HasPrefix(bare, "--- "):
		return fmt.Errorf("%q is out of place: a passage is --- find, --- replace, --- end", bare)
	case p.state == inFind:
		edits[len(edits)-1].Find += line
	case p.state == inReplace:
		edits[len(edits)-1].Replace += line
	default:
		return p.header(bare)
	}
	return nil
}

func (p *parser) header(line string) error {
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "" || line[0] == '#':
		return nil
	case line[0] == ' ' || line[0] == '\t':
		if p.last == nil {
			return errors.New("a line that begins with white space continues a header, and there is none")
		}
		*p.last += " " + trimmed
		return nil
	}
	key, value, _ := strings.Cut(line, ":")
	target := map[string]*string{"Breaks": &p.m.Breaks, "Caught-by": &p.m.CaughtBy, "Test": &p.m.Test, "File": &p.file}[key]
	if target == nil {
		return fmt.Errorf("unknown header %q: want Breaks, Caught-by, Test or File", key)
	}
	if *target != "" && key != "File" {
		return fmt.Errorf("a second %s", key)
	}
	*target, p.last = strings.TrimSpace(value), target
	if key == "File" {
		p.last = nil
		return checkFile(p.file)
	}
	return nil
}

// checkFile refuses files that are not production code of the tree.
func checkFile(file string) error {
	switch {
	case path.IsAbs(file) || path.Clean(file) != file || strings.HasPrefix(file, "../"):
		return fmt.Errorf("file %q: want a path from the root of the tree", file)
	case strings.HasSuffix(file, "_test.go") || strings.Contains("/"+file, "/testdata/"):
		return fmt.Errorf("file %q belongs to the tests: a mutant breaks production code", file)
	}
	return nil
}

// Apply returns the changed files by their path. It fails unless every passage occurs exactly once.
func (m *Mutant) Apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.Edits {
		text, ok := changed[e.File]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			if err != nil {
				return nil, fmt.Errorf("does not apply: %w", err)
			}
			text = string(b)
		}
		at := passages(text, e.Find)
		switch len(at) {
		case 1:
		case 0:
			return nil, fmt.Errorf("does not apply: %s has no passage\n%s", e.File, e.Find)
		default:
			return nil, fmt.Errorf("does not apply: %s has %d passages\n%s", e.File, len(at), e.Find)
		}
		changed[e.File] = text[:at[0]] + e.Replace + text[at[0]+len(e.Find):]
	}
	return changed, nil
}

// passages returns where in text the whole lines of find begin; two places may overlap.
func passages(text, find string) []int {
	var at []int
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], find) {
			at = append(at, i)
		}
		next := strings.IndexByte(text[i:], '\n')
		if next < 0 {
			break
		}
		i += next + 1
	}
	return at
}
