package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
)

// FuzzBody looks for bodies of requests that make the agent crash, or that it takes and would not take again.
func FuzzBody(f *testing.F) {
	for kind, body := range []string{`{"token":7}`, `{"to":"b","token":7}`, `{"leader":"a","candidate":"b"}`, `{"program":"p"}`, `{"token":1}`} {
		f.Add(uint8(kind), []byte(body))
	}
	f.Add(uint8(0), []byte(""))
	f.Add(uint8(1), []byte(`{} {}`))
	orders := []any{ResignOrder{}, TransferOrder{}, SwitchoverOrder{}, CampaignOrder{}, EdictOrder{}}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		of := reflect.TypeOf(orders[int(kind)%len(orders)])
		read := func(b []byte) (any, error) {
			out := reflect.New(of).Interface()
			q, err := http.NewRequest("POST", "/", bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			return out, decode(q, out)
		}
		first, err := read(body)
		if err != nil {
			return
		}
		text, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("%s was read as %+v, which cannot be written: %v", body, first, err)
		}
		if again, err := read(text); err != nil || !reflect.DeepEqual(first, again) {
			t.Fatalf("%s was read as %+v, and %s as %+v, %v", body, first, text, again, err)
		}
	})
}

// FuzzOrphan looks for notes that make the agent crash at its start, or that name nothing and count.
func FuzzOrphan(f *testing.F) {
	f.Add([]byte(`{"boot":"b","group":"g","tree":{"mark":"m","runner":7}}`))
	f.Add([]byte(`{"boot":"b","group":"g","tree":{"mark":""}}`))
	f.Add([]byte(`{"boot":"another"}`))
	f.Fuzz(func(t *testing.T, note []byte) {
		one, ok := parseOrphan(note, "b")
		if !ok {
			return
		}
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if again, ok := parseOrphan(text, "b"); !ok || !reflect.DeepEqual(one, again) {
			t.Fatalf("%s was read as %+v, and %s as %+v", note, one, text, again)
		}
	})
}
