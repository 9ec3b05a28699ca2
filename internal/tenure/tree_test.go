package tenure

import "testing"

// An address is that of a later leadership if a process holds it that started after the first process of the tree. Of a tree whose first process is not known,
// what holds the address may be that process.
func TestAnAddressIsLeftToALaterLeadershipOnly(t *testing.T) {
	first := Identity{Pid: 10, Started: 100}
	for _, c := range []struct {
		name    string
		first   Identity
		holders []Identity
		want    bool
	}{
		{"nobody", first, nil, false},
		{"the first process", first, []Identity{first}, false},
		{"an earlier one", first, []Identity{{Pid: 11, Started: 99}}, false},
		{"one of the same instant", first, []Identity{{Pid: 11, Started: 100}}, false},
		{"a later one", first, []Identity{{Pid: 9, Started: 101}}, true},
		{"a later one among others", first, []Identity{{Pid: 11, Started: 99}, first, {Pid: 9, Started: 101}}, true},
		{"no first process", Identity{}, []Identity{{Pid: 9, Started: 101}}, false},
	} {
		r := Ref{First: c.first}
		if got := r.Succeeded(c.holders); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
