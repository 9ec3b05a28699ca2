package tidy

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// pureTree lists what runs unchanged under the runtime and under the simulator: the same events must give the same
// effects, so nothing in it may reach for the world.
var pureTree = []string{"internal/protocol/...", "internal/datagram/...", "internal/obituary", "internal/stamp/...", "internal/tenure/...", "internal/page", "internal/guardian", "agent/plan", "checkpoint/core", "kube/regentlock/internal/rule", "facades/etcd/internal/belief"}

// pureImports lists the packages of the standard library that pure code may import. A nil list allows all names. What is
// not listed is refused, so that a new way to reach the world needs a decision here.
var pureImports = map[string][]string{
	"bytes": nil, "cmp": nil, "container/heap": nil, "container/list": nil, "container/ring": nil,
	"crypto/sha256": nil, "encoding": nil, "encoding/base64": nil, "encoding/binary": nil, "encoding/hex": nil,
	"encoding/json": nil, "errors": nil, "hash": nil, "hash/crc32": nil, "hash/fnv": nil,
	"math": nil, "math/big": nil, "math/bits": nil, "math/cmplx": nil,
	"slices": nil, "sort": nil, "strconv": nil, "strings": nil, "unicode": nil, "unicode/utf8": nil,
	// What is left out prints to, or reads from, the process's own streams.
	"fmt": {"Append", "Appendf", "Appendln", "Errorf", "Formatter", "Fprint", "Fprintf", "Fprintln", "Fscan", "Fscanf",
		"Fscanln", "GoStringer", "ScanState", "Scanner", "Sprint", "Sprintf", "Sprintln", "Sscan", "Sscanf", "Sscanln",
		"State", "Stringer"},
	// Interfaces to what others hold; ReadAll and Copy work on those. Pipe is for goroutines.
	"io": {"ByteReader", "ByteWriter", "Copy", "EOF", "ErrShortBuffer", "ErrUnexpectedEOF", "ReadAll", "ReadFull", "Reader",
		"StringWriter", "WriteString", "Writer"},
	"iter": {"Seq", "Seq2"}, // Pull starts a coroutine
	// Keys, Values and All are in mapOrder.
	"maps": {"Clone", "Collect", "Copy", "DeleteFunc", "Equal", "EqualFunc", "Insert", "Keys", "Values", "All"},
	// Generators that a value owns and an argument seeds; the functions of the package share one that nobody seeds.
	"math/rand/v2": {"ChaCha8", "New", "NewChaCha8", "NewPCG", "NewZipf", "PCG", "Rand", "Source", "Zipf"},
	// Lengths of time. Instants are protocol.Time, and come as an argument.
	"time": {"Duration", "Hour", "Microsecond", "Millisecond", "Minute", "Nanosecond", "ParseDuration", "Second"},
}

// pureExceptions lists what one package needs beyond that.
var pureExceptions = map[string][]string{
	// A lease is published to the program that leads by one atomic pointer, which its readers load on both sides of a
	// reading of the clock. The pointer is the only thing that a machine's driver and a program share.
	"internal/stamp": {"sync/atomic"},
	// A report is sealed with a key that comes as an argument, under a nonce that is derived from all that it says: no randomness is drawn.
	"internal/obituary": {"crypto/cipher", "crypto/hmac", "golang.org/x/crypto/chacha20poly1305"},
	// A plan is constants of the library, of which it uses the type and its arithmetic.
	"agent/plan": {"github.com/regentproject/regent"},
}

// orderMark excuses a walk over a map, with a reason after it.
const orderMark = "order does not matter:"

// Purity reports what pure code must not do.
func Purity(p *Package) []Problem {
	if !matchesAny(pureTree, p.Rel) {
		return nil
	}
	return impurities(p)
}

func impurities(p *Package) []Problem {
	var found []Problem
	for _, name := range p.Unseen {
		found = append(found, Problem{File: p.Rel + "/" + name, Text: "pure code is Go that every system compiles: no build constraint, no cgo, no assembly"})
	}
	for f := range p.production {
		found = append(found, impureImports(p, f)...)
		found = append(found, impureDirectives(p, f)...)
		sortedArgs := map[ast.Expr]bool{} // calls whose order is lost again at once
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && p.isSorting(call) {
				sortedArgs[call.Args[0]] = true
			}
			found = append(found, p.impureNode(f, n, sortedArgs)...)
			return true
		})
	}
	return sorted(found)
}

func impureImports(p *Package, f *File) []Problem {
	var found []Problem
	for _, spec := range f.AST.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the type checker has refused it
		}
		_, listed := pureImports[path]
		rel, ours := relative(p.Tree, path)
		if ours && matchesAny(pureTree, rel) {
			continue
		}
		if !listed && !slices.Contains(pureExceptions[p.Rel], path) {
			found = append(found, p.at(spec.Pos(), "pure code imports %s: it is not among the packages that can touch neither clock, randomness, nor the outside", path))
		}
	}
	return found
}

