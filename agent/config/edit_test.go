package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/identity"
)

func TestSetKeysChangesNothingElse(t *testing.T) {
	one, two := identity.Draw().Public().String(), identity.Draw().Public().String()
	for name, c := range map[string]struct{ before, after string }{
		"a block": {
			before: "name: a # me\ncouncil:\n  # first\n  - name: a\n    address: \"x:1\" # here\n  - name: b # second\n    address: \"y:1\"\n    priority: 2\ndir: /d\n",
			after:  "name: a # me\ncouncil:\n  # first\n  - name: a\n    address: \"x:1\" # here\n  - name: b # second\n    public_keys: [\"KEY\"]\n    address: \"y:1\"\n    priority: 2\ndir: /d\n",
		},
		"a line": {
			before: "name: a\ncouncil:\n  - {name: a, address: \"x:1\"}\n  - {name: b, address: \"y:1\", witness: true, public_keys: [\"OLD\"]} # second\n",
			after:  "name: a\ncouncil:\n  - {name: a, address: \"x:1\"}\n  - {name: b, address: \"y:1\", witness: true, public_keys: [\"KEY\"]} # second\n",
		},
		"a list of keys on several lines, at the end": {
			before: "name: a\ncouncil:\n- name: a\n  address: \"x:1\"\n- address: \"y:1\"\n  name: b\n  revoked: true\n  public_keys:\n    - \"OLD\"\n",
			after:  "name: a\ncouncil:\n- name: a\n  address: \"x:1\"\n- address: \"y:1\"\n  name: b\n  public_keys: [\"KEY\"]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f.yaml")
			fill := strings.NewReplacer("KEY", one, "OLD", two)
			if err := os.WriteFile(path, []byte(fill.Replace(c.before)), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := SetKeys(path, []Member{{Name: "b", PublicKeys: []string{one}}}); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != fill.Replace(c.after) {
				t.Errorf("%v\n%s\nwant\n%s", err, got, fill.Replace(c.after))
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if err := SetKeys(path, []Member{{Name: "b", PublicKeys: []string{two, one}, Revoked: true}}); err != nil {
				t.Fatal(err)
			}
			f, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if b := f.member("b"); len(b.PublicKeys) != 2 || b.PublicKeys[0] != two || !b.Revoked {
				t.Errorf("%+v", b)
			}
			if err := SetKeys(path, []Member{{Name: "z"}}); err == nil {
				t.Error("the keys of a member that is not there were set")
			}
		})
	}
}

func TestSetKeysLeavesAloneWhatItCannotChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	text := "{name: a, council: [{name: a, address: \"x:1\"}, {name: b,\n address: \"y:1\"}]}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	key := identity.Draw().Public().String()
	err := SetKeys(path, []Member{{Name: "b", PublicKeys: []string{key}}})
	if err == nil || !strings.Contains(err.Error(), `by hand: public_keys: ["`+key+`"]`) {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != text {
		t.Errorf("the file is now %s", got)
	}
}
