package protocol

import (
	"encoding/binary"
	"fmt"
)

// AppendBinary appends the compact form of s: rank r is bit r%8 of byte r/8, and zero bytes at the end are left out. So
// a council of eight takes one byte, the empty set none, and each set has exactly one form.
func (s *Set) AppendBinary(b []byte) ([]byte, error) {
	begin := len(b)
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	for len(b) > begin && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b, nil
}

// MarshalBinary returns the compact form.
func (s Set) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary reads the compact form. It refuses every other, and a rank that no council has.
func (s *Set) UnmarshalBinary(b []byte) error {
	const most = (MaxMembers + 7) / 8
	switch {
	case len(b) > most:
		return fmt.Errorf("set: %d bytes: a council of %d members takes at most %d", len(b), MaxMembers, most)
	case len(b) > 0 && b[len(b)-1] == 0:
		return fmt.Errorf("set: the last of %d bytes is zero: it must be left out", len(b))
	case len(b) == most && uint16(b[most-1])>>(MaxMembers-8*(most-1)) != 0:
		return fmt.Errorf("set: a rank of %d or more: a council has at most %d members", MaxMembers, MaxMembers)
	}
	var t Set
	for i, c := range b {
		t[i/8] |= uint64(c) << (8 * (i % 8))
	}
	*s = t
	return nil
}
