package tidy

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Headers reports if statements that change something in their header which the condition is not about, such as
//
//	if l.void = true; l.blame(why) {
//
// or that change more than a variable of the function, such as
//
//	if l.end, err = l.ask(); err != nil {
//
// A reader takes a header for a question, and misses that it does something.
func Headers(p *Package) []Problem {
	var found []Problem
	for _, f := range p.Files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			header, ok := n.(*ast.IfStmt)
			if !ok {
				return true
			}
			targets := assigned(header.Init)
			lasting := slices.DeleteFunc(slices.Clone(targets), func(name string) bool { return !strings.ContainsAny(name, ".[*") })
			if _, counts := header.Init.(*ast.IncDecStmt); len(lasting) > 0 && !counts {
				found = append(found, p.at(header.Pos(), "the header of an if changes %s: put the change above it", strings.Join(lasting, ", ")))
			} else if len(targets) > 0 && !mentions(header.Cond, targets) {
				found = append(found, p.at(header.Pos(), "the header of an if changes %s, and its condition is about something else: put the change above it", strings.Join(targets, ", ")))
			}
			return true
		})
	}
	return sorted(found)
}

// assigned returns what a statement changes, without variables that it declares.
func assigned(s ast.Stmt) []string {
	var targets []string
	switch s := s.(type) {
	case *ast.IncDecStmt:
		targets = []string{types.ExprString(s.X)}
	case *ast.AssignStmt:
		for _, x := range s.Lhs {
			if name := types.ExprString(x); s.Tok != token.DEFINE && name != "_" {
				targets = append(targets, name)
			}
		}
	}
	return targets
}

// mentions says whether one of the expressions, as they are written, is part of another one.
func mentions(in ast.Expr, targets []string) bool {
	found := false
	ast.Inspect(in, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && slices.Contains(targets, types.ExprString(x)) {
			found = true
		}
		return !found
	})
	return found
}
