package config

import (
	"slices"
	"strings"
	"testing"
)

// Probes need no TLS off loopback, an address that can be used, and a restart.
func TestWhereProbesAreServed(t *testing.T) {
	const text = "name: a\ncouncil_id: c0ffee00c0ffee00c0ffee00c0ffee00\ncouncil:\n  - {name: a, address: \"127.0.0.1:7400\"}\n"
	for probes, want := range map[string]string{"10.0.0.1:8009": "", "10.0.0.1": "http.probes: address \"10.0.0.1\": must be host:port"} {
		f, err := Parse("file", []byte(text+"http: {probes: \""+probes+"\"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Check(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", probes, err, want)
		}
		if f.HTTP.Anonymous != "read" {
			t.Errorf("%s: clients on loopback may %s", probes, f.HTTP.Anonymous)
		}
		next := *f
		next.HTTP.Probes = "10.0.0.1:8010"
		if got := f.Fixed(&next); !slices.Equal(got, []string{"http.probes"}) {
			t.Errorf("%s: a restart is needed for %v", probes, got)
		}
		if got := f.With(&next).HTTP.Probes; got != probes {
			t.Errorf("%s: in force is %s", probes, got)
		}
	}
}

// Where clients of etcd are served, the rules are those of HTTP.
func TestWhereClientsOfEtcdAreServed(t *testing.T) {
	const text = "name: a\ncouncil_id: c0ffee00c0ffee00c0ffee00c0ffee00\ncouncil:\n  - {name: a, address: \"127.0.0.1:7400\"}\n"
	for _, c := range []struct{ keys, want string }{
		{"etcd: {listen: \"127.0.0.1:2379\"}\n", ""},
		{"etcd: {listen: \"127.0.0.1:2379\"}\nhttp: {anonymous: write}\n", ""},
		{"etcd: {listen: \"127.0.0.1\"}\n", "etcd.listen: address \"127.0.0.1\": must be host:port"},
		{"etcd: {listen: \"10.0.0.1:2379\"}\n", "etcd.listen 10.0.0.1:2379 is not on loopback: set http.tls.cert and http.tls.key, or listen on 127.0.0.1:2379"},
		{"etcd: {listen: \"10.0.0.1:2379\"}\n", "etcd.listen 10.0.0.1:2379 is not on loopback: set http.tls.client_ca or http.tokens"},
		{"etcd: {listen: \"10.0.0.1:2379\"}\nhttp: {anonymous: read}\n", "http.anonymous read: etcd.listen 10.0.0.1:2379 is not on loopback"},
		{"etcd: {listen: \"127.0.0.1:2379\"}\nhttp: {tls: {cert: x}}\n", "http.tls: needs both cert and key"},
	} {
		f, err := Parse("file", []byte(text+c.keys))
		if err != nil {
			t.Fatal(err)
		}
		err = f.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.keys, err, c.want)
		}
	}
	f, err := Parse("file", []byte(text+"etcd: {listen: \"10.0.0.1:2379\"}\n"))
	if err != nil || f.HTTP.Anonymous != "none" {
		t.Errorf("off loopback clients without a name may %s (%v)", f.HTTP.Anonymous, err)
	}
	next := *f
	next.Etcd.Listen = "127.0.0.1:2379"
	next.HTTP.Anonymous = "write"
	if got := f.Fixed(&next); !slices.Contains(got, "etcd") {
		t.Errorf("a restart is needed for %v", got)
	}
	if got := f.With(&next); got.Etcd.Listen != "10.0.0.1:2379" || got.HTTP.Anonymous != "none" {
		t.Errorf("in force on the old address: %+v %+v", got.Etcd, got.HTTP.Anonymous)
	}
}
