package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/regentproject/regent/internal/owned"
)

// Agreed is what the members of a council have agreed on, as far as files say it.
type Agreed struct {
	Members      []Member
	LongestLease time.Duration
	Drift        float64
}

// Synced returns the content of a file, and what it is if the file says what the members have agreed on. The list of a council, or that of
// the members that a host joins, loses members that are gone and has all others; the longest lease and the drift change where they differ.
// All else stays as it is, comments included. A file that cannot be changed so is refused, with what to write by hand.
func Synced(path string, to *Agreed) (before, after []byte, err error) {
	before, err = os.ReadFile(path)
	if err != nil {
		return nil, nil, unreadable(path, err)
	}
	after, err = sync(path, before, to)
	return before, after, err
}

// Replace puts content in the place of a file, as a whole. The file keeps its owner and mode.
func Replace(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return unreadable(path, err)
	}
	return owned.ReplaceFile(path, data, info.Mode().Perm())
}

// sync changes the content of a file. It compares the outcome with what was asked for.
func sync(path string, data []byte, to *Agreed) ([]byte, error) {
	old, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	t, err := old.timing()
	if err != nil {
		return nil, err
	}
	s := &syncing{want: *old, joins: len(old.Council) == 0}
	list, key := old.Council, "council"
	if s.joins {
		list, key = old.contacts(), "join"
	}
	members := s.merge(list, to.Members, old.Name)
	s.parse(data)
	s.list(key, list, members)
	if s.joins {
		s.want.Join = nil
		for i := range members {
			m := &members[i]
			s.want.Join = append(s.want.Join, Contact{m.Name, m.Address, m.Addresses, m.PublicKeys})
		}
	} else {
		s.want.Council = members
	}
	named := func(x bool) bool { return x || !s.joins }
	if t.LongestLease != to.LongestLease && named(old.Timing.LongestLease != 0) {
		s.timing("longest_lease", to.LongestLease.String())
		s.want.Timing.LongestLease = to.LongestLease
	}
	if t.Drift != to.Drift && named(old.Timing.Drift != 0) {
		s.timing("drift", strconv.FormatFloat(to.Drift, 'g', -1, 64))
		s.want.Timing.Drift = to.Drift
	}
	if s.err != nil {
		return nil, fmt.Errorf("%s: cannot be rewritten by a program: %w", path, s.err)
	}
	out := []byte(strings.Join(s.lines, ""))
	if bytes.Equal(out, data) {
		return data, nil
	}
	got, err := Parse(path, out)
	if err != nil || !reflect.DeepEqual(sorted(got), sorted(&s.want)) {
		return nil, errors.Join(fmt.Errorf("%s: cannot be rewritten by a program (write %s by hand: %s)", path, key, strings.Join(flows(members), ", ")), err)
	}
	if err := got.Check(); err != nil && old.Check() == nil {
		return nil, fmt.Errorf("%s: does not fit what the members have agreed on (change this first): %w", path, err)
	}
	return out, nil
}

// A syncing is a file while it is rewritten. It works on lines, so that comments stay where they are.
type syncing struct {
	want  File
	joins bool
	top   *ast.MappingNode
	lines []string
	err   error
}

// merge returns the list that the file is to have: what the members have agreed on, and what only the file says. A host does not join itself.
func (s *syncing) merge(list, agreed []Member, self string) (out []Member) {
	for i := range agreed {
		m := agreed[i]
		if s.joins {
			m = Member{Name: m.Name, Address: m.Address, Addresses: m.Addresses, PublicKeys: m.PublicKeys}
		}
		if s.joins && m.Name == self {
			continue
		}
		if at := slices.IndexFunc(list, func(x Member) bool { return x.Name == m.Name }); at >= 0 {
			x := &list[at]
			m.Votes, m.Revoked = x.Votes, x.Revoked
			if max(1, m.Weight) == max(1, x.Weight) {
				m.Weight = x.Weight
			}
			if slices.Equal(x.addresses(), m.addresses()) {
				m.Address, m.Addresses = x.Address, x.Addresses
			}
			if len(m.PublicKeys) == 0 {
				m.PublicKeys = x.PublicKeys
			}
		}
		out = append(out, m)
	}
	return out
}

