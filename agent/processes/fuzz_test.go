package processes

import (
	"encoding/json"
	"reflect"
	"testing"
)

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
