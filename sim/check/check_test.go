package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The table in the package comment names every checker, and the file that it is in.
func TestTheTableOfInvariantsHasThemAll(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	have, listed := map[string]string{}, map[string]string{}
	row := regexp.MustCompile(`(?m)^\t(\S+(?: \(\w+\))?) +(\w+\.go) +\S`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range row.FindAllStringSubmatch(f.Doc.Text(), -1) {
			listed[m[1]] = m[2]
		}
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Name" {
				have[nameOf(t, f)] = name
			}
		}
	}
	if !maps.Equal(have, listed) {
		t.Errorf("there are %v\nand the table has %v", have, listed)
	}
}

// nameOf returns the string that a method returns.
func nameOf(t *testing.T, f *ast.FuncDecl) string {
	t.Helper()
	result := f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit)
	s, err := strconv.Unquote(result.Value)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
