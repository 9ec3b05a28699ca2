package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
)

// A file drives tenures if it imports internal/tenure or internal/runtime/party. In such a file every function that waits, or that looks at
// a clock, is listed in tenureWaits with what for: a receive, a range over a channel, a look at whether a context has ended, a timer, a
// reading of the time. What a driver learns that way becomes an event, is passed on, or has nothing to do with the life of a
// tenure. A driver that acts on it itself decides what the machine decides.

// driving lists the packages that only drivers import, below the root of the tree.
var driving = []string{"internal/tenure", "internal/runtime/party"}

// undriven lists packages that import them and drive nothing for anybody: their own, the simulator, which has no channels to wait for,
// and the search for processes, which knows identities and verdicts only.
var undriven = []string{"internal/tenure", "sim/...", "agent/run/tree"}

// Waits reports functions that wait in files that drive tenures and are not listed, and those that are listed and do not wait.
func Waits(p *Package) []Problem {
	if matchesAny(undriven, p.Rel) {
		return nil
	}
	if _, listed := tenureTimers[p.Rel]; !listed {
		for f := range p.production {
			if drivesTenures(p, f) {
				return []Problem{{File: f.Path, Text: "drives tenures: list its package in internal/tidy/drivers.go"}}
			}
		}
		return nil
	}
	return waitsOutside(p, tenureWaits[p.Rel])
}

// waitsOutside finds waits in the functions that are not allowed to.
func waitsOutside(p *Package, allowed map[string]string) []Problem {
	var found []Problem
	unused := maps.Clone(allowed)
	for f := range p.production {
		if !drivesTenures(p, f) {
			continue
		}
		for _, decl := range f.AST.Decls {
			name := declName(decl)
			ast.Inspect(decl, func(n ast.Node) bool {
				what := p.waits(n)
				if what == "" {
					return true
				}
				delete(unused, name)
				if strings.TrimSpace(allowed[name]) == "" {
					found = append(found, p.at(n.Pos(), "%s %s in a file that drives tenures: give the machine an event, or list the function with a reason in internal/tidy/drivers.go", name, what))
				}
				return true
			})
		}
	}
	for name := range unused {
		found = append(found, Problem{File: p.Rel, Text: name + " may wait and does not, or is in no file that drives tenures: remove it from internal/tidy/drivers.go"})
	}
	return sorted(found)
}

// drivesTenures says whether a file imports what only drivers import, or is of such a package.
func drivesTenures(p *Package, f *File) bool {
	return slices.Contains(driving, p.Rel) || slices.ContainsFunc(f.AST.Imports, func(i *ast.ImportSpec) bool {
		return slices.Contains(driving, strings.TrimPrefix(strings.Trim(i.Path.Value, `"`), p.Tree+"/"))
	})
}

// declName names the function of a declaration, or else its kind.
func declName(decl ast.Decl) string {
	if fn, ok := decl.(*ast.FuncDecl); ok {
		return funcName(fn)
	}
	return decl.(*ast.GenDecl).Tok.String()
}

// waits says how a node waits; empty if it does not.
func (p *Package) waits(n ast.Node) string {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "receives"
		}
	case *ast.RangeStmt:
		if t := p.Info.TypeOf(n.X); t != nil {
			if _, ok := t.Underlying().(*types.Chan); ok {
				return "ranges over a channel"
			}
		}
	case *ast.Ident:
		return p.waitsBy(n)
	}
	return ""
}

// readings lists the functions of package time that look at a clock. Those of the tree are called now.
var readings = []string{"Now", "Since", "Until"}

// waitsBy says of a name that it is a timer, a clock, or the end of a context.
func (p *Package) waitsBy(id *ast.Ident) string {
	obj := p.Info.Uses[id]
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	from := obj.Pkg().Path()
	_, isFunc := obj.(*types.Func)
	switch {
	case isTimer(obj):
		return "uses " + path.Base(from) + "." + obj.Name()
	case isFunc && from == "context" && obj.Name() == "Err":
		return "looks whether a context has ended"
	case isFunc && (from == "time" && slices.Contains(readings, obj.Name()) || strings.HasPrefix(from, p.Tree) && strings.EqualFold(obj.Name(), "now")):
		return "reads a clock"
	}
	return ""
}
