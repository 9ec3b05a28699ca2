package agent

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/httpd"
	"github.com/regentproject/regent/agent/patroni"
	"github.com/regentproject/regent/internal/session"
)

var update = flag.Bool("update", false, "write openapi.json")

// object is JSON under construction.
type object = map[string]any

// schemas collects descriptions of types by their names.
type schemas object

// of describes a type.
func (s schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[time.Duration]():
		return object{"type": "integer", "format": "int64", "description": "nanoseconds"}
	case t.Kind() != reflect.Interface && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint32:
		return object{"type": "integer"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Interface:
		return object{}
	case reflect.Struct:
		if _, ok := s[t.Name()]; !ok {
			s[t.Name()] = nil // against circles
			s[t.Name()] = s.fields(t)
		}
		return object{"$ref": "#/components/schemas/" + t.Name()}
	}
	panic("no description for " + t.String())
}

func (s schemas) fields(t reflect.Type) object {
	properties, required := object{}, []string{}
	var add func(t reflect.Type, optional bool)
	add = func(t reflect.Type, optional bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous {
				inner := f.Type
				if inner.Kind() == reflect.Pointer {
					inner, optional = inner.Elem(), true
				}
				add(inner, optional)
				continue
			}
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			if f.Type == reflect.TypeFor[time.Duration]() && !strings.HasSuffix(name, "_ns") {
				panic(t.String() + ": the name of " + name + " does not carry its unit")
			}
			properties[name] = s.of(f.Type)
			if !strings.Contains(rest, "omitempty") && !strings.Contains(rest, "omitzero") && !optional {
				required = append(required, name)
			}
		}
	}
	add(t, false)
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// allRoutes are those of an agent.
func allRoutes() []httpd.Route {
	web := httpd.New(nil, nil)
	return (&Agent{gate: new(access.Gate), web: web, patroni: patroni.New(nil, web)}).routes()
}

// describe makes the document of the routes.
func describe() []byte {
	types := schemas{}
	paths := object{}
	for _, r := range allRoutes() {
		answers := object{}
		for status, example := range r.Outcomes() {
			kind := "application/json"
			var content object
			if r.Stream && status == 200 {
				kind = "text/event-stream"
			}
			if _, text := example.(string); text {
				kind, content = "text/plain", object{"type": "string"}
			} else {
				content = types.of(reflect.TypeOf(example))
			}
			a := object{"description": http.StatusText(status)}
			if r.Method != "OPTIONS" {
				a["content"] = object{kind: object{"schema": content}}
			}
			answers[strconv.Itoa(status)] = a
		}
		op := object{"summary": r.Summary, "responses": answers, "x-role": []string{"none", "read", "write"}[r.Requires]}
		if r.Requires > access.Anonymous {
			op["security"] = []object{{"bearer": []string{}}, {"certificate": []string{}}}
		}
		var parameters []object
		for _, name := range slices.Sorted(maps.Keys(r.Query)) {
			parameters = append(parameters, object{"name": name, "in": "query", "description": r.Query[name], "schema": object{"type": "string"}})
		}
		for _, part := range strings.Split(r.Path, "/") {
			if name, ok := strings.CutPrefix(part, "{"); ok {
				parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
			}
		}
		if parameters != nil {
			op["parameters"] = parameters
		}
		if r.In != nil {
			op["requestBody"] = object{"content": object{"application/json": object{"schema": types.of(reflect.TypeOf(r.In))}}}
		}
		if paths[r.Path] == nil {
			paths[r.Path] = object{}
		}
		paths[r.Path].(object)[strings.ToLower(r.Method)] = op
	}
	doc := object{"openapi": "3.1.0", "info": object{"title": "Regent agent", "version": "1",
		"description": "Leader election for any program. All lengths of time are in nanoseconds. On the agent's unix socket everything is allowed to clients that the permissions of the socket let in."},
		"paths": paths, "components": object{"schemas": types, "securitySchemes": object{
			"bearer": object{"type": "http", "scheme": "bearer"}, "certificate": object{"type": "mutualTLS"}}}}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestDescriptionIsThatOfTheRoutes(t *testing.T) {
	want := describe()
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(Description(), want) {
		t.Error("openapi.json is not what the routes say: run go test ./agent -run Description -update, and read the difference")
	}
}

// conforms says how a value differs from its description.
func conforms(doc, schema object, v any, where string) error {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		return conforms(doc, doc["components"].(object)["schemas"].(object)[name].(object), v, where)
	}
	kind, _ := schema["type"].(string)
	got := map[bool]string{}
	switch x := v.(type) {
	case nil:
		got[true] = "null"
	case string:
		got[kind == "string"] = "string"
	case bool:
		got[kind == "boolean"] = "boolean"
	case float64:
		got[kind == "number" || kind == "integer" && x == float64(int64(x))] = "number"
	case []any:
		got[kind == "array"] = "array"
		for i, e := range x {
			if kind == "array" {
				if err := conforms(doc, schema["items"].(object), e, fmt.Sprintf("%s[%d]", where, i)); err != nil {
					return err
				}
			}
		}
	case object:
		got[kind == "object"] = "object"
		if kind == "object" {
			return members(doc, schema, x, where)
		}
	}
	if name, bad := got[false]; bad && kind != "" {
		return fmt.Errorf("%s is a %s, described as %s", where, name, kind)
	}
	return nil
}

