package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
)

// FuzzDo looks for bodies that make a page's server crash, and for commands that it reads in two ways.
func FuzzDo(f *testing.F) {
	var got []Command
	h := Handler(NewStore(nil), Options{Do: func(_ context.Context, c Command) (string, error) { got = append(got, c); return "done", nil }})
	post := func(body []byte) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/api/do", bytes.NewReader(body)))
		return w.Code
	}
	for _, text := range []string{`{"verb":"crash","members":["a"]}`, `{"verb":"transfer","group":"g","mode":"quorum","to":"b"}`, `{"verb":"speed","value":2.5}`, `{"else":1}`, `[]`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got = nil
		code := post(body)
		if (code == http.StatusOK) != (len(got) == 1) || code != http.StatusOK && code != http.StatusBadRequest {
			t.Fatalf("%q is answered with %d, and %d commands were done", body, code, len(got))
		}
		if code != http.StatusOK {
			return
		}
		text, err := json.Marshal(got[0])
		if err != nil {
			t.Fatal(err)
		}
		if code := post(text); code != http.StatusOK || !reflect.DeepEqual(got[0], got[1]) {
			t.Fatalf("%q was read as %+v, and %q as %+v, %d", body, got[0], text, got[1:], code)
		}
	})
}
