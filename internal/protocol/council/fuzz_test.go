package council

import (
	"bytes"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// What decodes has one encoding, and is a configuration that may be in force.
func FuzzConfig(f *testing.F) {
	c := step(conf(4, "abd"), func(c *Config) {
		c.Members[1].Addrs, c.Members[1].Priority, c.Members[2].Guest, c.Floor = []string{"x:1", "y:2"}, -3, true, 77
		c.Goal = &Goal{Terms: c.Terms, By: "a", Wishes: []Wish{{Name: "a", Role: Leader, Seat: protocol.Nobody}, {Name: "q", Role: Witness, Not: Birth{3}, Key: "k"}}}
	})
	f.Add(c.Append(nil))
	f.Add(c.heir(recovery("d").Recovery, protocol.NewSet(3), 9).Append(nil))
	f.Add([]byte{version})
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Config
		if d.UnmarshalBinary(b) != nil {
			return
		}
		if !bytes.Equal(d.Append(nil), b) || d.Check() != nil {
			t.Fatalf("%x is %+v", b, d)
		}
	})
}

// A record on disk is read whole or not at all.
func FuzzRecord(f *testing.F) {
	r := settledAt(conf(4, "abc"), "a")
	f.Add(r.Append(nil))
	r.Accepted, r.Ballot, r.Removed = Vote{ballot(3, 'b'), step(r.Conf, nil)}, ballot(4, 'c'), true
	f.Add(r.Append(nil))
	r.Heir = Vote{ballot(2, 'b'), r.Conf.heir(recovery("c").Recovery, protocol.NewSet(2), 9)}
	f.Add(r.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err != nil {
			return
		}
		if !bytes.Equal(r.Append(nil), b) {
			t.Fatalf("%x is %+v", b, r)
		}
	})
}

// A configuration that no record has room for is no step, and a change to it is refused.
func TestCouncilIsNotTooLarge(t *testing.T) {
	c := conf(4, "abc")
	long := func(c *Config) {
		for i := range c.Members {
			c.Members[i].Key = string(make([]byte, maxText))
			c.Members[i].Addrs = []string{string(make([]byte, maxText)), string(make([]byte, maxText))}
		}
	}
	to := step(c, long)
	if c.CheckStep(to) == nil || new(Config).UnmarshalBinary(to.Append(nil)) == nil {
		t.Error("a configuration of more than MaxConfig is taken")
	}
}
