package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/core"
)

// The flag stands for the key of the configuration, and both are refused by a program that has nothing to serve there.
func TestWhereElectionsAreServedToClientsOfEtcd(t *testing.T) {
	const text = "name: a\ncouncil_id: c0ffee00c0ffee00c0ffee00c0ffee00\ncouncil:\n  - {name: a, address: \"127.0.0.1:7400\"}\n"
	path := filepath.Join(t.TempDir(), "a.yaml")
	serves := func(*core.Agent, *access.Gate) EtcdServer { return nil }
	for _, c := range []struct {
		keys, flag   string
		has          bool
		listen, want string
	}{
		{"", "", false, "", ""},
		{"", "127.0.0.1:1", true, "127.0.0.1:1", ""},
		{"etcd: {listen: \"127.0.0.1:2\"}\n", "", true, "127.0.0.1:2", ""},
		{"etcd: {listen: \"127.0.0.1:2\"}\n", "127.0.0.1:1", true, "127.0.0.1:1", ""},
		{"", "10.0.0.1:1", true, "", "etcd.listen 10.0.0.1:1 is not on loopback"},
		{"", "127.0.0.1:1", false, "", "built without elections for clients of etcd"},
		{"etcd: {listen: \"127.0.0.1:2\"}\n", "", false, "", "built without elections for clients of etcd"},
	} {
		if err := os.WriteFile(path, []byte(text+c.keys), 0o600); err != nil {
			t.Fatal(err)
		}
		o := Options{Config: path, EtcdListen: c.flag}
		if c.has {
			o.Etcd = serves
		}
		file, err := o.load()
		switch {
		case c.want == "" && (err != nil || file.Etcd.Listen != c.listen):
			t.Errorf("%+v: %v", c, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v", c, err)
		}
	}
}
