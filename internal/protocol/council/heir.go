package council

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

// A Parent is a council that was given up, as the one knows it that goes on from its survivors.
type Parent struct {
	Council protocol.CouncilID
	// Number is that of the last configuration that the survivors had.
	Number uint64
	// Lost are the members that were named as lost.
	Lost []string
	// At is when somebody asked for it, in seconds since 1970, and By at which member. They are for people.
	At uint64
	By string
}

// Bounds of what is decoded.
const (
	maxParents = 16
	// FloorAhead is how far the terms of a council that goes on from survivors lie above all that survivors have seen: nobody knows
	// which terms the others have used since.
	FloorAhead = 1 << 40
)

// Parent returns the council that this one goes on from; nil if it was begun.
func (c *Config) Parent() *Parent {
	if len(c.Parents) == 0 {
		return nil
	}
	return &c.Parents[len(c.Parents)-1]
}

// Founder returns the id that the council had when it was begun: that of its first ancestor.
func (c *Config) Founder() protocol.CouncilID {
	if len(c.Parents) == 0 {
		return c.Council
	}
	return c.Parents[0].Council
}

// Descends says whether this council goes on from survivors of the one with an id.
func (c *Config) Descends(from protocol.CouncilID) bool {
	return slices.ContainsFunc(c.Parents, func(p Parent) bool { return p.Council == from })
}

// after says whether a member that has o may adopt c: it is a later one of the same council, or of one that goes on from it.
func (c *Config) after(o *Config) bool {
	return c.Council == o.Council && c.Number > o.Number || c.Council != o.Council && c.Descends(o.Council)
}

// youngest says that no other configuration of the council came before this one, and that it goes on from survivors of another.
func (c *Config) youngest() bool {
	p := c.Parent()
	return p != nil && c.Number == p.Number+1
}

// heir returns the council that survivors of this one go on with.
func (c *Config) heir(r *Recovery, lost protocol.Set, floor uint64) *Config {
	h := Config{Council: r.ID, Number: c.Number + 1, Terms: c.Terms, Floor: min(floor+FloorAhead, lease.MaxTerm)}
	h.Parents = append(slices.Clone(c.Parents), Parent{Council: c.Council, Number: c.Number, Lost: c.names(lost), At: r.At, By: r.By})
	for i := range c.Members {
		if m := c.Members[i]; !lost.Has(m.Seat) {
			m.Guest = false
			h.Members = append(h.Members, m)
		}
	}
	h.Former = c.former(&h)
	return &h
}

func (c *Config) names(of protocol.Set) (list []string) {
	for i := range c.Members {
		if of.Has(c.Members[i].Seat) {
			list = append(list, c.Members[i].Name)
		}
	}
	return list
}

// CheckHeir returns why to is no council that survivors of this one may go on with.
func (c *Config) CheckHeir(to *Config) error {
	if err := to.Check(); err != nil {
		return err
	}
	p := to.Parent()
	switch {
	case p == nil || p.Council != c.Council || p.Number != c.Number || to.Number != c.Number+1 || len(to.Parents) != len(c.Parents)+1:
		return errors.New("council: it does not go on from this one")
	case to.Council == c.Council || c.Descends(to.Council):
		return fmt.Errorf("council: %v is an id that was used before", to.Council)
	case to.Terms != c.Terms || to.Goal != nil || !to.Before.Empty():
		return errors.New("council: other terms")
	case !slices.Equal(to.Former, c.former(to)):
		return fmt.Errorf("council: members before %v: must be %v", to.Former, c.former(to))
	}
	for i := range to.Members {
		m := to.Members[i]
		if x := c.At(m.Seat); x == nil || x.Name != m.Name || x.Birth != m.Birth || x.Role != m.Role {
			return fmt.Errorf("council: %q is no survivor", m.Name)
		}
	}
	return nil
}

func appendParents(b []byte, parents []Parent, acknowledged bool) []byte {
	b = binary.AppendUvarint(b, uint64(len(parents)))
	for i := range parents {
		p := &parents[i]
		b = append(b, p.Council[:]...)
		b = binary.AppendUvarint(b, p.Number)
		b = appendTexts(b, p.Lost)
		b = appendText(binary.AppendUvarint(b, p.At), p.By)
	}
	return appendFlag(b, acknowledged)
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

func (r *reader) texts() (list []string) {
	for range r.uint(protocol.MaxMembers) {
		if r.err != nil {
			return nil
		}
		list = append(list, r.text())
	}
	return list
}

func (r *reader) council() (id protocol.CouncilID) {
	copy(id[:], r.bytes(uint64(len(id))))
	return id
}

func (r *reader) parents() (list []Parent) {
	n := r.uint(maxParents)
	if n == 0 {
		r.fail(errors.New("council: a configuration of a later version that needs none"))
	}
	for range n {
		list = append(list, Parent{Council: r.council(), Number: r.uint(1<<64 - 1), Lost: r.texts(), At: r.uint(1<<63 - 1), By: r.text()})
	}
	return list
}

// sameParents says whether a step leaves what is known of the councils before as it is. It may acknowledge what was given up, once.
func (c *Config) sameParents(to *Config) bool {
	return bytes.Equal(appendParents(nil, c.Parents, false), appendParents(nil, to.Parents, false)) && (to.Acknowledged || !c.Acknowledged) &&
		(len(to.Parents) > 0 || !to.Acknowledged)
}
