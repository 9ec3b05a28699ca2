package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inFile has comments everywhere, entries in both forms, and keys that only the file knows.
const inFile = `# The file of host a.
name: a   # this host
council:
  # rack 1
  - name: a
    address: 10.0.0.1:7400  # eth0
    public_keys: [ka]
  # rack 2
  - {name: b, address: "10.0.0.2:7400", public_keys: [kb]}  # the old one
  - name: c
    addresses:
      - 10.0.0.3:7400
      - 10.1.0.3:7400
    priority: 3
    public_keys: [kc]

# Leases.
timing:
  # as short as may be
  lease: 2s  # seconds
  longest_lease: 30s  # long
dir: /var/lib/regent
`

// agreed is what the members of inFile have agreed on, changed by a test.
func agreed(change func(a *Agreed)) *Agreed {
	a := &Agreed{Members: []Member{{Name: "a", Address: "10.0.0.1:7400", PublicKeys: []string{"ka"}}, {Name: "b", Address: "10.0.0.2:7400", PublicKeys: []string{"kb"}},
		{Name: "c", Addresses: []string{"10.0.0.3:7400", "10.1.0.3:7400"}, Priority: 3, PublicKeys: []string{"kc"}}}, LongestLease: 30 * time.Second, Drift: 0.001}
	if change != nil {
		change(a)
	}
	return a
}

func TestFileIsRewrittenLineByLine(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(a *Agreed)
		from, to []string // lines that change; the rest stays
	}{
		"nothing": {nil, nil, nil},
		"one more": {func(a *Agreed) {
			a.Members = append(a.Members, Member{Name: "d", Address: "10.0.0.4:7400", Witness: true, PublicKeys: []string{"kd"}})
		},
			[]string{"    public_keys: [kc]\n"}, []string{"    public_keys: [kc]\n  - name: d\n    address: \"10.0.0.4:7400\"\n    witness: true\n    public_keys: [kd]\n"}},
		"one less": {func(a *Agreed) { a.Members = a.Members[:2] },
			[]string{"  - name: c\n    addresses:\n      - 10.0.0.3:7400\n      - 10.1.0.3:7400\n    priority: 3\n    public_keys: [kc]\n"}, []string{""}},
		"one in place of the last": {func(a *Agreed) {
			a.Members[2] = Member{Name: "d", Address: "10.0.0.4:7400", PublicKeys: []string{"kd"}}
		},
			[]string{"  - name: c\n    addresses:\n      - 10.0.0.3:7400\n      - 10.1.0.3:7400\n    priority: 3\n    public_keys: [kc]\n"},
			[]string{"  - name: d\n    address: \"10.0.0.4:7400\"\n    public_keys: [kd]\n"}},
		"another address and role": {func(a *Agreed) { a.Members[0].Address, a.Members[1].Observer = "10.9.0.1:7400", true },
			[]string{"    address: 10.0.0.1:7400  # eth0", "{name: b, address: \"10.0.0.2:7400\", public_keys: [kb]}  # the"},
			[]string{"    address: \"10.9.0.1:7400\" # eth0", "{name: b, address: \"10.0.0.2:7400\", observer: true, public_keys: [kb]}  # the"}},
		"fewer addresses, no priority": {func(a *Agreed) {
			a.Members[2].Addresses, a.Members[2].Address, a.Members[2].Priority = nil, "10.0.0.3:7400", 0
		},
			[]string{"    addresses:\n      - 10.0.0.3:7400\n      - 10.1.0.3:7400\n    priority: 3\n    public_keys: [kc]\n"}, []string{"    public_keys: [kc]\n    address: \"10.0.0.3:7400\"\n"}},
		"another weight, and the same": {func(a *Agreed) { a.Members[0].Weight, a.Members[1].Weight = 3, 1 },
			[]string{"    public_keys: [ka]\n"}, []string{"    public_keys: [ka]\n    weight: 3\n"}},
		"another timing": {func(a *Agreed) { a.LongestLease, a.Drift = time.Minute, 0.002 },
			[]string{"  lease: 2s", "longest_lease: 30s"}, []string{"  drift: 0.002\n  lease: 2s", "longest_lease: 1m0s"}},
	} {
		want := inFile
		for i := range c.from {
			if strings.Count(want, c.from[i]) != 1 {
				t.Fatalf("%s: %q", name, c.from[i])
			}
			want = strings.Replace(want, c.from[i], c.to[i], 1)
		}
		got, err := sync("f", []byte(inFile), agreed(c.change))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
			continue
		}
		if again, err := sync("f", got, agreed(c.change)); err != nil || string(again) != want {
			t.Errorf("%s once more: %v\n%s", name, err, again)
		}
	}
}