func (s *syncing) parse(data []byte) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		s.err = err
		return
	}
	if len(file.Docs) == 1 {
		s.top, _ = file.Docs[0].Body.(*ast.MappingNode)
	}
	if s.top == nil || s.top.IsFlowStyle {
		s.err = errors.New("write one key in a line")
	}
	s.lines = strings.SplitAfter(string(data), "\n")
}

// list changes the entries of a list.
func (s *syncing) list(key string, from, to []Member) {
	if s.err != nil || reflect.DeepEqual(from, to) {
		return
	}
	seq, _ := valueOf(s.top, key).(*ast.SequenceNode)
	if seq == nil || seq.IsFlowStyle || len(seq.Values) != len(from) {
		s.err = fmt.Errorf("write each member of %s in a line of its own, behind a hyphen", key)
		return
	}
	_, end := span(seq)
	indent, inline := "", false
	for i, v := range seq.Values {
		first, last := span(v)
		line := s.lines[first-1]
		entry, _ := v.(*ast.MappingNode)
		hyphen := len(line) - len(strings.TrimLeft(line, " "))
		if entry == nil || !strings.HasPrefix(line[hyphen:], "- ") {
			s.err = fmt.Errorf("write the entry of %s behind its hyphen", from[i].Name)
			return
		}
		indent, inline = line[:hyphen], entry.IsFlowStyle
		at := slices.IndexFunc(to, func(m Member) bool { return m.Name == from[i].Name })
		switch {
		case at < 0:
			for j := first - 1; j < last; j++ {
				s.lines[j] = ""
			}
		case !reflect.DeepEqual(from[i], to[at]) && !s.change(entry, &from[i], &to[at]):
			s.err = fmt.Errorf("write the entry of %s as %s", from[i].Name, flow(&to[at]))
			return
		}
	}
	if !strings.HasSuffix(s.lines[end-1], "\n") && s.lines[end-1] != "" {
		s.lines[end-1] += "\n"
	}
	for i := range to {
		if !slices.ContainsFunc(from, func(m Member) bool { return m.Name == to[i].Name }) {
			s.lines[end-1] += added(indent, inline, &to[i])
		}
	}
}

// added writes a new entry.
func added(indent string, inline bool, m *Member) string {
	if inline {
		return indent + "- " + flow(m) + "\n"
	}
	out := ""
	for i, l := range entryLines(m) {
		lead := "  "
		if i == 0 {
			lead = "- "
		}
		out += indent + lead + l + "\n"
	}
	return out
}

// entryLines writes an entry with each key on a line of its own.
func entryLines(m *Member) []string {
	out := []string{"name: " + quote(m.Name)}
	for _, key := range changeable {
		if text := valueText(m, key); text != "" {
			out = append(out, key+": "+text)
		}
	}
	return out
}

// changeable are the keys of an entry that members agree on.
var changeable = []string{"address", "addresses", "priority", "weight", "witness", "observer", "public_keys"}

