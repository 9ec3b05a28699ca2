package agent

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/httpd"
	"github.com/regentproject/regent/agent/patroni"
)

// FuzzBody looks for bodies of requests that make the agent crash, or that it takes and would not take again.
func FuzzBody(f *testing.F) {
	for kind, body := range []string{`{"token":7}`, `{"to":"b","token":7}`, `{"leader":"a","candidate":"b"}`, `{"program":"p"}`, `{"token":1}`} {
		f.Add(uint8(kind), []byte(body))
	}
	f.Add(uint8(0), []byte(""))
	f.Add(uint8(1), []byte(`{} {}`))
	orders := []any{api.ResignOrder{}, api.TransferOrder{}, patroni.SwitchoverOrder{}, api.CampaignOrder{}, api.EdictOrder{}}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		of := reflect.TypeOf(orders[int(kind)%len(orders)])
		read := func(b []byte) (any, error) {
			out := reflect.New(of).Interface()
			q, err := http.NewRequest("POST", "/", bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			return out, httpd.Decode(q, out)
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
