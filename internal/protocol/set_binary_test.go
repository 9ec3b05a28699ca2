package protocol_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/internal/protocol"
)

func TestSetInBinaryByExample(t *testing.T) {
	for _, c := range []struct {
		set  protocol.Set
		want []byte
	}{
		{protocol.Set{}, []byte{}},
		{protocol.NewSet(0), []byte{1}},
		{protocol.NewSet(1, 7), []byte{0x82}},
		{protocol.NewSet(8), []byte{0, 1}},
		{protocol.NewSet(0, 64), []byte{1, 0, 0, 0, 0, 0, 0, 0, 1}},
		{protocol.NewSet(999), append(make([]byte, 124), 0x80)},
	} {
		got, err := c.set.MarshalBinary()
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%v is %x, %v, want %x", c.set, got, err, c.want)
		}
	}
}

func TestSetComesBackFromBinary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := drawReference(t, "s")
		prefix := rapid.SliceOf(rapid.Byte()).Draw(t, "prefix")
		all, err := s.AppendBinary(bytes.Clone(prefix))
		if err != nil || !bytes.HasPrefix(all, prefix) {
			t.Fatalf("appending %v to %x gave %x, %v", s, prefix, all, err)
		}
		back := protocol.NewSet(5) // what was there before must not stay
		if err := back.UnmarshalBinary(all[len(prefix):]); err != nil || back != s {
			t.Fatalf("%v became %x and came back as %v, %v", s, all[len(prefix):], back, err)
		}
	})
}

func TestSetFromBinaryIsRefused(t *testing.T) {
	for want, in := range map[string][]byte{
		"the last of 2 bytes is zero": {1, 0},
		"the last of 1 bytes is zero": {0},
		"126 bytes":                   append(make([]byte, 125), 1),
		"129 bytes":                   bytes.Repeat([]byte{1}, 129),
	} {
		s := protocol.NewSet(5)
		if err := s.UnmarshalBinary(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%x: got %v, want a refusal that says %q", in, err, want)
		}
		if s != protocol.NewSet(5) {
			t.Errorf("%x was refused, but changed the set to %v", in, s)
		}
	}
}

func FuzzSetBinary(f *testing.F) {
	for _, in := range [][]byte{{}, {1}, {0}, {0, 1}, bytes.Repeat([]byte{0xff}, 125), bytes.Repeat([]byte{0xff}, 126)} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var s protocol.Set
		if s.UnmarshalBinary(in) != nil {
			return
		}
		if everyone := protocol.Everyone(protocol.MaxMembers); !everyone.Contains(s) {
			t.Fatalf("%x gave members that no council has: %v", in, s)
		}
		if out, err := s.MarshalBinary(); err != nil || !bytes.Equal(out, in) {
			t.Fatalf("%v has a second form: %x and %x, %v", s, in, out, err)
		}
	})
}
