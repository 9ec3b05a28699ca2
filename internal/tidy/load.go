package tidy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Package is one package of the tree with everything that the rules look at.
type Package struct {
	Path    string // as it is imported
	Rel     string // directory, relative to the root of the tree, with forward slashes; "." is the root
	Name    string
	Module  string // directory of its module, relative to the root of the tree
	Tree    string // path of the module at the root of the tree, with which all paths of the tree begin
	Imports []string
	// Unseen lists source files that the compiler was not shown: other systems', cgo's and assembly.
	Unseen []string
	Files  []*File
	Fset   *token.FileSet
	Types  *types.Package
	Info   *types.Info // of the files that are not tests
}

// A File is one Go file of a package.
type File struct {
	Path string // relative to the root of the tree
	Test bool
	Src  []byte
	AST  *ast.File
}

// listed is what `go list` says about a package.
type listed struct {
	ImportPath, Dir, Name, Export      string
	DepOnly                            bool
	Module                             *struct{ Path, Dir string }
	Error                              *struct{ Err string }
	Imports                            []string
	GoFiles, TestGoFiles, XTestGoFiles []string
	CgoFiles, CFiles, HFiles           []string
	SFiles, SysoFiles                  []string
	IgnoredGoFiles, IgnoredOtherFiles  []string
}

// Load returns the packages that the patterns name, as seen from dir. A package that does not build is an error: nothing
// can be said about it.
func Load(dir string, patterns ...string) ([]*Package, error) {
	all, err := list(dir, patterns)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, l := range all {
		exports[l.ImportPath] = l.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	root, err := treeRoot(dir)
	if err != nil {
		return nil, err
	}
	var packages []*Package
	var broken []error
	for _, l := range all {
		if l.DepOnly {
			continue
		}
		p, err := check(l, root, fset, imports)
		if err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", l.ImportPath, err))
			continue
		}
		packages = append(packages, p)
	}
	return packages, errors.Join(broken...)
}

// treeRoot returns the directory of the workspace in which dir is.
func treeRoot(dir string) (string, error) {
	cmd := exec.Command("go", "env", "GOWORK")
	cmd.Dir = dir
	out, err := cmd.Output()
	if work := strings.TrimSpace(string(out)); err == nil && work != "" && work != "off" {
		return filepath.Dir(work), nil
	}
	return "", fmt.Errorf("go env GOWORK: %q, %v: the rules are about all modules of a workspace", out, err)
}

func list(dir string, patterns []string) ([]listed, error) {
	args := append([]string{"list", "-e", "-export", "-deps", "-buildvcs=false", "-json", "--"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %v: %w\n%s", patterns, err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var l listed
		if err := d.Decode(&l); err != nil {
			return nil, fmt.Errorf("go list %v: %w", patterns, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// check parses all files of a package and type-checks those that are not tests.
func check(l listed, root string, fset *token.FileSet, imports types.Importer) (*Package, error) {
	if l.Error != nil {
		return nil, errors.New(strings.TrimSpace(l.Error.Err))
	}
	rel, err := filepath.Rel(root, l.Dir)
	if err != nil {
		return nil, err
	}
	module, err := filepath.Rel(root, l.Module.Dir)
	if err != nil {
		return nil, err
	}
	p := &Package{Path: l.ImportPath, Rel: filepath.ToSlash(rel), Name: l.Name, Module: filepath.ToSlash(module), Imports: l.Imports, Fset: fset}
	p.Tree = l.Module.Path
	if p.Module != "." {
		tree, fits := strings.CutSuffix(l.Module.Path, "/"+p.Module)
		if !fits {
			return nil, fmt.Errorf("the path of the module %s does not end with its directory %s", l.Module.Path, p.Module)
		}
		p.Tree = tree
	}
	for _, unseen := range [][]string{l.CgoFiles, l.SFiles, l.CFiles, l.HFiles, l.SysoFiles, l.IgnoredGoFiles, l.IgnoredOtherFiles} {
		for _, name := range unseen {
			if !strings.HasSuffix(name, "_test.go") {
				p.Unseen = append(p.Unseen, name)
			}
		}
	}
	var production []*ast.File
	parse := func(names []string, test bool) error {
		for _, name := range names {
			src, err := os.ReadFile(filepath.Join(l.Dir, name))
			if err != nil {
				return err
			}
			path := filepath.ToSlash(filepath.Join(rel, name))
			f, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			p.Files = append(p.Files, &File{Path: path, Test: test, Src: src, AST: f})
			if !test {
				production = append(production, f)
			}
		}
		return nil
	}
	if err := errors.Join(parse(l.GoFiles, false), parse(l.TestGoFiles, true), parse(l.XTestGoFiles, true)); err != nil {
		return nil, err
	}
	p.Info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: imports}
	p.Types, err = config.Check(l.ImportPath, fset, production, p.Info)
	return p, err
}

// at makes a problem of a place in the source.
func (p *Package) at(pos token.Pos, format string, args ...any) Problem {
	where := p.Fset.Position(pos)
	return Problem{File: where.Filename, Line: where.Line, Text: fmt.Sprintf(format, args...)}
}

// production yields the files that are not tests.
func (p *Package) production(yield func(*File) bool) {
	for _, f := range p.Files {
		if !f.Test && !yield(f) {
			return
		}
	}
}

// excused says whether a comment on the line of pos, or one that ends on the line above, gives a reason after mark.
func (p *Package) excused(f *File, pos token.Pos, mark string) bool {
	line := p.Fset.Position(pos).Line
	for _, group := range f.AST.Comments {
		last := p.Fset.Position(group.End()).Line
		if last != line && last != line-1 {
			continue
		}
		if _, reason, found := strings.Cut(group.Text(), mark); found && strings.TrimSpace(reason) != "" {
			return true
		}
	}
	return false
}
