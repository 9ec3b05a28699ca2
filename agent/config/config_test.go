package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/secret"
)

// three is a council on loopback.
const three = `council_id: c0ffee00c0ffee00c0ffee00c0ffee00
name: a
council:
  - {name: a, address: "127.0.0.1:7401", priority: 5}
  - {name: b, addresses: ["127.0.0.1:7402", "[::1]:7402"]}
  - name: c
    address: localhost:7403
`

// two is a council without a third.
var two = strings.Replace(three, "  - name: c\n    address: localhost:7403\n", "", 1)

// privateKey is a file with the key of the members of these tests.
var privateKey string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "regent-config-")
	if err != nil {
		panic(err)
	}
	privateKey = filepath.Join(dir, "private.key")
	own := identity.DrawOwn()
	if err := secret.WritePrivate(privateKey, "a", &own); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// parse reads a text, gives keys to members that have none, and checks it.
func parse(text string) (*File, error) {
	f, err := Parse("regent.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	f.PrivateKeyFile = privateKey
	for i := range f.Council {
		if m := &f.Council[i]; len(m.PublicKeys) == 0 && m.Name != f.Name {
			m.PublicKeys = []string{identity.Draw().Public().String()}
		}
	}
	return f, f.Check()
}

// Members without keys are named all at once, with what to do.
func TestMissingKeysAreNamed(t *testing.T) {
	f, err := Parse("regent.yaml", []byte(three+"dir: /no/such/place\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(f.Check())
	for _, want := range []string{"no public key of b, c: run 'regent keys exchange'", "/no/such/place/private.key: no such file", "to draw this member's key"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\ndoes not have %q", text, want)
		}
	}
	f.Council[1].Revoked = true
	if text := fmt.Sprint(f.Check()); !strings.Contains(text, "no public key of c:") {
		t.Errorf("a revoked member needs no key: %s", text)
	}
}

// What a reload changes is named by fingerprint, for the audit log. All but keys needs a restart.
func TestReloadTakesKeysOfTheCouncil(t *testing.T) {
	old, err := parse(three)
	if err != nil {
		t.Fatal(err)
	}
	next, err := parse(strings.Replace(three, "priority: 5", "priority: 6", 1))
	if err != nil {
		t.Fatal(err)
	}
	next.Council[2].Revoked, next.Council[2].PublicKeys = true, old.Council[2].PublicKeys
	if got := old.Fixed(next); !slices.Equal(got, []string{"council"}) {
		t.Errorf("needs a restart: %v", got)
	}
	with := old.With(next)
	if with.Council[0].Priority != 5 || !slices.Equal(with.Council[1].PublicKeys, next.Council[1].PublicKeys) || !with.Council[2].Revoked {
		t.Errorf("in force: %+v", with.Council)
	}
	want := []string{"listed " + fingerprint(next.Council[1].PublicKeys[0]) + " of b", "dropped " + fingerprint(old.Council[1].PublicKeys[0]) + " of b", "revoked c"}
	if got := old.ChangedKeys(with); !slices.Equal(got, want) {
		t.Errorf("changed %q, want %q", got, want)
	}
	next.Council[0].Priority = 5
	if got := old.Fixed(next); len(got) != 0 {
		t.Errorf("needs a restart: %v", got)
	}
}

func TestFileBecomesTheMembersConfiguration(t *testing.T) {
	f, err := parse(three + "dir: /x\nbootstrap: true\nprofile: fast\nrealtime: false\ntiming: {lease: 40ms, guard: 0s}\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Regent()
	if err != nil {
		t.Fatal(err)
	}
	want := regent.Fast
	want.Lease, want.Guard = 40*time.Millisecond, 0
	if c.Name != "a" || c.CouncilID != "c0ffee00c0ffee00c0ffee00c0ffee00" || c.Dir != "/x" || !c.Bootstrap || !c.NoRealtime || c.Timing != want {
		t.Errorf("got %+v", c)
	}
	if len(c.Council) != 3 || c.Council[0].Priority != 5 || c.Council[1].Priority != 0 || len(c.Council[1].Addrs) != 2 {
		t.Errorf("council %+v", c.Council)
	}
}

func TestRolesReachTheLibrary(t *testing.T) {
	f, err := parse(strings.Replace(three, "priority: 5", "witness: true", 1) + "  - {name: d, address: \"127.0.0.1:7404\", observer: true}\nelector: rank\nprefer: 10s\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Regent()
	if err != nil || !c.Council[0].Witness || c.Council[1].Witness || !c.Council[3].Observer || c.Elector != "rank" || c.Prefer != 10*time.Second {
		t.Errorf("got %+v, %v", c, err)
	}
}

// Programs that join a council of agents list its members as plain as the files do.
func TestPlainMembersAreThoseOfTheLibrary(t *testing.T) {
	f, err := parse(strings.Replace(three, ", priority: 5", "", 1) + "  - {name: w, address: \"127.0.0.1:7404\", witness: true}\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Regent()
	if err != nil {
		t.Fatal(err)
	}
	want := []regent.Peer{{Name: "a", Addrs: []string{"127.0.0.1:7401"}}, {Name: "b", Addrs: []string{"127.0.0.1:7402", "[::1]:7402"}},
		{Name: "c", Addrs: []string{"localhost:7403"}}, {Name: "w", Addrs: []string{"127.0.0.1:7404"}, Witness: true}}
	for i := range c.Council {
		c.Council[i].PublicKeys = nil
	}
	if !reflect.DeepEqual(c.Council, want) {
		t.Errorf("got %+v\nwant %+v", c.Council, want)
	}
}

func TestDefaultsAreSafe(t *testing.T) {
	f, err := parse(three)
	if err != nil {
		t.Fatal(err)
	}
	if f.HTTP.Listen != "" || f.HTTP.Anonymous != "read" || f.Socket.Mode != "0660" || f.Limits != defaultLimits || f.Profile != "lan" {
		t.Errorf("got %+v", f)
	}
	if mode, err := f.Socket.Permissions(); err != nil || mode != 0o660 {
		t.Errorf("mode %v, %v", mode, err)
	}
	token := strings.Repeat("ab", 32)
	f, err = parse(three + "http: {listen: \"127.0.0.1:8008\", tokens: [{name: x, role: read, sha256: " + token + "}]}\n")
	if err != nil || f.HTTP.Anonymous != "none" {
		t.Errorf("with tokens, strangers may %q (%v)", f.HTTP.Anonymous, err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key with a near one", three + "dirr: /x\n", `regent.yaml:8: unknown key "dirr": did you mean "dir"?`},
		{"number for a flag", three + "balance: 3\n", `regent.yaml:8: 3: must be true or false`},
		{"camel case", three + "keyFile: /x\n", `regent.yaml:8: unknown key "keyFile": did you mean "key_file"?`},
		{"inside a list", "name: a\ncouncil:\n  - name: a\n    adress: x:1\n", `regent.yaml:4: unknown key "adress" in council: did you mean "address"?`},
		{"inside a part", three + "timing:\n  leese: 5ms\n", `regent.yaml:9: unknown key "leese" in timing: did you mean "lease"?`},
		{"nothing near", three + "socket: {colour: red}\n", `unknown key "colour" in socket: there are group, mode, path`},
		{"two at once", three + "dirr: x\nbinnd: y\n", `regent.yaml:9: unknown key "binnd"`},
		{"twice", three + "name: b\n", "regent.yaml:8:"},
		{"no number", three + "limits: {groups: many}\n", "regent.yaml:8:"},
		{"no duration", three + "timing: {lease: soon}\n", `regent.yaml:8: timing.lease "soon": must be a length of time`},
		{"no YAML", "name: [\n", "regent.yaml:"},
		{"alias", "name: &x a\ndir: *x\n", "regent.yaml:1: anchors, aliases, merges and tags are not read"},
		{"two documents", three + "---\nname: b\n", "holds 2 documents"},
		{"nobody", "name: a\n", "council is empty"},
		{"twice the same name", strings.Replace(three, "name: b", "name: a", 1), "member a is listed twice"},
		{"same address", strings.Replace(three, "localhost:7403", "127.0.0.1:7401", 1), "members a and c have the same address"},
		{"stranger", strings.Replace(three, "name: a\n", "name: z\n", 1), `name "z" is not in the council (a, b, c)`},
		{"no port", strings.Replace(three, "localhost:7403", "localhost", 1), `address "localhost": must be host:port`},
		{"no brackets", strings.Replace(three, "localhost:7403", "fd00::3:7403", 1), `address "fd00::3:7403": must be host:port, with an IPv6 address in brackets`},
		{"indented too far", strings.Replace(three, "name: a\n", "name: a\n  x: 1\n", 1), "(indent it as far as the lines beside it)"},
		{"tab", three + "\tx: 1\n", "(indent with spaces, not with tabs)"},
		{"off loopback", strings.Replace(three, "localhost:7403", "10.0.0.3:7403", 1), "key_file is not set"},
		{"profile", three + "profile: slow\n", `profile "slow": must be fast, lan or wan`},
		{"roles", strings.Replace(three, "priority: 5", "witness: true, observer: true", 1), "member a is a witness and an observer"},
		{"open HTTP", three + "http: {listen: \"0.0.0.0:8008\"}\n", "set http.tls.cert and http.tls.key"},
		{"open HTTP for all", three + "http: {listen: \"0.0.0.0:8008\"}\n", "set http.tls.client_ca or http.tokens"},
		{"anonymous off loopback", three + "http: {listen: \"0.0.0.0:8008\", anonymous: write}\n", "http.anonymous write"},
		{"role", three + "http: {tokens: [{name: x, role: admin, file: y}]}\n", `role "admin" of x: must be read or write`},
		{"mode", three + "socket: {mode: \"rw\"}\n", `socket.mode "rw": must be in octal`},
		{"group", three + "socket: {group: no-such-group}\n", "create it"},
		{"limit", three + "limits: {streams: -1}\n", "limits.streams -1: must be at least 1"},
		{"constants that do not fit", three + "timing: {guard: 190ms}\n", "config: guard 190ms: must not be negative, and at most"},
		{"elector", three + "elector: luck\n", `elector "luck": must be one of stable`},
		{"elector for more members", two + "groups: [{name: hy, mode: eventual, elector: hybrid}]\n", "groups: hy: elector hybrid: 2 members that may lead: must be at least 3"},
		{"elector for more that may lead", strings.Replace(three, "priority: 5", "witness: true", 1) + "groups: [{name: tf, mode: eventual, elector: timefree}]\n", "groups: tf: elector timefree: 2 members that may lead: must be at least 3"},
		{"elector for quorum groups", three + "groups: [{name: r, mode: eventual, elector: ring}]\n", "groups: r: elector ring is for quorum groups: use stable"},
		{"elector of a local group", three + "groups: [{name: l, mode: local, elector: ring}]\n", "groups: l: elector ring: only eventual groups have one"},
		{"nobody may lead", "name: a\ncouncil: [{name: a, address: \"127.0.0.1:7401\", witness: true}]\n", "no member of the council may lead"},
		{"prefer", three + "prefer: -1s\n", "prefer -1s: must not be negative"},
		{"log", three + "log: loud\n", `log "loud": must be debug`},
		{"log format", three + "log_format: xml\n", `log_format "xml": must be text or json`},
		{"long id", strings.Replace(three, "c0ffee00c0ffee00c0ffee00c0ffee00", "c0ffee00c0ffee00c0ffee00c0ffee00ff", 1), "must have 32 hexadecimal digits"},
		{"no id", strings.Replace(three, "council_id: c0ffee00c0ffee00c0ffee00c0ffee00", "", 1), "no council id: a member without a directory needs one"},
		{"bad id", strings.Replace(three, "c0ffee00c0ffee00c0ffee00c0ffee00", "coffee", 1), "council id \"coffee\": must have 32 hexadecimal digits"},
		{"an address of nobody", three + "addresses: [{address: 10.0.0.9/24@eth0, groups: [web]}]\n", "addresses: rule 1 names no clients: list them in lead"},
		{"an address of no group", three + "addresses: [{address: 10.0.0.9/24@eth0, lead: ['uid:0']}]\n", "addresses: rule 1 names no groups"},
		{"an address without an interface", three + "addresses: [{address: 10.0.0.9/24, groups: [web], lead: ['uid:0']}]\n", "addresses: rule 1: \"10.0.0.9/24\": no interface"},
		{"an address of a token", three + "addresses: [{address: 10.0.0.9/24@eth0, groups: [web], lead: ['token:ci']}]\n", "\"token:ci\": only programs of this host have addresses"},
		{"an address of an unknown user", three + "addresses: [{address: 10.0.0.9/24@eth0, groups: [web], lead: ['uid:no-such-user']}]\n", "unknown user no-such-user"},
		{"an address twice", three + "addresses: [{address: 10.0.0.9/24@eth0, groups: [web], lead: ['uid:0']}, {address: 10.0.0.9/16@eth1, groups: [web], lead: ['uid:0']}]\n", "addresses: rule 2: 10.0.0.9/16@eth1 is there twice"},
		{"old keys", three + "old_key_files: [x]\n", "old_key_files without key_file"},
		{"no key there", three + "key_file: /no/such/file\n", "key file: lstat /no/such/file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestKeysAreDrawnOnceAndKeptFromOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := WriteKey(path); err != nil {
		t.Fatal(err)
	}
	key, err := regent.ReadKey(path)
	if err != nil || len(key) != keyBytes {
		t.Fatalf("key of %d bytes, %v", len(key), err)
	}
	if err := WriteKey(path); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a key was overwritten: %v", err)
	}
	if again, err := regent.ReadKey(path); err != nil || string(again) != string(key) {
		t.Errorf("the key has changed: %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := regent.ReadKey(path); err == nil || !strings.Contains(err.Error(), "chmod o=") {
		t.Errorf("a key that everybody may read was taken: %v", err)
	}
	for text, want := range map[string]string{"": "holds nothing", "a\nb\n": "more than one line", "!!!": "not base64", "YWJj": "holds 3 bytes"} {
		bad := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := regent.ReadKey(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("key file %q: %v", text, err)
		}
	}
}

func TestTokensComeFromAFileOrAsDigest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	from := Token{Name: "x", File: path}
	sum, err := from.Digest()
	if err != nil {
		t.Fatal(err)
	}
	same := Token{Name: "x", SHA256: "9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f"}
	if got, err := same.Digest(); err != nil || got != sum {
		t.Errorf("digests differ: %x, %v", sum, err)
	}
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Digest(); err == nil || !strings.Contains(err.Error(), "at least 16") {
		t.Errorf("a short token was taken: %v", err)
	}
}

func TestDraftIsReadAsItWasMeant(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := WriteKey(key); err != nil {
		t.Fatal(err)
	}
	d := Draft{Name: "a", KeyFile: key, Bootstrap: true, Profile: "fast", DefaultGroup: "billing", Members: []Member{
		{Name: "a", Address: "10.0.0.1:7400"}, {Name: "no", Addresses: []string{"[fd00::1]:7400", "b.example:7400"}},
		{Name: "17", Address: "10.0.0.3:7400", Priority: -1, Witness: true}}}
	for _, m := range d.Members {
		text := d.For(m.Name).YAML()
		f, err := parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if f.Name != m.Name || f.KeyFile != key || !f.Bootstrap || f.Profile != "fast" || f.DefaultGroup != "billing" || f.Dir != DefaultDir {
			t.Errorf("got %+v", f)
		}
		if len(f.Council) != 3 || f.Council[2].Priority != -1 || !f.Council[2].Witness || len(f.Council[1].Addresses) != 2 {
			t.Errorf("council %+v", f.Council)
		}
	}
}

func TestLoadSaysWhyAFileCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "none.yaml")); err == nil || !strings.Contains(err.Error(), "regent init") {
		t.Errorf("no file: %v", err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "name the file in it, such as "+filepath.Join(dir, "regent.yaml")) {
		t.Errorf("a directory: %v", err)
	}
	// Whoever runs the tests may read everything, so there is no file to try this with.
	denied := &fs.PathError{Op: "open", Path: "x.yaml", Err: fs.ErrPermission}
	if err := unreadable("x.yaml", denied); !strings.Contains(err.Error(), "x.yaml: permission denied: be root, or let this user read it") {
		t.Errorf("a file of somebody else: %v", err)
	}
}

func TestMessagesNameAFileThatIsEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n"} {
		if _, err := parse(text); err == nil || !strings.HasPrefix(err.Error(), "regent.yaml: council is empty") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParse looks for texts that make reading crash, and for accepted ones that do not survive the way to the library.
func FuzzParse(f *testing.F) {
	f.Add(three)
	f.Add("name: &a [x, {y: *a}]\n<<: {b: c}\n")
	f.Add("name: " + strings.Repeat("[", maxNesting+1))
	f.Add("name: [")
	f.Add(three + "rights:\n- {groups: [], lead: []}\n- {groups: ['*'], lead: ['uid:0', 'x'], operate: ['token:ci'], read: ['anyone', 'cert:a']}\n")
	f.Add(Draft{Name: "a", Members: []Member{{Name: "a", Address: "127.0.0.1:1"}}}.YAML())
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("f", []byte(text))
		if err != nil {
			return
		}
		if strings.Contains(text, "key") || strings.Contains(text, "file") || strings.Contains(text, "tls") {
			return // it may name files of this host
		}
		if file.Check() == nil {
			if _, err := file.Regent(); err != nil {
				t.Errorf("passed the check, and then: %v", err)
			}
		}
	})
}

func TestLeasesOfGroups(t *testing.T) {
	f, err := parse(three + "lease: 10s\nleases:\n  - {groups: [batch-1], lease: 20s}\n  - {groups: [web, batch-*], lease: 5s}\n")
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]time.Duration{"batch-1": 20 * time.Second, "batch-2": 5 * time.Second, "web": 5 * time.Second, "web-2": 10 * time.Second} {
		if got := f.LeaseOf(group); got != want {
			t.Errorf("%s: %v, want %v", group, got, want)
		}
	}
	for text, want := range map[string]string{
		"leases: [{lease: 500ms}]":            "leases: rule 1 names no groups",
		"leases: [{groups: [g]}]":             "leases: rule 1 has no lease",
		"leases: [{groups: [g], lease: 1h}]":  "leases: rule 1: lease 1h0m0s: longer than timing.longest_lease of this file, 30s",
		"leases: [{groups: [g], lease: 1ms}]": "leases: rule 1: lease 1ms: too short",
		"lease: 31s":                          "lease: lease 31s: longer than timing.longest_lease of this file, 30s",
	} {
		if _, err := parse(three + text + "\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Programs have leases of 5 s unless the file means others: by lease, by timing.lease, or by the profile that is there for its short leases.
func TestLeasesOfProgramsByDefault(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"":                                 DefaultLease,
		"profile: lan\n":                   DefaultLease,
		"profile: wan\n":                   DefaultLease,
		"profile: fast\nrealtime: true\n":  0,
		"lease: 1s\n":                      time.Second,
		"profile: fast\nlease: 5s\n":       5 * time.Second,
		"timing: {lease: 2s}\n":            0,
		"timing: {lease: 2s}\nlease: 3s\n": 3 * time.Second,
		"timing: {longest_lease: 3s}\n":    3 * time.Second,
		"timing: {guard: 100ms}\n":         DefaultLease,
		"timing: {renew: 10s, lease: 12s}": 0,
	} {
		f, err := parse(three + text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := f.LeaseOf("g"); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
