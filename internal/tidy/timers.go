package tidy

import (
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
)

// timers lists the ways to wait for an instant.
var timers = map[string][]string{
	"time":    {"After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick", "Ticker", "Timer"},
	"context": {"WithDeadline", "WithDeadlineCause", "WithTimeout", "WithTimeoutCause"},
}

// Timers reports timers in packages that drive tenures, outside the files that may have some, and such files without any. Of the files
// that themselves drive tenures, [Waits] looks at every function.
func Timers(p *Package) []Problem {
	allowed, drives := tenureTimers[p.Rel]
	if !drives {
		return nil
	}
	return timersOutside(p, allowed)
}

// isTimer says whether an object is a way to wait for an instant.
func isTimer(obj types.Object) bool {
	return obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope() && slices.Contains(timers[obj.Pkg().Path()], obj.Name())
}

func timersOutside(p *Package, allowed map[string]string) []Problem {
	var found []Problem
	unused := maps.Clone(allowed)
	for f := range p.production {
		if drivesTenures(p, f) {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			obj := p.Info.Uses[id]
			if obj == nil || !isTimer(obj) {
				return true
			}
			name := path.Base(f.Path)
			delete(unused, name)
			if _, may := allowed[name]; !may {
				found = append(found, p.at(id.Pos(), "uses %s.%s in a package that drives tenures: give the machine a Tick at its Wake, or list the file in internal/tidy/drivers.go", obj.Pkg().Path(), obj.Name()))
			}
			return true
		})
	}
	for name := range unused {
		found = append(found, Problem{File: path.Join(p.Rel, name), Text: "may use timers and has none: remove it from internal/tidy/drivers.go"})
	}
	return sorted(found)
}
