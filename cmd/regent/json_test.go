package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/roster"
)

// printed is what each command prints with --json.
var printed = map[string]any{
	"status": statusReport{}, "who": whoReport{}, "who GROUP": api.GroupInfo{}, "watch": watchedChange{}, "history": historyReport{}, "explain": []explanation{},
	"members": api.MemberList{}, "members add": api.CouncilInfo{}, "members remove": api.CouncilInfo{}, "members replace": api.CouncilInfo{}, "members set": api.CouncilInfo{},
	"members apply": api.CouncilInfo{}, "members cancel": api.CouncilInfo{}, "members timing": roster.Timing{}, "recover": api.RecoverInfo{}, "verify": api.ProofInfo{},
	"edict": api.StampInfo{}, "resign": api.Outcome{}, "transfer": api.Outcome{}, "drain": api.Drained{}, "undrain": api.Drained{},
	"config check": checkReport{}, "keys show": []keysReport{}, "keys exchange": keysReport{}, "keys rotate": keysReport{}, "keys revoke": keysReport{}, "plan": planReport{},
}

// A jsonField is a field of an object as docs/json.md lists it.
type jsonField struct {
	name     string
	optional bool
	typ      reflect.Type
}

func (f jsonField) row() string {
	text := jsonType(f.typ, f.name)
	if f.optional {
		text += ", optional"
	}
	return fmt.Sprintf("| `%s` | %s |", f.name, text)
}

var (
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	timeType = reflect.TypeFor[time.Time]()
)

// jsonType names a type as people read it.
func jsonType(t reflect.Type, name string) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return jsonType(t.Elem(), name)
	case t == timeType:
		return "RFC 3339"
	case t == reflect.TypeFor[time.Duration]():
		if !strings.HasSuffix(name, "_ns") {
			return "A LENGTH OF TIME WITHOUT A UNIT"
		}
		return "nanoseconds"
	case t.Implements(textType):
		return "string"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string"
		}
		return "array of " + jsonType(t.Elem(), name)
	case reflect.Map:
		return "object of " + jsonType(t.Elem(), name)
	case reflect.Struct:
		return "[" + objectName(t) + "](#" + strings.ToLower(objectName(t)) + ")"
	}
	return "integer"
}

// objectName names an object in the docs.
func objectName(t reflect.Type) string { return strings.ToUpper(t.Name()[:1]) + t.Name()[1:] }

// jsonFields returns the fields of an object, with those of types that it embeds.
func jsonFields(t reflect.Type) (fields []jsonField) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case f.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			outer := len(fields)
			for _, inner := range jsonFields(embedded) {
				if !slices.ContainsFunc(fields[:outer], func(x jsonField) bool { return x.name == inner.name }) {
					fields = append(fields, inner)
				}
			}
		case name == "-" || !f.IsExported():
		default:
			if name == "" {
				name = f.Name
			}
			fields = slices.DeleteFunc(fields, func(x jsonField) bool { return x.name == name }) // the outer one counts
			fields = append(fields, jsonField{name, strings.Contains(options, "omit"), f.Type})
		}
	}
	return fields
}

// objectsBelow collects the objects that a type is made of.
func objectsBelow(t reflect.Type, all map[string]reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == timeType || t.Implements(textType) || all[objectName(t)] == t {
		return
	}
	if other := all[objectName(t)]; other != nil {
		panic(fmt.Sprintf("both %v and %v are called %s", other, t, objectName(t)))
	}
	all[objectName(t)] = t
	for _, f := range jsonFields(t) {
		objectsBelow(f.typ, all)
	}
}

// A command that can print JSON is in the list.
func TestEveryCommandWithJSONIsListed(t *testing.T) {
	events := []string{"demo", "vip", "version"} // which their help describes
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), "regent ")
		if c.Flags().Lookup("json") != nil && printed[name] == nil && !slices.Contains(events, name) {
			t.Errorf("regent %s --json is not in the list", name)
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(rootCommand())
}

