package protocol

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestSetHasOneCompactForm(t *testing.T) {
	for _, c := range []struct {
		set  Set
		want []byte
	}{
		{Set{}, nil},
		{NewSet(0), []byte{1}},
		{NewSet(0, 2, 4), []byte{0b10101}},
		{NewSet(9), []byte{0, 2}},
		{NewSet(64), []byte{0, 0, 0, 0, 0, 0, 0, 0, 1}},
	} {
		got, err := c.set.MarshalBinary()
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%v encodes as %x, %v; want %x", c.set, got, err, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := NewSet(rapid.SliceOf(rapid.Map(rapid.IntRange(0, MaxMembers-1), func(i int) Rank { return Rank(i) })).Draw(t, "members")...)
		b, _ := s.MarshalBinary()
		got := Everyone(7)
		if err := got.UnmarshalBinary(b); err != nil || got != s {
			t.Fatalf("%v came back as %v, %v", s, got, err)
		}
	})
}

func TestSetRefusesOtherForms(t *testing.T) {
	full, _ := Everyone(MaxMembers).MarshalBinary()
	for name, b := range map[string][]byte{
		"a zero at the end": {1, 0},
		"only a zero":       {0},
		"too long":          append(bytes.Clone(full), 1),
	} {
		s := NewSet(3)
		if err := s.UnmarshalBinary(b); err == nil {
			t.Errorf("%s: %x is taken for %v", name, b, s)
		}
		if s != NewSet(3) {
			t.Errorf("%s: the refused form changed the set to %v", name, s)
		}
	}
}

func FuzzSetBinary(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0b10101})
	f.Add([]byte{0, 2})
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Set
		if s.UnmarshalBinary(b) != nil {
			return
		}
		if all := Everyone(MaxMembers); !all.Contains(s) {
			t.Fatalf("%x decodes to %v, beyond the largest council", b, s)
		}
		if again, _ := s.MarshalBinary(); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes to %v, which encodes as %x", b, s, again)
		}
	})
}
