package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
)

// driftFree lists where arithmetic on ρ is not drift arithmetic: the contract defines it, and the simulator and the lab
// make clocks that run at a rate, where all others make up for one.
var driftFree = []string{"internal/protocol", "sim/..."}

// driftMark excuses arithmetic on ρ, with a reason after it.
const driftMark = "drift:"

// Drift reports arithmetic on a protocol.Rho outside of its own four methods: each of those rounds towards safety, and a
// formula written anew will not.
func Drift(p *Package) []Problem {
	if matchesAny(driftFree, p.Rel) {
		return nil
	}
	return drifts(p)
}

func drifts(p *Package) []Problem {
	var found []Problem
	for f := range p.production {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			var operands []ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if isArithmetic(n.Op) {
					operands = []ast.Expr{n.X, n.Y}
				}
			case *ast.AssignStmt:
				if n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
					operands = append(n.Lhs[:1:1], n.Rhs...)
				}
			}
			for _, x := range operands {
				if p.isRho(x) && !p.excused(f, n.Pos(), driftMark) {
					found = append(found, p.at(n.Pos(), "drift arithmetic: use one of the four methods of protocol.Rho, or say above it %q and why", "// "+driftMark))
				}
			}
			return true
		})
	}
	return sorted(found)
}

func isArithmetic(op token.Token) bool {
	switch op {
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM, token.SHL, token.SHR:
		return true
	}
	return false
}

// isRho says whether x is a Rho, or one converted to another type.
func (p *Package) isRho(x ast.Expr) bool {
	if named, ok := types.Unalias(p.Info.TypeOf(x)).(*types.Named); ok {
		obj := named.Obj()
		if obj.Name() == "Rho" && obj.Pkg() != nil && obj.Pkg().Path() == p.Tree+"/internal/protocol" {
			return true
		}
	}
	switch e := x.(type) {
	case *ast.ParenExpr:
		return p.isRho(e.X)
	case *ast.UnaryExpr:
		return p.isRho(e.X)
	case *ast.CallExpr:
		return len(e.Args) == 1 && p.Info.Types[e.Fun].IsType() && p.isRho(e.Args[0])
	}
	return false
}
