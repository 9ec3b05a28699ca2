package run

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/tenure"
)

// FuzzKeeperOrder looks for lines of a runner that make its keeper crash, or that it reads in two ways.
func FuzzKeeperOrder(f *testing.F) {
	for _, text := range []string{`{"key":"now","lost_done":true}`, `{"key":"now","ended":{"Code":3,"Peer":1,"Bound":20}}` + "\n" + `{"key":"now","ended":{}}`,
		`{"key":"now","tree":{"Runner":{"Pid":7,"Start":9},"First":{"Pid":8},"Mark":"m","Cgroup":"/c"}}`, `{"key":"earlier","ended":{}}`,
		`{"key":"k","prepare":{"Socket":"s","Group":"g","Tree":{"Mark":"m"},"Guard":20,"Lost":["x"],"Env":["A=b"],"Lease":200}}`, `{"key":"now"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		k := new(keeperProcess)
		k.now = &keeping{k: k, key: "now", party: party.New(party.Options{Clock: new(fakeClock), Do: func(tenure.Effect) {}, Config: tenure.Config{Lower: tenure.Tree, Backup: true}})}
		for o := range lines[keeperOrder](bytes.NewReader(text)) {
			sameAgain(t, o)
			if o.Prepare != nil {
				continue // it would dial
			}
			before := k.now.party.State()
			k.take(&o)
			if o.Key != "now" && k.now.party.State() != before {
				t.Fatalf("%+v is about another candidacy, and changed %v to %v", o, before, k.now.party.State())
			}
		}
	})
}

// FuzzKeeperAnswer looks for lines of a keeper that make its runner crash, or that it reads in two ways.
func FuzzKeeperAnswer(f *testing.F) {
	for _, text := range []string{`{"key":"now","prepared":true}`, `{"key":"now","prepared":true,"error":"no"}`, `{"key":"now","freeze":{"Code":3,"Peer":1}}`,
		`{"key":"earlier","freeze":{}}`, `{"key":"earlier","prepared":true}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &runner{Options: Options{Group: "g", Log: func(string, ...any) {}}, agent: newFake(0)}
		l := r.newLife(new(tree.Tree))
		k := &keeper{answers: make(chan error, 1), life: l, key: "now"}
		for a := range lines[keeperAnswer](bytes.NewReader(text)) {
			sameAgain(t, a)
			before := l.party.State()
			k.take(&a)
			if a.Key != "now" && (len(k.answers) > 0 || l.party.State() != before) {
				t.Fatalf("%+v is about another candidacy, and counts", a)
			}
			for len(k.answers) > 0 {
				if err := <-k.answers; (err != nil) != (a.Error != "") {
					t.Fatalf("%+v answers %v", a, err)
				}
			}
		}
	})
}

// sameAgain checks that a line has one meaning: it survives another round.
func sameAgain[T any](t *testing.T, line T) {
	t.Helper()
	text, err := json.Marshal(line)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", line, err)
	}
	var again T
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(line, again) {
		t.Fatalf("%+v became %+v, %v", line, again, err)
	}
}
