package tidy

import (
	"go/ast"
	"maps"
	"path"
	"slices"
)

// tenureDrivers lists the packages that drive machines of internal/tenure, and their files that may use timers, with what for. One is the
// alarm, which wakes the machines; the others have nothing to do with the life of a tenure. Machines compare deadlines with the
// clock: a driver that waits for a deadline itself decides what the machine decides.
var tenureDrivers = map[string]map[string]string{
	"internal/runtime": {
		"wait.go": "the alarm of the loop",
		"disk.go": "tries a failed write again",
	},
	".": {
		"clock.go":   "looks at the clock every second",
		"dial.go":    "connects to the agent again, and bounds questions to it",
		"health.go":  "calls the health check",
		"member.go":  "waits for the start, and logs what it waits for",
		"resolve.go": "resolves names again",
	},
}

// timers lists the ways to wait for an instant.
var timers = map[string][]string{
	"time":    {"After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick", "Ticker", "Timer"},
	"context": {"WithDeadline", "WithDeadlineCause", "WithTimeout", "WithTimeoutCause"},
}

// Timers reports timers in packages that drive tenures, outside the files that may have some, and such files without any.
func Timers(p *Package) []Problem {
	allowed, drives := tenureDrivers[p.Rel]
	if !drives {
		return nil
	}
	return timersOutside(p, allowed)
}

func timersOutside(p *Package, allowed map[string]string) []Problem {
	var found []Problem
	unused := maps.Clone(allowed)
	for f := range p.production {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			obj := p.Info.Uses[id]
			if obj == nil || obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() || !slices.Contains(timers[obj.Pkg().Path()], obj.Name()) {
				return true
			}
			name := path.Base(f.Path)
			delete(unused, name)
			if _, may := allowed[name]; !may {
				found = append(found, p.at(id.Pos(), "uses %s.%s in a package that drives tenures: give the machine a Tick at its Wake, or list the file in internal/tidy/timers.go", obj.Pkg().Path(), obj.Name()))
			}
			return true
		})
	}
	for name := range unused {
		found = append(found, Problem{File: path.Join(p.Rel, name), Text: "may use timers and has none: remove it from internal/tidy/timers.go"})
	}
	return sorted(found)
}
