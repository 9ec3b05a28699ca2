package transport

import (
	"fmt"
	"slices"
)

// A Filter says what a datagram must look like to be let in. It looks at fixed places only, so that a kernel can apply it.
type Filter struct {
	// Shortest and Longest bound its length.
	Shortest, Longest int
	// Fields must all hold.
	Fields []Field
	// Odds say how likely a datagram is let in for which Fields hold: the first of them that lists its value decides, and Sample if none does.
	Odds []Odds
	// Sample is how many datagrams there are for each that is let in, by chance; 0 and 1: all are.
	Sample uint32
	// Or is another filter; a datagram may pass that instead.
	Or *Filter
}

// A Field is a big-endian number in a datagram, of 1, 2 or 4 bytes.
type Field struct {
	Offset, Size int
	// Any lists what it may be. If it is empty the number must be less than Below.
	Any   []uint32
	Below uint32
}

// Odds are those of datagrams in which a field has one of the values that it lists: one of OneIn is let in, by chance; 0 and 1: all are.
type Odds struct {
	Field
	OneIn uint32
}

const (
	// maxProgram is how many instructions a kernel's filter may have.
	maxProgram = 4096
	// MostListed is how many values odds may list.
	MostListed = maxProgram / 2
	// maxAny is how many values a field may list that must hold: jumps of the kernel's filters are short.
	maxAny = 200
	// chunk is how many of the values of Odds are compared one by one. Those are in ascending order, so that most of the list is skipped.
	chunk = 32
)

// SmallestRoom is how many bytes a filter may take on kernels that allow the least, 20 KB for a socket. They charge a filter together with the one
// that it replaces; some is left for other options of the socket.
const SmallestRoom = smallestOptmem/2 - smallestOptmem/80

const smallestOptmem = 20 << 10

// What the kernel charges for: it translates each load into up to 14 instructions of 8 bytes, a comparison into one, or into two if the value is
// large or if it jumps both ways, and a return into two.
const (
	chargeFilter = 8 * 40 // its own description, the bounds of the length and the chance
	chargeLoad   = 8 * 14
	chargeSmall  = 8
	chargeLarge  = 8 * 2
	chargeReturn = 8 * 2
	chargeChunk  = chargeLarge + 8 + chargeReturn
	chargeChance = chargeLoad + chargeLarge + 2*chargeReturn
)

// Charge bounds how many bytes the kernel charges a socket for the filter.
func (f *Filter) Charge() int {
	n := chargeFilter
	for i := range f.Fields {
		n += chargeLoad + max(1, len(f.Fields[i].Any))*chargeLarge + chargeReturn
	}
	for i := range f.Odds {
		n += f.Odds[i].Charge()
	}
	if f.Or != nil {
		n += f.Or.Charge()
	}
	return n
}

// Charge bounds what the kernel charges for odds, if they list a value.
func (o *Odds) Charge() int {
	n := chargeLoad + chargeChance + (len(o.Any)+chunk-1)/chunk*chargeChunk
	for _, v := range o.Any {
		if v >= 1<<31 {
			n += chargeLarge - chargeSmall
		}
	}
	return n + len(o.Any)*chargeSmall
}

// Values returns how many small values odds can list in a room of so many bytes.
func Values(room int) int {
	room -= chargeLoad + chargeChance + chargeChunk
	return max(0, room*chunk/(chunk*chargeSmall+chargeChunk))
}

// Check returns an error if the filter cannot be applied.
func (f *Filter) Check() error {
	if f.Shortest < 0 || f.Longest < f.Shortest || f.Longest > MaxDatagram {
		return fmt.Errorf("filter: length from %d to %d: must be within 0 to %d", f.Shortest, f.Longest, MaxDatagram)
	}
	for i := range f.Fields {
		if err := f.Fields[i].check(f.Shortest, maxAny); err != nil {
			return err
		}
	}
	for i := range f.Odds {
		if err := f.Odds[i].check(f.Shortest, MostListed); err != nil {
			return err
		}
	}
	if f.Or != nil {
		return f.Or.Check()
	}
	return nil
}

// check returns an error if a field is not within the first bytes of a datagram, or lists too many values.
func (x *Field) check(within, most int) error {
	if x.Size != 1 && x.Size != 2 && x.Size != 4 || x.Offset < 0 || x.Offset+x.Size > within || len(x.Any) > most {
		return fmt.Errorf("filter: field of %d bytes at %d with %d values: must have 1, 2 or 4 bytes within the shortest datagram, and at most %d values",
			x.Size, x.Offset, len(x.Any), most)
	}
	return nil
}

// OneIn returns how many datagrams like this one there are for each that the kernel lets in; 0: it lets in none.
func (f *Filter) OneIn(data []byte) uint32 {
	if !f.holds(data) {
		if f.Or != nil {
			return f.Or.OneIn(data)
		}
		return 0
	}
	for i := range f.Odds {
		if o := &f.Odds[i]; slices.Contains(o.Any, o.of(data)) {
			return max(1, o.OneIn)
		}
	}
	return max(1, f.Sample)
}

// Passes returns whether the kernel lets a datagram in, if chance does.
func (f *Filter) Passes(data []byte) bool { return f.OneIn(data) > 0 }

func (f *Filter) holds(data []byte) bool {
	if len(data) < f.Shortest || len(data) > f.Longest {
		return false
	}
	for i := range f.Fields {
		x := &f.Fields[i]
		if v := x.of(data); len(x.Any) == 0 && v >= x.Below || len(x.Any) > 0 && !slices.Contains(x.Any, v) {
			return false
		}
	}
	return true
}

// of returns the value of the field in a datagram.
func (x *Field) of(data []byte) (v uint32) {
	for _, b := range data[x.Offset : x.Offset+x.Size] {
		v = v<<8 | uint32(b)
	}
	return v
}

// A Filterer can have the kernel drop datagrams before they cost the process anything.
type Filterer interface {
	// SetFilter applies a filter from now on, and none if it is nil.
	SetFilter(*Filter) error
	// Room is how many bytes a filter may take, as Charge counts them.
	Room() int
}
