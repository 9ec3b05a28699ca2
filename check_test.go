package regent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

func TestCheckRefusesWhatJoinWould(t *testing.T) {
	good := regent.Config{Name: "a", Dir: "/no/such/place", Council: []regent.Peer{{Name: "a", Addrs: []string{"127.0.0.1:7400"}}, {Name: "b", Addrs: []string{"127.0.0.1:7401"}}}}
	good.OwnKeys = regent.DrawKeys(good.Council)["a"]
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	alone := regent.Config{Name: "a", Dir: "/no/such/place", Council: good.Council[:1]}
	if err := alone.Check(); err != nil {
		t.Errorf("a council of one needs no private key: %v", err)
	}
	other := regent.DrawKeys([]regent.Peer{{Name: "a"}})["a"]
	for want, spoil := range map[string]func(*regent.Config){
		"guard": func(c *regent.Config) { c.Timing = regent.LAN; c.Timing.Guard = time.Hour },
		"lease": func(c *regent.Config) { c.Timing = regent.LAN; c.Timing.LongestLease = time.Millisecond },
		"no key": func(c *regent.Config) {
			c.Council = append(c.Council, regent.Peer{Name: "c", Addrs: []string{"10.0.0.1:7400"}})
		},
		"tag key: a key is 32 bytes":       func(c *regent.Config) { c.TagKey = "" },
		"no private key":                   func(c *regent.Config) { c.PrivateKeys = nil },
		"private key 1: a key is 32 bytes": func(c *regent.Config) { c.PrivateKeys = []string{"no key"} },
		"this member's public key":         func(c *regent.Config) { c.OwnKeys = other },
		"member b has no public key":       func(c *regent.Config) { c.Council[1].PublicKeys = nil },
		"member b has 3 public keys":       func(c *regent.Config) { c.Council[1].PublicKeys = []string{"x", "y", "z"} },
		"member b: public key \"x\"":       func(c *regent.Config) { c.Council[1].PublicKeys = []string{"x"} },
		"have the same public key":         func(c *regent.Config) { c.Council[1].PublicKeys = c.Council[0].PublicKeys },
		"this member, a, is revoked":       func(c *regent.Config) { c.Council[0].Revoked = true },
		"not in the council":               func(c *regent.Config) { c.Name = "z" },
		"elector \"chance\"":               func(c *regent.Config) { c.Elector = "chance" },
		"a is listed twice":                func(c *regent.Config) { c.Council = append(c.Council, c.Council[0]) },
	} {
		c := good
		c.Council = append([]regent.Peer(nil), good.Council...)
		spoil(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