func impureDirectives(p *Package, f *File) []Problem {
	var found []Problem
	for _, group := range f.AST.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname") || strings.HasPrefix(c.Text, "//go:build") {
				found = append(found, p.at(c.Pos(), "pure code carries %s", strings.Fields(c.Text)[0]))
			}
		}
	}
	return found
}

// impureNode reports what is wrong with one node of the syntax tree.
func (p *Package) impureNode(f *File, n ast.Node, sortedArgs map[ast.Expr]bool) []Problem {
	one := func(format string, args ...any) []Problem { return []Problem{p.at(n.Pos(), format, args...)} }
	switch n := n.(type) {
	case *ast.GoStmt:
		return one("pure code starts a goroutine")
	case *ast.SelectStmt:
		return one("pure code selects between channels")
	case *ast.SendStmt:
		return one("pure code sends on a channel")
	case *ast.ChanType:
		return one("pure code has a channel")
	case *ast.UnaryExpr:
		switch n.Op {
		case token.ARROW:
			return one("pure code receives from a channel")
		case token.AND:
			return p.globals(n.X)
		}
	case *ast.RangeStmt:
		if over[*types.Chan](p.Info.TypeOf(n.X)) {
			return one("pure code receives from a channel")
		}
		if over[*types.Map](p.Info.TypeOf(n.X)) && !p.excused(f, n.Pos(), orderMark) {
			return one("a range over a map has no order: sort it, or say above it %q and why", "// "+orderMark)
		}
	case *ast.CallExpr:
		if name := p.qualified(n.Fun); slices.Contains([]string{"maps.Keys", "maps.Values", "maps.All"}, name) &&
			!sortedArgs[n] && !p.excused(f, n.Pos(), orderMark) {
			return one("%s has no order: sort it at once, or say above it %q and why", name, "// "+orderMark)
		}
		return p.globals(p.changed(n)...)
	case *ast.Ident:
		return p.impureName(n)
	case *ast.AssignStmt:
		return p.globals(n.Lhs...)
	case *ast.IncDecStmt:
		return p.globals(n.X)
	}
	return nil
}

// impureName looks at what a name stands for, however it was imported.
func (p *Package) impureName(id *ast.Ident) []Problem {
	switch obj := p.Info.Uses[id].(type) {
	case nil:
	case *types.Builtin:
		if obj.Name() == "print" || obj.Name() == "println" || obj.Name() == "close" {
			return []Problem{p.at(id.Pos(), "pure code calls %s", obj.Name())}
		}
	default:
		if obj.Pkg() == nil || obj.Parent() != obj.Pkg().Scope() {
			break
		}
		if allowed := pureImports[obj.Pkg().Path()]; allowed != nil && !slices.Contains(allowed, obj.Name()) {
			return []Problem{p.at(id.Pos(), "pure code uses %s.%s", obj.Pkg().Path(), obj.Name())}
		}
	}
	return nil
}

// over says whether values of type t are, or may be, of the kind T.
func over[T types.Type](t types.Type) bool {
	if t == nil {
		return false
	}
	if param, ok := t.(*types.TypeParam); ok {
		constraint := param.Underlying().(*types.Interface)
		for i := range constraint.NumEmbeddeds() {
			if union, ok := constraint.EmbeddedType(i).(*types.Union); ok {
				for j := range union.Len() {
					if over[T](union.Term(j).Type()) {
						return true
					}
				}
			} else if over[T](constraint.EmbeddedType(i)) {
				return true
			}
		}
		return false
	}
	_, ok := t.Underlying().(T)
	return ok
}

// isSorting says whether a call collects its first argument into a sorted slice.
func (p *Package) isSorting(call *ast.CallExpr) bool {
	name := p.qualified(call.Fun)
	return len(call.Args) > 0 && (name == "slices.Sorted" || name == "slices.SortedFunc" || name == "slices.SortedStableFunc")
}

// qualified returns path.Name of the package-level function that an expression names, or nothing.
func (p *Package) qualified(fun ast.Expr) string {
	switch e := fun.(type) {
	case *ast.IndexExpr:
		return p.qualified(e.X)
	case *ast.IndexListExpr:
		return p.qualified(e.X)
	case *ast.ParenExpr:
		return p.qualified(e.X)
	case *ast.SelectorExpr:
		return p.qualified(e.Sel)
	case *ast.Ident:
		if f, ok := p.Info.Uses[e].(*types.Func); ok && f.Pkg() != nil && f.Parent() == f.Pkg().Scope() {
			return fmt.Sprintf("%s.%s", f.Pkg().Path(), f.Name())
		}
	}
	return ""
}
