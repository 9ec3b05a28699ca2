package etcd

import "testing"

// FuzzDecode looks for values in a cluster, which anybody may write who has the rights, that crash an agent, or that it takes for one of another version.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"version":1,"holder":"a","session":"s","token":7,"ttl_ns":5000000000,"value":"10.0.0.1:80"}`,
		`{"version":1,"holder":"a","session":"s","floor":40,"ttl_ns":-1}`,
		`{"version":1,"free":true}`, `{"version":2}`, `{"version":1,"token":-1}`, `{"version":1,"token":18446744073709551615}`, `{`, `7`, ``,
	} {
		f.Add([]byte(text), int64(9))
	}
	f.Fuzz(func(t *testing.T, text []byte, revision int64) {
		e, err := decode(text, revision)
		if err != nil {
			if e.Token != 0 || e.Holder != "" {
				t.Fatalf("%q was refused and read as %+v", text, e)
			}
			return
		}
		if e.Beat != uint64(revision) {
			t.Fatalf("%q of revision %d was read as %+v", text, revision, e)
		}
	})
}
