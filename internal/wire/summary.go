package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Digest is what packets carry of a configuration. It guards against mistakes, not against enemies: those do not have
// the key.
type Digest [8]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes the digest as String shows it.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Limits of a summary, so that it fits a packet beside its header.
const (
	maxFields  = 16
	maxName    = 64
	maxValue   = 48 // of a value on the wire; a longer one is cut, and still compared by its digest
	maxSummary = 1024
)

// A Summary is a configuration, field by field. Members with the same configuration build equal lists of fields, in the
// same order. A member puts its summary into packets to peers that it has not yet heard with its own digest, so that
// each side can name the field in which they differ.
type Summary struct {
	// Member is the name of whose summary it is. It is not part of the digest.
	Member string `cbor:"1,keyasint"`
	// Fields are in the order of the digest.
	Fields []Field `cbor:"2,keyasint"`
}

// A Field is one setting that all members must share.
type Field struct {
	Name  string `cbor:"1,keyasint"`
	Value string `cbor:"2,keyasint"`
	// Digest is of the whole value, which may be cut after it came over the wire.
	Digest Digest `cbor:"3,keyasint"`
}

// NewSummary returns the summary of a member without any fields yet.
func NewSummary(member string) *Summary { return &Summary{Member: member} }

// Set adds a field.
func (s *Summary) Set(name, value string) *Summary {
	s.Fields = append(s.Fields, Field{name, value, digestOf(Field{Name: name, Value: value})})
	return s
}

// Check says whether the summary can be sent.
func (s *Summary) Check() error {
	if len(s.Fields) == 0 || len(s.Fields) > maxFields {
		return fmt.Errorf("summary: %d fields: must have 1 to %d", len(s.Fields), maxFields)
	}
	if len(s.Member) > maxName {
		return fmt.Errorf("summary: member name %q: must have at most %d bytes", s.Member, maxName)
	}
	seen := make(map[string]bool)
	for _, f := range s.Fields {
		if len(f.Name) == 0 || len(f.Name) > maxName/4 || seen[f.Name] {
			return fmt.Errorf("summary: field %q: names must be unique and have 1 to %d bytes", f.Name, maxName/4)
		}
		seen[f.Name] = true
	}
	return nil
}

// Digest returns the digest of the fields with the given names, or of all if there are none. Packets carry that of all.
func (s *Summary) Digest(names ...string) Digest {
	if len(names) == 0 {
		return digestOf(s.Fields...)
	}
	var fields []Field
	for _, name := range names {
		for _, f := range s.Fields {
			if f.Name == name {
				fields = append(fields, f)
			}
		}
	}
	return digestOf(fields...)
}

// digestOf hashes each name and value after its length.
func digestOf(fields ...Field) Digest {
	b := []byte("regent configuration 1")
	for _, f := range fields {
		b = append(binary.AppendUvarint(b, uint64(len(f.Name))), f.Name...)
		b = append(binary.AppendUvarint(b, uint64(len(f.Value))), f.Value...)
	}
	sum := sha256.Sum256(b)
	return Digest(sum[:])
}

// A Difference is a field in which two configurations differ. A side that does not have the field at all shows "(none)".
type Difference struct{ Field, Mine, Theirs string }

// String shows the difference for a log line.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s here, %s there", d.Field, d.Mine, d.Theirs)
}

const absent = "(none)"

// Diff names the fields in which s and t differ: first those of s, in order, then those that only t has.
func (s *Summary) Diff(t *Summary) []Difference {
	var diff []Difference
	for _, f := range s.Fields {
		if g, ok := t.field(f.Name); !ok {
			diff = append(diff, Difference{f.Name, f.Value, absent})
		} else if g.Digest != f.Digest {
			diff = append(diff, Difference{f.Name, f.Value, g.Value})
		}
	}
	for _, g := range t.Fields {
		if _, ok := s.field(g.Name); !ok {
			diff = append(diff, Difference{g.Name, absent, g.Value})
		}
	}
	return diff
}

func (s *Summary) field(name string) (Field, bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// encode returns the summary as it goes into a packet, with long values cut.
func (s *Summary) encode() ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	short := Summary{Member: s.Member}
	for _, f := range s.Fields {
		f.Value = cut(f.Value, maxValue)
		short.Fields = append(short.Fields, f)
	}
	b, err := encMode.Marshal(&short)
	if err != nil {
		return nil, fmt.Errorf("summary: %w", err)
	}
	if len(b) > maxSummary {
		return nil, fmt.Errorf("summary: %d bytes: must fit %d; use shorter names", len(b), maxSummary)
	}
	return b, nil
}

// cut shortens s to at most n bytes, at the end of a character.
func cut(s string, n int) string {
	const dots = "…"
	if len(s) <= n {
		return s
	}
	n -= len(dots)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + dots
}

var errSummary = errors.New("summary beyond its limits")

func decodeSummary(b []byte) (*Summary, error) {
	if len(b) > maxSummary {
		return nil, errSummary
	}
	s := new(Summary)
	if err := decMode.Unmarshal(b, s); err != nil {
		return nil, err
	}
	if s.Check() != nil {
		return nil, errSummary
	}
	for _, f := range s.Fields {
		if len(f.Value) > maxValue {
			return nil, errSummary
		}
	}
	return s, nil
}
