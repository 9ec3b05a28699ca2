package regent

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/world"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/why"
)

func peers(names ...string) []Peer {
	var out []Peer
	for i, n := range names {
		out = append(out, Peer{Name: n, Addrs: []string{"127.0.0.1:740" + string(rune('0'+i))}})
	}
	return out
}

func TestConfigurationsThatCannotWorkAreRefusedWithTheReason(t *testing.T) {
	good := func() Config { return Config{Name: "a", Council: peers("a", "b", "c"), Timing: LAN} }
	for _, x := range []struct {
		want   string
		change func(*Config)
	}{
		{"", func(*Config) {}},
		{"", func(c *Config) { c.Timing = Timing{} }},
		{"not in the council (a, b, c)", func(c *Config) { c.Name = "d" }},
		{"must have 1 to 1000", func(c *Config) { c.Council = nil }},
		{"listed twice", func(c *Config) { c.Council = peers("a", "b", "a") }},
		{"without white space", func(c *Config) { c.Council[1].Name = "b b" }},
		{"without white space", func(c *Config) { c.Council[1].Name = "" }},
		{"has no address", func(c *Config) { c.Council[1].Addrs = nil }},
		{"must be host:port", func(c *Config) { c.Council[1].Addrs = []string{"10.0.0.1"} }},
		{"with an IPv6 address in brackets", func(c *Config) { c.Council[1].Addrs = []string{"fd00::2:7400"} }},
		{"port from 1 to 65535", func(c *Config) { c.Council[1].Addrs = []string{"127.0.0.1:0"} }},
		{"at most 8", func(c *Config) { c.Council[1].Addrs = strings.Split(strings.Repeat("127.0.0.1:1 ", 9), " ")[:9] }},
		{"10.0.0.1:7400 is not an address of the loopback interface", func(c *Config) { c.Council[1].Addrs = []string{"10.0.0.1:7400"} }},
		{"[::]:7400 is not an address of the loopback interface", func(c *Config) { c.Bind = "[::]:7400" }},
		{"b.example:7400 is not an address", func(c *Config) { c.Council[1].Addrs = []string{"b.example:7400"} }},
		{"must have 16 to 128", func(c *Config) { c.Key = []byte("short") }},
		{"", func(c *Config) { c.CouncilID = "0123456789abcdef0123456789ABCDEF" }},
		{"council id \"7\": must have 32 hexadecimal digits", func(c *Config) { c.CouncilID = "7" }},
		{"not all zero", func(c *Config) { c.CouncilID = strings.Repeat("0", 32) }},
		{"council id \"xyz", func(c *Config) { c.CouncilID = "xyz" + strings.Repeat("0", 29) }},
		{"old keys without a key", func(c *Config) { c.OldKeys = [][]byte{make([]byte, 32)} }},
		{"drift 0", func(c *Config) { c.Timing.Drift = 0 }},
		{"renewal interval 0s: must be positive; start from a profile", func(c *Config) { c.Timing.Renew = 0 }},
		{"guard 140ms: must not be negative, and at most 129.78ms", func(c *Config) { c.Timing.Guard = 140 * time.Millisecond }},
		{"guard -1ns", func(c *Config) { c.Timing.Guard = -1 }},
		{"longest promise 150ms: must be at least the lease 200ms", func(c *Config) { c.Timing.LongestLease = 150 * time.Millisecond }},
		{"evict 200ms: must exceed 220ms", func(c *Config) { c.Timing.Evict, c.Consistent = 200*time.Millisecond, true }},
		{"", func(c *Config) { c.Timing.Evict = 200 * time.Millisecond }},
		{"suspect 100ms: must exceed the heartbeat 500ms", func(c *Config) { c.Timing.Suspect = 100 * time.Millisecond }},
	} {
		c := good()
		x.change(&c)
		err := check(&c)
		switch {
		case x.want == "" && err != nil:
			t.Errorf("refused: %v", err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("got %v, want %q", err, x.want)
		}
	}
}

// check does all that Join does before it touches anything.
func check(c *Config) error {
	m, err := prepare(*c, world.World{})
	if err != nil {
		return err
	}
	defer m.release()
	if _, err := m.machine(m.config.summary(m.council(), m.councilID), nil); err != nil {
		return err
	}
	_, err = c.keyring(m.council())
	return err
}

func TestProfilesAreConsistent(t *testing.T) {
	for name, timing := range map[string]Timing{"fast": Fast, "lan": LAN, "wan": WAN} {
		if err := check(&Config{Name: "a", Council: peers("a", "b", "c"), Timing: timing}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRankIsByPriorityAndThenByName(t *testing.T) {
	c := Config{Name: "b", Council: peers("c", "b", "d", "a")}
	c.Council[2].Priority = 5 // d
	c.Council[0].Priority = -1
	all, err := c.council()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(all.names(), " "); got != "d a b c" || all.self != 2 {
		t.Errorf("order is %s, own rank %d", got, all.self)
	}
	if all.name(protocol.Nobody) != "" || all.name(3) != "c" {
		t.Error("names and ranks do not match")
	}
}

func TestConfigurationsDifferWhereMembersMustAgree(t *testing.T) {
	digest := func(change func(*Config)) string {
		c := Config{Name: "a", Council: peers("a", "b", "c"), Timing: LAN}
		change(&c)
		all, err := c.council()
		if err != nil {
			t.Fatal(err)
		}
		return c.summary(all, protocol.CouncilID{1}).Digest().String()
	}
	base := digest(func(*Config) {})
	for name, change := range map[string]func(*Config){
		"another member":   func(c *Config) { c.Council = peers("a", "b", "d") },
		"one more member":  func(c *Config) { c.Council = peers("a", "b", "c", "d") },
		"another priority": func(c *Config) { c.Council[1].Priority = 1 },
		"another longest":  func(c *Config) { c.Timing.LongestLease++ },
		"another drift":    func(c *Config) { c.Timing.Drift *= 2 },
	} {
		if digest(change) == base {
			t.Errorf("%s makes no difference", name)
		}
	}
	for name, change := range map[string]func(*Config){
		"another order in the list": func(c *Config) { c.Council[0], c.Council[2] = c.Council[2], c.Council[0] },
		"another address":           func(c *Config) { c.Council[1].Addrs = []string{"127.0.0.1:9999"} },
		"another guard":             func(c *Config) { c.Timing.Guard = 1 },
		"another member's view":     func(c *Config) { c.Name = "b" },
	} {
		if digest(change) != base {
			t.Errorf("%s makes a difference", name)
		}
	}
}

func TestDifferenceInPrioritiesIsNamed(t *testing.T) {
	summary := func(priority int) *wire.Summary {
		c := Config{Name: "a", Council: peers("a", "b", "c"), Timing: LAN}
		c.Council[0].Priority = priority
		all, err := c.council()
		if err != nil {
			t.Fatal(err)
		}
		return c.summary(all, protocol.CouncilID{1})
	}
	diff := summary(0).Diff(summary(7))
	if len(diff) != 1 || diff[0].String() != "priorities: none here, a=7 there" {
		t.Errorf("got %v", diff)
	}
}

func TestListingIsOfMembersInRankOrder(t *testing.T) {
	of := func(change func(*Config)) []byte {
		c := Config{Name: "a", Council: peers("a", "b", "c")}
		change(&c)
		all, err := c.council()
		if err != nil {
			t.Fatal(err)
		}
		l := listing(all)
		return l[:]
	}
	base := of(func(*Config) {})
	if bytes.Equal(base, of(func(c *Config) { c.Council = peers("a", "b", "d") })) ||
		bytes.Equal(base, of(func(c *Config) { c.Council[2].Priority = 1 })) {
		t.Error("a re-listed council has the same listing")
	}
	if !bytes.Equal(base, of(func(c *Config) { c.Council[0].Priority = 1 })) {
		t.Error("a priority that changes no rank changes the listing")
	}
}

func TestCausesReadAsSentences(t *testing.T) {
	for want, c := range map[string]Cause{
		"suspected b (silent for 150ms)": {Why: why.Suspected, Member: "b", Bound: 150 * time.Millisecond},
		"slow link c (bound 20ms)":       {Why: why.SlowLink, Member: "c", Bound: 20 * time.Millisecond},
		"lease expired a":                {Why: why.LeaseExpired, Member: "a"},
		"started":                        {Why: why.Started},
	} {
		if c.String() != want {
			t.Errorf("got %q, want %q", c, want)
		}
	}
}