func TestFilesOfOtherFormsAreRewritten(t *testing.T) {
	one := &Agreed{Members: []Member{{Name: "a", Address: "h:1"}}, LongestLease: 20 * time.Second, Drift: 0.002}
	for in, want := range map[string]string{
		"name: a\ncouncil:\n- {name: a, address: 'h:1'}":                                                   "name: a\ncouncil:\n- {name: a, address: 'h:1'}\ntiming:\n  longest_lease: 20s\n  drift: 0.002\n",
		"timing: {lease: 2s}\nname: a\ncouncil:\n- {name: a, address: 'h:1'}\n- name: b\n  address: h:2\n": "timing: {longest_lease: 20s, drift: 0.002, lease: 2s}\nname: a\ncouncil:\n- {name: a, address: 'h:1'}\n",
	} {
		got, err := sync("f", []byte(in), one)
		if err != nil || sameTiming(string(got)) != sameTiming(want) {
			t.Errorf("%v\n%s\nwant\n%s", err, got, want)
		}
	}
	// A host that joined lists the others. It names no timing.
	join := "name: d\njoin:\n  - {name: a, address: 'h:1', public_keys: [ka]}\n  - {name: b, address: 'h:2', public_keys: [kb]}\n"
	got, err := sync("f", []byte(join), &Agreed{Members: []Member{{Name: "a", Address: "h:1", PublicKeys: []string{"ka"}, Priority: 2},
		{Name: "c", Address: "h:3", PublicKeys: []string{"kc"}, Witness: true}, {Name: "d", Address: "h:4", PublicKeys: []string{"kd"}}}, LongestLease: 20 * time.Second, Drift: 0.002})
	want := "name: d\njoin:\n  - {name: a, address: 'h:1', public_keys: [ka]}\n  - {name: c, address: \"h:3\", public_keys: [kc]}\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// sameTiming puts the two keys of timing in one order.
func sameTiming(s string) string {
	s = strings.Replace(s, "drift: 0.002, longest_lease: 20s", "longest_lease: 20s, drift: 0.002", 1)
	return strings.Replace(s, "  drift: 0.002\n  longest_lease: 20s\n", "  longest_lease: 20s\n  drift: 0.002\n", 1)
}

func TestFilesThatCannotBeRewrittenStay(t *testing.T) {
	two := &Agreed{Members: []Member{{Name: "a", Address: "h:1"}, {Name: "b", Address: "h:2"}}, LongestLease: 30 * time.Second, Drift: 0.001}
	for in, what := range map[string]string{
		"{name: a, council: [{name: a, address: 'h:1'}]}\n":                  "one key in a line",
		"name: a\ncouncil: [{name: a, address: 'h:1'}]\n":                    "each member of council in a line of its own",
		"name: a\ncouncil:\n  - {name: a, address: 'h:9',\n     votes: 1}\n": "write the entry of a as {name: a, address: \"h:1\", votes: 1}",
	} {
		if got, err := sync("f", []byte(in), two); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%q: %v\n%s", in, err, got)
		}
	}
}

// A file that the agent would refuse afterwards is not written.
func TestFileThatWouldNotFitIsNotRewritten(t *testing.T) {
	in := "name: a\ncouncil_id: 00112233445566778899aabbccddeeff\nbootstrap: true\ncouncil:\n  - {name: a, address: '127.0.0.1:7400'}\nleases: [{groups: [x], lease: 10s}]\n"
	if f, err := Parse("f", []byte(in)); err != nil || f.Check() != nil {
		t.Fatal(err, f.Check())
	}
	for longest, what := range map[time.Duration]string{9 * time.Second: "leases: rule 1: lease 10s: longer than timing.longest_lease of this file, 9s", 10 * time.Second: ""} {
		got, err := sync("f", []byte(in), &Agreed{Members: []Member{{Name: "a", Address: "127.0.0.1:7400"}}, LongestLease: longest, Drift: 0.001})
		if what == "" && err != nil || what != "" && (err == nil || !strings.Contains(err.Error(), what)) {
			t.Errorf("%v: %v\n%s", longest, err, got)
		}
	}
}

func TestRewrittenFileKeepsItsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(inFile), 0o640); err != nil {
		t.Fatal(err)
	}
	before, after, err := Synced(path, agreed(func(a *Agreed) { a.LongestLease = time.Minute }))
	if err != nil || string(before) != inFile {
		t.Fatal(err)
	}
	if err := Replace(path, after); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info, err)
	}
}
