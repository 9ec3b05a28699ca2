package council

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// version of the encodings, and heired that of encodings that name a council that was given up. Others are not read.
const (
	version = 2
	heired  = 3
)

// Bounds of what is decoded.
const (
	maxText  = 1 << 12
	maxAddrs = 8
	// MaxConfig is how long the encoding of a configuration may be. A record has room for two.
	MaxConfig = 30 << 10
)

// Append appends the canonical encoding: two configurations are equal exactly if their encodings are.
func (c *Config) Append(b []byte) []byte {
	v := byte(version)
	if len(c.Parents) > 0 {
		v = heired
	}
	b = append(b, v)
	b = append(b, c.Council[:]...)
	b = binary.AppendUvarint(b, c.Number)
	b = binary.AppendUvarint(b, uint64(len(c.Members)))
	for i := range c.Members {
		m := &c.Members[i]
		b = binary.AppendUvarint(b, uint64(m.Seat))
		b = binary.AppendUvarint(b, m.Since)
		b = append(b, m.Birth[:]...)
		b = appendPerson(b, m.Name, m.Key, m.Addrs, m.Priority, m.Weight, m.Role)
		b = appendFlag(b, m.Guest)
	}
	b = appendText(appendGoal(b, c.Goal), c.Ended)
	b = c.Terms.append(b)
	b = binary.AppendUvarint(b, c.Floor)
	b = appendSet(b, c.Before)
	b = binary.AppendUvarint(b, uint64(len(c.Former)))
	for i := range c.Former {
		f := &c.Former[i]
		b = binary.AppendUvarint(b, uint64(f.Seat))
		b = binary.AppendUvarint(b, f.Since)
		b = binary.AppendUvarint(b, f.Until)
		b = appendText(b, f.Name)
	}
	if v == heired {
		b = appendParents(b, c.Parents, c.Acknowledged)
	}
	return b
}

func appendGoal(b []byte, g *Goal) []byte {
	if g == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	b = binary.AppendUvarint(b, uint64(len(g.Wishes)))
	for i := range g.Wishes {
		w := &g.Wishes[i]
		b = binary.AppendUvarint(b, uint64(w.Seat))
		b = append(b, w.Not[:]...)
		b = appendPerson(b, w.Name, w.Key, w.Addrs, w.Priority, w.Weight, w.Role)
	}
	b = appendText(g.Terms.append(b), g.By)
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(g.Asked)), uint64(g.Within))
}

func appendPerson(b []byte, name, key string, addrs []string, priority, weight int, role Role) []byte {
	b = appendText(b, name)
	b = appendText(b, key)
	b = binary.AppendUvarint(b, uint64(len(addrs)))
	for _, a := range addrs {
		b = appendText(b, a)
	}
	b = binary.AppendVarint(b, int64(priority))
	b = binary.AppendUvarint(b, uint64(weight))
	return append(b, byte(role))
}

func (t *Terms) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(t.Longest))
	b = binary.AppendUvarint(b, uint64(t.Rho))
	return appendText(b, t.Settings)
}

func appendFlag(b []byte, x bool) []byte {
	if x {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendSet(b []byte, s protocol.Set) []byte {
	x, _ := s.MarshalBinary() // it never fails
	return append(binary.AppendUvarint(b, uint64(len(x))), x...)
}

var errCut = errors.New("council: cut short")

// A reader takes values off an encoding. The first error stays.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) bytes(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.b)) {
		r.fail(errCut)
		return nil
	}
	x := r.b[:n]
	r.b = r.b[n:]
	return x
}

func (r *reader) byte() byte {
	if x := r.bytes(1); x != nil {
		return x[0]
	}
	return 0
}

func (r *reader) flag() bool {
	x := r.byte()
	if x > 1 {
		r.fail(fmt.Errorf("council: flag %d: must be 0 or 1", x))
	}
	return x == 1
}

// uint reads a number of at most limit in its shortest form.
func (r *reader) uint(limit uint64) uint64 {
	x, n := binary.Uvarint(r.b)
	switch {
	case n <= 0:
		r.fail(errCut)
		return 0
	case x > limit:
		r.fail(fmt.Errorf("council: number %d: at most %d", x, limit))
		return 0
	case n > 1 && r.b[n-1] == 0:
		r.fail(errors.New("council: a number that is longer than it must be"))
		return 0
	}
	r.b = r.b[n:]
	return x
}

