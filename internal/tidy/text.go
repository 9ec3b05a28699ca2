package tidy

import (
	"bytes"
	"go/ast"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// PackageDoc reports a package that does not say what it is in exactly one of its files.
func PackageDoc(p *Package) []Problem {
	var with []*File
	files := 0
	for f := range p.production {
		files++
		if f.AST.Doc != nil {
			with = append(with, f)
		}
	}
	switch {
	case files == 0:
		return nil // tests only
	case len(with) == 0:
		return []Problem{{File: p.Rel, Text: "has no package doc: say in one of its files what it is"}}
	}
	var found []Problem
	for _, f := range with[1:] {
		found = append(found, p.at(f.AST.Doc.Pos(), "has a second package doc; the first is in %s", with[0].Path))
	}
	want := "Package " + p.Name
	doc := with[0].AST.Doc
	begin := doc.Text()
	if p.Name == "main" {
		want = path.Base(p.Rel) // a command may be called by its name alone, with a capital letter
		begin = strings.ToLower(strings.TrimPrefix(begin, "Command "))
	}
	if !strings.HasPrefix(begin, want+" ") {
		found = append(found, p.at(doc.Pos(), "the package doc does not begin with %q", want))
	}
	return found
}

// ExportedNames reports a package with more exported names at top level than limit.
func ExportedNames(p *Package, limit int) []Problem {
	names := slices.DeleteFunc(p.Types.Scope().Names(), func(name string) bool { return !ast.IsExported(name) })
	if len(names) <= limit {
		return nil
	}
	return []Problem{{File: p.Rel, Text: types.ObjectString(p.Types.Scope().Lookup(names[limit]), nil) +
		" and what follows it in the alphabet exceed the budget of exported names: a user must be able to know them all"}}
}

// machinePath finds absolute paths of somebody's own machine. It is put together here so as not to find itself.
var machinePath = regexp.MustCompile(`(^|[^\w.~/-])(/(work|ro` + `ot|ho` + `me/\w+)/[\w.]|/tmp/ba` + `sh_jobs)`)

// likelyPaths are in every line that machinePath finds, and much quicker to look for.
var likelyPaths = [][]byte{[]byte("/wo" + "rk/"), []byte("/ro" + "ot/"), []byte("/ho" + "me/"), []byte("/tmp/ba" + "sh")}

// MachinePaths reports lines of a file that name a place on somebody's machine.
func MachinePaths(name string, content []byte) []Problem {
	likely := slices.ContainsFunc(likelyPaths, func(p []byte) bool { return bytes.Contains(content, p) })
	if !likely || bytes.IndexByte(content, 0) >= 0 {
		return nil // or not text
	}
	var found []Problem
	n := 0
	for line := range bytes.Lines(content) {
		n++
		if hit := machinePath.FindSubmatch(line); hit != nil {
			found = append(found, Problem{name, n, "names a place on somebody's machine: " + string(hit[2])})
		}
	}
	return found
}
