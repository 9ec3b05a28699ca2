package session

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/stamp"
)

// vectors are the test vectors of docs/session.md, which clients in all languages read.
type vectors struct {
	Version  int
	Requests []struct{ Do, Line string }
	Refused  []struct{ Line, Error string }
	Hellos   []struct {
		Line     string
		Accepted bool
	}
	Events []struct {
		Line        string
		Token, Turn uint64
		Failure     string
		Cause       json.RawMessage
		View        *struct {
			Group, Mode, Leader, Value string
			Token, Number              uint64
			Support, Members, Failed   []string
			Recover                    bool
		}
	}
	Framing []struct {
		About  string
		Chunks []string
		Events any
	}
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("../../clients/testdata/session.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRequestsAreReadAndWrittenAsTheVectorsHaveThem(t *testing.T) {
	v := readVectors(t)
	if v.Version != Version {
		t.Errorf("the vectors are of version %d, the code of %d", v.Version, Version)
	}
	seen := make(map[string]bool)
	for _, c := range v.Requests {
		seen[c.Do] = true
		r, err := Decode([]byte(c.Line))
		if err != nil || r.Do != c.Do {
			t.Errorf("%s: read as %+v, %v", c.Line, r, err)
		}
		if again, err := json.Marshal(&r); err != nil || !same(t, again, []byte(c.Line)) {
			t.Errorf("%s: written as %s, %v", c.Line, again, err)
		}
	}
	for do := range requestFieldsOf {
		if !seen[do] {
			t.Errorf("no vector has the request %s", do)
		}
	}
	for _, c := range v.Refused {
		if _, err := Decode([]byte(c.Line)); err == nil || !strings.Contains(err.Error(), c.Error) {
			t.Errorf("%s: %v, want %s", c.Line, err, c.Error)
		}
	}
}

// same says whether two lines are the same object.
func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func TestEventsAreReadAsTheVectorsHaveThem(t *testing.T) {
	seen := map[string]bool{Hello: true}
	for _, c := range readVectors(t).Events {
		var e Event
		d := json.NewDecoder(strings.NewReader(c.Line))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			t.Errorf("%s: %v", c.Line, err)
			continue
		}
		seen[e.Event] = true
		if again, err := json.Marshal(&e); err != nil || !same(t, again, []byte(c.Line)) {
			t.Errorf("%s: written as %s, %v", c.Line, again, err)
		}
		if e.Token != c.Token && c.Token != 0 || e.Turn != c.Turn {
			t.Errorf("%s: token %d, turn %d", c.Line, e.Token, e.Turn)
		}
		if v, want := e.View, c.View; want != nil {
			if v.Group != want.Group || string(v.Mode) != want.Mode || v.Leader != want.Leader || v.Token != want.Token || v.Value != want.Value || !slices.Equal(v.Support, want.Support) {
				t.Errorf("%s: %+v", c.Line, v)
			}
			if a := v.Agreement; (a != nil) != (want.Number != 0) || a != nil && (a.Number != want.Number || !slices.Equal(a.Members, want.Members) || !slices.Equal(a.Failed, want.Failed) || a.Recover != want.Recover) {
				t.Errorf("%s: %+v", c.Line, a)
			}
		}
		failed := failure(&e)
		kind := ""
		switch {
		case failed == stamp.ErrNotLeader:
			kind = "not leader"
		case failed != nil && e.NoLeader:
			kind = "no leader"
		case failed != nil:
			kind = "refused"
		}
		if kind != c.Failure {
			t.Errorf("%s: the error is %q, want %q", c.Line, kind, c.Failure)
		}
	}
	for _, event := range []string{Waiting, Leads, Until, Stop, Healed, Agreed, Over, Done, Stamped, Proof, Saw, Failed, Mapped, Printed} {
		if !seen[event] {
			t.Errorf("no vector has the event %s", event)
		}
	}
}

func TestGreetingsAreAcceptedAsTheVectorsHaveThem(t *testing.T) {
	for _, c := range readVectors(t).Hellos {
		_, _, err := greet(t, func(e *Event) {
			now := e.Now
			*e = Event{}
			if err := json.Unmarshal([]byte(c.Line), e); err != nil {
				t.Error(err)
			}
			e.Now, e.Page = now, 0
		})
		if (err == nil) != c.Accepted {
			t.Errorf("%s: %v", c.Line, err)
		}
	}
}

func TestLinesAreCutAsTheVectorsHaveThem(t *testing.T) {
	for _, c := range readVectors(t).Framing {
		in := NewReader(strings.NewReader(strings.Join(c.Chunks, "")), maxLine)
		var events any
		n := 0.0
		for {
			line, err := in.Line()
			if err != nil {
				events = n
				break
			}
			var e Event
			if json.Unmarshal(line, &e) != nil {
				events = "error"
				break
			}
			n++
		}
		if events != c.Events {
			t.Errorf("%s: %v events, want %v", c.About, events, c.Events)
		}
	}
}

// Each request, each event and each of their fields is in the specification.
func TestTheSpecificationIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/session.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{Hello, Waiting, Leads, Until, Stop, Healed, Agreed, Over, Done, Stamped, Proof, Saw, Failed, Mapped, Printed}
	for do := range requestFieldsOf {
		names = append(names, do)
	}
	for _, kind := range []reflect.Type{reflect.TypeFor[Request](), reflect.TypeFor[Event]()} {
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !bytes.Contains(text, []byte("`"+name+"`")) {
			t.Errorf("docs/session.md does not have `%s`", name)
		}
	}
}
