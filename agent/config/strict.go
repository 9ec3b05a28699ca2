package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/regentproject/regent/internal/names"
)

// strict reports every key of the file that has no meaning where it stands.
func strict(path string, data []byte) error {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return syntax(path, err)
	}
	if len(file.Docs) > 1 {
		return fmt.Errorf("%s: holds %d documents: keep one", path, len(file.Docs))
	}
	w := &walker{path: path}
	for _, doc := range file.Docs {
		// First: an alias stands for as much as its anchor, and a short text with nested ones for more than fits into memory.
		if doc.Body != nil {
			ast.Walk(&references{walker: w}, doc.Body)
		}
		if len(w.found) > 0 {
			return w.found[0]
		}
		if doc.Body != nil {
			w.walk(doc.Body, reflect.TypeFor[File](), "")
		}
	}
	return errors.Join(w.found...)
}

// walker compares a document with the type that it is to become.
type walker struct {
	path  string
	found []error
}

func (w *walker) walk(node ast.Node, t reflect.Type, where string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[time.Duration]() {
		if text := node.GetToken().Value; text != "" {
			if _, err := time.ParseDuration(text); err != nil {
				w.complain(node, "%s %q: must be a length of time with its unit, such as 200ms", where, text)
			}
		}
		return
	}
	switch n := node.(type) {
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice {
			return // decoding says so
		}
		for _, v := range n.Values {
			w.walk(v, t.Elem(), where)
		}
	case *ast.MappingNode:
		for _, v := range n.Values {
			w.key(v, t, where)
		}
	case *ast.MappingValueNode:
		w.key(n, t, where)
	}
}

// maxNesting is far above what any configuration needs. The parser's time grows with the square of the depth.
const maxNesting = 100

// nesting returns how many brackets and braces are open at once, at most. It looks at the text only, so it also counts those in
// quotes and comments.
func nesting(data []byte) int {
	depth, deepest := 0, 0
	for _, b := range data {
		switch b {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return deepest
}

// references finds what stands for something else than its own text.
type references struct{ *walker }

// Visit is called with every node.
func (r *references) Visit(node ast.Node) ast.Visitor {
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		r.complain(node, "anchors, aliases, merges and tags are not read: write the value out")
		return nil
	}
	return r
}

// key looks at one key of a mapping that is to become a t.
func (w *walker) key(v *ast.MappingValueNode, t reflect.Type, where string) {
	if t.Kind() != reflect.Struct {
		return
	}
	name := v.Key.GetToken().Value
	known := keys(t)
	if field, ok := known[name]; ok {
		w.walk(v.Value, field, strings.TrimPrefix(where+"."+name, "."))
		return
	}
	all := make([]string, 0, len(known))
	for k := range known {
		all = append(all, k)
	}
	slices.Sort(all)
	at := ""
	if where != "" {
		at = " in " + where
	}
	if near := names.Nearest(name, all); near != "" {
		w.complain(v.Key, "unknown key %q%s: did you mean %q?", name, at, near)
		return
	}
	w.complain(v.Key, "unknown key %q%s: there are %s", name, at, strings.Join(all, ", "))
}

func (w *walker) complain(n ast.Node, format string, args ...any) {
	w.found = append(w.found, fmt.Errorf("%s:%d: %s", w.path, n.GetToken().Position.Line, fmt.Sprintf(format, args...)))
}

// keys returns the keys of a struct with the types of their values.
func keys(t reflect.Type) map[string]reflect.Type {
	out := make(map[string]reflect.Type)
	for i := range t.NumField() {
		if tag := t.Field(i).Tag.Get("yaml"); tag != "" {
			out[tag] = t.Field(i).Type
		}
	}
	return out
}