// valueText writes the value of a key of an entry; empty if the entry does not have the key.
func valueText(m *Member, key string) string {
	list := func(all []string) string {
		if len(all) == 0 {
			return ""
		}
		return "[" + strings.Join(quoteAll(all), ", ") + "]"
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	flag := map[bool]string{true: "true"}
	switch key {
	case "address":
		if m.Address == "" {
			return ""
		}
		return quote(m.Address)
	case "addresses":
		return list(m.Addresses)
	case "priority":
		return number(m.Priority)
	case "weight":
		return number(m.Weight)
	case "witness":
		return flag[m.Witness]
	case "observer":
		return flag[m.Observer]
	}
	return list(m.PublicKeys)
}

// change changes an entry, and says whether it could.
func (s *syncing) change(entry *ast.MappingNode, from, to *Member) bool {
	first, last := span(entry)
	if entry.IsFlowStyle {
		line := s.lines[first-1]
		open, end := strings.Index(line, "{"), strings.LastIndex(line, "}")
		if first != last || open < 0 || end < open {
			return false
		}
		s.lines[first-1] = line[:open] + flow(to) + line[end+1:]
		return true
	}
	indent := strings.Repeat(" ", entry.Values[0].Key.GetToken().Position.Column-1)
	var more []string
	for _, key := range changeable {
		text := valueText(to, key)
		if text == valueText(from, key) {
			continue
		}
		line := key + ": " + text + "\n"
		at := slices.IndexFunc(entry.Values, func(v *ast.MappingValueNode) bool { return v.Key.GetToken().Value == key })
		if at < 0 {
			more = append(more, indent+line)
			continue
		}
		begin, end := span(entry.Values[at])
		lead := s.lines[begin-1][:entry.Values[at].Key.GetToken().Position.Column-1]
		if text == "" && strings.Contains(lead, "-") {
			return false // it begins the entry
		}
		remark := remarkOf(strings.TrimSuffix(s.lines[end-1], "\n"))
		for i := begin; i < end; i++ {
			s.lines[i] = ""
		}
		s.lines[begin-1] = ""
		if text != "" {
			s.lines[begin-1] = lead + strings.TrimSuffix(line, "\n") + remark + "\n"
		}
	}
	if !strings.HasSuffix(s.lines[last-1], "\n") && s.lines[last-1] != "" {
		s.lines[last-1] += "\n"
	}
	s.lines[last-1] += strings.Join(more, "")
	return true
}

// remarkOf returns the comment at the end of a line.
func remarkOf(line string) string {
	if at := strings.LastIndex(line, " #"); at >= 0 {
		return line[at:]
	}
	return ""
}

// timing sets one key of the timing.
func (s *syncing) timing(key, text string) {
	if s.err != nil {
		return
	}
	s.parse([]byte(strings.Join(s.lines, ""))) // the lines may have moved
	if s.err != nil {
		return
	}
	value := valueOf(s.top, "timing")
	if value == nil {
		last := len(s.lines) - 1
		if s.lines[last] != "" { // without a line feed
			s.lines[last] += "\n"
		}
		s.lines[last] += "timing:\n  " + key + ": " + text + "\n"
		return
	}
	byHand := fmt.Errorf("write timing.%s: %s", key, text)
	m, _ := value.(*ast.MappingNode)
	if m == nil || len(m.Values) == 0 {
		s.err = byHand
		return
	}
	if n := valueOf(m, key); n != nil {
		token := n.GetToken()
		line, at := s.lines[token.Position.Line-1], token.Position.Column-1
		raw := strings.TrimSpace(token.Origin)
		if at > len(line) || !strings.HasPrefix(line[at:], raw) {
			s.err = byHand
			return
		}
		s.lines[token.Position.Line-1] = line[:at] + text + line[at+len(raw):]
		return
	}
	first := m.Values[0].Key.GetToken().Position
	line, at := s.lines[first.Line-1], first.Column-1
	if at > len(line) {
		s.err = byHand
		return
	}
	if m.IsFlowStyle {
		s.lines[first.Line-1] = line[:at] + key + ": " + text + ", " + line[at:]
		return
	}
	s.lines[first.Line-1] = line[:at] + key + ": " + text + "\n" + line
}

// sorted returns a file whose lists of members are in one order, and whose addresses are in one form.
func sorted(f *File) *File {
	out := *f
	out.Council, out.Join = slices.Clone(f.Council), slices.Clone(f.Join)
	slices.SortFunc(out.Council, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Join, func(a, b Contact) int { return cmp.Compare(a.Name, b.Name) })
	return &out
}

// flows writes entries on one line each.
func flows(members []Member) (out []string) {
	for i := range members {
		out = append(out, flow(&members[i]))
	}
	return out
}