// docs/json.md lists every command with --json, and every field of all that they print, with its type.
func TestJSONIsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	objects := make(map[string]reflect.Type)
	for command, value := range printed {
		typ := reflect.TypeOf(value)
		objectsBelow(typ, objects)
		if row := fmt.Sprintf("| `regent %s --json` | %s |", command, jsonType(typ, "")); !strings.Contains(text, row) {
			t.Errorf("no row %s", row)
		}
	}
	sections := make(map[string][]string)
	object := ""
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "### "); ok {
			object = strings.TrimSpace(name)
			sections[object] = nil
		} else if cells := regexp.MustCompile("^(\\| `[^|]*` \\| [^|]* \\|) .* \\|$").FindStringSubmatch(strings.TrimSpace(line)); object != "" && cells != nil {
			sections[object] = append(sections[object], cells[1])
		}
	}
	for name, typ := range objects {
		want := []string{}
		for _, f := range jsonFields(typ) {
			want = append(want, f.row())
		}
		got := sections[name]
		delete(sections, name)
		sort.Strings(got)
		sort.Strings(want)
		if !slices.Equal(got, want) {
			t.Errorf("### %s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for name := range sections {
		t.Errorf("### %s is of no command", name)
	}
}

// elsewhereTried are commands whose JSON needs more than the script of all others: the test in recover_linux_test.go waits for minutes.
var elsewhereTried = []string{"recover"}

// Every command with --json is run at a real council, and what it prints is compared with docs/json.md.
func TestEveryCommandWithJSONIsTried(t *testing.T) {
	b, err := os.ReadFile("testdata/script/json.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for command := range printed {
		if row := regexp.MustCompile("(?m)^documented '?" + regexp.QuoteMeta(command) + "'? ").FindString(string(b)); row == "" && !slices.Contains(elsewhereTried, command) {
			t.Errorf("json.txtar does not run regent %s --json", command)
		}
	}
}

// documented runs a command with --json and compares what it prints with what is documented: documented 'who GROUP' regent who g
func documented(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || printed[args[0]] == nil {
		ts.Fatalf("usage: documented COMMAND regent ARG ..., or documented COMMAND cat FILE")
	}
	if args[1] == "regent" {
		args = append(args, "--json")
	}
	exitStatus(ts, args[1:]) // that may be that of a negative answer
	for line := range strings.SplitSeq(strings.TrimSpace(ts.ReadFile("stdout")), "\n{\"") {
		var got any
		if !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "[") {
			line = "{\"" + line
		}
		ts.Check(json.Unmarshal([]byte(line), &got))
		if err := fits(args[0], got, reflect.TypeOf(printed[args[0]])); err != nil {
			ts.Fatalf("%v\n%s", err, line)
		}
	}
}

// fits says where a value is not of a type: a field is missing, is not documented, or is of another kind.
func fits(path string, got any, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := "string"
	switch text := jsonType(t, "_ns"); {
	case text == "RFC 3339":
		if _, err := time.Parse(time.RFC3339, fmt.Sprint(got)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	case text == "nanoseconds" || text == "integer" || text == "number":
		kind = "float64"
	case text == "boolean":
		kind = "bool"
	case strings.HasPrefix(text, "array"):
		list, ok := got.([]any)
		for i := range list {
			if err := fits(fmt.Sprintf("%s[%d]", path, i), list[i], t.Elem()); err != nil {
				return err
			}
		}
		if ok {
			return nil
		}
		kind = "[]interface {}"
	case strings.HasPrefix(text, "object"), strings.HasPrefix(text, "["):
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is a %T", path, got)
		}
		return fitsObject(path, object, t)
	}
	if is := fmt.Sprintf("%T", got); is != kind {
		return fmt.Errorf("%s is a %s, want %s", path, is, kind)
	}
	return nil
}

func fitsObject(path string, got map[string]any, t reflect.Type) error {
	if t.Kind() == reflect.Map {
		for name, value := range got {
			if err := fits(path+"."+name, value, t.Elem()); err != nil {
				return err
			}
		}
		return nil
	}
	left := make(map[string]bool)
	for name := range got {
		left[name] = true
	}
	for _, f := range jsonFields(t) {
		value, ok := got[f.name]
		delete(left, f.name)
		switch {
		case !ok && f.optional:
		case !ok:
			return fmt.Errorf("%s has no %s", path, f.name)
		default:
			if err := fits(path+"."+f.name, value, f.typ); err != nil {
				return err
			}
		}
	}
	for name := range left {
		return fmt.Errorf("%s has %s, which is not documented", path, name)
	}
	return nil
}
