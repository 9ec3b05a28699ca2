package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What goes into a bug report has no password and no digest, wherever and however the file has them.
func TestPublicHasNoSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"blocks": "name: a # hunter2\nengine:\n  kind: postgres\n  address: \"postgres://u:hunter2@h/db\"\nhttp:\n  tokens:\n    - name: ops\n      role: write\n      sha256: hunter2\n",
		"flow":   "{name: a, engine: {kind: postgres, address: 'postgres://u:hunter2@h/db'}, http: {tokens: [{name: ops, sha256: hunter2}, {name: two, sha256: hunter2}]}}\n",
		"folded": "name: a\nengine:\n  kind: postgres\n  address: >-\n    postgres://u:hunter2@h/db\n# hunter2\n",
	} {
		path := filepath.Join(t.TempDir(), "regent.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Read(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out, err := f.Public()
		if err != nil || strings.Contains(string(out), "hunter2") || !strings.Contains(string(out), "kind: postgres") || !strings.Contains(string(out), "name: a") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if _, err := Parse("public", out); err != nil {
			t.Errorf("%s: what is left is no configuration: %v\n%s", name, err, out)
		}
	}
}