// int reads a number that AppendVarint wrote.
func (r *reader) int() int64 {
	x := r.uint(1<<64 - 1)
	return int64(x>>1) ^ -int64(x&1)
}

func (r *reader) text() string {
	return string(r.bytes(r.uint(maxText)))
}

func (r *reader) duration() time.Duration { return time.Duration(r.uint(1<<63 - 1)) }

func (r *reader) birth() (x Birth) {
	copy(x[:], r.bytes(uint64(len(x))))
	return x
}

func (r *reader) set() (s protocol.Set) {
	if err := s.UnmarshalBinary(r.bytes(r.uint(maxText))); err != nil {
		r.fail(err)
	}
	return s
}

func (r *reader) role() Role {
	x := Role(r.byte())
	if x > Leader {
		r.fail(fmt.Errorf("council: role %d: there is no such role", x))
	}
	return x
}

func (r *reader) addrs() (list []string) {
	for range r.uint(maxAddrs) {
		list = append(list, r.text())
	}
	return list
}

func (r *reader) terms() Terms {
	return Terms{Longest: r.duration(), Rho: protocol.Rho(r.uint(1<<63 - 1)), Settings: r.text()}
}

func (r *reader) goal() *Goal {
	if !r.flag() {
		return nil
	}
	var g Goal
	for range r.uint(protocol.MaxMembers) {
		w := Wish{Seat: protocol.Rank(r.uint(uint64(protocol.Nobody))), Not: r.birth(), Name: r.text(), Key: r.text(), Addrs: r.addrs()}
		w.Priority, w.Weight, w.Role = int(r.int()), int(r.uint(MaxWeight)), r.role()
		g.Wishes = append(g.Wishes, w)
	}
	g.Terms, g.By, g.Asked, g.Within = r.terms(), r.text(), int64(r.uint(1<<63-1)), r.duration()
	return &g
}

func (r *reader) config() *Config {
	v := r.byte()
	if v != version && v != heired {
		r.fail(fmt.Errorf("council: version %d of a configuration: this program reads versions %d and %d", v, version, heired))
	}
	c := Config{Council: r.council()}
	c.Number = r.uint(1<<64 - 1)
	for range r.uint(protocol.MaxMembers) {
		m := Member{Seat: protocol.Rank(r.uint(protocol.MaxMembers - 1)), Since: r.uint(1<<64 - 1), Birth: r.birth(), Name: r.text(), Key: r.text(), Addrs: r.addrs()}
		m.Priority, m.Weight, m.Role, m.Guest = int(r.int()), int(r.uint(MaxWeight)), r.role(), r.flag()
		c.Members = append(c.Members, m)
	}
	c.Goal, c.Ended = r.goal(), r.text()
	c.Terms = r.terms()
	c.Floor = r.uint(1<<64 - 1)
	c.Before = r.set()
	for range r.uint(maxFormer) {
		c.Former = append(c.Former, Former{Seat: protocol.Rank(r.uint(protocol.MaxMembers - 1)), Since: r.uint(1<<64 - 1), Until: r.uint(1<<64 - 1), Name: r.text()})
	}
	if v == heired {
		c.Parents, c.Acknowledged = r.parents(), r.flag()
	}
	return &c
}

// DecodeConfig reads exactly what Append wrote, and checks it.
func DecodeConfig(b []byte) (*Config, error) {
	r := reader{b: b}
	c := r.config()
	if r.err == nil && len(r.b) > 0 {
		r.fail(fmt.Errorf("council: %d bytes too many", len(r.b)))
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, c.Check()
}

// MarshalBinary returns the canonical encoding.
func (c *Config) MarshalBinary() ([]byte, error) { return c.Append(nil), nil }

// UnmarshalBinary reads exactly what MarshalBinary wrote, and checks it.
func (c *Config) UnmarshalBinary(b []byte) error {
	if len(b) > MaxConfig {
		return fmt.Errorf("council: a configuration of %d bytes: at most %d", len(b), MaxConfig)
	}
	d, err := DecodeConfig(b)
	if err == nil {
		*c = *d
	}
	return err
}
