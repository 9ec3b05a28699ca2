package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/httpd"
)

// bodies are the types of all bodies that requests may have, by name.
func bodies() (all []reflect.Type) {
	for _, r := range allRoutes() {
		if of := reflect.TypeOf(r.In); r.In != nil && !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, func(a, b reflect.Type) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// FuzzBody looks for bodies of requests that make the agent crash, or that it takes and would not take again.
func FuzzBody(f *testing.F) {
	orders := bodies()
	for kind := range orders {
		for _, body := range []string{`{"token":7}`, `{"to":"b","token":7}`, `{"leader":"a","candidate":"b"}`, `{"program":"p"}`, `{"member":"a","yes":true}`, `{"value":"10.0.0.1"}`,
			`{"command":"rotate","detail":"b"}`, `{"add":[{"name":"d","addrs":["10.0.0.4:7400"],"public_keys":["k"]}],"remove":["c"],"set":[{"name":"a","priority":-1}],"number":7}`,
			`{"cancel":true,"dry_run":true,"wait_ns":-1}`, "", `{} {}`} {
			f.Add(uint8(kind), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		of := orders[int(kind)%len(orders)]
		read := func(b []byte) (out any, text []byte, err error) {
			out = reflect.New(of).Interface()
			q, err := http.NewRequest("POST", "/", bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if err := httpd.Decode(q, out); err != nil {
				return out, nil, err
			}
			text, err = json.Marshal(out)
			if err != nil {
				t.Fatalf("%s was read as %+v, which cannot be written: %v", b, out, err)
			}
			return out, text, nil
		}
		first, text, err := read(body)
		if err != nil {
			return
		}
		if again, same, err := read(text); err != nil || !bytes.Equal(text, same) {
			t.Fatalf("%s was read as %+v, and %s as %+v, %v", body, first, text, again, err)
		}
	})
}

// FuzzEngineNote looks for notes about an engine that make the agent crash, or that it reads without the name of an engine.
func FuzzEngineNote(f *testing.F) {
	for _, note := range []string{`{"engine":"etcd 10.0.0.1:2379","above":1007}`, `{"engine":""}`, `{"above":-1}`, `{`, ""} {
		f.Add([]byte(note))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, note []byte) {
		if err := os.WriteFile(filepath.Join(dir, engineNoteName), note, 0o600); err != nil {
			t.Fatal(err)
		}
		n, found, err := readEngineNote(dir)
		switch {
		case err != nil && (found || !strings.Contains(err.Error(), "damaged") || strings.Contains(err.Error(), "%!")):
			t.Fatalf("%q: %v", note, err)
		case err == nil && (!found || n.Engine == ""):
			t.Fatalf("%q was read as %+v", note, n)
		}
	})
}
