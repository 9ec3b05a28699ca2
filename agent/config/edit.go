package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/regentproject/regent/internal/owned"
)

// Read reads a file without checking what it says: keys may still be missing.
func Read(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return Parse(path, data)
}

// SetKeys changes the keys of members in a file, and whether they are revoked. All else stays as it is, comments included. The
// entries are those of the council of a file that was read from there.
func SetKeys(path string, entries []Member) error {
	info, err := os.Stat(path)
	if err != nil {
		return unreadable(path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return unreadable(path, err)
	}
	before := data
	for i := range entries {
		if data, err = setKeys(path, data, &entries[i]); err != nil {
			return err
		}
	}
	if slices.Equal(before, data) {
		return nil
	}
	return owned.ReplaceFile(path, data, info.Mode().Perm())
}

// setKeys changes the entry of one member. It works on lines, so that comments stay where they are, and compares the outcome with what was asked for.
func setKeys(path string, data []byte, to *Member) ([]byte, error) {
	old, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	want := old.member(to.Name)
	if want == nil {
		return nil, fmt.Errorf("%s: member %s is not in the council", path, to.Name)
	}
	if slices.Equal(want.PublicKeys, to.PublicKeys) && want.Revoked == to.Revoked {
		return data, nil
	}
	want.PublicKeys, want.Revoked = to.PublicKeys, to.Revoked
	byHand := fmt.Errorf("%s: the entry of %s cannot be changed by a program (write it by hand: %s)", path, to.Name, strings.Join(keyLines(to), ", "))
	entry, err := entryOf(path, data, to.Name)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(data), "\n")
	if entry == nil || !replaceKeys(lines, entry, to, want) {
		return nil, byHand
	}
	out := []byte(strings.Join(lines, ""))
	got, err := Parse(path, out)
	if err != nil || !reflect.DeepEqual(got, old) {
		return nil, errors.Join(byHand, err)
	}
	return out, nil
}

// keyLines are the lines of an entry that are about keys.
func keyLines(m *Member) []string {
	var out []string
	if len(m.PublicKeys) > 0 {
		out = append(out, "public_keys: ["+strings.Join(quoteAll(m.PublicKeys), ", ")+"]")
	}
	if m.Revoked {
		out = append(out, "revoked: true")
	}
	return out
}

// entryOf finds the mapping of a member; nil if there is none that can be changed.
func entryOf(path string, data []byte, name string) (*ast.MappingNode, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntax(path, err)
	}
	if len(file.Docs) == 0 {
		return nil, nil
	}
	top, _ := file.Docs[0].Body.(*ast.MappingNode)
	if top == nil {
		return nil, nil
	}
	list, _ := valueOf(top, "council").(*ast.SequenceNode)
	if list == nil {
		return nil, nil
	}
	for _, v := range list.Values {
		if m, ok := v.(*ast.MappingNode); ok {
			if n := valueOf(m, "name"); n != nil && n.GetToken().Value == name {
				return m, nil
			}
		}
	}
	return nil, nil
}

func valueOf(m *ast.MappingNode, key string) ast.Node {
	for _, v := range m.Values {
		if v.Key.GetToken().Value == key {
			return v.Value
		}
	}
	return nil
}

// replaceKeys changes the lines of an entry, and says whether it could.
func replaceKeys(lines []string, entry *ast.MappingNode, to, all *Member) bool {
	if entry.IsFlowStyle {
		first, last := span(entry)
		line := lines[first-1]
		open, end := strings.Index(line, "{"), strings.LastIndex(line, "}")
		if first != last || open < 0 || end < open {
			return false
		}
		lines[first-1] = line[:open] + flow(all) + line[end+1:]
		return true
	}
	var after int
	indent := strings.Repeat(" ", entry.Values[0].Key.GetToken().Position.Column-1)
	for _, v := range entry.Values {
		first, last := span(v)
		switch v.Key.GetToken().Value {
		case "public_keys", "revoked":
			if strings.Contains(lines[first-1][:min(len(lines[first-1]), v.Key.GetToken().Position.Column)], "- ") {
				return false // it begins the entry
			}
			for i := first - 1; i < last; i++ {
				lines[i] = ""
			}
		case "name":
			after = last
		}
	}
	if after == 0 {
		return false
	}
	if !strings.HasSuffix(lines[after-1], "\n") {
		lines[after-1] += "\n"
	}
	for _, l := range keyLines(to) {
		lines[after-1] += indent + l + "\n"
	}
	return true
}

// span returns the first and the last line of a node.
func span(n ast.Node) (first, last int) {
	s := &spanner{first: n.GetToken().Position.Line, last: n.GetToken().Position.Line}
	ast.Walk(s, n)
	return s.first, s.last
}

type spanner struct{ first, last int }

func (s *spanner) Visit(n ast.Node) ast.Visitor {
	line := n.GetToken().Position.Line
	s.first, s.last = min(s.first, line), max(s.last, line)
	if seq, ok := n.(*ast.SequenceNode); ok && seq.End != nil {
		s.last = max(s.last, seq.End.Position.Line)
	}
	if m, ok := n.(*ast.MappingNode); ok && m.End != nil {
		s.last = max(s.last, m.End.Position.Line)
	}
	return s
}

// flow writes an entry on one line.
func flow(m *Member) string {
	parts := []string{"name: " + quote(m.Name)}
	if m.Address != "" {
		parts = append(parts, "address: "+quote(m.Address))
	}
	if len(m.Addresses) > 0 {
		parts = append(parts, "addresses: ["+strings.Join(quoteAll(m.Addresses), ", ")+"]")
	}
	if m.Priority != 0 {
		parts = append(parts, fmt.Sprintf("priority: %d", m.Priority))
	}
	if m.Weight != 0 {
		parts = append(parts, fmt.Sprintf("weight: %d", m.Weight))
	}
	if m.Votes != 0 {
		parts = append(parts, fmt.Sprintf("votes: %d", m.Votes))
	}
	if m.Witness {
		parts = append(parts, "witness: true")
	}
	if m.Observer {
		parts = append(parts, "observer: true")
	}
	return "{" + strings.Join(append(parts, keyLines(m)...), ", ") + "}"
}