func members(doc, schema, x object, where string) error {
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := x[name.(string)]; !ok {
			return fmt.Errorf("%s has no %s", where, name)
		}
	}
	for name, v := range x {
		inner, ok := properties[name].(object)
		if !ok {
			if inner, ok = schema["additionalProperties"].(object); !ok {
				return fmt.Errorf("%s.%s is not described", where, name)
			}
		}
		if err := conforms(doc, inner, v, where+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// Every handler is asked, by a client that gets it right and by some that do not, and every answer held against the
// description.
func TestHandlersAnswerAsDescribed(t *testing.T) {
	h := open(t, 3, "default_group: g\n")
	a := h.agents[0]
	c := a.dial(t)
	lead := func() *session.Lease {
		l, err := c.Campaign(patience(t), session.Candidate{Group: "g"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	lead()
	var doc object
	if err := json.Unmarshal(Description(), &doc); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	ask := func(r *testAgent, method, path, concrete, body string) {
		t.Helper()
		op, ok := doc["paths"].(object)[path].(object)[strings.ToLower(method)].(object)
		if !ok {
			t.Fatalf("%s %s is not described", method, path)
		}
		status, kind, answer := r.raw(t, method, concrete, body)
		seen[method+" "+path] = true
		d, ok := op["responses"].(object)[strconv.Itoa(status)].(object)
		if !ok {
			t.Errorf("%s %s: status %d is not described: %s", method, concrete, status, answer)
			return
		}
		content, _ := d["content"].(object)
		media, ok := content[kind].(object)
		if content != nil && !ok {
			t.Errorf("%s %s: %d with %s is not described", method, concrete, status, kind)
			return
		}
		if content == nil || kind == "text/plain" {
			return
		}
		if kind == "text/event-stream" {
			_, after, _ := strings.Cut(string(answer), "data: ")
			answer, _, _ = bytes.Cut([]byte(after), []byte("\n"))
		}
		var v any
		if err := json.Unmarshal(answer, &v); err != nil {
			t.Errorf("%s %s: %v: %s", method, concrete, err, answer)
			return
		}
		if err := conforms(doc, media["schema"].(object), v, method+" "+concrete); err != nil {
			t.Errorf("%d: %v: %s", status, err, answer)
		}
	}
	last := []httpd.Route{}
	for _, r := range allRoutes() {
		if strings.HasSuffix(r.Path, "/resign") || strings.HasSuffix(r.Path, "/transfer") {
			last = append(last, r)
			continue
		}
		for _, body := range []string{"", "{}", "{", `{"what":1}`, `{"to":"b"}`, `{"token":1}`} {
			if body != "" && r.In == nil {
				continue
			}
			for _, group := range []string{"g", "nobody", strings.Repeat("x", 300)} {
				for _, at := range h.agents[:2] {
					ask(at, r.Method, r.Path, strings.NewReplacer("{group}", group, "{id}", "none").Replace(r.Path), body)
				}
			}
		}
	}
	for _, r := range last {
		for _, group := range []string{"nobody", "g"} {
			for _, body := range []string{"", "{}", "{", `{"to":"c"}`} {
				ask(h.agents[1], r.Method, r.Path, strings.NewReplacer("{group}", group, "{id}", "none").Replace(r.Path), body)
			}
		}
	}
	for _, r := range allRoutes() {
		if !seen[r.Method+" "+r.Path] {
			t.Errorf("%s %s was never asked", r.Method, r.Path)
		}
	}
}

// raw asks and returns all there is; of a stream, the first event.
func (r *testAgent) raw(t *testing.T, method, path, body string) (int, string, []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(patience(t), method, "http://"+r.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if kind == "text/event-stream" {
		b := make([]byte, 64<<10)
		n, err := io.ReadAtLeast(answer.Body, b, 8)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, kind, b[:n]
	}
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, kind, all
}
