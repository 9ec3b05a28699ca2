package tidy

import (
	"go/ast"
	"slices"
	"strings"
)

// wallMark excuses a test that waits on the wall clock, with a reason after it.
const wallMark = "wall clock:"

// Tests reports tests that sleep on the wall clock and tests that can be skipped. The first are slow and still fail on a
// busy machine; the second look green while they prove nothing.
func Tests(p *Package) []Problem {
	var found []Problem
	for _, f := range p.Files {
		if !f.Test {
			continue
		}
		times, bubbles := importedAs(f, "time"), importedAs(f, "testing/synctest")
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return !strings.HasPrefix(n.Name.Name, "Benchmark") // it measures, and proves nothing
			case *ast.CallExpr:
				if isSelector(n.Fun, bubbles, "Test") {
					return false // inside, time is virtual
				}
			case *ast.Ident:
				if n.Name == "Sleep" && slices.Contains(times, ".") && !p.excused(f, n.Pos(), wallMark) {
					found = append(found, p.at(n.Pos(), "a test sleeps on the wall clock: use virtual time or testing/synctest, or say above it %q and why", "// "+wallMark))
				}
			case *ast.SelectorExpr:
				if isSelector(n, times, "Sleep") && !p.excused(f, n.Pos(), wallMark) {
					found = append(found, p.at(n.Pos(), "a test sleeps on the wall clock: use virtual time or testing/synctest, or say above it %q and why", "// "+wallMark))
				}
				if name := n.Sel.Name; name == "Skip" || name == "Skipf" || name == "SkipNow" {
					found = append(found, p.at(n.Pos(), "a test that can be skipped proves nothing: make what it needs, or leave it out"))
				}
			}
			return true
		})
	}
	return sorted(found)
}

// importedAs returns the names under which a file imports a package.
func importedAs(f *File, path string) []string {
	var names []string
	for _, spec := range f.AST.Imports {
		if strings.Trim(spec.Path.Value, "`\"") != path {
			continue
		}
		if spec.Name != nil {
			names = append(names, spec.Name.Name)
		} else {
			names = append(names, path[strings.LastIndex(path, "/")+1:])
		}
	}
	return names
}

// isSelector says whether x is pkg.name for one of the names of a package.
func isSelector(x ast.Expr, pkgs []string, name string) bool {
	sel, ok := x.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains(pkgs, id.Name)
}
