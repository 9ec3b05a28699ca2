package tidy

import (
	"go/ast"
	"go/types"
)

// globals reports which of the expressions that are about to change are variables of a package, or parts of one: two
// machines in one process would share them.
func (p *Package) globals(targets ...ast.Expr) []Problem {
	var found []Problem
	for _, target := range targets {
		root := target
		for unwrapped := false; !unwrapped; {
			switch e := root.(type) {
			case *ast.IndexExpr:
				root = e.X
			case *ast.StarExpr:
				root = e.X
			case *ast.ParenExpr:
				root = e.X
			case *ast.SelectorExpr:
				root = e.X
				if id, ok := e.X.(*ast.Ident); ok {
					if _, ok := p.Info.Uses[id].(*types.PkgName); ok {
						root = e.Sel
					}
				}
			default:
				unwrapped = true
			}
		}
		id, ok := root.(*ast.Ident)
		if !ok {
			continue
		}
		if v, ok := p.Info.Uses[id].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			found = append(found, p.at(target.Pos(), "pure code changes the package's variable %s: state belongs to a machine", v.Name()))
		}
	}
	return found
}

// changed returns what a call may change: what certain builtin functions are about, and what a method with a pointer
// receiver is called on.
func (p *Package) changed(call *ast.CallExpr) []ast.Expr {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		if b, ok := p.Info.Uses[fun].(*types.Builtin); ok && (b.Name() == "clear" || b.Name() == "copy" || b.Name() == "delete") {
			return call.Args[:1]
		}
	case *ast.SelectorExpr:
		method, ok := p.Info.Uses[fun.Sel].(*types.Func)
		if !ok || method.Signature().Recv() == nil {
			break
		}
		if _, pointer := method.Signature().Recv().Type().(*types.Pointer); pointer {
			return []ast.Expr{fun.X}
		}
	}
	return nil
}
