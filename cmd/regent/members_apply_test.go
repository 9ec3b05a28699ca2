package main

import (
	"reflect"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/roster"
)

func TestApplyAsksForDifferencesOnly(t *testing.T) {
	a, b := regent.Peer{Name: "a", Addrs: []string{"x:1"}, PublicKeys: []string{"ka"}}, regent.Peer{Name: "b", Addrs: []string{"x:2"}, PublicKeys: []string{"kb"}}
	c := regent.Peer{Name: "c", Addrs: []string{"x:3"}, PublicKeys: []string{"kc"}}
	members := []roster.Member{{Peer: a}, {Peer: b}, {Peer: regent.Peer{Name: "n"}, New: true}}
	moved := b
	moved.Addrs = []string{"y:2"}
	keyless := a
	keyless.PublicKeys = nil
	stale, staleMoved := a, moved
	stale.PublicKeys, staleMoved.PublicKeys = []string{"old"}, []string{"old"}
	for name, x := range map[string]struct {
		wanted []regent.Peer
		prune  bool
		want   roster.Change
	}{
		"the same":          {[]regent.Peer{a, b}, true, roster.Change{}},
		"without keys":      {[]regent.Peer{keyless, b}, true, roster.Change{}},
		"a replaced key":    {[]regent.Peer{stale, staleMoved}, true, roster.Change{Set: []regent.Peer{moved}}},
		"one more":          {[]regent.Peer{a, b, c}, false, roster.Change{Add: []regent.Peer{c}}},
		"one less":          {[]regent.Peer{a}, false, roster.Change{}},
		"one less, pruned":  {[]regent.Peer{a}, true, roster.Change{Remove: []string{"b"}}},
		"another address":   {[]regent.Peer{a, moved}, true, roster.Change{Set: []regent.Peer{moved}}},
		"one for the other": {[]regent.Peer{a, c}, true, roster.Change{Add: []regent.Peer{c}, Remove: []string{"b"}}},
	} {
		if got := difference(members, x.wanted, x.prune); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: %+v, want %+v", name, got, x.want)
		}
	}
}

func TestSetReadsKeysAndValues(t *testing.T) {
	p := regent.Peer{Name: "a", Addrs: []string{"x:1"}, Witness: true}
	if err := setPeer(&p, []string{"address=10.0.0.1,10.0.0.2:7", "priority=-2", "role=observer"}); err != nil {
		t.Fatal(err)
	}
	if want := (regent.Peer{Name: "a", Addrs: []string{"10.0.0.1:7400", "10.0.0.2:7"}, Priority: -2, Observer: true}); !reflect.DeepEqual(p, want) {
		t.Errorf("%+v, want %+v", p, want)
	}
	for _, bad := range []string{"priority", "priority=", "priority=high", "role=king", "colour=red", "address=,"} {
		if setPeer(&p, []string{bad}) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
