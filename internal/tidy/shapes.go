package tidy

import (
	"go/ast"
	"strings"
)

// shapes lists the types that there are few of on purpose, by name without regard to case, and the packages that may declare one: a second
// shape of one fact must be converted wherever the two meet.
var shapes = map[string][]string{
	"lease": {".", "internal/runtime", "internal/session"},
	"view":  {".", "view", "internal/protocol/..."},
	"cause": {".", "why", "internal/protocol"},
}

// Shapes reports further types of a name in the table.
func Shapes(p *Package) []Problem {
	var found []Problem
	for f := range p.production {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			name := strings.ToLower(spec.Name.Name)
			if homes, ok := shapes[name]; ok && !matchesAny(homes, p.Rel) {
				found = append(found, p.at(spec.Pos(), "another type called %s: use one of %s, or list the package in internal/tidy/shapes.go", spec.Name.Name, strings.Join(homes, ", ")))
			}
			return true
		})
	}
	return sorted(found)
}
