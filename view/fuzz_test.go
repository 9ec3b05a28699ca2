package view

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzView looks for views of an agent that make a program crash, or that it reads in two ways.
func FuzzView(f *testing.F) {
	f.Add([]byte(`{"group":"g","mode":"quorum","leader":"a","token":7,"mine":true,"cause":{"why":"elected","member":"a"},"at":"2026-11-16T10:00:00+01:00"}`))
	f.Add([]byte(`{"group":"g","mode":"consistent","agreement":{"number":3,"members":["a","b"],"failed":["c"]},"cause":{"why":"no-quorum","bound":200}}`))
	f.Add([]byte(`{"mode":"local","support":["a"],"missed":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v View
		if json.Unmarshal(raw, &v) != nil {
			return
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s was read as %+v, which cannot be written: %v", raw, v, err)
		}
		var again View
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s was read as %s, which cannot be read: %v", raw, text, err)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(text, twice) {
			t.Fatalf("%s was read as %s, and that as %s, %v", raw, text, twice, err)
		}
		_ = v.Cause.String()
	})
}
