package regent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

func TestCheckRefusesWhatJoinWould(t *testing.T) {
	good := regent.Config{Name: "a", Dir: "/no/such/place", Council: []regent.Peer{{Name: "a", Addrs: []string{"127.0.0.1:7400"}}, {Name: "b", Addrs: []string{"127.0.0.1:7401"}}}}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*regent.Config){
		"guard": func(c *regent.Config) { c.Timing = regent.LAN; c.Timing.Guard = time.Hour },
		"lease": func(c *regent.Config) { c.Timing = regent.LAN; c.Timing.LongestLease = time.Millisecond },
		"no key": func(c *regent.Config) {
			c.Council = append(c.Council, regent.Peer{Name: "c", Addrs: []string{"10.0.0.1:7400"}})
		},
		"not in the council": func(c *regent.Config) { c.Name = "z" },
		"elector \"chance\"": func(c *regent.Config) { c.Elector = "chance" },
		"a is listed twice":  func(c *regent.Config) { c.Council = append(c.Council, c.Council[0]) },
	} {
		c := good
		c.Council = append([]regent.Peer(nil), good.Council...)
		spoil(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
