package tidy

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// How many lines a file and a function may have. Over budget is a smell to look at; an author that decides that it is right as it
// is enters the length in the list of exceptions, and from then on it may only shrink. Tests may be longer, because a
// table of cases is read one case at a time.
const (
	fileLines, testFileLines = 500, 800
	funcLines, testFuncLines = 70, 120
)

// A size is the length of a file, or of a function of it.
type size struct {
	key   string // "file PATH" or "func PATH NAME", as the list of exceptions spells it
	file  string
	line  int
	lines int
	limit int
}

// sizes measures everything in a package. Generated files do not count.
func sizes(p *Package) []size {
	var all []size
	for _, f := range p.Files {
		if ast.IsGenerated(f.AST) {
			continue
		}
		perFile, perFunc := fileLines, funcLines
		if f.Test {
			perFile, perFunc = testFileLines, testFuncLines
		}
		all = append(all, size{"file " + f.Path, f.Path, 0, bytes.Count(f.Src, []byte("\n")), perFile})
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := p.Fset.Position(fn.Pos()).Line, p.Fset.Position(fn.End()).Line
			all = append(all, size{"func " + f.Path + " " + funcName(fn), f.Path, first, last - first + 1, perFunc})
		}
	}
	return all
}

// funcName returns Name, or Type.Name for a method.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// Budgets compares the lengths, and the number of headers that Headers reports, in the packages with the budgets and with the list of exceptions, which must fit exactly:
// a longer one breaks the budget, and one that has shrunk, or is gone, must shrink, or go, in the list too.
func Budgets(packages []*Package, listName string, list []byte) []Problem {
	allowed, lineOf, found := readExceptions(listName, list)
	for _, p := range packages {
		for _, s := range sizes(p) {
			if s.lines <= s.limit {
				continue
			}
			limit, ok := allowed[s.key]
			delete(allowed, s.key)
			switch {
			case !ok:
				found = append(found, Problem{s.file, s.line, fmt.Sprintf("%s: %d lines, over the budget of %d: split it by what it does", s.key, s.lines, s.limit)})
			case s.lines > limit:
				found = append(found, Problem{s.file, s.line, fmt.Sprintf("%s: %d lines: it is over budget already and may only shrink; it had %d", s.key, s.lines, limit)})
			case s.lines < limit:
				found = append(found, Problem{listName, lineOf[s.key], fmt.Sprintf("%s shrank to %d lines: lower its entry from %d", s.key, s.lines, limit)})
			}
		}
		headers := map[string][]Problem{}
		for _, h := range Headers(p) {
			headers[h.File] = append(headers[h.File], h)
		}
		for file, all := range headers {
			key := "header " + file
			limit := allowed[key]
			delete(allowed, key)
			if len(all) > limit {
				found = append(found, all...)
			} else if len(all) < limit {
				found = append(found, Problem{listName, lineOf[key], fmt.Sprintf("%s has %d left: lower its entry from %d", key, len(all), limit)})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		found = append(found, Problem{listName, lineOf[key], fmt.Sprintf("%s is within its budget, or gone: remove its entry", key)})
	}
	return sorted(found)
}

// readExceptions reads lines of the form "file PATH LINES", "func PATH NAME LINES" and "header PATH COUNT".
func readExceptions(name string, list []byte) (allowed, lineOf map[string]int, found []Problem) {
	allowed, lineOf = map[string]int{}, map[string]int{}
	scanner := bufio.NewScanner(bytes.NewReader(list))
	for n := 1; scanner.Scan(); n++ {
		text := strings.TrimSpace(scanner.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		fields := strings.Fields(text)
		last := len(fields) - 1
		lines, err := strconv.Atoi(fields[last])
		if ok := err == nil && ((fields[0] == "file" || fields[0] == "header") && last == 2 || fields[0] == "func" && last == 3); !ok {
			found = append(found, Problem{name, n, fmt.Sprintf("%q: want \"file PATH LINES\", \"func PATH NAME LINES\" or \"header PATH COUNT\"", text)})
			continue
		}
		key := strings.Join(fields[:last], " ")
		if _, twice := allowed[key]; twice {
			found = append(found, Problem{name, n, key + " is listed twice"})
		}
		allowed[key], lineOf[key] = lines, n
	}
	return allowed, lineOf, found
}
