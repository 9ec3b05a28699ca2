package stamp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// version is the first byte of the compact form.
const version = 1

// AppendBinary appends the compact form: the version, then as varints the epoch, the token, the counter, the number of
// voters, and for each voter the gap to the one before, its incarnation and its clock. Counter and clocks are signed.
func (e Edict) AppendBinary(b []byte) ([]byte, error) {
	if err := e.Check(); err != nil {
		return b, err
	}
	b = append(b, version)
	b = binary.AppendUvarint(b, e.Epoch)
	b = binary.AppendUvarint(b, e.Token)
	b = binary.AppendVarint(b, e.Counter)
	b = binary.AppendUvarint(b, uint64(len(e.Quorum)))
	next := 0
	for _, en := range e.Quorum {
		b = binary.AppendUvarint(b, uint64(int(en.Voter)-next))
		b = binary.AppendUvarint(b, uint64(en.Inc))
		b = binary.AppendVarint(b, en.Clock)
		next = int(en.Voter) + 1
	}
	return b, nil
}

// MarshalBinary returns the compact form.
func (e Edict) MarshalBinary() ([]byte, error) { return e.AppendBinary(nil) }

// UnmarshalBinary reads the compact form. Each stamp has exactly one: anything else is refused, with e left alone.
func (e *Edict) UnmarshalBinary(b []byte) error {
	r := reader{b: b}
	if v := r.byte(); r.err == nil && v != version {
		return fmt.Errorf("edict in form %d: this program reads form %d", v, version)
	}
	f := Edict{Epoch: r.uvarint(math.MaxUint64), Token: r.uvarint(MaxToken), Counter: r.varint()}
	// Each voter takes three bytes or more: a stamp cannot make us allocate more than a few times its own length.
	n := r.uvarint(min(MaxVoters, uint64(len(r.b)/3)))
	if r.err == nil {
		f.Quorum = make(Quorum, 0, n)
	}
	for next := uint64(0); n > 0 && r.err == nil; n-- {
		en := Entry{Voter: uint16(next + r.uvarint(MaxVoters-1-min(next, MaxVoters-1)))}
		en.Inc, en.Clock = r.uvarint(math.MaxUint64), r.varint()
		f.Quorum, next = append(f.Quorum, en), uint64(en.Voter)+1
	}
	switch {
	case r.err != nil:
		return fmt.Errorf("edict: %w", r.err)
	case len(r.b) != 0:
		return fmt.Errorf("edict: %d bytes after its end", len(r.b))
	}
	if err := f.Check(); err != nil {
		return err
	}
	*e = f
	return nil
}

// A reader takes canonical varints off b until one is wrong, and then gives zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) byte() byte {
	if r.err == nil && len(r.b) == 0 {
		r.err = errShort
	}
	if r.err != nil {
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

var errShort = errors.New("cut short")

func (r *reader) uvarint(limit uint64) uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b)
	switch {
	case n == 0:
		r.err = errShort
	case n < 0:
		r.err = errors.New("number beyond 64 bits")
	case n > 1 && r.b[n-1] == 0:
		r.err = errors.New("number not in its shortest form")
	case v > limit:
		r.err = fmt.Errorf("number %d: must be at most %d", v, limit)
	}
	if r.err != nil {
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	u := r.uvarint(math.MaxUint64)
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}
