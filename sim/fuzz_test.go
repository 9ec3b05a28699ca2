package sim

import (
	"encoding/json"
	"testing"
)

// FuzzParseRecord looks for lines of a trace that make the parser crash. Traces come from other hosts.
func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"t":1,"node":"a","inc":1,"ev":"view","group":"g","peer":"b","members":["a","m30"],"dom":"quorum","horizon":3,"stop":true}`))
	f.Add([]byte(`{"t":1,"node":"a","ev":"lease","detail":"0/1@5,2/1@9"}`))
	f.Add([]byte(`{"t":1,"node":"a","ev":"edict","detail":"0.42.7:0/1@5,2/1@9"}`))
	f.Add([]byte(`{"t":1,"node":"a","ev":"deliver","detail":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, err := ParseRecord(line); err == nil && !json.Valid(line) {
			t.Fatalf("%q was taken, and is not JSON", line)
		}
	})
}
